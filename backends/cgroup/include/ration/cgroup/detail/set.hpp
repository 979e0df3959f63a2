// SPDX-License-Identifier: BSL-1.0
/// `set(group, limit)`: one function for each kind of limit, the same on v1 and v2. Each writes, reads back, and
/// reports the hierarchy of the controller if none has it here.
#pragma once

#include <string>

#include <ration/cgroup/detail/cpu_set.hpp>
#include <ration/cgroup/detail/group.hpp>
#include <ration/cgroup/limits.hpp>
#include <ration/cgroup/memory.hpp>

namespace ration::cgroup {

namespace detail {

/// Where the controller's files of this group are, or why there are none.
[[nodiscard]] inline result<directory const*> find_place(group const& where, controller which) noexcept {
    directory const* const found = where.place_of(which);
    return found != nullptr ? result<directory const*>(found)
                            : result<directory const*>(where.hierarchy().owner(which).why);
}

/// Kernels before 5.14 have no burst, which is the same as a burst of 0.
[[nodiscard]] inline result<void> set_burst(directory const& where, std::int64_t burst) noexcept {
    char const* const file = where.kind() == version::v2 ? "cpu.max.burst" : "cpu.cfs_burst_us";
    auto const now = number_in(where, file);
    if (!now && now.failure().code == errc::not_supported && burst == 0) return {};
    if (!now) return now.failure();
    return *now == burst ? result<void>() : write_verified(where, file, number_text(burst));
}

/// The two files of v1. A new period with the old quota may be more than a group above allows; then the quota goes
/// first.
[[nodiscard]] inline result<void> set_quota_v1(directory const& where, cpu_quota const& limit) noexcept {
    auto const period = number_in(where, "cpu.cfs_period_us");
    if (!period) return period.failure();
    auto const wanted = number_text(limit.period());
    bool const first = *period != limit.period() && write_verified(where, "cpu.cfs_period_us", wanted);
    auto const written = write_verified(where, "cpu.cfs_quota_us", limit.v1_text());
    if (!written || first || *period == limit.period()) return written;
    return write_verified(where, "cpu.cfs_period_us", wanted);
}

}  // namespace detail

/// The kernel keeps burst <= quota at every moment: a smaller burst goes before the quota, a larger one after it.
/// Errors: conflict (v1: a group above has less), gone, not_supported.
[[nodiscard]] inline result<void> set(group const& group, cpu_quota const& limit) noexcept {
    auto const place = detail::find_place(group, controller::cpu);
    if (!place) return place.failure();
    directory const& where = **place;
    auto const lowered = detail::set_burst(where, 0);
    if (!lowered) return lowered;
    auto const written = where.kind() == version::v2 ? write_verified(where, "cpu.max", limit.v2_text())
                                                     : detail::set_quota_v1(where, limit);
    return written && limit.burst() > 0 ? detail::set_burst(where, limit.burst()) : written;
}

[[nodiscard]] inline result<void> set(group const& group, weight const& limit) noexcept {
    auto const place = detail::find_place(group, controller::cpu);
    if (!place) return place.failure();
    bool const v2 = (*place)->kind() == version::v2;
    return write_verified(**place, v2 ? "cpu.weight" : "cpu.shares", v2 ? limit.v2_text() : limit.v1_text());
}

/// Where the processes of the group may run. Error: empty_set for an empty one; conflict when a group above has less
/// (v1).
[[nodiscard]] inline result<void> set(group const& group, cpu_set const& limit) {
    auto const place = detail::find_place(group, controller::cpuset);
    if (!place) return place.failure();
    if (limit.empty()) return make_error(errc::empty_set, "set cpus of", (*place)->path());
    return write_verified(**place, "cpuset.cpus", limit.list());
}

[[nodiscard]] inline result<void> set(group const& group, memory_limit const& limit) noexcept {
    auto const place = detail::find_place(group, controller::memory);
    return place ? set_memory(**place, limit) : result<void>(place.failure());
}

[[nodiscard]] inline result<void> set(group const& group, pids_limit const& limit) noexcept {
    auto const place = detail::find_place(group, controller::pids);
    return place ? write_verified(**place, "pids.max", limit.text()) : result<void>(place.failure());
}

/// The processors that the group's processes can run on now: what was asked for, less what the groups above do not
/// have.
[[nodiscard]] inline result<cpu_set> usable_cpus(group const& group) {
    auto const place = detail::find_place(group, controller::cpuset);
    if (!place) return place.failure();
    std::string text;
    auto const shown =
        (*place)->read((*place)->kind() == version::v2 ? "cpuset.cpus.effective" : "cpuset.effective_cpus", text);
    return shown ? cpu_set::parse(*shown) : result<cpu_set>(shown.failure());
}

}  // namespace ration::cgroup
