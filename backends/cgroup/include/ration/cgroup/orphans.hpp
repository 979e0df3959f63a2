// SPDX-License-Identifier: BSL-1.0
/// The groups that dead runs left behind. A run's group carries its owner in its name (names.hpp), so nothing but
/// cgroupfs and /proc is needed to find the groups of a run that was killed with SIGKILL, and none of a run that lives
/// is ever taken for one.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <ration/cgroup/detail/devices.hpp>
#include <ration/cgroup/detail/teardown.hpp>
#include <ration/cgroup/hierarchy.hpp>

namespace ration::cgroup {

/// A run whose owner is dead: the group's name, and the processes that still live in it.
struct orphan {
    run_name run;
    std::string group;
    std::vector<int> pids;
};

namespace detail {

/// Whether the process that owns a run still lives. One that waits to be reaped is dead; one whose number belongs to a
/// later process as well. Owners of another pid namespace cannot be judged from here and count as alive.
[[nodiscard]] inline result<bool> lives(io& machine, owner const& who, std::uint64_t our_namespace) noexcept {
    if (who.pid_namespace != our_namespace) return true;
    text<40> file("/proc/");
    file.append(number_text(who.pid)).append("/stat");
    std::string text;
    if (int const failed = machine.read_system(file.c_str(), text)) {
        return failed == ENOENT || failed == ESRCH ? result<bool>(false)
                                                   : result<bool>(system_error("read", file, failed));
    }
    auto const found = process::parse_stat(text);
    return found && found->start_time == who.started && !found->zombie();
}

[[nodiscard]] inline result<void> add_orphans_of(branch const& hierarchy, std::uint64_t our_namespace,
                                                 std::vector<orphan>& all) {
    auto const names = hierarchy.own.list();
    if (!names) return names.failure();
    for (std::string const& name : *names) {
        auto const run = parse_run_name(name);
        if (!run) continue;
        auto const alive = lives(hierarchy.own.machine(), run->who, our_namespace);
        if (!alive) return alive.failure();
        auto const top = *alive ? result<directory>(error{}) : hierarchy.own.child(name);
        if (!top) continue;  // alive, or gone since it was listed
        auto const pids = members_of(*top);
        if (!pids) return pids.failure();
        auto known = std::ranges::find(all, name, &orphan::group);
        if (known == all.end()) known = all.insert(known, orphan{*run, name, {}});
        known->pids.insert(known->pids.end(), pids->begin(), pids->end());
    }
    return {};
}

}  // namespace detail

/// The dead runs below our own group, in every hierarchy. Nothing is changed.
[[nodiscard]] inline result<std::vector<orphan>> find_orphans(io& machine, tree const& where) {
    auto const self = self_as_owner(machine);
    if (!self) return self.failure();
    std::vector<orphan> all;
    for (branch const& hierarchy : where.branches())
        if (auto const added = detail::add_orphans_of(hierarchy, self->pid_namespace, all); !added)
            return added.failure();
    for (orphan& each : all) {
        std::ranges::sort(each.pids);
        each.pids.erase(std::unique(each.pids.begin(), each.pids.end()), each.pids.end());
    }
    return all;
}

/// Kills what lives in a dead run's groups and removes them, and the leaf that it sat in, if it is empty. Errors:
/// timed_out, busy. Then it may be called again.
[[nodiscard]] inline result<void> clean(tree const& where, orphan const& left,
                                        nanoseconds at_most = milliseconds(2000)) {
    for (bool const freezers_first : {true, false}) {  // racing forks can only be held where the group can be frozen
        for (branch const& hierarchy : where.branches()) {
            auto const top = hierarchy.controllers.contains(controller::freezer) == freezers_first
                                 ? hierarchy.own.child(left.group)
                                 : result<directory>(error{});
            if (!top) continue;
            auto const killed = kill_tree(*top, at_most);
            auto const removed = killed ? remove_tree(hierarchy.own, left.group, top->inode(), at_most) : killed;
            if (!removed) return removed;
        }
    }
    if (branch const* const v2 = where.branch_of(controller::core))
        static_cast<void>(v2->own.remove(leaf_name));  // EBUSY while another run sits in it, ENOENT mostly
    return {};
}

/// Removes the groups of dead runs in the v1 hierarchy of devices (device_guard) in which nothing lives any more. What
/// cannot be removed stays.
inline void clean_device_guards(io& machine) {
    auto const self = self_as_owner(machine);
    auto const found =
        self ? detail::find_devices_group(machine) : result<std::pair<directory, std::string>>(self.failure());
    auto const names = found ? found->first.list() : result<std::vector<std::string>>(error{});
    if (!names) return;
    for (std::string const& name : *names) {
        auto const run = parse_run_name(name);
        auto const alive = run ? detail::lives(machine, run->who, self->pid_namespace) : result<bool>(true);
        if (alive && !*alive) static_cast<void>(found->first.remove(name));  // EBUSY while something lives in it
    }
}

}  // namespace ration::cgroup
