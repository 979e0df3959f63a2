// SPDX-License-Identifier: BSL-1.0
// A worker belongs to the process that bound it: it outlives the thread, forked children leave it alone, and it ends
// with its host.
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "loaded.hpp"

using namespace plugin_test;

namespace {

[[nodiscard]] plugin::worker_policy& worker_of(loaded& l) {
    return static_cast<plugin::worker_policy&>(l.policy->policy());
}

/// Runs `action` in a forked child, and returns its exit code.
[[nodiscard]] int in_child(std::function<int()> const& action) {
    pid_t const child = ::fork();
    if (child == 0) ::_exit(action());
    int how = 0;
    REQUIRE(::waitpid(child, &how, 0) == child);
    return WIFEXITED(how) ? WEXITSTATUS(how) : -1;
}

/// Whether the process runs: a killed one may still wait to be reaped.
[[nodiscard]] bool runs(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string text((std::istreambuf_iterator<char>(file)), {});
    auto const at = text.rfind(") ");
    return at != text.npos && text[at + 2] != 'Z' && text[at + 2] != 'X';
}

[[nodiscard]] bool ends_soon(pid_t pid) {
    for (int i = 0; i < 1000 && runs(pid); ++i) ::usleep(10'000);
    return !runs(pid);
}

}  // namespace

TEST_CASE("worker: it outlives the thread that bound it", "[plugin][lifetime]") {
    std::unique_ptr<loaded> counter;
    std::thread([&] { counter = std::make_unique<loaded>("counter", options(isolation::worker)); }).join();
    auto const pid = worker_of(*counter).pid();
    ::usleep(50'000);
    REQUIRE(counter->tick() == status::ok);
    CHECK(counter->amount() == 1);
    CHECK(worker_of(*counter).pid() == pid);
}

TEST_CASE("worker: a forked child that ends leaves it alone", "[plugin][lifetime]") {
    auto counter = std::make_unique<loaded>("counter", options(isolation::worker));
    REQUIRE(counter->tick() == status::ok);
    auto const pid = worker_of(*counter).pid();
    CHECK(in_child([&] {
              counter.reset();
              return 7;
          }) == 7);
    CHECK(runs(pid));
    REQUIRE(counter->tick() == status::ok);
    CHECK(counter->amount() == 2);
    CHECK(worker_of(*counter).pid() == pid);
}

TEST_CASE("worker: a forked child cannot ask it, and gets its own by bind", "[plugin][lifetime]") {
    loaded counter("counter", options(isolation::worker));
    for (int i = 1; i <= 3; ++i) REQUIRE(counter.tick() == status::ok);
    auto const pid = worker_of(counter).pid();
    CHECK(in_child([&] {
              if (counter.tick() != status::internal) return 1;
              if (worker_of(counter).last_fault().what != "belongs to the parent of this process: bind it again")
                  return 2;
              if (!counter.policy->bind(counter.on.store.schema(), {.jobs = 3, .nodes = 1})) return 3;
              if (worker_of(counter).pid() == pid) return 4;
              return counter.tick() == status::ok && counter.policy->strikes() == 0 ? 0 : 5;
          }) == 0);
    REQUIRE(counter.tick() == status::ok);
    CHECK(counter.amount() == 4);
    CHECK(worker_of(counter).pid() == pid);
}

TEST_CASE("worker: its crash is found where SIGCHLD is ignored", "[plugin][lifetime]") {
    auto const before = ::signal(SIGCHLD, SIG_IGN);
    {
        loaded counter("counter", options(isolation::worker));
        REQUIRE(counter.tick() == status::ok);
        ::kill(worker_of(counter).pid(), SIGSEGV);
        CHECK(counter.tick() == status::internal);
        CHECK(counter.fault() == "its worker has ended, and another thread of this process took its exit code");
        CHECK(counter.ticks_until_ok() > 0);
    }
    ::signal(SIGCHLD, before);
}

TEST_CASE("worker: it works beside a thread that reaps every child", "[plugin][lifetime]") {
    std::atomic<bool> stop{false};
    std::thread reaper([&] {
        while (!stop)
            if (::waitpid(-1, nullptr, WNOHANG) <= 0) ::usleep(1000);
    });
    {
        loaded counter("counter", options(isolation::worker));
        REQUIRE(counter.tick() == status::ok);
        ::kill(worker_of(counter).pid(), SIGKILL);
        CHECK(counter.tick() == status::internal);
        CHECK(counter.ticks_until_ok() > 0);
    }
    stop = true;
    reaper.join();
}

TEST_CASE("worker: it starts later if the machine cannot start it now, and the host allows that",
          "[plugin][lifetime]") {
    bool const later = GENERATE(false, true);
    auto const link = std::filesystem::temp_directory_path() / ("ration-worker-" + std::to_string(::getpid()));
    auto with = options(isolation::worker);
    with.worker.program.path = link;
    with.worker.may_start_later = later;
    std::filesystem::create_symlink(RATION_TEST_WORKER, link);
    auto opened = opened_file("counter", with);
    std::filesystem::remove(link);
    if (!later) {
        unit::host on{3};
        auto const bound = opened->bind(on.store.schema(), {.jobs = 3, .nodes = 1});
        REQUIRE_FALSE(bound);
        CHECK(bound.failure().code == errc::io);
        return;
    }
    loaded counter(std::move(opened));
    CHECK(counter.tick() == status::internal);
    CHECK(worker_of(counter).last_fault().what == "is not there yet: its worker cannot start");
    CHECK(counter.policy->strikes() == 0);
    std::filesystem::create_symlink(RATION_TEST_WORKER, link);
    REQUIRE(counter.ticks_until_ok() > 0);
    CHECK(counter.amount() == 1);
    std::filesystem::remove(link);
}

TEST_CASE("worker: it ends with a host that is killed, while it waits and while it hangs", "[plugin][lifetime]") {
    std::string const action = GENERATE("", "hang@2", "cut loose@2");  // closes all files, then hangs
    bool const hangs = !action.empty();
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    pid_t const host = ::fork();
    if (host == 0) {
        auto with = options(isolation::worker, action);
        with.worker.deadline = seconds(60);
        loaded policy(hangs ? "mischief" : "counter", with);
        static_cast<void>(policy.tick());
        pid_t const worker = worker_of(policy).pid();
        if (::write(ends[1], &worker, sizeof worker) != sizeof worker) ::_exit(1);
        if (hangs) static_cast<void>(policy.tick());
        ::pause();
    }
    pid_t worker = 0;
    REQUIRE(::read(ends[0], &worker, sizeof worker) == sizeof worker);
    REQUIRE(runs(worker));
    if (hangs) ::usleep(100'000);
    ::kill(host, SIGKILL);
    REQUIRE(::waitpid(host, nullptr, 0) == host);
    CHECK(ends_soon(worker));
    ::close(ends[0]);
    ::close(ends[1]);
}

TEST_CASE("worker: it ends with its host although a child of that one lives", "[plugin][lifetime]") {
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    pid_t const host = ::fork();
    if (host == 0) {
        loaded policy("counter", options(isolation::worker));
        static_cast<void>(policy.tick());
        pid_t pids[2] = {worker_of(policy).pid(), ::fork()};  // a daemon that its parent leaves
        if (pids[1] == 0) {
            ::pause();
            ::_exit(0);
        }
        ::_exit(::write(ends[1], pids, sizeof pids) == sizeof pids ? 0 : 1);
    }
    pid_t pids[2] = {};
    REQUIRE(::read(ends[0], pids, sizeof pids) == sizeof pids);
    REQUIRE(::waitpid(host, nullptr, 0) == host);
    CHECK(ends_soon(pids[0]));
    CHECK(runs(pids[1]));
    ::kill(pids[1], SIGKILL);
    ::close(ends[0]);
    ::close(ends[1]);
}
