// SPDX-License-Identifier: BSL-1.0
// The durable list of submitted jobs: stages, keys, one write for many submissions, damage, older versions.
#include "serve/job_store.hpp"

#include <csignal>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <sys/wait.h>
#include <unistd.h>

#include "serve/schema.hpp"
#include "stored_jobs.hpp"

namespace {

int synchronisations = 0;

using synchronise = int (*)(int);

int count_and_call(char const* name, int file) {
    ++synchronisations;
    return reinterpret_cast<synchronise>(::dlsym(RTLD_NEXT, name))(file);
}

}  // namespace

// SQLite calls these instead of the C library's.
extern "C" int fsync(int file) { return count_and_call("fsync", file); }
extern "C" int fdatasync(int file) { return count_and_call("fdatasync", file); }

namespace {

using namespace ration;
using namespace ration::program;
namespace fs = std::filesystem;

}  // namespace

TEST_CASE("what was committed is there again, and what was not is gone, after SIGKILL") {
    folder const at;
    static_cast<void>(at.open());
    auto const child = ::fork();
    if (child == 0) {
        auto store = job_store::open(at.file(), 1);
        if (!store || !store->submit(job("kept"), 7) || !store->commit() || !store->submit(job("lost"), 8)) ::_exit(1);
        ::raise(SIGKILL);
    }
    int how = 0;
    REQUIRE(::waitpid(child, &how, 0) == child);
    REQUIRE(WIFSIGNALED(how));
    auto const jobs = at.open().all();
    REQUIRE(jobs);
    REQUIRE(jobs->size() == 1);
    CHECK(jobs->front().what == job("kept"));
    CHECK(jobs->front().submitted_ms == 7);
    CHECK(jobs->front().now == stage::queued);
}

TEST_CASE("pages have all jobs once, and few of those that are large") {
    folder const at;
    auto store = at.open();
    for (int i = 0; i < 150; ++i) static_cast<void>(store.submit(job("a" + std::to_string(i), 1000 + i % 2), 1));
    auto large = job("large");
    large.environment = {"A=" + std::string(900'000, 'x')};
    for (char const* const key : {"b", "c", "d", "e"}) {
        large.key = key;
        REQUIRE(store.submit(large, 1));
    }
    auto const user = GENERATE(std::optional<std::int64_t>(), std::optional<std::int64_t>(1001));
    std::vector<std::int64_t> seen;
    for (std::optional<std::int64_t> after = 0; after;) {
        auto const page = store.page(*after, user);
        REQUIRE(page);
        CHECK(page->jobs.size() < job_list::most_of_page + 8);
        std::size_t bytes = 0;
        for (auto const& one : page->jobs) {
            seen.push_back(one.id);
            for (auto const& entry : one.what.environment) bytes += entry.size();
        }
        CHECK(bytes < 8 * 1'000'000);
        REQUIRE(page->next != after);
        after = page->next;
    }
    std::vector<std::int64_t> wanted;
    for (auto const& one : *store.all())
        if (!user || one.what.uid == *user) wanted.push_back(one.id);
    CHECK(seen == wanted);
    CHECK(seen.size() == (user ? 75 : 154));
}

TEST_CASE("a repeated key of a user is the same job, and another content is refused") {
    folder const at;
    auto store = at.open();
    auto const first = add(store, "a");
    auto const again = store.submit(job("a"), 5);
    REQUIRE(again);
    CHECK(again->job == first);
    CHECK_FALSE(again->is_new);
    auto other = job("a");
    other.priority = 4;
    auto const refused = store.submit(other, 5);
    REQUIRE_FALSE(refused);
    CHECK(refused.failure().code == errc::conflict);
    auto const of_another_user = store.submit(job("a", 1001), 5);
    REQUIRE(of_another_user);
    CHECK(of_another_user->is_new);
    REQUIRE(store.commit());
    CHECK(store.all()->size() == 2);
    CHECK(store.page(0, 1001)->jobs.size() == 1);
}

TEST_CASE("one commit of twenty submissions costs the disk no more than that of one") {
    folder const at;
    auto store = at.open();
    static_cast<void>(add(store, "begins the log"));
    REQUIRE(store.commit());
    int const before = synchronisations;
    static_cast<void>(add(store, "first"));
    REQUIRE(store.commit());
    int const of_one = synchronisations - before;
    CHECK(of_one >= 1);  // durable once commit has returned
    for (int i = 0; i < 20; ++i) static_cast<void>(add(store, "key " + std::to_string(i)));
    CHECK(synchronisations == before + of_one);
    REQUIRE(store.commit());
    CHECK(synchronisations - before - of_one <= of_one);
}

TEST_CASE("stages follow the table, launches are counted and the history has all of it") {
    folder const at;
    auto store = at.open();
    auto const id = add(store, "a");
    auto const refused = store.advance(to(id, stage::processing));
    REQUIRE_FALSE(refused);
    CHECK(refused.failure().code == errc::invalid_value);
    move(store, id, {stage::pending, stage::deploying, stage::processing, stage::storing, stage::processing});
    REQUIRE(store.advance({.job = id,
                           .to = stage::queued,
                           .at_ms = 9,
                           .step = 40,
                           .why = "exit code 3",
                           .end = process_end{.exit_code = 3, .signal = {}},
                           .boot = {}}));
    move(store, id, {stage::pending, stage::deploying, stage::completed});
    REQUIRE(store.commit());
    auto const now = at.open().find(id);
    REQUIRE(now);
    REQUIRE(*now);
    CHECK((*now)->now == stage::completed);
    CHECK((*now)->incarnation == 2);
    auto const history = store.history(id);
    REQUIRE(history);
    REQUIRE(history->size() == 10);
    CHECK((*history)[6].what == stage::queued);
    CHECK((*history)[6].why == "exit code 3");
    CHECK((*history)[6].step == 40);
    CHECK((*history)[6].incarnation == 1);
    CHECK(history->back().incarnation == 2);
    CHECK(*store.boot_of(**now) == "boot");
    CHECK_FALSE(store.advance(to(99, stage::pending)));
}

TEST_CASE("a refused change leaves the earlier ones of its transaction") {
    folder const at;
    auto store = at.open();
    auto const id = add(store, "a");
    auto other = job("a");
    other.name = "cnn";
    CHECK_FALSE(store.submit(other, 2));
    CHECK_FALSE(store.advance(to(id, stage::completed)));
    REQUIRE(store.commit());
    CHECK(at.open().all()->size() == 1);
    CHECK(store.history(id)->size() == 1);
}

TEST_CASE("no stage leads out of an end, and within an incarnation only storing leads back") {
    for (std::size_t from = 0; from < stage_names.size(); ++from)
        for (std::size_t next = 0; next < stage_names.size(); ++next) {
            auto const a = static_cast<stage>(from), b = static_cast<stage>(next);
            INFO(name_of(a) << " to " << name_of(b));
            if (is_final(a)) CHECK_FALSE(may_follow(a, b));
            bool const goes_back = next <= from && b != stage::queued;
            if (goes_back) CHECK(may_follow(a, b) == (a == stage::storing && b == stage::processing));
            if (!is_final(a) && is_final(b)) CHECK(may_follow(a, b) == (b != stage::completed || from > 1));
        }
    CHECK_FALSE(stage_named("").has_value());
    CHECK(stage_named("STORING") == stage::storing);
}

TEST_CASE("a damaged file is refused with its backup intact") {
    folder const at;
    {
        auto store = at.open();
        for (int i = 0; i < 200; ++i) static_cast<void>(add(store, "key " + std::to_string(i)));
        REQUIRE(store.commit());
    }
    static_cast<void>(at.open());  // makes the backup
    std::fstream file(at.file(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(3 * 4096);
    file << std::string(8192, 'x');
    file.close();
    auto const refused = job_store::open(at.file(), 1);
    REQUIRE_FALSE(refused);
    CHECK(refused.failure().code == errc::unverified);
    CHECK(std::string(refused.failure().remedy).find(".backup") != std::string::npos);
    fs::remove(at.file() + "-wal");
    fs::remove(at.file() + "-shm");
    fs::rename(at.file() + ".backup", at.file());
    CHECK(at.open().all()->size() == 200);
}

TEST_CASE("a file of another format, and tables of a newer ration, are refused") {
    folder const at;
    std::ofstream(at.file()) << std::string(5000, 'x');
    auto const text = job_store::open(at.file(), 1);
    REQUIRE_FALSE(text);
    CHECK(text.failure().code == errc::unverified);
    fs::remove(at.file());
    static_cast<void>(at.open());
    auto file = database::open(at.file(), database::access::write);
    REQUIRE(file);
    REQUIRE(file->execute("PRAGMA user_version = 99"));
    auto const newer = job_store::open(at.file(), 1);
    REQUIRE_FALSE(newer);
    CHECK(newer.failure().code == errc::not_supported);
    CHECK_FALSE(job_list::open(at.file()));
}

TEST_CASE("tables of version 1 are brought up to date, with their jobs and the time of the step") {
    folder const at;
    {
        auto store = at.open();
        static_cast<void>(add(store, "a"));
        REQUIRE(store.commit());
        auto file = database::open(at.file(), database::access::write);
        REQUIRE(file);
        REQUIRE(file->execute("DROP TABLE settings; DROP TABLE unhandled_ends"));
        for (auto const* const column : {"cancelled", "retries", "not_before_ms", "time_limit_ms", "after", "paused",
                                         "uncounted", "rest_ms", "umask", "command"})
            REQUIRE(file->execute(std::string("ALTER TABLE submissions DROP COLUMN ") + column));
        REQUIRE(file->execute("DELETE FROM migrations WHERE version > 1; PRAGMA user_version = 1"));
    }
    CHECK(job_list::open(at.file()).failure().code == errc::not_supported);
    auto store = job_store::open(at.file(), 77);
    REQUIRE(store);
    auto const jobs = store->all();
    REQUIRE(jobs);
    REQUIRE(jobs->size() == 1);
    CHECK(jobs->front().what.environment == job("a").environment);
    CHECK(jobs->front().what.retries == 0);
    CHECK_FALSE(jobs->front().cancelled);
    REQUIRE(store->note(jobs->front().id, wish::cancelled));
    REQUIRE(store->commit());
    CHECK(store->all()->front().cancelled);
    CHECK(store->note(99, wish::cancelled).failure().code == errc::not_found);
    auto file = database::open(at.file(), database::access::read);
    REQUIRE(file);
    auto const steps = file->query("SELECT version, at_ms FROM migrations ORDER BY version");
    REQUIRE(steps);
    REQUIRE(steps->size() == 5);
    CHECK(number_in(steps->front()[1]) == 1);
    CHECK(number_in(steps->back()[1]) == 77);
}

TEST_CASE("pauses and settings of the service are kept, and a paused launch is not counted") {
    folder const at;
    {
        auto store = at.open();
        auto const id = add(store, "a");
        REQUIRE(store.note(id, wish::paused));
        REQUIRE(store.advance(to(id, stage::pending)));
        REQUIRE(store.advance(to(id, stage::deploying)));
        auto change = to(id, stage::queued);
        change.uncounted = true;
        REQUIRE(store.advance(change));
        REQUIRE(store.keep("drain", "true"));
        REQUIRE(store.keep("policy", "las"));
        REQUIRE(store.keep("policy", "fifo"));
        REQUIRE(store.keep("lost", "value"));
        REQUIRE(store.keep("lost", ""));
        REQUIRE(store.commit());
    }
    auto store = at.open();
    auto const job = store.find(1);
    REQUIRE((job && *job));
    CHECK((*job)->paused);
    CHECK_FALSE((*job)->cancelled);
    CHECK((*job)->incarnation == 1);
    CHECK((*job)->uncounted == 1);
    CHECK(*store.setting("drain") == "true");
    CHECK(*store.setting("policy") == "fifo");
    CHECK_FALSE(*store.setting("lost"));
    REQUIRE(store.note(1, wish::paused, false));
    CHECK_FALSE((*store.find(1))->paused);
    CHECK(store.note(99, wish::paused).failure().code == errc::not_found);
}

/// For `take_ended`.
bool any(std::int64_t) { return true; }
[[nodiscard]] auto one() {
    return [left = 1](std::int64_t) mutable { return left-- > 0; };
}

TEST_CASE("an end is taken once, also over a restart, and again if the commit of that is lost") {
    folder const at;
    {
        auto store = at.open();
        for (auto const* const key : {"a", "b", "c"}) static_cast<void>(add(store, key));
        REQUIRE(store.advance(to(1, stage::halted)));
        REQUIRE(store.advance(to(3, stage::failed)));
        REQUIRE(store.commit());
        REQUIRE(store.take_ended(any)->size() == 2);
        store.roll_back();
        REQUIRE(store.take_ended(one())->size() == 1);
        REQUIRE(store.take_ended(one())->front().id == 3);
        CHECK(store.take_ended(one())->empty());
        store.roll_back();
    }
    auto store = at.open();
    auto const ended = store.take_ended(any);
    REQUIRE(ended);
    REQUIRE(ended->size() == 2);
    CHECK((ended->front().id == 1 && ended->front().now == stage::halted));
    CHECK((ended->back().id == 3 && ended->back().now == stage::failed));
    REQUIRE(store.commit());
    CHECK(store.take_ended(any)->empty());
    CHECK(at.open().take_ended(any)->empty());
}

TEST_CASE("the ends of a user without room, however many, delay those of others by a few calls") {
    folder const at;
    auto store = at.open();
    constexpr std::int64_t many = 3 * job_store::most_ends, other = 77;
    for (std::int64_t i = 0; i < many; ++i) static_cast<void>(add(store, std::to_string(i)));
    REQUIRE(store.submit(job("last", other), 1));
    for (std::int64_t id = 1; id <= many + 1; ++id) REQUIRE(store.advance(to(id, stage::halted)));
    std::size_t calls = 0, taken = 0;
    for (; taken == 0 && calls < 9; ++calls) {
        auto const found = store.take_ended([&](std::int64_t uid) { return uid == other; });
        REQUIRE(found);
        taken += found->size();
    }
    CHECK(taken == 1);
    CHECK(calls == 4);
}

TEST_CASE("a repeated key is the same job in another environment, whose own is kept") {
    folder const at;
    auto store = at.open();
    auto one = job("a");
    REQUIRE(store.submit(one, 1));
    auto const before = one.environment;
    one.environment = {"PATH=/elsewhere"};
    auto const again = store.submit(one, 2);
    REQUIRE(again);
    CHECK_FALSE(again->is_new);
    CHECK((*store.find(again->job))->what.environment == before);
}

TEST_CASE("a link in the place of the file is not followed") {
    folder const at;
    fs::create_symlink(at.path + "/elsewhere", at.file());
    CHECK(job_store::open(at.file(), 1).failure().code == errc::denied);
    CHECK_FALSE(fs::exists(at.path + "/elsewhere"));
}

TEST_CASE("a reader sees what another process has committed, and no file is none") {
    folder const at;
    CHECK(job_list::open(at.file()).failure().code == errc::not_found);
    auto store = at.open();
    auto reader = job_list::open(at.file());
    REQUIRE(reader);
    static_cast<void>(add(store, "a"));
    CHECK(reader->all()->empty());
    REQUIRE(store.commit());
    CHECK(reader->all()->size() == 1);
    for (auto const& one : fs::directory_iterator(at.path))
        CHECK((one.status().permissions() & fs::perms::mask) == fs::perms(0600));
}
