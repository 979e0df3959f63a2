// SPDX-License-Identifier: BSL-1.0
#include "sim/estimate_options.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <utility>

#include <ration/estimators/bottleneck.hpp>
#include <ration/estimators/nominal_speed.hpp>
#include <ration/estimators/phases.hpp>
#include <ration/sim/cpu_model.hpp>
#include <ration/sim/learning_model.hpp>

#include "common/error_text.hpp"
#include "common/printable.hpp"
#include "policies/plugin_policy.hpp"
#include "policies/policy_log.hpp"
#include "sim/learned_phases.hpp"

namespace ration::program {
namespace {

constexpr std::string_view remaining = estimator_names[0], speed = estimator_names[1], duration = estimator_names[2],
                           phases = estimator_names[3];

[[nodiscard]] bool has(std::span<std::string const> estimates, std::string_view name) {
    return std::ranges::find(estimates, name) != estimates.end();
}

/// Gives the jobs on devices losses. Returns why they cannot have any; empty text if they can.
[[nodiscard]] std::string add_losses(sim::model_library const& library, simulation_input& input) {
    std::vector<std::shared_ptr<sim::cpu_model const>> curves;
    for (auto const& one : library)
        if (auto curve = std::dynamic_pointer_cast<sim::cpu_model const>(one.model);
            curve != nullptr && sim::learning_model::can_follow(*curve))
            curves.push_back(std::move(curve));
    for (auto& s : input.samples) {
        if (s.stream) return fmt::format("a stream of jobs has no losses; generate at most {} jobs", most_kept_jobs);
        bool const has_devices =
            std::ranges::any_of(s.jobs.jobs, [&](auto const& job) { return !s.jobs.runs_on_cpu(job); });
        if (has_devices && curves.empty())
            return "jobs on devices have no losses: name fitted ones with --models, as in --models bench/data/loss/fits.csv";
        if (has_devices) sim::add_losses(s.jobs, curves);
    }
    return {};
}

/// Learns the phases of all classes. Returns why there are none; empty text if there are some.
[[nodiscard]] std::string learn_phases(simulation_input& input) {
    for (auto& s : input.samples) {
        s.phases = learned_phases(s.jobs);
        if (s.phases.empty())
            return fmt::format(
                "no job of {} has phases: name a trace with the column phases, or write --generate phases",
                printable(s.jobs.name));
    }
    return {};
}

/// Adds to `problems` what is wrong with a file or its parameters.
[[nodiscard]] std::vector<std::unique_ptr<any_estimator>> open_files(std::span<std::string const> estimates,
                                                                     run_config const& settings,
                                                                     diagnostics& problems) {
    std::vector<std::unique_ptr<any_estimator>> opened;
    for (auto const& name : estimates) {
        if (!is_plugin_path(name)) continue;
        auto made = open_plugin_estimator({.path = name,
                                           .at = {},
                                           .parameters = settings.parameters_of(name),
                                           .isolation = nullptr,
                                           .deadline = longest_decision},
                                          policy_log::common_to(name), problems);
        if (made != nullptr) opened.push_back(std::move(made));
    }
    return opened;
}

template <class... Estimators>
[[nodiscard]] bool computes_one(std::string_view column) {
    auto const has_it = [&](auto const& outputs) {
        return std::ranges::any_of(outputs, [&](auto const& output) { return output.name == column; });
    };
    return (has_it(Estimators::outputs::descriptions) || ...);
}

/// Whether the simulation fills the column, and no estimator of ration computes it: ids and holdings, for example.
[[nodiscard]] bool is_filled(std::string_view column) {
    if (computes_one<estimators::remaining, estimators::speed, estimators::duration, estimators::nominal_speed,
                     estimators::phases, estimators::bottleneck>(column))
        return false;
    return index_in_catalogue(column) < catalogue_size || column == "jobs/speedup.given" ||
           column == "jobs/total_steps.reported";
}

/// Whether the columns get errors by --noise.
[[nodiscard]] bool has_noise(sim::prediction_noise const& noise, std::string_view column) {
    auto const prediction = sim::prediction_named(column);
    return prediction < sim::number_of_predictions && noise.sigma(prediction) > 0;
}

}  // namespace

result<void, diagnostic> check_estimate(std::string_view name) {
    if (std::ranges::find(estimator_names, name) != estimator_names.end()) return {};
    if (!is_plugin_path(name))
        return diagnostic{.text = fmt::format("{} has no estimator; choose {}, or name the file of one", quoted(name),
                                              fmt::join(estimator_names, ", "))};
    auto const file = describe_plugin(std::string(name));
    if (!file) return diagnostic{.text = printable(fmt::format("{}: {}", name, to_text(file.failure())))};
    if (file->computes.empty())
        return diagnostic{.text = printable(fmt::format("{} is a policy: name the file of an estimator", name))};
    auto const filled = std::ranges::find_if(file->computes, is_filled);
    if (filled != file->computes.end())
        return diagnostic{.text = printable(fmt::format(
                              "{}: the simulation fills {}, and an estimator cannot compute it; choose another column",
                              name, *filled))};
    return {};
}

std::vector<std::string> estimated_columns_of(std::span<std::string const> estimates) {
    std::vector<std::string> names;
    auto const add = [&](auto const& outputs) {
        for (auto const& column : outputs) names.emplace_back(column.name);
    };
    // The remaining steps follow from those of the whole job.
    if (has(estimates, remaining) || has(estimates, duration)) add(estimators::remaining::outputs::descriptions);
    if (has(estimates, speed)) add(estimators::speed::outputs::descriptions);
    if (has(estimates, duration)) add(estimators::duration::outputs::descriptions);
    if (has(estimates, phases)) add(estimators::phases::outputs::descriptions);
    for (auto const& name : estimates)
        if (is_plugin_path(name))
            if (auto const file = describe_plugin(name))
                for (auto const& column : file->computes)
                    if (std::ranges::find(names, column) == names.end()) names.push_back(column);
    return names;
}

sim_estimators::sim_estimators(std::span<std::string const> estimates, run_config const& settings,
                               std::vector<estimators::phase_model> models, diagnostics& problems)
    : names_(estimated_columns_of(estimates)), unfilled_(names_.begin(), names_.end()),
      remaining_(estimators::remaining({.uses_totals = has(estimates, duration)})),
      phases_(estimators::phases(std::move(models))), from_files_(open_files(estimates, settings, problems)),
      all_(all()), stage_({.available = all_, .unfilled = unfilled_}) {}

/// Those from files come first, and so they count.
std::vector<any_estimator*> sim_estimators::all() {
    std::vector<any_estimator*> found;
    found.reserve(from_files_.size() + 4);
    for (auto const& one : from_files_) found.push_back(one.get());
    found.insert(found.end(), {&remaining_, &speed_, &duration_, &phases_});
    return found;
}

std::string sim_estimators::trouble() const {
    for (auto const& one : from_files_)
        if (auto const trouble = trouble_of(*one); !trouble.empty())
            return printable(fmt::format("estimator {}: {}", one->about().id, trouble));
    return {};
}

void prepare_estimates(std::span<std::string const> estimates, sim::model_library const& library,
                       simulation_input& input, diagnostics& problems) {
    auto const refuse = [&](std::string text) { problems.add({.file = "--estimate", .text = std::move(text)}); };
    for (auto const& column : estimated_columns_of(estimates))
        if (has_noise(input.noise, column))
            return refuse(fmt::format("an estimate has its own errors: leave --noise {} out",
                                      column.substr(column.find('/') + 1)));
    if (has(estimates, speed) && input.machines.types.size() > 1)
        return refuse(
            "speeds on one type of nodes do not predict those on another: name nodes of one type in --cluster");
    if (has(estimates, remaining))
        if (std::string const why = add_losses(library, input); !why.empty()) refuse(why);
    if (has(estimates, phases))
        if (std::string const why = learn_phases(input); !why.empty()) refuse(why);
}

void compare_with_exact(simulation_options& options, simulation_input& input, std::vector<policy_text>& policies,
                        diagnostics& problems) {
    if (options.estimates.empty()) return;
    std::vector<std::string> names;
    std::vector<policy_text> texts;
    for (std::size_t p = 0; p < policies.size(); ++p) {
        names.push_back(options.policies[p]);
        texts.push_back(policies[p]);
        input.is_exact.push_back(false);
        if (!policies[p].reads_estimates) continue;
        names.push_back(options.policies[p]);
        texts.push_back(policies[p]);
        texts.back().name += " (exact)";
        texts.back().label += " (exact)";
        input.is_exact.push_back(true);
    }
    if (texts.size() == policies.size())
        problems.add({.file = "--estimate",
                      .text = fmt::format("no policy reads {}; choose one that does, such as {}",
                                          fmt::join(estimated_columns_of(options.estimates), ", "),
                                          has(options.estimates, speed)    ? "pollux"
                                          : has(options.estimates, phases) ? "phase_limits"
                                                                           : "srtf")});
    options.policies = std::move(names);
    policies = std::move(texts);
}

}  // namespace ration::program
