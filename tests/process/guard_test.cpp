// SPDX-License-Identifier: BSL-1.0
#include <csignal>
#include <optional>

#include <ration/process/backend.hpp>

#include "support.hpp"

using namespace process_test;

namespace {

/// A controller that stops its job, writes the job's pid and its guard's, and waits to be killed.
[[noreturn]] void control(folder const& here) {
    auto backend = process::backend::open();
    auto place = [&](pid_t pid) { return backend->add({1}, {.pid = pid}); };
    process::launch_spec spec = shell("setsid sh -c 'echo $$ > " + here / "own" +
                                      "; exec sleep 30' & sleep 30 & echo $! > " + here / "child" + "; wait");
    spec.output_file = "/dev/null";
    spec.place = place;
    auto job = process::launch(spec);
    if (!job || !eventually([&] {
            return content_of(here / "own").ends_with('\n') && content_of(here / "child").ends_with('\n');
        }) ||
        !backend->freeze({1})) {
        ::_exit(1);
    }
    static_cast<void>(here.write("root", std::to_string(job->pid()) + '\n'));
    ::pause();
    ::_exit(1);
}

}  // namespace

TEST_CASE("a controller that is killed leaves no job stopped, in whatever group its processes are") {
    folder const here;
    REQUIRE(process::become_subreaper());  // so that we can clean up after it
    pid_t const controller = ::fork();
    if (controller == 0) control(here);
    pid_t const root = pid_in(here / "root"), child = pid_in(here / "child"), own = pid_in(here / "own");
    for (pid_t const pid : {root, child, own}) CHECK(state_of(pid) == 'T');
    ::kill(controller, SIGKILL);
    ::waitpid(controller, nullptr, 0);
    for (pid_t const pid : {root, child, own}) CHECK(eventually([&] { return state_of(pid) == 'S'; }));
    for (pid_t const pid : {child, own, root}) {
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
    }
    // The guard ended by itself: no child is left
    CHECK(eventually([] { return ::waitpid(-1, nullptr, WNOHANG) < 0; }));
}

TEST_CASE("a backend whose guard was killed continues its jobs itself") {
    auto opened = process::backend::open();
    REQUIRE(opened);
    std::optional<process::backend> backend = std::move(opened).value();
    auto job = start(shell("exec sleep 30"));
    REQUIRE(backend->add({1}, {.pid = job.pid()}));
    REQUIRE(backend->freeze({1}));
    pid_t guard = 0;
    REQUIRE(eventually([&guard] {  // it names itself a little after it was made
        process::process_table table;
        static_cast<void>(table.scan());
        for (auto const& row : table.rows()) {
            bool const found = row.parent == ::getpid() &&
                               content_of("/proc/" + std::to_string(row.pid) + "/comm") == "ration-guard\n";
            guard = found ? row.pid : guard;
        }
        return guard != 0;
    }));
    ::kill(guard, SIGKILL);
    REQUIRE(eventually([guard] { return dead(guard); }));
    CHECK(state_of(job.pid()) == 'T');
    backend.reset();
    CHECK(eventually([&] { return state_of(job.pid()) == 'S'; }));
}

TEST_CASE("the guard does not react to the terminal's signals, and ends with its maker's handle") {
    pid_t pid = 0;
    {
        auto keeper = process::guard::start();
        REQUIRE(keeper);
        pid = keeper->pid();
        REQUIRE(eventually([&] { return ::getsid(pid) == pid; }));
        for (int const number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::kill(pid, number);
        ::usleep(20'000);
        CHECK_FALSE(dead(pid));
    }
    CHECK(state_of(pid) == '-');
}

TEST_CASE("the guard holds none of our files open") {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    auto keeper = process::guard::start();
    REQUIRE(keeper);
    ::close(ends[1]);
    pollfd wanted{.fd = ends[0], .events = POLLIN, .revents = 0};
    CHECK(::poll(&wanted, 1, 5000) == 1);  // end of file: no other process can write
    ::close(ends[0]);
}

TEST_CASE("what the guard remembers") {
    process::detail::guard_list list;
    auto job = start(shell("exec sleep 30"));
    auto const stop = [&] {
        REQUIRE(job.signal(SIGSTOP));
        REQUIRE(eventually([&] { return state_of(job.pid()) == 'T'; }));
    };
    auto const stays = [&] {
        ::usleep(10'000);
        return state_of(job.pid()) == 'T';
    };
    stop();
    list.handle({.target = job.pid(), .start_time = job.start_time() + 1, .watch = true});  // a number's earlier bearer
    list.continue_all();
    CHECK(stays());
    list.handle({.target = -job.pid(), .start_time = 0, .watch = true});
    list.handle({.target = -job.pid(), .start_time = 0, .watch = true});
    list.handle({.target = -job.pid(), .start_time = 0, .watch = false});  // once is enough
    list.continue_all();
    CHECK(stays());
    list.handle({.target = job.pid(), .start_time = job.start_time(), .watch = true});
    list.continue_all();
    CHECK(eventually([&] { return state_of(job.pid()) == 'S'; }));
    REQUIRE(job.signal(SIGKILL));
    finish(job);
}
