// SPDX-License-Identifier: BSL-1.0
#include "serve/wait_explainer.hpp"

#include <algorithm>
#include <utility>

#include "serve/api.hpp"
#include "serve/definition.hpp"
#include "serve/expected_end.hpp"

namespace ration::program {
namespace {

/// In seconds. A job reports its number of steps, which may be any: later ends count as unknown.
constexpr double longest_estimate = 1e9;

[[nodiscard]] bool needs_devices(stored_job const& job) {
    auto const config = described_job(job);
    return config != nullptr && config->elastic.has_value();
}

[[nodiscard]] run_member member_of(watched_job const& job, run_view const& run, std::int64_t now_ms) {
    run_member out{.id = job.stored->id, .tenant = job.stored->what.tenant, .launched = job.live->alive()};
    if (job.live->devices != nullptr) {
        out.devices = job.live->devices->state().devices.size();
        out.needed = std::max<std::int64_t>(1, job.live->elastic().devices.minimum);
    }
    auto const left = seconds_left(*job.live, *job.progress, *job.stored, run.jobs, run.now);
    if (left && *left < longest_estimate) out.end_ms = now_ms + static_cast<std::int64_t>(*left * 1000);
    return out;
}

/// In the order of their arrival.
[[nodiscard]] std::vector<run_member> members_of(run_view const& run, std::int64_t now_ms) {
    auto jobs = run.watched;
    std::ranges::sort(jobs, {}, [](watched_job const& one) { return one.live->id; });
    std::vector<run_member> out;
    out.reserve(jobs.size());
    for (auto const& job : jobs) out.push_back(member_of(job, run, now_ms));
    return out;
}

}  // namespace

result<job_wait> wait_explainer::reason_of(stored_job const& job, run_view const& run, start_order const& order) const {
    if (is_final(job.now)) return job_wait{};
    auto const& supply = control_.supply();
    auto const clocks = read_clocks();
    wait_context in{.now_ms = clocks.wall_ms,
                    .draining = control_.draining(),
                    .places = max_running_,
                    .devices = std::ssize(supply.devices.names()),
                    .policy = control_.policy(),
                    .rule = control_.rule(),
                    .tenants = supply.config.tenants};
    in.run = members_of(run, in.now_ms);
    if (job.now != stage::queued) return wait_in_run(job.id, in);
    in.rest_ms = waiting_.rest_left_ms(job.id, clocks.boot_ms);
    auto const before = predecessors_of(job, in.run);
    if (!before) return before.failure();
    bool const lacks_devices = supply.devices.names().empty() && needs_devices(job);
    return wait_in_queue(job, *before, waiting_.jobs_before(job.id, order), lacks_devices, in);
}

result<std::vector<open_predecessor>> wait_explainer::predecessors_of(stored_job const& job,
                                                                      std::vector<run_member> const& run) const {
    std::vector<open_predecessor> out;
    for (auto const id : job.what.after) {
        auto const found = list_.find(id);
        if (!found && found.failure().code == errc::unverified) {
            out.push_back({std::to_string(id)});
            continue;
        }
        if (!found) return found.failure();
        auto const& other = *found;
        if (!other || other->now == stage::completed) continue;
        auto const member = std::ranges::find(run, id, &run_member::id);
        out.push_back({label_of(other->what.name, id), member == run.end() ? std::nullopt : member->end_ms});
    }
    return out;
}

}  // namespace ration::program
