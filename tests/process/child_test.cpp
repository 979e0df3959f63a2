// SPDX-License-Identifier: BSL-1.0
#include <csignal>

#include "support.hpp"

using namespace process_test;

TEST_CASE("a process that a signal ended says which") {
    auto job = start(shell("kill -TERM $$; sleep 10"));
    auto const report = finish(job);
    CHECK(report.how == process::exit_report::kind::killed);
    CHECK(report.number == SIGTERM);
    CHECK_FALSE(report.core_dumped);
    CHECK_FALSE(report.success());
}

TEST_CASE("the CPU time of an ended process counts the children it waited for") {
    auto job = start(shell(
        "i=0; while [ $i -lt 1000 ]; do i=$((i+1)); done; /bin/sh -c 'i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done'"));
    auto const own = finish(job).cpu_time;
    auto alone = start(shell("i=0; while [ $i -lt 1000 ]; do i=$((i+1)); done"));
    CHECK(own.count > 2 * finish(alone).cpu_time.count);
}

TEST_CASE("waiting does not block, and ends at its limit") {
    auto job = start(shell("exec sleep 30"));
    CHECK_FALSE(job.try_wait());
    nanoseconds const begin = process::now();
    CHECK_FALSE(job.wait_for(milliseconds(20)));
    CHECK(process::now() - begin >= milliseconds(20));
    CHECK_FALSE(job.ended());
    REQUIRE(job.signal(SIGKILL));
    CHECK(finish(job).number == SIGKILL);
    CHECK(job.ended());
}

TEST_CASE("after its end, no signal is sent anywhere") {
    auto job = start(shell("exit 0"));
    finish(job);
    auto const sent = job.signal(SIGTERM);
    REQUIRE_FALSE(sent);
    CHECK(sent.failure().code == errc::gone);
    auto const group = job.signal_group(SIGTERM);
    REQUIRE_FALSE(group);
    CHECK(group.failure().code == errc::gone);
    CHECK_FALSE(process::child{}.signal(SIGTERM));
}

TEST_CASE("a signal to the group reaches grandchildren") {
    folder const here;
    auto job = start(shell("/bin/sh -c 'echo $$ > " + here / "pid" + "; exec sleep 30' & wait"));
    pid_t const grandchild = pid_in(here / "pid");
    REQUIRE(job.signal_group(SIGKILL));
    CHECK(finish(job).number == SIGKILL);
    CHECK(eventually([&] { return dead(grandchild); }));
}

TEST_CASE("a destroyed handle neither kills nor leaks") {
    std::size_t const before = open_descriptors();
    pid_t pid = 0;
    {
        auto const job = process::launch(shell("exec sleep 30"));
        REQUIRE(job);
        pid = job->pid();
        CHECK(open_descriptors() > before);
    }
    CHECK(open_descriptors() == before);
    CHECK_FALSE(dead(pid));
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
}

TEST_CASE("a moved handle is the same job") {
    auto job = start(shell("exit 4"));
    pid_t const pid = job.pid();
    test_job moved = std::move(job);
    CHECK(moved.pid() == pid);
    CHECK(finish(moved).number == 4);
    CHECK_FALSE(job.try_wait());  // empty now, and harmless
    CHECK_FALSE(job.signal(SIGKILL));
}

TEST_CASE("attach takes hold of somebody else's child and learns of its end, not how") {
    folder const here;
    // The middle process ends, so that the sleeper is not a child that this process could wait for.
    auto middle = start(shell("setsid sleep 30 & echo $! > " + here / "pid"));
    pid_t const pid = pid_in(here / "pid");
    finish(middle);
    auto const row = process::read_process(pid);
    REQUIRE(row);
    auto held = process::attach(pid, row->start_time);
    REQUIRE(held);
    CHECK_FALSE(held->try_wait());
    CHECK(held->start_time() == row->start_time);
    REQUIRE(held->signal(SIGKILL));
    CHECK(finish(*held).how == process::exit_report::kind::unknown);
}

TEST_CASE("attach refuses a number that belongs to another process by now") {
    auto job = start(shell("exec sleep 30"));
    auto const reused = process::attach(job.pid(), job.start_time() - 1);
    REQUIRE_FALSE(reused);
    CHECK(reused.failure().code == errc::gone);
    CHECK(process::attach(job.pid(), job.start_time()));
    REQUIRE(job.signal(SIGKILL));
    REQUIRE(eventually([&] { return state_of(job.pid()) == 'Z'; }));
    auto const zombie = process::attach(job.pid(), job.start_time());  // ended, although its number is still taken
    REQUIRE_FALSE(zombie);
    CHECK(zombie.failure().code == errc::gone);
    finish(job);
    auto const reaped = process::attach(job.pid(), job.start_time());
    REQUIRE_FALSE(reaped);
    CHECK(reaped.failure().code == errc::gone);
    for (pid_t const wrong : {0, -1, -42}) {
        auto const refused = process::attach(wrong, 1);
        REQUIRE_FALSE(refused);
        CHECK(refused.failure().code == errc::invalid_value);
    }
}

TEST_CASE("an attached process that leads no group is signalled alone") {
    folder const here;
    auto job = start(shell("sleep 30 & echo $! > " + here / "pid" + "; exec sleep 30"));
    pid_t const member = pid_in(here / "pid");
    auto const row = process::read_process(member);
    REQUIRE(row);
    auto held = process::attach(member, row->start_time);
    REQUIRE(held);
    REQUIRE(held->signal_group(SIGKILL));
    CHECK(eventually([&] { return dead(member); }));
    CHECK_FALSE(dead(job.pid()));
    REQUIRE(job.signal_group(SIGKILL));
    finish(job);
}
