// SPDX-License-Identifier: BSL-1.0
/// The resources that ration can limit by cgroups on this machine, found by trying each: for people whose limit does
/// not work.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <ration/cgroup/detail/group.hpp>
#include <ration/cgroup/names.hpp>

namespace ration::cgroup {

/// One thing that can be controlled. With `version::none`, `why` holds the reason and the remedy.
struct capability {
    std::string_view what;  ///< for people: "cpu quota"
    controller by{};
    version kind = version::none;
    std::string directory;  ///< our own group in that hierarchy
    std::string_view file;  ///< what a job's group gets written
    error why{};
    [[nodiscard]] bool available() const noexcept { return kind != version::none; }
};

namespace detail {

struct ability {
    std::string_view what;
    controller by;
    char const* v1;
    char const* v2;
};
inline constexpr ability abilities[] = {
    {"cpu quota", controller::cpu, "cpu.cfs_quota_us", "cpu.max"},
    {"cpu weight", controller::cpu, "cpu.shares", "cpu.weight"},
    {"cpu set", controller::cpuset, "cpuset.cpus", "cpuset.cpus"},
    {"memory limit", controller::memory, "memory.limit_in_bytes", "memory.max"},
    {"number of processes", controller::pids, "pids.max", "pids.max"},
    {"cpu accounting", controller::cpuacct, "cpuacct.usage", "cpu.stat"},
    {"freezing", controller::freezer, "freezer.state", "cgroup.freeze"},
    {"killing a whole group", controller::core, "", "cgroup.events"},  // cgroup.kill cannot be read
    {"starting inside the group", controller::core, "", "cgroup.procs"},
};

[[nodiscard]] inline capability examine_one(group const& trial, ability const& each) {
    tree const& where = trial.hierarchy();
    capability row{.what = each.what,
                   .by = each.by,
                   .kind = version::none,
                   .directory = {},
                   .file = {},
                   .why = where.owner(each.by).why};
    directory const* const place = trial.place_of(each.by);
    if (place == nullptr) return row;
    std::string text;
    char const* const file = place->kind() == version::v2 ? each.v2 : each.v1;
    auto const shown = place->read(file, text);
    if (!shown) {
        row.why = shown.failure();
        row.why.remedy = "this kernel was built without it, or is too old";
        return row;
    }
    row.kind = place->kind();
    row.directory = where.branch_of(each.by)->own.path();
    row.file = file;
    return row;
}

}  // namespace detail

/// Creates a group as a run would, examines it, and removes it. Never fails as a whole: if no group can be created,
/// each row has the reason.
[[nodiscard]] inline std::vector<capability> examine(io& machine) {
    std::vector<capability> rows;
    auto const fail = [&](error const& why) {
        rows.clear();
        for (auto const& each : detail::abilities) {
            rows.push_back(
                {.what = each.what, .by = each.by, .kind = version::none, .directory = {}, .file = {}, .why = why});
        }
        return rows;
    };
    auto const who = self_as_owner(machine);
    auto found = who ? tree::discover(machine) : result<tree>(who.failure());
    if (!found) return fail(found.failure());
    tree where = std::move(found).value();
    evacuation room;
    if (auto const roomy = room.prepare(where); !roomy) return fail(roomy.failure());
    if (where.branches().empty()) {
        for (auto const& each : detail::abilities) {
            rows.push_back({.what = each.what,
                            .by = each.by,
                            .kind = version::none,
                            .directory = {},
                            .file = {},
                            .why = where.owner(each.by).why});
        }
        return rows;
    }
    auto const trial = group::create(where, nullptr, group_name_of({"doctor", *who}));
    if (!trial) return fail(trial.failure());
    for (auto const& each : detail::abilities) rows.push_back(detail::examine_one(*trial, each));
    return rows;
}

}  // namespace ration::cgroup
