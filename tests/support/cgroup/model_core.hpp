// SPDX-License-Identifier: BSL-1.0
/// The model's files that every group has: members, freezing, killing, and on v2 the handing down of controllers.
/// Source: kernel/cgroup/cgroup.c, freezer.c, legacy_freezer.c, and measurements.
#pragma once

#include <cerrno>
#include <string>
#include <string_view>

#include <ration/cgroup/hierarchy.hpp>

#include "support/cgroup/model_numbers.hpp"
#include "support/cgroup/model_world.hpp"

namespace ration::cgroup::modelled {

/// One kind of file: where it is, and what reading and writing do. No function: EINVAL.
struct file {
    std::string_view name;
    version kind;
    controller needs;  ///< `core`: no controller
    bool on_root;
    int (*read)(world&, node&, std::string&);
    int (*write)(world&, node&, std::string_view);
};

inline constexpr controller threaded_controllers[] = {controller::cpu, controller::cpuset, controller::pids};

/// v2: groups below it have threads of its processes, or it has processes and hands controllers down.
[[nodiscard]] inline bool is_thread_root(world const& all, node const& where) noexcept {
    bool const threads_below =
        std::ranges::any_of(where.children, [](auto const& child) { return child.second->thread; });
    bool const hands_down =
        std::ranges::any_of(threaded_controllers, [&](controller which) { return where.handed_down.contains(which); });
    return !where.thread && (threads_below || (hands_down && !all.members(where).empty()));
}

/// v2: is below a group of threads and is not one itself; no process may come in.
[[nodiscard]] inline bool is_invalid_domain(world const& all, node const& where) noexcept {
    for (node const* above = where.parent; above != nullptr && !where.thread; above = above->parent)
        if (above->thread || (!above->is_root() && is_thread_root(all, *above))) return true;
    return false;
}

[[nodiscard]] inline int read_members(world& all, node& where, std::string& into) {
    if (where.thread) return EOPNOTSUPP;
    for (int const pid : all.members(where)) into += std::to_string(pid) + "\n";
    return 0;
}

/// The rules for a process that comes in.
[[nodiscard]] inline int may_enter(world& all, node& where) {
    if (where.of->kind == version::v2) {
        if (is_invalid_domain(all, where)) return EOPNOTSUPP;
        return !where.is_root() && !where.handed_down.empty() && !is_thread_root(all, where) ? EBUSY : 0;
    }
    bool const cpuset = all.has(where, controller::cpuset);
    return cpuset && !where.is_root() && (where.limits.cpus.empty() || where.limits.mems.empty()) ? ENOSPC : 0;
}

[[nodiscard]] inline int write_member(world& all, node& where, std::string_view text) {
    int pid = 0;
    if (read_int(text, pid) != 0 || pid < 0) return EINVAL;
    auto const found = all.processes.find(pid == 0 ? all.self : pid);
    if (found == all.processes.end()) return ESRCH;
    if (int const refused = may_enter(all, where)) return refused;
    for (node*& place : found->second.where) place = place->of == where.of ? &where : place;
    all.deliver_pending();
    return 0;
}

[[nodiscard]] inline controller_set offered(node const& where) noexcept {
    return where.is_root() ? where.of->controllers : where.parent->handed_down;
}

[[nodiscard]] inline std::string names_in(controller_set set) {
    std::string list;
    for (controller const which :
         // The kernel's order
         {controller::cpuset, controller::cpu, controller::memory, controller::pids, controller::dmem}) {
        if (set.contains(which)) list.append(list.empty() ? "" : " ").append(name_of(which));
    }
    return list.empty() ? list : list + "\n";
}

[[nodiscard]] inline int read_controllers(world&, node& where, std::string& into) {
    into = names_in(offered(where));
    return 0;
}
[[nodiscard]] inline int read_subtree_control(world&, node& where, std::string& into) {
    into = names_in(where.handed_down);
    return 0;
}

/// Turned off and on again, a controller's values in the children are the default ones: nothing is remembered.
inline void reset_children(node& where, controller which) noexcept {
    values const fresh;
    for (auto& [name, child] : where.children) {
        values& limits = child->limits;
        if (which == controller::cpu) {
            limits.quota = fresh.quota;
            limits.period = fresh.period;
            limits.burst = fresh.burst;
            limits.weight = fresh.weight;
        } else if (which == controller::cpuset) {
            limits.cpus = {};
            limits.mems = {};
        } else if (which == controller::memory) {
            limits.memory = fresh.memory;
            limits.memory_high = fresh.memory_high;
        } else if (which == controller::dmem) {
            child->device_memory.clear();
        } else {
            limits.pids = fresh.pids;
        }
    }
}

/// One `+name` or `-name` against the rules; `into` collects the result.
[[nodiscard]] inline int check_switch(node& where, std::string_view word, controller_set& into) {
    auto const name = word.substr(word.empty() ? 0 : 1);
    controller const* found = nullptr;
    for (controller const& which : all_controllers)
        found = is_enabled_by_parent(which) && name_of(which) == name ? &which : found;
    if (found == nullptr || (word[0] != '+' && word[0] != '-')) return EINVAL;
    if (word[0] == '+') {
        if (!offered(where).contains(*found)) return ENOENT;
        into.insert(*found);
        return 0;
    }
    for (auto const& [child_name, child] : where.children)
        if (child->handed_down.contains(*found)) return EBUSY;
    into.erase(*found);
    return 0;
}

/// A list is taken as a whole or not at all.
[[nodiscard]] inline int write_subtree_control(world& all, node& where, std::string_view text) {
    controller_set wanted = where.handed_down;
    for (std::string const& word : ration::cgroup::detail::split(strip(text), ' ')) {
        if (word.empty()) continue;
        if (int const refused = check_switch(where, word, wanted)) return refused;
    }
    bool only_threaded = true;
    for (controller const which : all_controllers) {
        bool const added = wanted.contains(which) && !where.handed_down.contains(which);
        only_threaded = only_threaded &&
                        (!added || std::ranges::find(threaded_controllers, which) != std::end(threaded_controllers));
    }
    bool const adds = !(wanted == where.handed_down) && !wanted.empty();
    if (!where.is_root() && adds && !only_threaded && !all.members(where).empty()) return EBUSY;
    for (controller const which : all_controllers)
        if (where.handed_down.contains(which) && !wanted.contains(which)) reset_children(where, which);
    where.handed_down = wanted;
    return 0;
}

[[nodiscard]] inline int read_type(world& all, node& where, std::string& into) {
    into = where.thread                    ? "threaded\n"
           : is_invalid_domain(all, where) ? "domain invalid\n"
           : is_thread_root(all, where)    ? "domain threaded\n"
                                           : "domain\n";
    return 0;
}
[[nodiscard]] inline int write_type(world& all, node& where, std::string_view text) {
    if (strip(text) != "threaded") return EINVAL;
    bool const allowed = where.parent->is_root() || (!is_invalid_domain(all, *where.parent) &&
                                                     !where.parent->handed_down.contains(controller::memory));
    if (!where.thread && (!allowed || !all.members_below(where).empty())) return EOPNOTSUPP;
    where.thread = true;
    return 0;
}

[[nodiscard]] inline int read_events(world& all, node& where, std::string& into) {
    into = std::string("populated ") + (all.members_below(where).empty() ? "0" : "1") + "\nfrozen " +
           (all.is_frozen(where) ? "1" : "0") + "\n";
    return 0;
}

template <std::int64_t values::* Field>
[[nodiscard]] int read_bound(world&, node& where, std::string& into) {
    std::int64_t const bound = where.limits.*Field;
    into = (bound == unlimited ? "max" : std::to_string(bound)) + "\n";
    return 0;
}
template <std::int64_t values::* Field>
[[nodiscard]] int write_bound(world&, node& where, std::string_view text) {
    int bound = 0;
    if (strip(text) == "max") {
        where.limits.*Field = unlimited;
        return 0;
    }
    if (int const failed = read_int(text, bound)) return failed;
    if (bound < 0) return ERANGE;
    where.limits.*Field = bound;
    return 0;
}

[[nodiscard]] inline int read_freeze(world&, node& where, std::string& into) {
    into = where.ordered_to_freeze ? "1\n" : "0\n";
    return 0;
}

inline void emit(world& all, node& where, bool freeze) {
    where.freezing_since = freeze && !where.ordered_to_freeze ? all.clock : where.freezing_since;
    where.ordered_to_freeze = freeze;
    all.deliver_pending();
}

[[nodiscard]] inline int write_freeze(world& all, node& where, std::string_view text) {
    int wanted = 0;
    if (int const failed = read_int(text, wanted)) return failed;
    if (wanted != 0 && wanted != 1) return ERANGE;
    emit(all, where, wanted == 1);
    return 0;
}

[[nodiscard]] inline int write_kill(world& all, node& where, std::string_view text) {
    int wanted = 0;
    if (int const failed = read_int(text, wanted)) return failed;
    if (wanted != 1) return ERANGE;
    if (where.thread) return EOPNOTSUPP;
    for (int const pid : all.members_below(where)) all.kill(pid);
    return 0;
}

[[nodiscard]] inline int read_freezer_state(world& all, node& where, std::string& into) {
    into = !world::frozen_by_any(where)                               ? "THAWED\n"
           : all.is_frozen(where) || all.members_below(where).empty() ? "FROZEN\n"
                                                                      : "FREEZING\n";
    return 0;
}
[[nodiscard]] inline int write_freezer_state(world& all, node& where, std::string_view text) {
    text = strip(text);
    if (text != "FROZEN" && text != "THAWED") return EINVAL;
    emit(all, where, text == "FROZEN");
    return 0;
}

inline constexpr file core_files[] = {
    {"cgroup.procs", version::v1, controller::core, true, read_members, write_member},
    {"tasks", version::v1, controller::core, true, read_members, write_member},
    {"freezer.state", version::v1, controller::freezer, false, read_freezer_state, write_freezer_state},
    {"freezer.self_freezing", version::v1, controller::freezer, false, read_freeze, nullptr},
    {"cgroup.procs", version::v2, controller::core, true, read_members, write_member},
    {"cgroup.controllers", version::v2, controller::core, true, read_controllers, nullptr},
    {"cgroup.subtree_control", version::v2, controller::core, true, read_subtree_control, write_subtree_control},
    {"cgroup.type", version::v2, controller::core, false, read_type, write_type},
    {"cgroup.events", version::v2, controller::core, false, read_events, nullptr},
    {"cgroup.freeze", version::v2, controller::core, false, read_freeze, write_freeze},
    {"cgroup.max.depth", version::v2, controller::core, true, read_bound<&values::depth>, write_bound<&values::depth>},
    {"cgroup.max.descendants", version::v2, controller::core, true, read_bound<&values::descendants>,
     write_bound<&values::descendants>},
    {"cgroup.kill", version::v2, controller::core, false, nullptr, write_kill},
};

}  // namespace ration::cgroup::modelled
