// SPDX-License-Identifier: BSL-1.0
/// The model's v2 controllers: cpu, cpuset, memory, pids, dmem.
/// Source: kernel/sched/core.c, kernel/cgroup/cpuset.c, mm/memcontrol.c, and measurements; kernel/cgroup/dmem.c, read
/// and not measured.
#pragma once

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>

#include "support/cgroup/model_v1.hpp"

namespace ration::cgroup::modelled {

[[nodiscard]] inline int read_cpu_max(world&, node& where, std::string& into) {
    into = (where.limits.quota < 0 ? "max" : std::to_string(where.limits.quota)) + " " +
           std::to_string(where.limits.period) + "\n";
    return 0;
}
[[nodiscard]] inline int write_cpu_max(world&, node& where, std::string_view text) {
    std::int64_t quota = 0, period = where.limits.period;
    if (int const failed = read_bandwidth(text, quota, period)) return failed;
    if (int const refused = check_bandwidth(quota, period, where.limits.burst)) return refused;
    where.limits.quota = quota;
    where.limits.period = period;
    return 0;
}
[[nodiscard]] inline int write_burst_v2(world&, node& where, std::string_view text) {
    std::uint64_t burst = 0;
    if (int const failed = read_u64(text, burst)) return failed;
    auto const wanted = static_cast<std::int64_t>(std::min<std::uint64_t>(burst, 1ULL << 60));
    if (int const refused = check_bandwidth(where.limits.quota, where.limits.period, wanted)) return refused;
    where.limits.burst = wanted;
    return 0;
}
[[nodiscard]] inline int write_weight(world&, node& where, std::string_view text) {
    std::uint64_t wanted = 0;
    if (int const failed = read_u64(text, wanted)) return failed;
    if (wanted < 1 || wanted > 10'000) return ERANGE;
    where.limits.weight = static_cast<std::int64_t>(wanted);
    return 0;
}
[[nodiscard]] inline int read_stat_v2(world&, node& where, std::string& into) {
    into = "usage_usec 0\nuser_usec 0\nsystem_usec 0\n";
    if (!where.is_root() && world::is_enabled(where, controller::cpu))
        into += "nr_periods 0\nnr_throttled 0\nthrottled_usec 0\nnr_bursts 0\nburst_usec 0\n";
    return 0;
}

template <cpu_set values::* Field>
[[nodiscard]] int read_effective(world& all, node& where, std::string& into) {
    into = all.effective(where, Field, Field == &values::cpus ? all.cpus : all.nodes).list() + "\n";
    return 0;
}
/// v2 takes what the parent does not have; only the effective set is cut.
template <cpu_set values::* Field>
[[nodiscard]] int write_set_v2(world& all, node& where, std::string_view text) {
    cpu_set wanted;
    if (int const failed = read_present<Field>(all, where, text, wanted)) return failed;
    if (wanted.empty() && !(where.limits.*Field).empty() && !all.members_below(where).empty()) return ENOSPC;
    where.limits.*Field = wanted;
    return 0;
}

[[nodiscard]] inline std::string max_or(std::int64_t limit) {
    return (limit == unlimited ? "max" : std::to_string(limit)) + "\n";
}

template <std::int64_t values::* Field>
[[nodiscard]] int read_memory_v2(world&, node& where, std::string& into) {
    into = max_or(where.limits.*Field);
    return 0;
}
inline void drop_to(world& all, node& where, std::int64_t limit) {
    std::int64_t const room = std::max<std::int64_t>(0, limit - all.unreclaimable(where));
    all.reclaimable[&where] = std::min(all.droppable(where), room);
}
/// Never refused: what cannot be reclaimed is killed.
[[nodiscard]] inline int write_memory_max(world& all, node& where, std::string_view text) {
    std::int64_t limit = 0;
    if (int const failed = read_pages(text, "max", limit)) return failed;
    where.limits.memory = limit;
    drop_to(all, where, limit);
    for (int const pid : all.members_below(where))
        if (all.unreclaimable(where) > limit && all.processes.at(pid).memory > 0)
            all.kill_for_memory(where, *all.memory_node(pid), pid);
    return 0;
}
[[nodiscard]] inline int write_memory_high(world& all, node& where, std::string_view text) {
    std::int64_t limit = 0;
    if (int const failed = read_pages(text, "max", limit)) return failed;
    where.limits.memory_high = limit;
    drop_to(all, where, limit);
    return 0;
}
[[nodiscard]] inline int write_reclaim(world& all, node& where, std::string_view text) {
    std::int64_t wanted = 0;
    if (int const failed = read_pages(text, "", wanted)) return failed;
    std::int64_t const before = all.droppable(where);
    all.reclaimable[&where] = std::max<std::int64_t>(0, before - wanted);
    return before < wanted ? EAGAIN : 0;
}
[[nodiscard]] inline int read_memory_stat(world& all, node& where, std::string& into) {
    into = "anon " + std::to_string(all.unreclaimable(where)) + "\nfile " + std::to_string(all.droppable(where)) +
           "\nfile_mapped 0\ninactive_file " + std::to_string(all.droppable(where)) +
           "\nactive_file 0\nslab_reclaimable 0\n";
    return 0;
}
[[nodiscard]] inline int read_memory_events(world&, node& where, std::string& into) {
    into = "low 0\nhigh 0\nmax " + std::to_string(where.shortages) + "\noom " + std::to_string(where.shortages) +
           "\noom_kill " + std::to_string(where.oom_kills) + "\noom_group_kill 0\n";
    return 0;
}

/// Only the root has it.
[[nodiscard]] inline int read_dmem_capacity(world& all, node& where, std::string& into) {
    for (auto const& [region, amount] : all.device_memory) into += region + " " + std::to_string(amount) + "\n";
    return where.is_root() && world::has(where, controller::dmem) ? 0 : ENOENT;
}
[[nodiscard]] inline int read_dmem_max(world& all, node& where, std::string& into) {
    for (auto const& [region, amount] : all.device_memory) {
        auto const limit = where.device_memory.find(region);
        into += region + " " + max_or(limit != where.device_memory.end() ? limit->second : unlimited);
    }
    return where.is_root() ? ENOENT : 0;
}
/// A region and its limit.
[[nodiscard]] inline int write_dmem_max(world& all, node& where, std::string_view text) {
    auto const words = detail::split(strip(text), ' ');
    if (words.size() != 2 || !all.device_memory.contains(words[0])) return EINVAL;
    std::uint64_t limit = 0;
    if (words[1] == "max") {
        where.device_memory.erase(words[0]);
        return 0;
    }
    if (int const failed = read_u64(words[1], limit)) return failed;
    where.device_memory[words[0]] = static_cast<std::int64_t>(limit);
    return 0;
}

inline constexpr file v2_files[] = {
    {"cpu.max", version::v2, controller::cpu, false, read_cpu_max, write_cpu_max},
    {"cpu.max.burst", version::v2, controller::cpu, false, read_number<&values::burst>, write_burst_v2},
    {"cpu.weight", version::v2, controller::cpu, false, read_number<&values::weight>, write_weight},
    {"cpu.stat", version::v2, controller::core, true, read_stat_v2, nullptr},
    {"cpuset.cpus", version::v2, controller::cpuset, false, read_set<&values::cpus>, write_set_v2<&values::cpus>},
    {"cpuset.mems", version::v2, controller::cpuset, false, read_set<&values::mems>, write_set_v2<&values::mems>},
    {"cpuset.cpus.effective", version::v2, controller::cpuset, true, read_effective<&values::cpus>, nullptr},
    {"cpuset.mems.effective", version::v2, controller::cpuset, true, read_effective<&values::mems>, nullptr},
    {"memory.max", version::v2, controller::memory, false, read_memory_v2<&values::memory>, write_memory_max},
    {"memory.high", version::v2, controller::memory, false, read_memory_v2<&values::memory_high>, write_memory_high},
    {"memory.reclaim", version::v2, controller::memory, false, nullptr, write_reclaim},
    {"memory.current", version::v2, controller::memory, false, read_usage, nullptr},
    {"memory.stat", version::v2, controller::memory, true, read_memory_stat, nullptr},
    {"memory.events", version::v2, controller::memory, false, read_memory_events, nullptr},
    {"pids.max", version::v2, controller::pids, false, read_pids_max, write_pids_max},
    {"dmem.capacity", version::v2, controller::core, true, read_dmem_capacity, nullptr},
    {"dmem.max", version::v2, controller::dmem, false, read_dmem_max, write_dmem_max},
};

}  // namespace ration::cgroup::modelled
