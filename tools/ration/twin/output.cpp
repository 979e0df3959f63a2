// SPDX-License-Identifier: BSL-1.0
#include "twin/output.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "common/printable.hpp"
#include "comparison/output.hpp"
#include "events/json_writer.hpp"
#include "view/text_table.hpp"

namespace ration::program {
namespace {

constexpr std::string_view tier_keys[] = {"acceptable", "objective"};

[[nodiscard]] std::string tier_text(fitted_job const& job, std::size_t tier) {
    if (!std::isfinite(job.tier_steps[tier])) return "never";
    return fmt::format("{}{:.0f}", job.is_forecast[tier] ? "~" : "", job.tier_steps[tier]);
}

[[nodiscard]] std::string models_text(twin_result const& all) {
    std::vector<std::vector<std::string>> lines{
        {"job", "steps", "steps per core-s", "start, core-s", "most cores", "Acceptable at", "Objective at"}};
    bool has_forecast = false;
    for (auto const& job : all.models.about) {
        lines.push_back({job.name, fmt::format("{:.0f}", job.steps), fmt::format("{:.4g}", job.steps_per_core_second),
                         fmt::format("{:.2f}", job.start), fmt::format("{:.2f}", job.most_cores), tier_text(job, 0),
                         tier_text(job, 1)});
        for (std::size_t tier = 0; tier < 2; ++tier)
            has_forecast |= job.is_forecast[tier] && std::isfinite(job.tier_steps[tier]);
    }
    std::string out = aligned(lines);
    if (has_forecast) out += "~ follows from the fitted loss curve; the log does not reach this tier.\n";
    return out;
}

[[nodiscard]] std::string name_of(twin_figure const& figure) {
    if (!figure.of) return "the makespan";
    return fmt::format("the time of {} to {}", figure.job, name_of(*figure.of));
}

[[nodiscard]] std::string error_text(twin_result const& all) {
    if (all.figures.empty()) return "No figure was both measured and simulated.";
    auto const largest =
        std::ranges::max_element(all.figures, {}, [](twin_figure const& f) { return std::abs(f.error()); });
    return fmt::format(
        "Mean absolute error of the simulation under {}: {:.1f} % over {} figures; the largest is {:+.1f} %, {}.",
        all.measured_policy, all.mean_error(), all.figures.size(), largest->error(), name_of(*largest));
}

void write_model(json_writer& json, fitted_job const& job) {
    json.object([&] {
        json.member("job", job.name);
        json.member("steps", job.steps);
        json.member("steps_per_core_second", job.steps_per_core_second);
        json.member("start_core_seconds", job.start);
        json.member("most_cores", job.most_cores);
        for (std::size_t tier = 0; tier < 2; ++tier) {
            bool const is_reached = std::isfinite(job.tier_steps[tier]);
            json.member(fmt::format("{}_step", tier_keys[tier]),
                        is_reached ? std::optional(job.tier_steps[tier]) : std::nullopt);
            json.member(fmt::format("{}_is_forecast", tier_keys[tier]), job.is_forecast[tier]);
        }
    });
}

void write_figure(json_writer& json, twin_figure const& figure) {
    json.object([&] {
        json.member("figure", figure.of ? fmt::format("time to {}", name_of(*figure.of)) : "makespan");
        json.member("job", figure.job);
        json.member("measured", figure.measured);
        json.member("simulated", figure.simulated);
        json.member("error", figure.error());
    });
}

}  // namespace

std::string twin_text(twin_result const& all) {
    std::string out =
        printable(fmt::format("Models fitted to {}, a run under {}", all.fitted_log, all.fitted_policy)) + '\n';
    out += models_text(all) + '\n';
    out += printable(
        fmt::format("Measured in {}: {:.2f} cores on average for its policy, of which its jobs could use {:.2f}",
                    all.measured_log, all.machine.cores, all.machine.most_used));
    out += '\n' + comparison_text(all.sides) + printable(error_text(all)) + '\n';
    for (auto const& remark : all.remarks) out += printable(remark) + '\n';
    return out;
}

std::string twin_json(twin_result const& all) {
    std::string out;
    json_writer json(out);
    json.object([&] {
        json.member("event", "twin");
        json.member("fitted_log", all.fitted_log);
        json.member("fitted_policy", all.fitted_policy);
        json.member("measured_log", all.measured_log);
        json.member("measured_policy", all.measured_policy);
        json.member("cores", all.machine.cores);
        json.member("most_used_cores", all.machine.most_used);
        json.member("mean_error", all.mean_error());
        json.key("figures").array([&] {
            for (auto const& figure : all.figures) write_figure(json, figure);
        });
        json.key("models").array([&] {
            for (auto const& job : all.models.about) write_model(json, job);
        });
        json.key("remarks").array([&] {
            for (auto const& remark : all.remarks) json.value(remark);
        });
    });
    return out;
}

}  // namespace ration::program
