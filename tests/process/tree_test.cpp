// SPDX-License-Identifier: BSL-1.0
#include <algorithm>
#include <csignal>

#include <ration/process/marked.hpp>
#include <ration/process/tree.hpp>

#include "support.hpp"

using namespace process_test;

namespace {

struct followed {
    test_job root;
    process::tree tree;
    process::process_table table;

    void refresh() {
        REQUIRE(table.scan());
        tree.refresh(table);
    }
    [[nodiscard]] bool holds(pid_t pid) const {
        return std::ranges::any_of(tree.members(),
                                   [pid](auto const& m) { return m.info.pid == pid && !m.info.zombie(); });
    }
    [[nodiscard]] bool finds(pid_t pid) {
        return eventually([&] {
            refresh();
            return holds(pid);
        });
    }
};

followed follow(std::string const& script, std::string const& mark = {}) {
    process::launch_spec spec = shell(script);
    if (!mark.empty()) spec.environment.push_back(mark);
    auto root = start(spec);
    auto tree = process::tree::of({.pid = root.pid(), .start_time = root.start_time(), .mark = mark});
    REQUIRE(tree);
    return {.root = std::move(root), .tree = std::move(tree).value(), .table = {}};
}

void end(followed& job) {
    CHECK(process::terminate(job.tree, {}));
    CHECK(job.tree.alive() == 0);
    finish(job.root);
}

using row = process::process_info;

row row_of(pid_t pid, pid_t parent, pid_t session, std::uint64_t start) {
    return {.pid = pid, .parent = parent, .group = session, .session = session, .state = 'S', .start_time = start};
}

/// The members of the job when the process table has these rows.
std::vector<pid_t> members_in(followed& job, std::vector<row> rows) {
    job.tree.refresh(process::process_table(std::move(rows)));
    std::vector<pid_t> out;
    for (auto const& m : job.tree.members()) out.push_back(m.info.pid);
    return out;
}

/// A process in a separate session whose parent has ended; its pid is written to the file.
std::string daemon(std::string const& file) { return "setsid sh -c 'sleep 30 & echo $! > " + file + "' & "; }

}  // namespace

TEST_CASE("children and grandchildren belong to the job, we do not") {
    folder const here;
    auto job = follow("sh -c 'sleep 30 & echo $! > " + here / "pid" + "; wait' & wait");
    CHECK(job.finds(pid_in(here / "pid")));
    CHECK(job.tree.members().size() == 3);
    CHECK_FALSE(job.holds(::getpid()));
    CHECK(job.holds(job.root.pid()));
    end(job);
}

TEST_CASE("a signal reaches grandchildren, in the job's group and in groups of their own") {
    folder const here;
    auto job = follow("sh -c 'sleep 30 & echo $! > " + here / "same" + "; wait' & setsid sh -c 'echo $$ > " +
                      here / "own" + "; exec sleep 30' & wait");
    pid_t const same = pid_in(here / "same"), own = pid_in(here / "own");
    REQUIRE(job.finds(same));
    REQUIRE(job.finds(own));
    job.tree.signal(SIGSTOP);
    CHECK(eventually([&] { return state_of(same) == 'T' && state_of(own) == 'T' && state_of(job.root.pid()) == 'T'; }));
    job.tree.signal(SIGCONT);
    CHECK(eventually([&] { return state_of(same) != 'T' && state_of(own) != 'T' && state_of(job.root.pid()) != 'T'; }));
    end(job);
    CHECK(dead(same));
    CHECK(dead(own));
}

TEST_CASE("an orphan is found by its session after everybody that we knew above it has ended") {
    folder const here;
    auto job = follow("sh -c 'sleep 30 & echo $! > " + here / "pid" + "' & wait; exit 0");
    pid_t const orphan = pid_in(here / "pid");
    CHECK(finish(job.root).success());  // the root was waited for: its number is free, its session is not
    CHECK(job.finds(orphan));
    CHECK(process::terminate(job.tree, {}));
    CHECK(dead(orphan));
}

TEST_CASE("an orphan that left the session is found by its mark, also when it was never seen below its parents") {
    folder const here;
    std::string const mark = "RATION_TOKEN=tree-test-" + std::to_string(::getpid());
    auto job = follow(daemon(here / "pid") + "sleep 30", mark);
    pid_t const orphan = pid_in(here / "pid");
    REQUIRE(eventually([&] { return process::read_process(orphan)->parent != job.root.pid(); }));
    CHECK(job.finds(orphan));
    end(job);
    CHECK(dead(orphan));
}

TEST_CASE("without its mark such an orphan is not found, nor one with another mark") {
    folder const here;
    std::string const mark = "RATION_TOKEN=tree-test-" + std::to_string(::getpid());
    auto other = follow(daemon(here / "pid") + "sleep 30", mark + "0");  // ours is a beginning of it
    pid_t const orphan = pid_in(here / "pid");
    auto job = follow("exec sleep 30", mark);
    job.refresh();
    CHECK_FALSE(job.holds(orphan));
    CHECK(job.tree.members().size() == 1);
    end(job);
    CHECK_FALSE(dead(orphan));
    end(other);
    CHECK(dead(orphan));
}

TEST_CASE("who has the mark is killed, whoever its parents are, and nobody else") {
    folder const here;
    std::string const mark = "RATION_TOKEN=tree-test-" + std::to_string(::getpid());
    auto job = follow(daemon(here / "pid") + "exec sleep 30", mark);
    pid_t const orphan = pid_in(here / "pid");
    auto other = follow("exec sleep 30", mark + "0");
    CHECK(process::kill_marked(mark));
    CHECK(dead(orphan));
    CHECK_FALSE(finish(job.root).success());
    other.refresh();
    CHECK(other.tree.alive() == 1);
    end(other);
}

TEST_CASE("processes are listed with the value of an entry, and without those that only look like it") {
    std::string const name = "RATION_TREE_TEST_" + std::to_string(::getpid());
    auto older = follow("exec sleep 30", name + "=first=1");
    auto younger = follow("exec sleep 30", name + "=");
    auto other = follow("exec sleep 30", name + "S=none");
    auto const values = [&] {
        std::vector<std::string> out;
        auto const found = process::find_with_entry(name);
        for (auto const& one : *found) out.push_back(one.value);
        return out;
    };
    CHECK(eventually([&] { return values() == std::vector<std::string>{"first=1", ""}; }));
    end(older);
    end(younger);
    end(other);
}

TEST_CASE("the mark is found wherever it is in a large environment") {
    std::string const mark = "RATION_TOKEN=somewhere";
    for (std::size_t const before : {0U, 1U, 4070U, 4080U, 4090U, 100'000U}) {
        // No shell in between: while it becomes the program, there is nothing to read for a moment.
        process::launch_spec spec{.command = {"sleep", "30"}, .environment = {"PATH=/usr/bin:/bin"}};
        spec.environment.push_back("FILL=" + std::string(before, 'x'));
        spec.environment.push_back(mark);
        spec.environment.push_back("LAST=1");
        auto job = start(spec);
        INFO(before);
        REQUIRE(
            eventually([&] { return process::detail::has_mark(job.pid(), "LAST=1") == process::detail::marked::yes; }));
        CHECK(process::detail::has_mark(job.pid(), mark) == process::detail::marked::yes);
        CHECK(process::detail::has_mark(job.pid(), mark + "x") == process::detail::marked::no);
        CHECK(process::detail::has_mark(job.pid(), mark.substr(0, mark.size() - 1)) == process::detail::marked::no);
        CHECK(process::detail::has_mark(job.pid(), mark.substr(1)) == process::detail::marked::no);
        REQUIRE(job.signal(SIGKILL));
        finish(job);
    }
}

TEST_CASE("as a subreaper we get the orphans, and take their zombies away") {
    int const status = in_another_process([] {
        folder const here;
        if (!process::become_subreaper()) return 1;
        auto root = process::launch(shell(daemon(here / "pid") + "wait; sleep 30"));
        if (!root) return 2;
        std::string const file = here / "pid";
        if (!eventually([&] { return content_of(file).ends_with('\n'); })) return 3;
        auto const orphan = static_cast<pid_t>(std::stol(content_of(file)));
        if (!eventually([&] { return process::read_process(orphan)->parent == ::getpid(); })) return 4;
        auto tree = process::tree::of({.pid = orphan});
        ::kill(orphan, SIGKILL);
        if (!tree || !eventually([&] { return state_of(orphan) == 'Z'; })) return 5;
        auto whole = process::tree::of({.pid = root->pid()});
        process::process_table table;
        if (!table.scan()) return 6;
        whole->refresh(table);
        whole->reap_orphans();  // not a member of that tree: stays
        if (state_of(orphan) != 'Z') return 7;
        return process::terminate(*whole, {}) && root->wait_for(patience) ? 0 : 8;
    });
    CHECK(status == 0);
}

TEST_CASE("a member that ends as our child is reaped, the root is not") {
    int const status = in_another_process([] {
        folder const here;
        std::string const file = here / "pid";
        if (!process::become_subreaper()) return 1;
        auto root = process::launch(shell("sh -c 'sleep 30 & echo $! > " + file + "' & wait; exit 5"));
        auto tree = root ? process::tree::of({.pid = root->pid()}) : ration::result<process::tree>(root.failure());
        if (!tree || !eventually([&] { return content_of(file).ends_with('\n') && state_of(root->pid()) == 'Z'; }))
            return 2;
        auto const orphan = static_cast<pid_t>(std::stol(content_of(file)));
        if (!process::terminate(*tree, {}) || !eventually([&] {
                process::process_table table;
                static_cast<void>(table.scan());
                tree->refresh(table);
                tree->reap_orphans();
                return state_of(orphan) == '-';
            })) {
            return 3;
        }
        auto const report = root->wait_for(patience);
        return report && report->number == 5 ? 0 : 4;
    });
    CHECK(status == 0);
}

TEST_CASE("terminate asks first, and waits for those that end by themselves") {
    folder const here;
    auto job = follow("trap 'echo asked > " + here / "asked" + "; exit 9' TERM; echo > " + here / "ready" +
                      "; while :; do sleep 0.05; done");
    REQUIRE(eventually([&] { return std::filesystem::exists(here / "ready"); }));
    CHECK(process::terminate(job.tree, seconds(20)));
    auto const report = finish(job.root);
    CHECK(report.how == process::exit_report::kind::exited);
    CHECK(report.number == 9);
    CHECK(content_of(here / "asked") == "asked\n");
}

TEST_CASE("terminate asks a stopped job too, and kills what does not listen") {
    folder const here;
    auto deaf = follow("trap '' TERM; echo > " + here / "ready" + "; while :; do sleep 30; done");
    REQUIRE(eventually([&] { return std::filesystem::exists(here / "ready"); }));
    nanoseconds const begin = process::now();
    CHECK(process::terminate(deaf.tree, milliseconds(100)));
    CHECK(process::now() - begin >= milliseconds(100));
    CHECK(finish(deaf.root).number == SIGKILL);

    auto stopped = follow("exec sleep 30");
    stopped.tree.signal(SIGSTOP);
    REQUIRE(eventually([&] { return state_of(stopped.root.pid()) == 'T'; }));
    CHECK(process::terminate(stopped.tree, seconds(20)));
    CHECK(finish(stopped.root).number == SIGTERM);
}

TEST_CASE("a job that forks without end is ended") {
    auto job = follow("f() { sleep 0.01 & f2; }; f2() { sleep 0.02 & }; while :; do f; setsid sleep 5 & done");
    ::usleep(100'000);
    CHECK(process::terminate(job.tree, {}));
    CHECK(job.tree.alive() == 0);
    ::usleep(20'000);
    job.refresh();
    CHECK(job.tree.alive() == 0);
    finish(job.root);
}

TEST_CASE("CPU time counts children, ended ones included, and never runs backwards") {
    folder const here;
    std::string const loop = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done";
    auto job = follow("sh -c '" + loop + "'; echo > " + here / "done" + "; exec sleep 30");
    nanoseconds last{};
    while (!std::filesystem::exists(here / "done")) {
        job.refresh();
        nanoseconds const now = job.tree.cpu_time();
        CHECK(now >= last);
        last = now;
        ::usleep(5000);
    }
    job.refresh();
    auto alone = start(shell(loop));
    auto const wanted = finish(alone).cpu_time;
    CHECK(job.tree.cpu_time().count > wanted.count / 2);
    nanoseconds const before = job.tree.cpu_time();
    end(job);
    CHECK(job.tree.cpu_time() >= before);

    // Never seen alive: known from its parent's account.
    auto unseen = follow("sh -c '" + loop + "'; echo > " + here / "unseen" + "; exec sleep 30");
    REQUIRE(eventually([&] { return std::filesystem::exists(here / "unseen"); }));
    unseen.refresh();
    CHECK(unseen.tree.cpu_time().count > wanted.count / 2);
    end(unseen);
}

TEST_CASE("a tree begins at a living process of the right age, or not at all") {
    auto job = start(shell("exec sleep 30"));
    CHECK(process::tree::of({.pid = job.pid()}));
    CHECK(process::tree::of({.pid = job.pid(), .start_time = job.start_time()}));
    auto const reused = process::tree::of({.pid = job.pid(), .start_time = job.start_time() - 1});
    REQUIRE_FALSE(reused);
    CHECK(reused.failure().code == errc::gone);
    REQUIRE(job.signal(SIGKILL));
    finish(job);
    CHECK_FALSE(process::tree::of({.pid = job.pid()}));
}

TEST_CASE("who belongs to a job, on recorded tables") {
    auto job = follow("exec sleep 30");
    pid_t const root = job.root.pid(), me = ::getpid();
    std::uint64_t const age = job.root.start_time();
    using pids = std::vector<pid_t>;
    // Beyond what the kernel gives out: nothing real is touched
    pid_t const a = 8'000'001, b = 8'000'002, c = 8'000'003;
    row const alive = row_of(root, me, root, age);
    CHECK(members_in(job, {alive, row_of(a, root, root, age), row_of(b, 1, 77, age)}) == pids{root, a});
    // Any order, any depth
    CHECK(members_in(job, {alive, row_of(c, b, 5, age), row_of(b, a, 5, age), row_of(a, root, root, age)}) ==
          pids{root, a, b, c});
    // Known before: stays without parent or session
    CHECK(members_in(job, {alive, row_of(c, b, 5, age), row_of(b, 1, 5, age)}) == pids{root, b, c});
    // Another process of a known number
    CHECK(members_in(job, {alive, row_of(c, 1, 5, age + 1), row_of(b, 1, 5, age)}) == pids{root, b});
    CHECK(members_in(job, {alive, row_of(a, root, root, age - 1)}) == pids{root});  // older than the job
    // Never we, nor what is only ours
    CHECK(members_in(job, {alive, row_of(me, root, root, age + 5), row_of(a, me, 9, age + 5)}) == pids{root});
    // The root reaped; its session speaks for b
    CHECK(members_in(job, {row_of(b, 1, root, age + 1)}) == pids{b});
    CHECK(members_in(job, {row_of(c, 1, root, age + 2)}) == pids{c});
    // Number reused
    CHECK(members_in(job, {row_of(root, 1, root, age + 9), row_of(a, root, root, age + 9),
                           row_of(c, 1, root, age + 2)}) == pids{c});
    CHECK(members_in(job, {}).empty());
    // The session was empty once: no longer ours
    CHECK(members_in(job, {row_of(a, 1, root, age + 10)}).empty());
    REQUIRE(job.root.signal(SIGKILL));
    finish(job.root);
}

TEST_CASE("a root in somebody else's session does not pull that session in") {
    auto ours = start(shell("exec sleep 30"));
    process::launch_spec spec = shell("sleep 30 & sleep 30 & wait");
    auto outer = start(spec);
    process::process_table table;
    std::vector<pid_t> inner;
    REQUIRE(eventually([&] {
        inner.clear();
        static_cast<void>(table.scan());
        for (auto const& row : table.rows())
            if (row.parent == outer.pid()) inner.push_back(row.pid);
        return inner.size() == 2;
    }));
    auto one = process::tree::of({.pid = inner[0]});
    REQUIRE(one);
    CHECK(process::terminate(*one, {}));
    CHECK(dead(inner[0]));
    CHECK_FALSE(dead(inner[1]));
    CHECK_FALSE(dead(outer.pid()));
    REQUIRE(outer.signal_group(SIGKILL));
    finish(outer);
    REQUIRE(ours.signal(SIGKILL));
    finish(ours);
}
