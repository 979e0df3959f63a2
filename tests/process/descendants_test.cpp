// SPDX-License-Identifier: BSL-1.0
// Jobs that are followed without a look at all processes of the machine: by the children that the kernel lists.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <linux/sched.h>
#include <sys/syscall.h>
#include <thread>

#include <ration/process/tree.hpp>

#include "backend_support.hpp"

using namespace process_test;

namespace {

/// A job whose table has only its known processes, this one, and the descendants of both.
struct descent {
    process::tree tree;
    process::process_table table;

    void refresh() {
        std::vector<pid_t> known;
        for (auto const& member : tree.members()) known.push_back(member.info.pid);
        if (!table.scan_below(known, ::getpid())) throw std::bad_alloc();
        tree.refresh(table);
    }
    [[nodiscard]] bool finds(pid_t pid) {
        return eventually([&] {
            refresh();
            return tree.find(pid) != nullptr;
        });
    }
};

[[nodiscard]] pid_t number_in(std::string const& path) {
    return eventually([&] { return content_of(path).ends_with('\n'); })
               ? static_cast<pid_t>(std::stol(content_of(path)))
               : 0;
}

/// As fork(2), with this number for the child. Only for root; -1 for others.
[[nodiscard]] pid_t fork_as(pid_t wanted) {
    clone_args args{};
    args.exit_signal = SIGCHLD;
    args.set_tid = reinterpret_cast<std::uint64_t>(&wanted);
    args.set_tid_size = 1;
    return static_cast<pid_t>(::syscall(SYS_clone3, &args, sizeof args));
}

}  // namespace

TEST_CASE("the descendants of a process include the children of its threads, and no other process") {
    auto outside = start(shell("exec sleep 30"));
    int const status = in_another_process([&] {
        if (!process::lists_children()) return 1;
        std::atomic<pid_t> of_thread{0};
        std::atomic<bool> done{false};
        // The thread lives on, since the children of a thread that ends go to another one
        std::thread forks([&] {
            pid_t const child = ::fork();
            if (child == 0) ::_exit(::pause());
            for (of_thread = child; !done;) ::usleep(1000);
        });
        while (of_thread == 0) ::usleep(1000);
        process::process_table table;
        bool const scanned = static_cast<bool>(table.scan_below({}, ::getpid()));
        bool const found = table.find(of_thread) != nullptr && table.find(::getpid()) != nullptr;
        bool const more = table.find(outside.pid()) != nullptr || table.find(1) != nullptr || table.whole();
        ::kill(of_thread, SIGKILL);
        done = true;
        forks.join();
        return scanned && found && !more ? 0 : 2;
    });
    CHECK(status == 0);
    REQUIRE(outside.signal(SIGKILL));
    finish(outside);
}

TEST_CASE("children, grandchildren and orphans of a job are found among the descendants") {
    folder const here;
    std::string const mark = "RATION_TOKEN=descent-test-" + std::to_string(::getpid());
    int const status = in_another_process([&] {
        if (!process::become_subreaper()) return 1;
        // One child with a child, an orphan in the session of the job, and one that has left it by setsid and two forks
        auto spec =
            shell("sh -c 'sleep 30 & echo $! > " + here / "child" + "; wait' & sh -c 'sleep 30 & echo $! > " +
                  here / "orphan" + "' & setsid sh -c 'sleep 30 & echo $! > " + here / "daemon" + "' & exec sleep 30");
        spec.environment.push_back(mark);
        auto root = process::launch(spec);
        if (!root) return 2;
        auto tree = process::tree::of({.pid = root->pid(), .mark = mark});
        if (!tree) return 2;
        descent job{.tree = std::move(tree).value(), .table = {}};
        pid_t const child = number_in(here / "child"), orphan = number_in(here / "orphan"),
                    daemon = number_in(here / "daemon");
        if (!eventually([&] { return process::read_process(daemon)->parent == ::getpid(); })) return 3;
        if (!job.finds(child) || !job.finds(orphan) || !job.finds(daemon)) return 4;
        if (!job.tree.find(child)->kin || !job.tree.find(orphan)->kin) return 5;
        if (job.tree.find(::getpid()) != nullptr || job.tree.may_have_strays()) return 6;
        ::kill(orphan, SIGKILL);
        bool const ends = eventually([&] {
            job.refresh();
            job.tree.reap_orphans();
            return job.tree.find(orphan) == nullptr;
        });
        if (!ends || job.tree.may_have_strays() || !job.finds(daemon)) return 7;
        return process::terminate(job.tree, {}) && root->wait_for(patience) && dead(daemon) && dead(child) ? 0 : 8;
    });
    CHECK(status == 0);
}

TEST_CASE("the session of a job is kept while its orphan has another parent, until all processes are read") {
    folder const here;
    int const status = in_another_process([&] {
        pid_t const keeper = ::fork();  // as the service before: the orphans of the job are its children
        if (keeper == 0) {
            if (!process::become_subreaper()) ::_exit(1);
            auto job = process::launch(shell("echo $$ > " + here / "root" + "; while [ ! -e " + here / "go" +
                                             " ]; do sleep 0.01; done; sleep 30 & echo $! > " + here / "orphan"));
            while (job) ::pause();
        }
        auto tree = process::tree::of({.pid = number_in(here / "root")});
        if (!tree) return 1;
        descent job{.tree = std::move(tree).value(), .table = {}};
        static_cast<void>(here.write("go", ""));
        pid_t const root = job.tree.root().pid, orphan = number_in(here / "orphan");
        if (!eventually([&] { return process::read_process(orphan)->parent == keeper && dead(root); })) return 2;
        ::kill(keeper, SIGKILL);  // init gets the orphan
        ::waitpid(keeper, nullptr, 0);
        bool const lost = eventually([&] {
            job.refresh();
            return job.tree.find(root) == nullptr;
        });
        if (!lost || !job.tree.may_have_strays() || job.tree.find(orphan) != nullptr) return 3;
        job.refresh();  // also over a second look that does not show it
        process::process_table all;
        if (!all.scan()) return 4;
        job.tree.refresh(all);
        if (job.tree.find(orphan) == nullptr || job.tree.may_have_strays()) return 5;
        return process::terminate(job.tree, {}) && dead(orphan) ? 0 : 6;
    });
    CHECK(status == 0);
}

TEST_CASE("a later process with the number of a member is not of the job, and is not signalled") {
    folder const here;
    auto backend = opened();
    auto job = begin(backend, first, "sleep 30 & echo $! > " + here / "pid" + "; wait; exec sleep 30");
    pid_t const member = pid_in(here / "pid");
    REQUIRE(eventually([&] { return backend.contains(first, member); }));
    ::kill(member, SIGKILL);
    REQUIRE(eventually([&] { return state_of(member) == '-'; }));
    ::usleep(30'000);  // the kernel counts start times in ticks of 10 ms
    pid_t const later = fork_as(member);
    if (later == 0) ::_exit(::pause());
    if (later < 0) {
        WARN("only root can choose the number of a process");
    } else {
        CHECK(later == member);
        CHECK_FALSE(backend.contains(first, later));
        CHECK(backend.signal(first, SIGTERM));
        ::usleep(20'000);
        CHECK_FALSE(dead(later));
        ::kill(later, SIGKILL);
        ::waitpid(later, nullptr, 0);
    }
    end(backend, first, job);
}

TEST_CASE("a number that a member and then another process of the job have is bound again") {
    auto job = start(shell("exec sleep 30"));
    auto tree = process::tree::of({.pid = job.pid()});
    REQUIRE(tree);
    auto const of_root = *process::read_process(job.pid());
    process::process_info child = of_root;
    child.pid = 8'000'001;  // beyond what the kernel gives out
    child.parent = job.pid();
    auto const is_fresh = [&] {
        tree->refresh(process::process_table({of_root, child}));
        REQUIRE(tree->find(child.pid) != nullptr);
        return tree->find(child.pid)->fresh;
    };
    CHECK(is_fresh());
    CHECK_FALSE(is_fresh());
    ++child.start_time;
    CHECK(is_fresh());
    REQUIRE(job.signal(SIGKILL));
    finish(job);
}
