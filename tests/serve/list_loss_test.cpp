// SPDX-License-Identifier: BSL-1.0
// A list of jobs that was lost, restored or damaged: numbers, the backup, the log and unknown stages.
#include <filesystem>
#include <fstream>

#include "stored_jobs.hpp"

namespace {

using namespace ration;
using namespace ration::program;
namespace fs = std::filesystem;

}  // namespace

TEST_CASE("no number is used twice, whatever is left of the file") {
    folder const at;
    {
        auto store = at.open();
        for (int i = 0; i < 5; ++i) static_cast<void>(add(store, "key " + std::to_string(i)));
        REQUIRE(store.commit());
    }
    bool const keeps_backup = GENERATE(true, false), keeps_count = GENERATE(true, false);
    static_cast<void>(at.open());  // makes the backup
    {
        auto store = at.open();
        CHECK(add(store, "confirmed") == 6);
        REQUIRE(store.commit());
        CHECK(add(store, "not confirmed") == 7);
    }
    if (!keeps_backup) fs::remove(at.file() + ".backup");
    if (!keeps_count) std::ofstream(at.file() + ".confirmed") << "damaged";
    std::ofstream(at.file()).close();  // an empty one, as after a crash of some file systems
    fs::remove(at.file() + "-wal");
    auto store = at.open();
    CHECK(store.lost().is_new);
    CHECK(store.lost().of_backup == (keeps_backup ? 5 : 0));
    CHECK(store.lost().changes == (keeps_count ? 6 : 0));
    auto const next = keeps_count ? 7 : keeps_backup ? 6 : 1;
    CHECK(add(store, "another") == next);
    store.roll_back();
    auto numbered = job_store::open(at.file(), 1, 40);
    REQUIRE(numbered);
    CHECK(add(*numbered, "last") == 41);
}

TEST_CASE("a backup with jobs that the list lacks is kept, and a list with all of them replaces it") {
    folder const at;
    {
        auto store = at.open();
        static_cast<void>(add(store, "a"));
        static_cast<void>(add(store, "b"));
        REQUIRE(store.commit());
    }
    static_cast<void>(at.open());
    fs::copy_file(at.file() + ".backup", at.path + "/whole");
    fs::remove(at.file());
    CHECK(at.open().lost().of_backup == 2);
    {
        auto store = at.open();
        CHECK(add(store, "c") == 3);
        REQUIRE(store.commit());
    }
    CHECK(at.open().lost().of_backup == 2);
    fs::remove(at.file());  // as in the manual
    fs::copy_file(at.file() + ".backup", at.file());
    auto store = at.open();
    CHECK(store.all()->size() == 2);
    CHECK(store.lost().of_backup == 0);
    CHECK(add(store, "d") == 4);
}

TEST_CASE("jobs and ends that were confirmed are in the file itself, and a lost log of other changes is noticed") {
    folder const at;
    auto const without_log = [&] {
        fs::remove(at.path + "/copy.db.confirmed");
        for (auto const* const name : {"/jobs.db", "/jobs.db.confirmed"})
            fs::copy_file(at.path + name, at.path + (std::string("/copy") + (name + 5)),
                          fs::copy_options::overwrite_existing);
        auto store = job_store::open(at.path + "/copy.db", 1);
        REQUIRE(store);
        return std::move(store).value();
    };
    auto store = at.open();
    auto const id = add(store, "a");
    REQUIRE(store.commit());
    CHECK(without_log().all()->size() == 1);
    move(store, id, {stage::pending, stage::deploying});
    REQUIRE(store.commit());
    {
        auto copy = without_log();
        CHECK(copy.all()->front().now == stage::queued);
        CHECK(copy.lost().changes == 2);
    }
    auto ended = to(id, stage::completed);
    ended.end = process_end{.exit_code = 0, .signal = {}};
    REQUIRE(store.advance(ended));
    REQUIRE(store.commit());
    auto copy = without_log();
    CHECK(copy.all()->front().now == stage::completed);
    CHECK(copy.lost().changes == 0);
}

TEST_CASE("a job in an unknown stage is named, and the others are as before") {
    folder const at;
    {
        auto store = at.open();
        static_cast<void>(add(store, "a"));
        auto other = job("b");
        other.after = {1};
        REQUIRE(store.submit(other, 1));
        REQUIRE(store.commit());
        store.finish();
        CHECK(fs::file_size(at.file() + "-wal") == 0);
    }
    {
        auto file = database::open(at.file(), database::access::write);
        REQUIRE(file);
        REQUIRE(
            file->execute("UPDATE submissions SET stage = 'LATER' WHERE id = 1; UPDATE stages SET stage = '' WHERE "
                          "job = 1"));
    }
    auto store = at.open();
    CHECK(store.all()->size() == 1);
    CHECK(store.find(2)->has_value());
    CHECK(store.find(1).failure().code == errc::unverified);
    CHECK_FALSE(store.find(3)->has_value());
    CHECK(store.history(1)->empty());
    REQUIRE(store.brief(1)->size() == 1);
    CHECK_FALSE(is_final(store.brief(1)->front().now));  // job 2 comes after it, and must not fail
    auto const named = store.unreadable();
    REQUIRE(named);
    REQUIRE(named->size() == 1);
    CHECK((named->front().id == 1 && named->front().name == "vae" && named->front().stage == "LATER"));
    REQUIRE(store.repair(1, stage::processing));
    CHECK((*store.find(1))->now == stage::processing);
    CHECK(store.unreadable()->empty());
}
