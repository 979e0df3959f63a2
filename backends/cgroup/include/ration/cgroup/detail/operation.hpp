// SPDX-License-Identifier: BSL-1.0
/// One reversible change of one file of one group, and how each kind of file is planned, written and read.
#pragma once

#include <algorithm>
#include <string>

#include <ration/cgroup/detail/limit_file.hpp>
#include <ration/host/backend.hpp>
#include <ration/host/plan.hpp>

namespace ration::cgroup {

/// A file of a job's group gets `new_value` instead of `old_value`. Both are limits of the same kind, which names the
/// controller and the file.
struct operation {
    job_id job;
    resource_id resource{};
    timing when = timing::live;
    limit old_value;
    limit new_value;
};

namespace detail {

/// A part of a plan: appends the change from `now` to `wanted`, unless it is in force.
inline void plan_change(job_id job, resource_id resource, limit const& now, limit const& wanted, plan<operation>& out) {
    if (!is_same(now, wanted)) out.push_back({.job = job, .resource = resource, .old_value = now, .new_value = wanted});
}

/// The same for a limit that is to be read first.
[[nodiscard]] inline result<void> plan_limit(directory const& where, job_id job, resource_id resource,
                                             limit const& wanted, plan<operation>& out, std::string& scratch) {
    auto const now = present_limit(where, wanted, scratch);
    if (!now) return now.failure();
    plan_change(job, resource, *now, wanted, out);
    return {};
}

}  // namespace detail

/// Operations that put `amount` of cpu into force: 0 freezes; anything else sets the quota first and thaws then, so
/// that the job never runs with the old one. Where a group cannot be frozen, 0 is the least quota that there is.
[[nodiscard]] inline result<void> plan_cpu(group const& where, job_id job, std::int64_t amount, plan<operation>& out,
                                           std::string& scratch) {
    auto const plan_state = [&](directory const& freezer, run_state wanted) {
        return detail::plan_limit(freezer, job, resource_id::cpu, wanted, out, scratch);
    };
    directory const* const freezer = where.place_of(controller::freezer);
    auto const place = detail::find_place(where, controller::cpu);
    if (!place) return place.failure();
    if (freezer != nullptr && amount == 0) return plan_state(*freezer, run_state::frozen);
    auto const now = detail::read_quota(**place, scratch);
    if (!now) return now.failure();
    // On v1 in the period that the group has
    std::int64_t const period = (*place)->kind() == version::v2 ? cpu_quota::usual_period : now->period();
    auto const wanted = cpu_quota::of(millicores{amount == 0 ? 1 : amount}, period);
    if (!wanted) return wanted.failure();
    detail::plan_change(job, resource_id::cpu, *now, *wanted, out);
    return freezer != nullptr ? plan_state(*freezer, run_state::thawed) : result<void>();
}

[[nodiscard]] inline result<void> plan_memory(group const& where, job_id job, std::int64_t amount, plan<operation>& out,
                                              std::string& scratch) {
    auto const place = detail::find_place(where, controller::memory);
    auto const wanted = memory_limit::of(bytes{amount});
    if (!place || !wanted) return place ? wanted.failure() : place.failure();
    return detail::plan_limit(**place, job, resource_id::memory, *wanted, out, scratch);
}

/// 0 removes the limit. Error: not_supported on cgroup v1.
[[nodiscard]] inline result<void> plan_soft_memory(group const& where, setting const& wanted, plan<operation>& out,
                                                   std::string& scratch) {
    auto const place = detail::find_place(where, controller::memory);
    auto const from = memory_limit::of(bytes{wanted.amount == 0 ? unlimited : wanted.amount});
    if (!place || !from) return place ? from.failure() : place.failure();
    if ((*place)->kind() == version::v1) return write_soft_memory(**place, {*from});  // the error for v1
    return detail::plan_limit(**place, wanted.job, wanted.resource, soft_memory_limit{*from}, out, scratch);
}

/// CPU time, memory, time held back by the quota and number of processes, each from the controller that counts it; a
/// figure without a controller is 0.
[[nodiscard]] inline result<observation> observe(group const& where, std::string& scratch) noexcept {
    observation seen{};
    auto const failed = [](result<std::string_view> const& read) {
        // A file that this kernel does not have counts nothing
        return !read && read.failure().code != errc::not_supported;
    };
    if (directory const* const usage = where.place_of(controller::cpuacct)) {
        bool const v2 = usage->kind() == version::v2;
        auto const read = usage->read(v2 ? "cpu.stat" : "cpuacct.usage", scratch);
        if (failed(read)) return read.failure();
        seen.cpu_time.count =
            v2 ? keyed_number(scratch, "usage_usec").value_or(0) * 1000 : amount_of(read.value_or("")).value_or(0);
    }
    if (directory const* const quota = where.place_of(controller::cpu)) {
        auto const read = quota->read("cpu.stat", scratch);
        if (failed(read)) return read.failure();
        bool const v2 = quota->kind() == version::v2;
        seen.throttled.count = v2 ? keyed_number(scratch, "throttled_usec").value_or(0) * 1000
                                  : keyed_number(scratch, "throttled_time").value_or(0);
    }
    if (directory const* const memory = where.place_of(controller::memory)) {
        auto const read = memory->read("memory.stat", scratch);
        if (failed(read)) return read.failure();
        seen.memory.count = detail::resident_in(read.value_or(""), memory->kind());
    }
    auto const members = where.places().front().read("cgroup.procs", scratch);
    if (!members) return members.failure();
    seen.processes = static_cast<std::uint32_t>(std::ranges::count(scratch, '\n'));
    return seen;
}

}  // namespace ration::cgroup
