// SPDX-License-Identifier: BSL-1.0
// Random sequences of submissions, ends, pauses, retries and crashes of the service against a model. A life of the
// service is a process that ends at one of its writes to the disk, or between two steps.
#include <cstdlib>
#include <ctime>
#include <dlfcn.h>
#include <string_view>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "serve/model/life.hpp"
#include "support/catch.hpp"
#include "temporary_folder.hpp"

namespace {

int writes_left = -1;  // until the crash; negative: none
bool crash_before = false;

/// Of SQLite, which calls it once or more for each commit.
int synchronise(char const* name, int file) {
    bool const last = writes_left >= 0 && writes_left-- == 0;
    if (last && crash_before) ::_exit(model::crashed);
    int const status = reinterpret_cast<int (*)(int)>(::dlsym(RTLD_NEXT, name))(file);
    if (last) ::_exit(model::crashed);
    return status;
}

}  // namespace

extern "C" int fsync(int file) { return synchronise("fsync", file); }
extern "C" int fdatasync(int file) { return synchronise("fdatasync", file); }

// The rests between two launches take no time.
extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
    auto const status = static_cast<int>(::syscall(SYS_clock_gettime, clock, now));
    if (clock == CLOCK_REALTIME) now->tv_sec += model::world::shared().clock_ms / 1000;
    return status;
}

namespace {

using namespace model;

/// In memory, if the machine has such a folder.
struct state_folder {
    std::string path = ::access("/dev/shm", W_OK) == 0 ? "/dev/shm/ration-model-XXXXXX" : "/tmp/ration-model-XXXXXX";
    state_folder() {
        REQUIRE(::mkdtemp(path.data()) != nullptr);
        for (auto const* const name : {"/jobs", "/ends"}) std::filesystem::create_directory(path + name);
    }
    state_folder(state_folder const&) = delete;
    state_folder& operator=(state_folder const&) = delete;
    ~state_folder() { std::filesystem::remove_all(path); }
};

[[nodiscard]] bool all_have_ended(service_folder const& folder) {
    auto store = job_list::open(folder.database());
    require(static_cast<bool>(store), "the list cannot be read");
    auto const jobs = value_of(store->all(), "read all jobs");
    auto const acknowledged = std::ranges::count_if(world::shared().jobs, [](job const& one) { return one.id > 0; });
    return acknowledged == most_jobs &&
           std::ranges::all_of(jobs, [](stored_job const& one) { return is_final(one.now); });
}

[[noreturn]] void live(service_folder const& folder, unsigned seed, bool calm) {
    std::mt19937 rng(seed);
    crash_before = rng() % 2 == 0;
    writes_left = calm ? -1 : static_cast<int>(rng() % 60);
    life service(folder, rng(), calm);
    for (int i = 0; i < (calm ? 300 : 25); ++i) {
        service.turn();
        if (calm && all_have_ended(folder)) ::_exit(ended);
    }
    require(!calm, "a job has not ended after 300 turns");
    ::_exit(crashed);
}

/// Runs a life in a separate process.
[[nodiscard]] int exit_code_of_life(service_folder const& folder, unsigned seed, bool calm) {
    auto const child = ::fork();
    if (child == 0) live(folder, seed, calm);
    int how = 0;
    REQUIRE(::waitpid(child, &how, 0) == child);
    if (!WIFEXITED(how) || WEXITSTATUS(how) == faulty) FAIL("a life ended badly: " << world::shared().fault.data());
    return WEXITSTATUS(how);
}

/// All processes end, and the record of this boot, a file in memory, is gone.
void restart_machine(service_folder const& folder) {
    auto file = database::open(folder.database(), database::access::write);
    REQUIRE(file);
    static_cast<void>(file->execute("UPDATE incarnations SET boot = 'earlier'"));  // there may be no tables yet
    world::shared().has_record = false;
    for (auto& one : world::shared().jobs) {
        one.lost_end = true;  // of one that was launched, as far as the service can find out
        one.alive = one.in_record = false;
    }
}

void check_history(std::vector<past_stage> const& history) {
    REQUIRE_FALSE(history.empty());
    CHECK(history.front().what == stage::queued);
    std::int64_t incarnation = 0;
    for (std::size_t i = 1; i < history.size(); ++i) {
        auto const before = history[i - 1].what, now = history[i].what;
        CAPTURE(i, name_of(before), name_of(now));
        CHECK_FALSE(is_final(before));
        CHECK(before != now);
        if (now == stage::pending) CHECK(before == stage::queued);
        if (now == stage::deploying) CHECK(before == stage::pending);
        if (now == stage::downloading) CHECK(before == stage::deploying);
        if (now == stage::completed) CHECK(may_have_process(before));
        incarnation += now == stage::deploying ? 1 : 0;
        CHECK(history[i].incarnation == incarnation);
    }
    CHECK(is_final(history.back().what));
}

void check_end(job const& seen, stored_job const& stored, job_store& store) {
    CAPTURE(name_of(stored.now), stored.why, seen.failures, seen.retries, seen.launches, seen.lost_end);
    CHECK_FALSE(seen.alive);
    CHECK(seen.hooks <= 1);
    CHECK(stored.incarnation >= seen.launches);
    if (stored.now == stage::halted) CHECK(seen.cancel_sent);
    if (seen.ended_well && !seen.cancel_sent) CHECK(stored.now == stage::completed);
    if (stored.now == stage::completed && !seen.pause_sent) CHECK((seen.ended_well || seen.cancel_sent));
    if (stored.now != stage::failed || seen.disturbed() || seen.lost_end) return;
    if (seen.launches > 0) CHECK(seen.failures == seen.retries + 1);
    if (seen.launches > 0) return;
    REQUIRE(seen.after >= 0);
    auto const before = store.find(world::shared().jobs[static_cast<std::size_t>(seen.after)].id);
    REQUIRE((before && *before));
    CHECK((*before)->now != stage::completed);
}

void check_all(service_folder const& folder) {
    auto store = job_store::open(folder.database(), 1);
    REQUIRE(store);
    CHECK(store->all()->size() == most_jobs);
    for (auto const& seen : world::shared().jobs) {
        auto const found = store->find(seen.id);
        REQUIRE((found && *found));
        CHECK((*found)->what.key == name_of(world::shared().number_of(seen)));
        check_end(seen, **found, *store);
        check_history(*store->history(seen.id));
    }
}

[[nodiscard]] unsigned number_from(char const* variable, unsigned otherwise) {
    char const* const text = std::getenv(variable);
    return text == nullptr ? otherwise : static_cast<unsigned>(std::atoi(text));
}

}  // namespace

TEST_CASE("no job is lost, launched twice or moved to a wrong stage, wherever the service crashes") {
    auto const first = number_from("RATION_MODEL_SEED", 1), sequences = number_from("RATION_MODEL_SEQUENCES", 100);
    for (auto seed = first; seed < first + sequences; ++seed) {
        INFO("RATION_MODEL_SEED=" << seed << " RATION_MODEL_SEQUENCES=1");
        world::shared() = {};
        state_folder const at;
        service_folder const folder{at.path};
        std::mt19937 rng(seed);
        for (auto lives = 1 + rng() % 5; lives > 0; --lives) {
            REQUIRE(exit_code_of_life(folder, rng(), false) == crashed);
            age(rng, folder);
            if (rng() % 8 == 0) restart_machine(folder);
        }
        REQUIRE(exit_code_of_life(folder, rng(), true) == ended);
        check_all(folder);
    }
}
