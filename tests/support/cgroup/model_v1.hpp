// SPDX-License-Identifier: BSL-1.0
/// The model's v1 controllers: cpu, cpuacct, cpuset, memory, pids.
/// Source: kernel/sched/core.c, kernel/cgroup/cpuset-v1.c, mm/memcontrol-v1.c, and measurements.
#pragma once

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>

#include "support/cgroup/model_core.hpp"

namespace ration::cgroup::modelled {

/// Bounds of bandwidth that v1 and v2 share; a quota below 0 means none.
[[nodiscard]] constexpr int check_bandwidth(std::int64_t quota, std::int64_t period, std::int64_t burst) noexcept {
    constexpr std::int64_t largest = (std::int64_t{1} << 44) - 1;
    bool const limited = quota >= 0;
    bool const sound = period >= 1000 && period <= 1'000'000 && (!limited || (quota >= 1000 && quota <= largest)) &&
                       (!limited || (burst >= 0 && burst <= quota && burst + quota <= largest));
    return sound ? 0 : EINVAL;
}

/// Quota per period as the kernel compares it: a fixed point number with 20 bits after the point.
[[nodiscard]] constexpr std::int64_t ratio_of(values const& limits) noexcept {
    return limits.quota < 0 ? unlimited
                            : static_cast<std::int64_t>((static_cast<std::uint64_t>(limits.quota) << 20) /
                                                        static_cast<std::uint64_t>(limits.period));
}

/// v1 wants no group above its parent, anywhere in the tree.
[[nodiscard]] inline bool ratios_hold(node const& where, std::int64_t above) noexcept {
    std::int64_t const own = where.is_root() ? unlimited : ratio_of(where.limits);
    if (own != unlimited && own > above) return false;
    return std::ranges::all_of(where.children,
                               [&](auto const& child) { return ratios_hold(*child.second, std::min(own, above)); });
}

[[nodiscard]] inline int set_bandwidth_v1(node& where, std::int64_t quota, std::int64_t period, std::int64_t burst) {
    if (where.is_root()) return EINVAL;
    if (int const refused = check_bandwidth(quota, period, burst)) return refused;
    values const before = where.limits;
    where.limits.quota = quota < 0 ? -1 : quota;
    where.limits.period = period;
    where.limits.burst = burst;
    if (!ratios_hold(*where.of->root, unlimited)) {
        where.limits = before;
        return EINVAL;
    }
    return 0;
}

template <std::int64_t values::* Field>
[[nodiscard]] int read_number(world&, node& where, std::string& into) {
    into = std::to_string(where.limits.*Field) + "\n";
    return 0;
}

[[nodiscard]] inline int write_quota(world&, node& where, std::string_view text) {
    std::int64_t quota = 0;
    int const failed = read_s64(text, quota);
    return failed ? failed : set_bandwidth_v1(where, quota, where.limits.period, where.limits.burst);
}
[[nodiscard]] inline int write_period(world&, node& where, std::string_view text) {
    std::uint64_t period = 0;
    int const failed = read_u64(text, period);
    return failed ? failed
                  : set_bandwidth_v1(where, where.limits.quota,
                                     static_cast<std::int64_t>(std::min<std::uint64_t>(period, 1ULL << 60)),
                                     where.limits.burst);
}
[[nodiscard]] inline int write_burst(world&, node& where, std::string_view text) {
    std::uint64_t burst = 0;
    int const failed = read_u64(text, burst);
    return failed ? failed
                  : set_bandwidth_v1(where, where.limits.quota, where.limits.period,
                                     static_cast<std::int64_t>(std::min<std::uint64_t>(burst, 1ULL << 60)));
}
[[nodiscard]] inline int write_shares(world&, node& where, std::string_view text) {
    std::uint64_t shares = 0;
    if (int const failed = read_u64(text, shares)) return failed;
    if (where.is_root()) return EINVAL;
    where.limits.shares = static_cast<std::int64_t>(std::clamp<std::uint64_t>(shares, 2, 262'144));
    return 0;
}
[[nodiscard]] inline int read_stat_v1(world&, node&, std::string& into) {
    into = "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n";
    return 0;
}
[[nodiscard]] inline int read_zero(world&, node&, std::string& into) {
    into = "0\n";
    return 0;
}

template <cpu_set values::* Field>
[[nodiscard]] int read_set(world& all, node& where, std::string& into) {
    bool const root = where.is_root();
    std::uint32_t const count = Field == &values::cpus ? all.cpus : all.nodes;
    into = (root ? all.effective(where, Field, count) : where.limits.*Field).list() + "\n";
    return 0;
}

/// A list of cpus or memory nodes that the machine has.
template <cpu_set values::* Field>
[[nodiscard]] int read_present(world& all, node& where, std::string_view text, cpu_set& wanted) {
    constexpr bool cpus = Field == &values::cpus;
    if (int const failed = read_list(strip(text), cpus ? all.cpus : world::most_nodes, wanted)) return failed;
    return wanted.within(all.effective(*where.of->root, Field, cpus ? all.cpus : all.nodes)) ? 0 : EINVAL;
}

/// v1: inside the parent, around the children, and not empty while something lives in it.
template <cpu_set values::* Field>
[[nodiscard]] int write_set_v1(world& all, node& where, std::string_view text) {
    cpu_set wanted;
    if (int const failed = read_present<Field>(all, where, text, wanted)) return failed;
    if (where.is_root()) return EACCES;
    for (auto const& [name, child] : where.children)
        if (!(child->limits.*Field).within(wanted)) return EBUSY;
    if (!where.parent->is_root() && !wanted.within(where.parent->limits.*Field)) return EACCES;
    if (wanted.empty() && !(where.limits.*Field).empty() && !all.members_below(where).empty()) return ENOSPC;
    where.limits.*Field = wanted;
    return 0;
}

template <std::int64_t values::* Field>
[[nodiscard]] int read_memory_v1(world&, node& where, std::string& into) {
    std::int64_t const limit = where.limits.*Field;
    into = std::to_string(limit == unlimited ? 0x7fff'ffff'ffff'f000 : limit) + "\n";
    return 0;
}

/// Refused while more is in use than can be dropped; then the old limit stays.
[[nodiscard]] inline int write_memory_v1(world& all, node& where, std::string_view text) {
    std::int64_t limit = 0;
    if (int const failed = read_pages(text, "-1", limit)) return failed;
    if (where.is_root() || limit > where.limits.memory_and_swap) return EINVAL;
    if (all.unreclaimable(where) > limit) return EBUSY;
    all.reclaimable[&where] = std::min(all.droppable(where), limit - all.unreclaimable(where));
    where.limits.memory = limit;
    return 0;
}
[[nodiscard]] inline int write_memsw_v1(world& all, node& where, std::string_view text) {
    std::int64_t limit = 0;
    if (int const failed = read_pages(text, "-1", limit)) return failed;
    if (where.is_root() || limit < where.limits.memory) return EINVAL;
    if (all.unreclaimable(where) > limit) return EBUSY;
    where.limits.memory_and_swap = limit;
    return 0;
}
[[nodiscard]] inline int read_usage(world& all, node& where, std::string& into) {
    into = std::to_string(all.usage(where)) + "\n";
    return 0;
}
[[nodiscard]] inline int read_memory_stat_v1(world& all, node& where, std::string& into) {
    auto const held = std::to_string(all.unreclaimable(where)), cached = std::to_string(all.droppable(where));
    into = "cache " + cached + "\nrss " + held + "\nmapped_file 0\ntotal_cache " + cached + "\ntotal_rss " + held +
           "\ntotal_mapped_file 0\n";
    return 0;
}
[[nodiscard]] inline int read_oom_control(world&, node& where, std::string& into) {
    into = "oom_kill_disable 0\nunder_oom 0\noom_kill " + std::to_string(where.oom_kills) + "\n";
    return 0;
}
[[nodiscard]] inline int read_failcnt(world&, node& where, std::string& into) {
    into = std::to_string(where.shortages) + "\n";
    return 0;
}

[[nodiscard]] inline int read_pids_max(world&, node& where, std::string& into) {
    into = (where.limits.pids == unlimited ? "max" : std::to_string(where.limits.pids)) + "\n";
    return 0;
}
[[nodiscard]] inline int write_pids_max(world&, node& where, std::string_view text) {
    text = strip(text);
    std::int64_t limit = unlimited;
    if (text != "max") {
        if (int const failed = read_s64(text, limit)) return failed;
        if (limit < 0 || limit > 4'194'304) return EINVAL;
    }
    where.limits.pids = limit;
    return 0;
}

inline constexpr file v1_files[] = {
    {"cpu.cfs_quota_us", version::v1, controller::cpu, true, read_number<&values::quota>, write_quota},
    {"cpu.cfs_period_us", version::v1, controller::cpu, true, read_number<&values::period>, write_period},
    {"cpu.cfs_burst_us", version::v1, controller::cpu, true, read_number<&values::burst>, write_burst},
    {"cpu.shares", version::v1, controller::cpu, true, read_number<&values::shares>, write_shares},
    {"cpu.stat", version::v1, controller::cpu, true, read_stat_v1, nullptr},
    {"cpuacct.usage", version::v1, controller::cpuacct, true, read_zero, nullptr},
    {"cpuset.cpus", version::v1, controller::cpuset, true, read_set<&values::cpus>, write_set_v1<&values::cpus>},
    {"cpuset.mems", version::v1, controller::cpuset, true, read_set<&values::mems>, write_set_v1<&values::mems>},
    {"cpuset.effective_cpus", version::v1, controller::cpuset, true, read_set<&values::cpus>, nullptr},
    {"memory.limit_in_bytes", version::v1, controller::memory, true, read_memory_v1<&values::memory>, write_memory_v1},
    {"memory.memsw.limit_in_bytes", version::v1, controller::memory, true, read_memory_v1<&values::memory_and_swap>,
     write_memsw_v1},
    {"memory.usage_in_bytes", version::v1, controller::memory, true, read_usage, nullptr},
    {"memory.stat", version::v1, controller::memory, true, read_memory_stat_v1, nullptr},
    {"memory.oom_control", version::v1, controller::memory, true, read_oom_control, nullptr},
    {"memory.failcnt", version::v1, controller::memory, true, read_failcnt, nullptr},
    {"pids.max", version::v1, controller::pids, false, read_pids_max, write_pids_max},
};

}  // namespace ration::cgroup::modelled
