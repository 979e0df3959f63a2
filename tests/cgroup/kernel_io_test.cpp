// SPDX-License-Identifier: BSL-1.0
// The seam's calls on the running kernel: what they must not reach, and what they must notice.
#include "machine.hpp"
#include "support/catch.hpp"

using namespace cgroup_test;

namespace {

// A group of the test's own, in the first hierarchy that there is.
struct place {
    kernel_io kernel;
    result<tree> where = tree::discover(kernel);
    std::string name = "ration-" + run_name_here();
    directory group;

    place() {
        static_cast<void>(machines());  // prints the reason and exits where no cgroups can be used
        REQUIRE(where);
        REQUIRE(own().make(name));
        group = std::move(own().child(name)).value();
    }
    ~place() { static_cast<void>(remove_tree(own(), name, 0, seconds(1))); }
    place(place const&) = delete;
    place& operator=(place const&) = delete;
    [[nodiscard]] directory const& own() const { return where->branches().front().own; }
};

}  // namespace

TEST_CASE("no name leads out of the held directory") {
    place here;
    int handle = -1;
    std::string text;
    for (char const* const name : {"..", "../..", "/", "/proc", "/sys/fs/cgroup"}) {
        INFO(name);
        CHECK(here.kernel.open_child(here.group.handle(), name, handle) != 0);
    }
    for (char const* const file : {"../cgroup.procs", "/proc/self/stat", "../../cgroup.procs"}) {
        INFO(file);
        CHECK(here.kernel.read(here.group.handle(), file, text) != 0);
        CHECK(here.kernel.write(here.group.handle(), file, "0") != 0);
    }
    CHECK(here.kernel.read(here.group.handle(), "cgroup.procs", text) == 0);
}

TEST_CASE("files of another file system are refused, even below a directory that we hold") {
    kernel_io kernel;
    int handle = -1;
    REQUIRE(kernel.open_directory("/proc/self", handle) == 0);
    identity who;
    CHECK(kernel.identify(handle, who) == 0);
    CHECK(who.kind == version::none);
    std::string text;
    CHECK(kernel.read(handle, "stat", text) == EXDEV);
    CHECK(kernel.write(handle, "oom_score_adj", "0") == EXDEV);
    int below = -1;
    CHECK(kernel.open_child(handle, "fd", below) == EXDEV);
    kernel.close(handle);
}

TEST_CASE("an empty write is refused: the kernel would take it for success") {
    place here;
    CHECK(here.kernel.write(here.group.handle(), "cgroup.procs", "") == EINVAL);
}

TEST_CASE("a removed group stays removed when another of its name appears") {
    place here;
    std::string text;
    auto const inode = here.group.inode();
    REQUIRE(here.own().remove(here.name));
    REQUIRE(here.own().make(here.name));
    CHECK(here.kernel.read(here.group.handle(), "cgroup.procs", text) == ENOENT);
    CHECK_FALSE(here.group.alive());
    CHECK(here.own().child(here.name)->inode() != inode);
    CHECK(here.group.read("cgroup.procs", text).failure().code == errc::gone);
    CHECK(here.own().child(here.name)->read("no.such.file", text).failure().code == errc::not_supported);
}

TEST_CASE("signals reach the members and nobody else") {
    kernel_machine on(true);
    place here;
    int const inside = on.spawn(), outside = on.spawn();
    REQUIRE(here.group.write("cgroup.procs", std::to_string(inside)));
    std::size_t reached = 0;
    CHECK(here.kernel.signal_members(here.group.handle(), SIGKILL, reached) == 0);
    CHECK(reached == 1);
    CHECK(soon(here.kernel, [&] { return !on.alive(inside); }));
    CHECK(on.alive(outside));
    CHECK(here.kernel.signal_members(here.group.handle(), SIGKILL, reached) == 0);
    CHECK(reached == 0);
}

TEST_CASE("waiting for a change ends with the change or at the deadline") {
    place here;
    std::string text;
    REQUIRE(here.group.read("cgroup.procs", text));
    auto const start = here.kernel.now();
    CHECK(here.kernel.wait_change(here.group.handle(), "cgroup.procs", text, milliseconds(30)) == ETIMEDOUT);
    CHECK(here.kernel.now() - start >= milliseconds(30));
    CHECK(here.kernel.wait_change(here.group.handle(), "cgroup.procs", "something else", seconds(60)) == 0);
    CHECK(here.kernel.now() - start < seconds(30));
}

TEST_CASE("kinds of directories are told by file system") {
    kernel_io kernel;
    auto const where = tree::discover(kernel);
    REQUIRE(where);
    for (branch const& each : where->branches()) CHECK(each.own.kind() == each.kind);
    CHECK(directory::open(kernel, "/tmp")->kind() == version::none);
    CHECK(directory::open(kernel, "/no/such/directory").failure().system == ENOENT);
}

TEST_CASE("a storm of forks is frozen, killed and gone") {
    for (auto const& on : machines()) {
        INFO(on->name());
        std::string const name = run_name_here();
        auto groups = backend::open(on->calls(), {.name = name, .cpus = {}});
        REQUIRE(groups);
        REQUIRE(groups->add({1}, "storm"));
        REQUIRE(groups->set({1}, *pids_limit::of(60)));
        int gate[2];
        REQUIRE(::pipe2(gate, O_CLOEXEC) == 0);
        int const first = ::fork();
        if (first == 0) {
            char go = 0;
            static_cast<void>(!::read(gate[0], &go, 1));
            ::signal(SIGCHLD, SIG_IGN);
            for (;;) ::fork();
        }
        REQUIRE(groups->place({1}, first));
        REQUIRE(::write(gate[1], "x", 1) == 1);
        on->calls().sleep(milliseconds(60));
        CHECK(groups->members({1})->size() > 1);
        CHECK(groups->remove({1}));
        CHECK(::waitpid(first, nullptr, 0) == first);
        ::close(gate[0]);
        ::close(gate[1]);
    }
}
