// SPDX-License-Identifier: BSL-1.0
// A controller is killed with SIGKILL, at every point of its life. The next start finds what it left, and can take it
// all away.
#include <algorithm>
#include <cstdio>
#include <sys/prctl.h>
#include <vector>

#include <ration/cgroup/orphans.hpp>

#include "machine.hpp"
#include "support/catch.hpp"
#include "support/cgroup/fault_injector.hpp"

using namespace cgroup_test;

namespace {

// A job that outlives its controller. Its number goes through the pipe, so that the test can watch it.
[[nodiscard]] int start_job(int report) {
    int const pid = ::fork();
    if (pid == 0)
        for (;;) ::pause();
    static_cast<void>(!::write(report, &pid, sizeof pid));
    return pid;
}

// What a controller does from start to end. Kills itself before call `at`.
[[noreturn]] void controller_life(std::string const& name, std::size_t at, int report) {
    kernel_io kernel;
    fault_injector calls(kernel);
    calls.arm({.at = at, .happening = [] { ::kill(::getpid(), SIGKILL); }});
    {
        auto groups = backend::open(calls, {.name = name, .cpus = {}});
        for (std::uint64_t id : {1, 2})
            if (!groups || !groups->add({id}, "job" + std::to_string(id)) || !groups->place({id}, start_job(report)))
                ::_exit(1);
        for (std::int64_t const amount : {300, 0, 700}) {
            ration::plan<operation> ops;
            static_cast<void>(
                groups->plan({.job = {1}, .node = 0, .resource = resource_id::cpu, .amount = amount}, ops));
            for (operation const& op : ops) static_cast<void>(groups->apply(op));
        }
        static_cast<void>(groups->freeze({2}));
        static_cast<void>(groups->remove({1}));
    }
    ::_exit(0);
}

struct outcome {
    bool killed = false;
    std::size_t orphans = 0;
    std::vector<int> members;  // of the orphans, before they were cleaned
};

[[nodiscard]] std::vector<std::string> ours(io& calls, std::string const& name) {
    std::vector<std::string> found;
    auto const where = tree::discover(calls);
    REQUIRE(where);
    for (branch const& each : where->branches()) {
        auto const groups = each.own.list();
        REQUIRE(groups);
        for (std::string const& group : *groups) {
            auto const run = parse_run_name(group);
            if (run && (run->name == name || run->name == "probe")) found.push_back(each.own.path() + "/" + group);
        }
    }
    return found;
}

// What was in a group has ended with it. Only a job that was started in the last moment may be in none yet, and live.
void require_jobs_ended(io& calls, int report, outcome const& seen) {
    int job = 0, living = 0;
    while (::read(report, &job, sizeof job) == sizeof job) {
        bool const was_inside = !seen.killed || std::ranges::find(seen.members, job) != seen.members.end();
        auto const has_ended = [job] { return ::waitpid(job, nullptr, WNOHANG) == job; };
        if (was_inside ? soon(calls, has_ended) : has_ended())  // outside: its controller had removed it
            continue;
        CHECK_FALSE(was_inside);
        ++living;
        ::kill(job, SIGKILL);
        CHECK(::waitpid(job, nullptr, 0) == job);
    }
    CHECK(living <= (seen.orphans > 0 ? 1 : 0));
}

[[nodiscard]] outcome live_and_die(std::string const& name, std::size_t at) {
    kernel_io calls;
    int report[2];
    REQUIRE(::pipe2(report, O_CLOEXEC) == 0);
    int const controller = ::fork();
    if (controller == 0) controller_life(name, at, report[1]);
    ::close(report[1]);
    siginfo_t info{};
    // Dead, and still a zombie
    REQUIRE(::waitid(P_PID, static_cast<id_t>(controller), &info, WEXITED | WNOWAIT) == 0);
    outcome seen{.killed = info.si_code == CLD_KILLED, .orphans = 0, .members = {}};
    auto const where = tree::discover(calls);
    REQUIRE(where);
    auto const orphans = find_orphans(calls, *where);
    REQUIRE(orphans);
    for (orphan const& each : *orphans) {
        if (each.run.who.pid == controller) {
            ++seen.orphans;
            seen.members.insert(seen.members.end(), each.pids.begin(), each.pids.end());
            CHECK(clean(*where, each));
        }
    }
    CHECK(ours(calls, name) == std::vector<std::string>{});
    CHECK(::waitpid(controller, nullptr, 0) == controller);
    require_jobs_ended(calls, report[0], seen);
    ::close(report[0]);
    return seen;
}

}  // namespace

TEST_CASE("killed at any call, a run leaves only what the next start finds and cleans") {
    static_cast<void>(machines());  // prints the reason and exits where no cgroups can be used
    // Jobs of the dead are ours: init may take seconds to notice their end
    REQUIRE(::prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
    std::string const name = run_name_here();
    std::size_t killed = 0, with_orphans = 0;
    for (std::size_t at = 0;; at += 7) {
        INFO("killed before call " << at);
        outcome const seen = live_and_die(name, at);
        if (!seen.killed) {
            CHECK(seen.orphans == 0);  // it came to its end and removed everything itself
            break;
        }
        ++killed;
        with_orphans += seen.orphans > 0 ? 1 : 0;
    }
    std::printf("killed %zu times, %zu times there was something to clean\n", killed, with_orphans);
    CHECK(killed > 10);
    CHECK(with_orphans > 5);
}
