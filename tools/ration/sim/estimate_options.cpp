// SPDX-License-Identifier: BSL-1.0
#include "sim/estimate_options.hpp"

#include <fmt/format.h>
#include <memory>

#include <ration/sim/cpu_model.hpp>
#include <ration/sim/learning_model.hpp>

#include "common/printable.hpp"

namespace ration::program {
namespace {

constexpr std::string_view estimated = "remaining";

}  // namespace

result<void, diagnostic> check_estimate(std::string_view name) {
    if (name == estimated) return {};
    return diagnostic{.text = fmt::format("{} has no estimator; choose {}", quoted(name), estimated)};
}

void add_losses(sim::model_library const& library, simulation_input& input, diagnostics& problems) {
    auto const refuse = [&](std::string text) { problems.add({.file = "--estimate", .text = std::move(text)}); };
    if (input.noise.sigma(sim::prediction_named("jobs/remaining")) > 0)
        return refuse("an estimate has its own errors: leave --noise remaining out");
    std::vector<std::shared_ptr<sim::cpu_model const>> curves;
    for (auto const& one : library)
        if (auto curve = std::dynamic_pointer_cast<sim::cpu_model const>(one.model);
            curve != nullptr && sim::learning_model::can_follow(*curve))
            curves.push_back(std::move(curve));
    for (auto& s : input.samples) {
        if (s.stream)
            return refuse(fmt::format("a stream of jobs has no losses; generate at most {} jobs", most_kept_jobs));
        bool const has_devices =
            std::ranges::any_of(s.jobs.jobs, [&](auto const& job) { return !s.jobs.runs_on_cpu(job); });
        if (has_devices && curves.empty())
            return refuse(
                "jobs on devices have no losses: name fitted ones with --models, as in --models bench/data/loss/fits.csv");
        if (has_devices) sim::add_losses(s.jobs, curves);
    }
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
                      .text = fmt::format("no policy reads {}; choose one that does, such as srtf", estimated)});
    options.policies = std::move(names);
    policies = std::move(texts);
}

}  // namespace ration::program
