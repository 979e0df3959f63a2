// SPDX-License-Identifier: BSL-1.0
/// The groups of dead runs on this machine. For orphaned_runs.cpp and orphan_cleaner.cpp.
#pragma once

#include <string>

#include <ration/cgroup/kernel_io.hpp>
#include <ration/cgroup/orphans.hpp>

#include "run/cgroup_jobs.hpp"
#include "run/run_record.hpp"

namespace ration::program {

/// The group of a run, in each hierarchy.
[[nodiscard]] inline std::string group_of(run_record const& record) {
    return cgroup::group_name_of(
        {cgroup_jobs::group_name, {record.owner, record.owner_start_time, record.pid_namespace}});
}

/// Groups of dead runs that started where this process is, or in the groups that a record names. None where cgroups
/// cannot be used.
template <class Action>
void for_each_orphan(std::string const* memberships, Action action) {
    cgroup::kernel_io machine;
    auto const where =
        memberships != nullptr ? cgroup::tree::discover(machine, *memberships) : cgroup::tree::discover(machine);
    if (!where) return;
    auto const orphans = cgroup::find_orphans(machine, *where);
    if (!orphans) return;
    for (auto const& orphan : *orphans) action(*where, orphan);
}

}  // namespace ration::program
