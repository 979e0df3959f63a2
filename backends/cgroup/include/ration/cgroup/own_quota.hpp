// SPDX-License-Identifier: BSL-1.0
/// The CPU time that the groups of this process leave it, as those of a container or of a unit of systemd do. Sources:
/// cgroup-v2.rst (cpu.max), sched-bwc.rst.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include <ration/cgroup/detail/proc_text.hpp>
#include <ration/cgroup/detail/values.hpp>
#include <ration/cgroup/directory.hpp>
#include <ration/cgroup/hierarchy.hpp>
#include <ration/resource.hpp>

namespace ration::cgroup {
namespace detail {

/// Millicores; `unlimited` where the group has no quota, or no such file.
[[nodiscard]] inline std::int64_t quota_of(directory const& group) {
    std::string text, period_text;
    bool const v2 = group.kind() == version::v2;
    auto const shown = group.read(v2 ? "cpu.max" : "cpu.cfs_quota_us", text);
    if (!shown) return unlimited;
    auto const blank = std::min(shown->find(' '), shown->size());
    auto const behind = shown->substr(std::min(blank + 1, shown->size()));
    auto const v1_period = v2 ? result<std::string_view>(behind) : group.read("cpu.cfs_period_us", period_text);
    std::int64_t const quota = amount_of(shown->substr(0, blank)).value_or(unlimited);
    std::int64_t const period = v1_period ? amount_of(*v1_period).value_or(0) : 0;
    return quota < unlimited / 1000 && period > 0 ? quota * 1000 / period : unlimited;
}

/// The least quota of this group and of those above it that can be seen.
[[nodiscard]] inline std::int64_t quota_above(io& machine, version kind, std::string path) {
    std::int64_t least = unlimited;
    while (!path.empty()) {
        auto const group = directory::open(machine, path);
        if (!group || group->kind() != kind) break;
        least = std::min(least, quota_of(*group));
        path.resize(path.rfind('/'));
    }
    return least;
}

}  // namespace detail

/// `unlimited` without a quota, and where no hierarchy can be seen. Reads a few small files.
[[nodiscard]] inline millicores own_quota(io& machine) {
    std::string memberships, mountinfo;
    if (machine.read_system("/proc/self/cgroup", memberships) != 0 ||
        machine.read_system("/proc/self/mountinfo", mountinfo) != 0)
        return {unlimited};
    auto const mounts = parse_mounts(mountinfo);
    millicores least{unlimited};
    for (auto const& line : parse_memberships(memberships)) {
        bool const v2 = line.hierarchy == 0;
        if (!v2 && !detail::has(line.controllers, "cpu")) continue;
        auto const kind = v2 ? version::v2 : version::v1;
        auto const place = locate(kind, v2 ? "cgroup2" : "cpu", mounts, line);
        if (place) least.count = std::min(least.count, detail::quota_above(machine, kind, place->first));
    }
    return least;
}

}  // namespace ration::cgroup
