// SPDX-License-Identifier: BSL-1.0
#include "serve/wait_reason.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include <ration/resource.hpp>

#include "common/printable.hpp"

namespace ration::program {
namespace {

using earliest = std::optional<std::int64_t>;

/// "12 min": rounded up, in the largest unit of which it has two.
[[nodiscard]] std::string rough_duration(std::int64_t ms) {
    constexpr std::int64_t second = 1000, minute = 60 * second, hour = 60 * minute, day = 24 * hour;
    auto const in = [&](std::int64_t unit) { return (std::max<std::int64_t>(ms, 0) + unit - 1) / unit; };
    if (ms < 2 * minute) return fmt::format("{} s", in(second));
    if (ms < 2 * hour) return fmt::format("{} min", in(minute));
    return ms < 2 * day ? fmt::format("{} h", in(hour)) : fmt::format("{} days", in(day));
}

[[nodiscard]] job_wait estimated(std::string sentence, earliest at, wait_context const& in) {
    sentence += at ? fmt::format("; earliest start in about {} if running jobs end as estimated",
                                 rough_duration(*at - in.now_ms))
                   : "; its earliest start is unknown";
    return {std::move(sentence), at};
}

[[nodiscard]] std::string jobs_are_ahead(std::size_t jobs) {
    if (jobs == 0) return "no job is ahead";
    return jobs == 1 ? "1 job is ahead" : fmt::format("{} jobs are ahead", jobs);
}

/// When jobs have returned this number of places or devices; none: that is unknown. Jobs that start before then are
/// taken not to end before then.
class returns {
    std::vector<std::pair<std::int64_t, std::int64_t>> ends_;  // time, amount

public:
    void add(run_member const& member, std::int64_t amount) {
        if (member.end_ms && amount > 0) ends_.emplace_back(*member.end_ms, amount);
    }
    [[nodiscard]] earliest time_of(std::int64_t amount, std::int64_t now_ms) {
        if (amount <= 0) return now_ms;
        std::ranges::sort(ends_);
        for (auto const& [time, returned] : ends_) {
            amount -= returned;
            if (amount <= 0) return std::max(time, now_ms);
        }
        return std::nullopt;
    }
};

[[nodiscard]] job_wait wait_for_jobs(std::vector<open_predecessor> const& jobs, wait_context const& in) {
    earliest last = in.now_ms;
    for (auto const& job : jobs) last = last && job.end_ms ? earliest(std::max(*last, *job.end_ms)) : std::nullopt;
    auto const& first = jobs.front().label;
    return estimated(jobs.size() == 1 ? fmt::format("waits until job {} completes", first)
                                      : fmt::format("waits until {} jobs complete, such as {}", jobs.size(), first),
                     last, in);
}

[[nodiscard]] job_wait wait_for_place(std::size_t ahead, wait_context const& in) {
    returns places;
    for (auto const& member : in.run) places.add(member, 1);
    auto const missing = static_cast<std::int64_t>(ahead + 1 + in.run.size()) - static_cast<std::int64_t>(in.places);
    if (missing <= 0) return {"waits for its launch, which comes next", in.now_ms};
    return estimated(
        fmt::format("waits, since at most {} at once: {}",
                    in.places == 1 ? "1 job runs" : fmt::format("{} jobs run", in.places), jobs_are_ahead(ahead)),
        places.time_of(missing, in.now_ms), in);
}

[[nodiscard]] tenant_config const* find_tenant(tenant_tree const& tree, std::string_view name) {
    auto const found = std::ranges::find(tree.tenants, name, &tenant_config::name);
    return found == tree.tenants.end() ? nullptr : &*found;
}

[[nodiscard]] bool is_below(std::string_view tenant, std::string_view top, tenant_tree const& tree) {
    for (auto const* at = find_tenant(tree, tenant); at != nullptr; at = find_tenant(tree, at->parent))
        if (at->name == top) return true;
    return false;
}

[[nodiscard]] std::int64_t gpu_of(tenant_amounts const& amounts) {
    return amounts[static_cast<std::size_t>(resource_id::gpu)];
}

[[nodiscard]] std::int64_t held_by(std::string_view tenant, wait_context const& in) {
    std::int64_t held = 0;
    for (auto const& member : in.run)
        if (is_below(member.tenant, tenant, in.tenants)) held += member.devices;
    return held;
}

/// None: no limit of the tenant or of one above it is in the way.
[[nodiscard]] std::optional<job_wait> wait_for_limit(run_member const& job, std::int64_t needed,
                                                     wait_context const& in) {
    for (auto const* at = find_tenant(in.tenants, job.tenant); at != nullptr;
         at = find_tenant(in.tenants, at->parent)) {
        auto const limit = gpu_of(at->limit), held = held_by(at->name, in);
        if (limit == unlimited || held + needed <= limit) continue;
        returns devices;
        for (auto const& member : in.run)
            if (is_below(member.tenant, at->name, in.tenants)) devices.add(member, member.devices);
        return estimated(fmt::format("waits for {} gpu: tenant {} holds {} of its limit of {}", needed,
                                     quoted(at->name), held, limit),
                         needed > limit ? std::nullopt : devices.time_of(held + needed - limit, in.now_ms), in);
    }
    return std::nullopt;
}

/// The policy could grant the devices and has not.
[[nodiscard]] job_wait wait_for_policy(run_member const& job, std::int64_t needed, std::int64_t free,
                                       wait_context const& in) {
    auto sentence = fmt::format("waits for {} gpu: policy {} has not granted {} of the {} free ones", needed,
                                quoted(in.policy), needed, free);
    auto const* const tenant = find_tenant(in.tenants, job.tenant);
    auto const quota = tenant == nullptr ? 0 : gpu_of(tenant->quota), held = held_by(job.tenant, in);
    bool const has_quotas =
        std::ranges::any_of(in.tenants.tenants, [](tenant_config const& one) { return gpu_of(one.quota) > 0; });
    if (has_quotas && held + needed > quota)
        sentence += fmt::format(", and tenant {} holds {} with a quota of {}", quoted(job.tenant), held, quota);
    return estimated(std::move(sentence), std::nullopt, in);
}

/// The order of the policy and the end of its choice are its own.
[[nodiscard]] std::string choice_among(std::size_t waiting, wait_context const& in) {
    if (waiting == 1) return "no other job waits for some";
    return fmt::format("policy {} chooses among {} waiting jobs ({})", quoted(in.policy), waiting, in.rule);
}

/// The members before `job` have arrived before it.
[[nodiscard]] job_wait wait_for_devices(run_member const& job, std::int64_t needed, wait_context const& in) {
    if (auto limited = wait_for_limit(job, needed, in)) return std::move(*limited);
    std::int64_t free = in.devices, needed_before = 0;
    std::size_t ahead = 0, waiting = 0;
    returns devices;
    for (auto const& member : in.run) {
        free -= member.devices;
        devices.add(member, member.devices);
        bool const waits = !member.launched && member.needed, is_before = waits && &member < &job;
        waiting += waits ? 1 : 0;
        ahead += is_before ? 1 : 0;
        needed_before += is_before ? *member.needed : 0;
    }
    if (free >= needed) return wait_for_policy(job, needed, free, in);
    bool const by_arrival = in.rule.empty();
    return estimated(fmt::format("waits for {} gpu: {} of {} are free, and {}", needed, free, in.devices,
                                 by_arrival ? jobs_are_ahead(ahead) : choice_among(waiting, in)),
                     by_arrival ? devices.time_of(needed_before + needed - free, in.now_ms) : std::nullopt, in);
}

}  // namespace

job_wait wait_in_queue(stored_job const& job, std::vector<open_predecessor> const& predecessors,
                       std::optional<std::size_t> ahead, bool lacks_devices, wait_context const& in) {
    if (job.paused) return {"waits until ration resume, since its user has paused it"};
    if (!predecessors.empty()) return wait_for_jobs(predecessors, in);
    if (in.draining) return {"waits until ration drain --undo, since the service starts no job"};
    if (in.rest_ms > 0)
        return {fmt::format("waits for its next launch after one that failed; earliest start in {}",
                            rough_duration(in.rest_ms)),
                in.now_ms + in.rest_ms};
    if (lacks_devices) return {"waits for devices, of which the service has none"};
    if (!ahead) return {"waits for its turn; its earliest start is unknown"};
    return wait_for_place(*ahead, in);
}

job_wait wait_in_run(std::int64_t job, wait_context const& in) {
    auto const found = std::ranges::find(in.run, job, &run_member::id);
    if (found == in.run.end() || found->launched) return {};
    run_member const& self = *found;
    if (in.draining) return {"waits until ration drain --undo, since the service starts no job"};
    if (!self.needed || self.devices > 0) return {"waits for its launch, which comes next", in.now_ms};
    return wait_for_devices(self, *self.needed, in);
}

}  // namespace ration::program
