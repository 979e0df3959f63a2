// SPDX-License-Identifier: BSL-1.0
#include "report/run_summary.hpp"

#include <utility>

namespace ration::program {
namespace {

[[nodiscard]] std::optional<nanoseconds> as_time(std::optional<std::int64_t> t) noexcept {
    return t ? std::optional(nanoseconds{*t}) : std::nullopt;
}

[[nodiscard]] condition condition_of(std::string_view word) noexcept {
    for (int i = 0; i <= static_cast<int>(condition::stopped); ++i)
        if (word == name_of(static_cast<condition>(i))) return static_cast<condition>(i);
    return condition::running;
}

}  // namespace

job_summary summary_of(job_record const& job) {
    return {.name = job.name,
            .arrived = {job.arrived.value_or(0)},
            .started = as_time(job.started),
            .acceptable_at = as_time(job.acceptable_at),
            .objective_at = as_time(job.objective_at),
            .ended_at = as_time(job.ended_at),
            .has_acceptable = job.acceptable.has_value() || job.acceptable_at,
            .has_objective = job.objective.has_value() || job.objective_at,
            .how = condition_of(job.how),
            .why = job.why,
            .device_seconds = job.device_seconds,
            .step = static_cast<std::uint64_t>(job.last_step),
            .released = job.released,
            .level_met = job.level_met};
}

run_summary summary_of(run_history const& run, std::string label) {
    run_summary total{.policy = run.policy,
                      .label = std::move(label),
                      .jobs = {},
                      .makespan = {run.makespan.value_or(0)},
                      .mean_cpu = run.mean_cpu.value_or(0),
                      .available_cpu = run.available_cpu,
                      .approximate = {},
                      .interrupted = run.interrupted};
    for (auto const& job : run.jobs) total.jobs.push_back(summary_of(job));
    return total;
}

}  // namespace ration::program
