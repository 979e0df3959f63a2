// SPDX-License-Identifier: BSL-1.0
#include "sim/learned_phases.hpp"

#include <cstddef>

#include <ration/estimators/phase_fit.hpp>
#include <ration/sim/phase_model.hpp>

namespace ration::program {
namespace {

constexpr std::size_t most_runs = 8, most_samples = 20'000;  // of a class, and of one of its jobs

/// The use of a job without limits, with a sample in the middle of each period.
[[nodiscard]] std::vector<estimators::usage_sample> usage_of(sim::job_model const& model,
                                                             sim::job_description const& job) {
    std::vector<estimators::usage_sample> samples;
    double const period = sim::phase_model::period;
    for (double step = period / 2; step < job.length && samples.size() < most_samples; step += period) {
        auto const demand = model.demand(job, step);
        samples.push_back({.at = step + period / 2, .cpu = 1000 * demand.cores, .memory = demand.bytes});
    }
    return samples;
}

}  // namespace

std::vector<estimators::phase_model> learned_phases(sim::workload const& jobs) {
    std::vector<std::vector<std::vector<estimators::usage_sample>>> runs;  // by class
    for (auto const& job : jobs.jobs) {
        auto const& model = *jobs.models[job.model];
        if (!model.has_phases()) continue;
        std::size_t const kind = model.phase_at(job, 0).kind;
        if (runs.size() <= kind) runs.resize(kind + 1);
        if (runs[kind].size() < most_runs) runs[kind].push_back(usage_of(model, job));
    }
    std::vector<estimators::phase_model> models;
    models.reserve(runs.size());
    for (auto const& of_class : runs)
        models.push_back(estimators::fit_phases(
            of_class, {.period = sim::phase_model::period, .horizon = sim::phase_model::horizon}));
    return models;
}

}  // namespace ration::program
