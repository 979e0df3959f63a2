// SPDX-License-Identifier: BSL-1.0
/// One reversible change of one file of one group, and how each kind of file is planned, written and read.
#pragma once

#include <string>
#include <string_view>

#include <ration/cgroup/detail/set.hpp>
#include <ration/host/backend.hpp>
#include <ration/host/plan.hpp>

namespace ration::cgroup {

/// A file of a job's group gets `new_value` instead of `old_value`. Both are texts as the kernel takes and shows them.
struct operation {
    job_id job;
    resource_id resource{};
    timing when = timing::live;
    controller place{};
    char const* file = "";
    text<64> old_value;
    text<64> new_value;
};

namespace detail {

inline constexpr nanoseconds freeze_patience = milliseconds(500);

[[nodiscard]] inline bool is_freeze(operation const& op) noexcept { return op.place == controller::freezer; }

/// The present text of an operation's file. A group that is told to freeze counts as frozen only when nothing runs any
/// more.
[[nodiscard]] inline result<std::string_view> shown(directory const& where, operation const& op,
                                                    std::string& scratch) noexcept {
    if (!is_freeze(op)) return where.read(op.file, scratch);
    auto const reported = is_frozen(where);
    if (!reported) return reported.failure();
    return freeze_text(where, *reported);
}

/// Brings the file to `value`: limits with a read-back, freezing with a deadline, memory on v2 without killing.
[[nodiscard]] inline result<void> put(directory const& where, operation const& op, std::string_view value) noexcept {
    if (is_freeze(op)) return value == freeze_text(where, true) ? freeze(where, freeze_patience) : thaw(where);
    if (op.place == controller::memory) {
        auto const amount = amount_of(value);
        auto const limit = amount ? memory_limit::of(bytes{*amount}) : memory_limit();
        return limit ? set_memory(where, *limit) : result<void>(limit.failure());
    }
    return write_verified(where, op.file, value);
}

/// What a job's cpu group should hold for `amount`: the quota on v2 with its usual period, on v1 in the period it has.
[[nodiscard]] inline result<std::string> quota_text(directory const& where, std::int64_t amount) noexcept {
    if (where.kind() == version::v2) {
        auto const limit = cpu_quota::of(millicores{amount});
        return limit ? result<std::string>(limit->v2_text()) : result<std::string>(limit.failure());
    }
    auto const period = number_in(where, "cpu.cfs_period_us");
    auto const limit = period ? cpu_quota::of(millicores{amount}, *period) : result<cpu_quota>(period.failure());
    return limit ? result<std::string>(limit->v1_text()) : result<std::string>(limit.failure());
}

/// A part of a plan: appends `op` with the file's present text as the old value, unless it says the same already.
[[nodiscard]] inline result<void> plan_text(directory const& where, operation op, std::string_view wanted,
                                            plan<operation>& out, std::string& scratch) noexcept {
    auto const now = shown(where, op, scratch);
    if (!now) return now.failure();
    if (!same_value(*now, wanted)) {
        op.old_value = *now;
        op.new_value = wanted;
        out.push_back(op);
    }
    return {};
}

}  // namespace detail

/// Operations that put `amount` of cpu into force: 0 freezes; anything else sets the quota first and thaws then, so
/// that the job never runs with the old one. Where nobody can freeze, 0 is the least quota that there is.
[[nodiscard]] inline result<void> plan_cpu(group const& where, job_id job, std::int64_t amount, plan<operation>& out,
                                           std::string& scratch) noexcept {
    directory const* const freezer = where.place_of(controller::freezer);
    auto const quota = detail::find_place(where, controller::cpu);
    if (!quota) return quota.failure();
    operation op{
        .job = job, .resource = resource_id::cpu, .place = controller::freezer, .old_value = {}, .new_value = {}};
    if (freezer != nullptr) {
        op.file = detail::freeze_file(*freezer);
        if (amount == 0) return detail::plan_text(*freezer, op, detail::freeze_text(*freezer, true), out, scratch);
    }
    operation limit = op;
    limit.place = controller::cpu;
    limit.file = (*quota)->kind() == version::v2 ? "cpu.max" : "cpu.cfs_quota_us";
    auto const wanted = detail::quota_text(**quota, amount == 0 ? 1 : amount);
    if (!wanted) return wanted.failure();
    auto const planned = detail::plan_text(**quota, limit, *wanted, out, scratch);
    return planned && freezer != nullptr
               ? detail::plan_text(*freezer, op, detail::freeze_text(*freezer, false), out, scratch)
               : planned;
}

[[nodiscard]] inline result<void> plan_memory(group const& where, job_id job, std::int64_t amount, plan<operation>& out,
                                              std::string& scratch) noexcept {
    auto const place = detail::find_place(where, controller::memory);
    auto const limit = memory_limit::of(bytes{amount});
    if (!place || !limit) return place ? limit.failure() : place.failure();
    bool const v2 = (*place)->kind() == version::v2;
    operation const op{.job = job,
                       .resource = resource_id::memory,
                       .place = controller::memory,
                       .file = memory_file(**place),
                       .old_value = {},
                       .new_value = {}};
    return detail::plan_text(**place, op, v2 ? limit->v2_text() : limit->v1_text(), out, scratch);
}

/// CPU time, memory, time held back by the quota and number of processes, each from the controller that counts it; what
/// nobody counts is 0.
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
