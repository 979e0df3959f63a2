// SPDX-License-Identifier: BSL-1.0
// A model of the kernel of each kind, for tests in which something goes wrong: what a run may leave behind on it.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "machine.hpp"
#include "support/catch.hpp"

namespace cgroup_test {

inline constexpr job_id vae{1}, lstm{2};

struct kind {
    flavour which;
    char const* own;
};
inline constexpr kind kinds[] = {
    {flavour::v1, ""}, {flavour::hybrid, "user"}, {flavour::v2, ""}, {flavour::v2, "user"}};

struct modelled_site {
    model machine;

    explicit modelled_site(kind const& of) : machine(of.which, 4, of.own) {}

    static void hold(backend& groups, job_id job, resource_id resource, std::int64_t amount) {
        ration::plan<operation> ops;
        REQUIRE(groups.plan({.job = job, .node = 0, .resource = resource, .amount = amount}, ops));
        for (operation const& op : ops) REQUIRE(groups.apply(op));
    }

    [[nodiscard]] static bool in_effect(backend& groups, job_id job, resource_id resource, std::int64_t amount) {
        ration::plan<operation> ops;
        return groups.plan({.job = job, .node = 0, .resource = resource, .amount = amount}, ops) && ops.empty();
    }

    // Groups anywhere in the machine that this program made.
    [[nodiscard]] std::vector<std::string> orphaned_runs() {
        return paths_of([](std::string const& name) { return name.starts_with("ration-"); });
    }
    [[nodiscard]] std::size_t groups_named(std::string const& which) {
        return paths_of([&](std::string const& name) { return name == which; }).size();
    }
    [[nodiscard]] bool at_home(kind const& of) {
        std::string const home = "/" + std::string(of.own);
        auto const& where = machine.machine().processes.at(machine.self()).where;
        return std::ranges::all_of(where, [&](modelled::node const* each) { return each->path() == home; });
    }
    [[nodiscard]] bool lives(int pid) { return machine.machine().processes.contains(pid); }

private:
    template <class Wanted>
    [[nodiscard]] std::vector<std::string> paths_of(Wanted wanted) {
        std::vector<std::string> found;
        for (auto const& each : machine.machine().hierarchies) {
            modelled::world::for_tree(*each->root, [&](modelled::node& group) {
                if (wanted(group.name)) found.push_back(group.path());
            });
        }
        return found;
    }
};

}  // namespace cgroup_test
