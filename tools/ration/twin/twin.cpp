// SPDX-License-Identifier: BSL-1.0
#include "twin/twin.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

#include <ration/sim/bounds.hpp>

#include "config/settings.hpp"
#include "report/run_json.hpp"
#include "report/run_summary.hpp"
#include "sim/runs.hpp"

namespace ration::program {
namespace {

[[nodiscard]] std::optional<nanoseconds> if_reached(nanoseconds at) noexcept {
    return at.count < 0 ? std::nullopt : std::optional(at);
}

/// The outcome of a simulated job as that of a run.
[[nodiscard]] job_summary summary_of(sim::job_outcome const& job, job_summary const& measured,
                                     fitted_job const& about) {
    bool const has_ended = job.finished.count >= 0;
    return {.name = measured.name,
            .arrived = measured.arrived,
            .started = if_reached(job.started),
            .acceptable_at = measured.has_acceptable ? if_reached(job.acceptable) : std::nullopt,
            .objective_at = measured.has_objective ? if_reached(job.objective) : std::nullopt,
            .ended_at = if_reached(job.finished),
            .has_acceptable = measured.has_acceptable,
            .has_objective = measured.has_objective,
            .how = has_ended ? condition::finished : condition::waiting,
            .why = {},
            .device_seconds = job.device_seconds,
            .step = static_cast<std::uint64_t>(job.released ? about.tier_steps[1] : about.steps),
            .released = job.released};
}

[[nodiscard]] double mean_of(drawn_series const& series) {
    if (series.means.empty()) return 0;
    return std::accumulate(series.means.begin(), series.means.end(), 0.0) / static_cast<double>(series.means.size());
}

/// The simulated run with the jobs in the order of the measured one.
[[nodiscard]] run_summary summary_of(simulated_run const& run, std::string const& label, run_summary const& measured,
                                     fitted_run const& models) {
    run_summary total{.policy = label, .label = label, .jobs = measured.jobs, .makespan = {}, .approximate = {}};
    for (std::size_t i = 0; i < models.places.size(); ++i) {
        auto& job = total.jobs[models.places[i]];
        job = summary_of(run.outcome.jobs[i], job, models.about[i]);
        if (job.ended_at) total.makespan = std::max(total.makespan, *job.ended_at);
    }
    bool const on_devices =
        std::ranges::any_of(models.about, [](auto const& job) { return job.on_devices.has_value(); });
    total.mean_cpu = on_devices ? std::numeric_limits<double>::quiet_NaN() : mean_of(run.cores);
    return total;
}

[[nodiscard]] std::vector<twin_figure> figures_of(run_summary const& measured, run_summary const& simulated) {
    std::vector<twin_figure> figures;
    for (std::size_t j = 0; j < measured.jobs.size(); ++j)
        for (auto const m : {milestone::acceptable, milestone::objective, milestone::end}) {
            auto const one = time_to(measured.jobs[j], m), other = time_to(simulated.jobs[j], m);
            if (aims_at(measured.jobs[j], m) && one && other)
                figures.push_back({measured.jobs[j].name, m, *one, *other});
        }
    figures.push_back({"", std::nullopt, to_seconds(measured.makespan), to_seconds(simulated.makespan)});
    std::erase_if(figures, [](twin_figure const& f) { return !(f.measured > 0); });
    return figures;
}

[[nodiscard]] bool has_same_jobs(recording const& a, recording const& b) {
    return std::ranges::equal(a.settings.jobs, b.settings.jobs, [](job_config const& one, job_config const& other) {
        return one.name == other.name && one.at == other.at;
    });
}

/// The machine and the jobs as `ration sim` takes them.
[[nodiscard]] simulation_input input_of(fitted_run const& models, fitted_machine const& machine,
                                        recording const& measured) {
    simulation_input input;
    input.machines.groups = {{.nodes = 1, .devices = machine.devices, .type = 0, .cores = machine.cores}};
    input.is_recorded = true;
    input.most_used_cores = machine.most_used;
    input.settings = measured.settings;
    input.settle = settle_rules{};
    auto& only = input.samples.emplace_back();
    only.jobs = models.jobs;
    only.needs = sim::needs_of(only.jobs, input.machines);
    return input;
}

/// The policies: that of the measured run, then the others.
[[nodiscard]] simulation_options runs_of(recording const& measured, twin_options const& options) {
    simulation_options how;
    how.policies = {measured.history.policy};
    for (auto const& policy : options.policies)
        if (std::ranges::find(how.policies, policy) == how.policies.end()) how.policies.push_back(policy);
    how.interval = {measured.history.tick};
    return how;
}

[[nodiscard]] bool went_well(simulated_run const& run) noexcept {
    return run.failure.empty() && !run.lost && !run.outcome.first_bad;
}

/// Simulates the measured run under all policies.
void simulate_into(twin_result& made, recording const& measured, twin_options const& options, diagnostics& problems) {
    auto input = input_of(made.models, made.machine, measured);
    auto const how = runs_of(measured, options);
    run_config own;
    add_settings(options.settings, how.policies, "simulated", own, problems);
    for (auto const& given : own.parameters) override_parameters(given, input.settings);
    if (!problems.empty()) return;
    auto const policies = try_policies(how, input, problems);
    if (!problems.empty()) return;
    std::vector<run_summary> sides{
        program::summary_of(measured.history, fmt::format("measured ({})", made.measured_policy))};
    sides.front().available_cpu.reset();  // a simulation has none
    runs_progress progress;
    for (auto const& run : run_all(how, input, progress)) {
        auto const& label = policies[run.policy].label;
        std::ranges::move(remarks_on(run, label, input), std::back_inserter(made.remarks));
        made.policies_answered = made.policies_answered && went_well(run);
        if (run.failure.empty()) sides.push_back(summary_of(run, label, sides.front(), made.models));
    }
    if (sides.size() > 1 && sides[1].label == policies.front().label) made.figures = figures_of(sides[0], sides[1]);
    made.sides = compare(std::move(sides));
}

}  // namespace

double twin_result::mean_error() const noexcept {
    double sum = 0;
    for (auto const& figure : figures) sum += std::abs(figure.error());
    return sum / static_cast<double>(figures.size());
}

twin_result make_twin(recording const& fitted, recording const& measured, twin_options const& options,
                      diagnostics& problems) {
    twin_result made;
    made.fitted_log = fitted.history.file;
    made.fitted_policy = side_label(fitted.history);
    made.measured_log = measured.history.file;
    made.measured_policy = side_label(measured.history);
    if (!has_same_jobs(fitted, measured)) {
        problems.add(
            {.file = made.measured_log,
             .text = fmt::format("its jobs or their arrivals are not those of {}; name two logs of one jobs file",
                                 made.fitted_log)});
        return made;
    }
    auto models = fit(fitted);
    if (!models) {
        problems.add(models.failure());
        return made;
    }
    made.models = *std::move(models);
    made.remarks = made.models.remarks;
    made.machine = machine_of(measured);
    simulate_into(made, measured, options, problems);
    return made;
}

}  // namespace ration::program
