// SPDX-License-Identifier: BSL-1.0
// v2: controllers can only be handed down from a group without processes. Our own is moved out of the way and back
// again.
#include "machine.hpp"
#include "support/catch.hpp"

using namespace cgroup_test;

TEST_CASE("the model's own process goes to a leaf and comes home") {
    model machine(flavour::v2, 4, "user");
    auto const at = [&] { return machine.machine().processes.at(machine.self()).where[0]->path(); };
    {
        auto const groups = backend::open(machine, {.name = "test", .cpus = {}});
        REQUIRE(groups);
        CHECK(at() == "/user/ration-ctl");
        CHECK(groups->run().places()[0].path().starts_with("/sys/fs/cgroup/user/ration-test."));
    }
    CHECK(at() == "/user");
}

TEST_CASE("nothing moves when the controllers are handed down already, or at the root") {
    model machine(flavour::v2);
    auto const groups = backend::open(machine, {.name = "test", .cpus = {}});
    REQUIRE(groups);
    CHECK(machine.machine().processes.at(machine.self()).where[0]->path() == "/");
}

TEST_CASE("with other processes in the group nothing is changed, and the error names the remedy") {
    model machine(flavour::v2, 4, "user");
    static_cast<void>(machine.spawn());
    auto const groups = backend::open(machine, {.name = "test", .cpus = {}});
    REQUIRE_FALSE(groups);
    CHECK(groups.failure().code == errc::conflict);
    CHECK(std::string_view(groups.failure().remedy).find("systemd-run") != std::string_view::npos);
    CHECK(machine.machine().processes.at(machine.self()).where[0]->path() == "/user");
    auto const& user = *machine.machine().hierarchies[0]->root->children.at("user");
    CHECK(user.handed_down.empty());
    CHECK(user.children.empty());
}

TEST_CASE("a threaded group of our own is refused") {
    model machine(flavour::v2, 4, "user");
    machine.machine().hierarchies[0]->root->children.at("user")->thread = true;
    auto const groups = backend::open(machine, {.name = "test", .cpus = {}});
    REQUIRE_FALSE(groups);
    CHECK(groups.failure().code == errc::conflict);
}

TEST_CASE("controllers that are not handed to us are told with their remedy, the others work") {
    model machine(flavour::v2, 4, "user");
    machine.machine().hierarchies[0]->root->handed_down.erase(controller::memory);
    auto const groups = backend::open(machine, {.name = "test", .cpus = {}});
    REQUIRE(groups);
    CHECK(groups->resources().size() == 1);
    CHECK(groups->hierarchies().owner(controller::memory).why.code == errc::not_supported);
    machine.machine().hierarchies[0]->root->handed_down.erase(controller::cpu);
}

namespace {

// In a separate process: enters a new group and runs a backend there. Returns 0, or the line that failed.
[[nodiscard]] int in_a_group_of_its_own() {
    kernel_io kernel;
    auto const found = tree::discover(kernel);
    if (!found) return __LINE__;
    directory const& root = found->branch_of(controller::core)->own;
    std::string const name = "ration-" + run_name_here();
    if (!root.write("cgroup.subtree_control", "+cpu +cpuset +memory +pids") || !root.make(name)) return __LINE__;
    auto const home = root.child(name);
    std::string const self = std::to_string(kernel.self());
    int failed = !home || !home->write("cgroup.procs", self) ? __LINE__ : 0;
    if (failed == 0) {
        auto groups = backend::open(kernel, {.name = "test", .cpus = {}});
        std::string text;
        ration::plan<operation> ops;
        failed = !groups                                                                                    ? __LINE__
                 : !home->read("cgroup.procs", text) || !text.empty()                                       ? __LINE__
                 : !groups->add({1}, "vae")                                                                 ? __LINE__
                 : !groups->plan({.job = {1}, .node = 0, .resource = resource_id::cpu, .amount = 300}, ops) ? __LINE__
                 : ops.size() != 1 || !groups->apply(ops[0]) || !groups->verify(ops[0])                     ? __LINE__
                                                                                                            : 0;
    }
    std::string text;
    bool const back = home && home->read("cgroup.procs", text) && text == self + "\n" && home->list()->empty();
    static_cast<void>(root.write("cgroup.procs", self));
    static_cast<void>(root.remove(name));
    return failed != 0 ? failed : back ? 0 : __LINE__;
}

}  // namespace

TEST_CASE("the running kernel's v2: to a leaf and home again") {
    kernel_io kernel;
    auto const found = tree::discover(kernel);
    if (!found || found->owner(controller::cpu).kind != version::v2 || found->branch_of(controller::core)->path != "/")
        return;  // only where v2 has the controllers and we sit at its root: the guest
    int const child = ::fork();
    if (child == 0) ::_exit(in_a_group_of_its_own() & 0xff);
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
}
