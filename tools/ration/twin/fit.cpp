// SPDX-License-Identifier: BSL-1.0
#include "twin/fit.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include <ration/estimators/loss_forecast.hpp>
#include <ration/sim/cpu_model.hpp>

#include "common/printable.hpp"
#include "twin/recorded_model.hpp"

namespace ration::program {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// Core-seconds of a job from one of its samples to another.
[[nodiscard]] double core_seconds(recording const& run, job_measurements const& job, std::size_t from, std::size_t to) {
    double sum = 0;
    for (std::size_t i = from + 1; i <= to; ++i) {
        auto const& sample = job.samples[i];
        nanoseconds const passed = run.decisions[sample.decision].at - run.decisions[job.samples[i - 1].decision].at;
        sum += sample.used_cores * to_seconds(passed);
    }
    return sum;
}

/// The cores that all jobs together use at each decision, and those that they have ever used.
struct machine_use {
    std::vector<double> used, wanted;
    std::vector<bool> has_free_job;  ///< a job without a limit
};

[[nodiscard]] double most_used_by(job_measurements const& job) {
    double most = 0;
    for (auto const& sample : job.samples) most = std::max(most, sample.used_cores);
    return most;
}

[[nodiscard]] machine_use use_of(recording const& run) {
    std::size_t const n = run.decisions.size();
    machine_use use{std::vector<double>(n), std::vector<double>(n), std::vector<bool>(n)};
    for (std::size_t i = 0; i < std::min(run.jobs.size(), run.settings.jobs.size()); ++i) {
        if (run.settings.jobs[i].elastic) continue;  // its devices limit it
        auto const& job = run.jobs[i];
        double const most = most_used_by(job);
        for (auto const& sample : job.samples) {
            use.used[sample.decision] += sample.used_cores;
            use.wanted[sample.decision] += most;
            if (!sample.has_limit) use.has_free_job[sample.decision] = true;
        }
    }
    return use;
}

/// The cores that a job can use: the most that it ever used; at least one if the machine had no more then.
[[nodiscard]] double usable_cores(recording const& run, job_measurements const& job, machine_use const& use,
                                  double most_of_machine) {
    auto const peak = std::ranges::max_element(job.samples, {}, &job_sample::used_cores);
    bool const was_full = use.used[peak->decision] >= 0.9 * most_of_machine || peak->has_limit;
    return was_full ? std::max(peak->used_cores, std::min(1.0, static_cast<double>(run.history.cpus)))
                    : peak->used_cores;
}

/// The speed of a job on processors, as the log shows it.
struct cpu_speed {
    double steps_per_core_second = 0, start = 0;  ///< start: core-seconds before the first step
};

/// Core-seconds from the start of a job to one of its samples. Its use is not known at the first ones.
[[nodiscard]] double core_seconds_to(recording const& run, job_measurements const& job, std::int64_t started,
                                     std::size_t to) {
    auto const known = std::ranges::find_if(job.samples, [](job_sample const& s) { return s.used_cores > 0; });
    if (known == job.samples.end()) return 0;
    auto const at = std::min(to, static_cast<std::size_t>(known - job.samples.begin()));
    nanoseconds const passed = run.decisions[job.samples[at].decision].at - nanoseconds{started};
    return known->used_cores * to_seconds(passed) + core_seconds(run, job, at, to);
}

[[nodiscard]] std::optional<cpu_speed> cpu_speed_of(recording const& run, job_measurements const& job,
                                                    std::int64_t started) {
    auto const& all = job.samples;
    auto const first = std::ranges::find_if(all, [](job_sample const& s) { return s.step > 0; });
    if (first == all.end()) return std::nullopt;
    auto const at = static_cast<std::size_t>(first - all.begin());
    double const steps = all.back().step - first->step, used = core_seconds(run, job, at, all.size() - 1);
    if (!(steps > 0) || !(used > 0)) return std::nullopt;
    double const speed = steps / used;
    return cpu_speed{speed, std::max(0.0, core_seconds_to(run, job, started, at) - first->step / speed)};
}

/// The loss that the job's policy sees, by step. A job that continues from a checkpoint repeats steps; the last report
/// of a step counts.
[[nodiscard]] std::vector<estimators::loss_report> points_of(job_record const& job) {
    std::map<double, double> by_step;
    for (auto const& point : job.curve.points(std::numeric_limits<std::size_t>::max() / 2))
        if (std::isfinite(point.value)) by_step[static_cast<double>(point.step)] = point.value;
    std::vector<estimators::loss_report> points;
    points.reserve(by_step.size());
    for (auto const& [step, loss] : by_step) points.push_back({step, loss});
    return points;
}

/// Whether ration leaves the job alone at its Objective. A job that reports by itself takes commands.
[[nodiscard]] bool trains_on(job_config const& job) {
    bool const takes_commands = job.log.empty() && !job.metrics;
    return job.at_objective == objective_action::continuation ||
           (job.at_objective == objective_action::save && !takes_commands);
}

/// The tiers of the job, and the points of its loss with those of tiers that were not reached.
[[nodiscard]] learning_record learned_by(job_config const& config, job_record const& record,
                                         job_measurements const& job, double length, fitted_job& about) {
    learning_record learned{.points = points_of(record), .trains_on = trains_on(config)};
    auto const& target = config.target;
    std::optional<double> const losses[] = {target.acceptable, target.objective};
    auto const recorded = learned.points;
    for (std::size_t tier = 0; tier < 2; ++tier) {
        double const loss = losses[tier].value_or(std::numeric_limits<double>::quiet_NaN());
        learned.tier_losses[tier] = loss;
        about.is_forecast[tier] = losses[tier] && !job.tier_steps[tier];
        double step = job.tier_steps[tier].value_or(never);
        if (about.is_forecast[tier] && !recorded.empty() && recorded.back().step < length)
            step = estimators::forecast_step(recorded, loss);
        learned.tier_steps[tier] = step <= length ? step : never;
        bool const is_beyond = about.is_forecast[tier] && std::isfinite(learned.tier_steps[tier]);
        if (is_beyond && step > learned.points.back().step) learned.points.push_back({step, loss});
    }
    // Without an Acceptable both tiers are reached together
    if (!target.acceptable) learned.tier_steps[0] = learned.tier_steps[1];
    learned.tier_steps[0] = std::min(learned.tier_steps[0], learned.tier_steps[1]);
    about.tier_steps = learned.tier_steps;
    return learned;
}

/// The steps of the whole job: those that it made if it came to its own end, else those that it reported as its whole.
[[nodiscard]] double length_of(job_record const& record, job_measurements const& job,
                               std::vector<std::string>& remarks) {
    auto const last = std::max(static_cast<double>(record.last_step), job.samples.back().step);
    if (record.how == "finished" && !record.released) return last;
    if (job.total_steps > last) return job.total_steps;
    remarks.push_back(
        record.released
            ? fmt::format(
                  "{} was released at its Objective and reported no number of steps: it ends there under all policies.",
                  record.name)
            : fmt::format("{} {} at step {:.0f}: it ends there under all policies.", record.name, record.how, last));
    return last;
}

[[nodiscard]] diagnostic no_speed(recording const& run, job_record const& job) {
    return {
        .file = run.history.file,
        .text = fmt::format(
            "job '{}' did not report two steps at different ticks, so that its speed is unknown; name the log of a longer run",
            job.name)};
}

class run_fitter {
    recording const& run_;
    machine_use use_;
    double most_of_machine_;
    fitted_run made_;

public:
    explicit run_fitter(recording const& run)
        : run_(run), use_(use_of(run)), most_of_machine_(machine_of(run).most_used) {}

    [[nodiscard]] result<fitted_run, diagnostic> fit() {
        auto const& configs = run_.settings.jobs;
        made_.jobs.name = run_.history.file;
        made_.jobs.tenants = {""};
        made_.places.resize(configs.size());
        std::iota(made_.places.begin(), made_.places.end(), std::size_t{0});
        std::ranges::sort(made_.places, {}, [&](std::size_t i) { return std::pair(configs[i].at, i); });
        for (std::size_t const place : made_.places)
            if (auto const added = add(configs[place], place); !added) return added.failure();
        return std::move(made_);
    }

private:
    /// The speed of a job as a model, which its losses are added to.
    struct speed_model {
        std::shared_ptr<sim::job_model const> model;
        sim::job_description job;
        double start = 0;  ///< steps before its first one
    };

    [[nodiscard]] result<void, diagnostic> add(job_config const& config, std::size_t place) {
        auto const& record = run_.history.jobs[place];
        auto const& job = run_.jobs[place];
        fitted_job about;
        about.name = config.name;
        auto speed = config.elastic ? on_devices(*config.elastic, job, about)
                                    : on_processors(job, record.started.value_or(0), about);
        if (!speed || points_of(record).empty()) return no_speed(run_, record);
        about.steps = length_of(record, job, made_.remarks);
        auto learned = learned_by(config, record, job, about.steps, about);
        speed->job.submitted = config.at;
        speed->job.model = static_cast<std::uint32_t>(made_.jobs.models.size());
        speed->job.weight = config.weight;
        speed->job.priority = config.priority;
        speed->job.length = speed->start + about.steps;
        made_.jobs.jobs.push_back(speed->job);
        made_.jobs.job_names.push_back(config.name);
        made_.jobs.models.push_back(
            std::make_shared<recorded_model>(std::move(speed->model), std::move(learned), speed->start));
        made_.jobs.model_names.push_back(config.name);
        made_.about.push_back(std::move(about));
        return {};
    }

    [[nodiscard]] std::optional<speed_model> on_processors(job_measurements const& job, std::int64_t started,
                                                           fitted_job& about) const {
        auto const speed = cpu_speed_of(run_, job, started);
        if (!speed) return std::nullopt;
        about.steps_per_core_second = speed->steps_per_core_second;
        about.start = speed->start;
        about.most_cores = usable_cores(run_, job, use_, most_of_machine_);
        return speed_model{.model = std::make_shared<sim::cpu_model>(sim::loss_curve{}, about.steps_per_core_second,
                                                                     about.most_cores, 0.0),
                           .job = {.request = 0, .least = 0, .most = 0},
                           .start = about.start * about.steps_per_core_second};
    }

    [[nodiscard]] std::optional<speed_model> on_devices(elastic_config const& config, job_measurements const& job,
                                                        fitted_job& about) const {
        auto speeds = device_speeds_of(run_, job);
        if (!speeds) return std::nullopt;
        std::int64_t const most = std::min(config.devices.maximum, devices_of(run_));
        about.on_devices = std::move(speeds);
        return speed_model{.model = rate_model_of(*about.on_devices, most),
                           .job = {.request = most,
                                   .least = std::min(config.devices.minimum, most),
                                   .most = most,
                                   .restart_cost = about.on_devices->restart}};
    }
};

}  // namespace

std::int64_t devices_of(recording const& run) noexcept {
    std::int64_t most = 0;
    for (auto const& decision : run.decisions) most = std::max(most, decision.devices);
    return most;
}

fitted_machine machine_of(recording const& run) {
    auto const use = use_of(run);
    double cores = 0, full = 0, all_seconds = 0, full_seconds = 0;
    for (std::size_t i = 1; i < run.decisions.size(); ++i) {
        double const passed = to_seconds(run.decisions[i].at - run.decisions[i - 1].at);
        if (!(use.wanted[i] > 0)) continue;
        cores += run.decisions[i].cores * passed;
        all_seconds += passed;
        // The jobs have used a good deal more at other times
        if (!use.has_free_job[i] || use.wanted[i] < 1.2 * use.used[i]) continue;
        full += use.used[i] * passed;
        full_seconds += passed;
    }
    constexpr double least_seconds = 2;
    double const mean = all_seconds > 0 ? cores / all_seconds : 0;  // else no job runs on processors
    return {devices_of(run), mean, full_seconds < least_seconds ? mean : std::min(mean, full / full_seconds)};
}

result<fitted_run, diagnostic> fit(recording const& run) { return run_fitter(run).fit(); }

}  // namespace ration::program
