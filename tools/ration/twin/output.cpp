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

/// "4.02/s on 2, 7.5/s on 4".
[[nodiscard]] std::string speeds_text(device_speeds const& speeds) {
    std::string text;
    for (auto const& [devices, speed] : speeds.measured)
        text += fmt::format("{}{:.3g}/s on {}", text.empty() ? "" : ", ", speed, devices);
    return text;
}

[[nodiscard]] std::vector<std::string> model_line(fitted_job const& job) {
    std::vector<std::string> line{job.name, fmt::format("{:.0f}", job.steps)};
    if (job.on_devices) {
        line.push_back(speeds_text(*job.on_devices));
        line.push_back(fmt::format("{:.1f} s", job.on_devices->restart));
        line.emplace_back("-");
    } else {
        line.push_back(fmt::format("{:.4g}/core-s", job.steps_per_core_second));
        line.push_back(fmt::format("{:.2f} core-s", job.start));
        line.push_back(fmt::format("{:.2f}", job.most_cores));
    }
    line.push_back(tier_text(job, 0));
    line.push_back(tier_text(job, 1));
    return line;
}

[[nodiscard]] std::string models_text(twin_result const& all) {
    std::vector<std::vector<std::string>> lines{
        {"job", "steps", "speed", "start", "most cores", "Acceptable at", "Objective at"}};
    bool has_forecast = false;
    for (auto const& job : all.models.about) {
        lines.push_back(model_line(job));
        for (std::size_t tier = 0; tier < 2; ++tier)
            has_forecast |= job.is_forecast[tier] && std::isfinite(job.tier_steps[tier]);
    }
    std::string out = aligned(lines);
    if (has_forecast) out += "~ follows from the fitted loss curve; the log does not reach this tier.\n";
    return out;
}

[[nodiscard]] std::string machine_text(fitted_machine const& machine) {
    std::string text = machine.devices > 0 ? fmt::format("{} devices", machine.devices) : "";
    if (!(machine.cores > 0)) return text;
    return fmt::format("{}{}{:.2f} cores on average for its policy, of which its jobs could use {:.2f}", text,
                       text.empty() ? "" : "; ", machine.cores, machine.most_used);
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

void write_speed(json_writer& json, fitted_job const& job) {
    if (!job.on_devices) {
        json.member("steps_per_core_second", job.steps_per_core_second);
        json.member("start_core_seconds", job.start);
        json.member("most_cores", job.most_cores);
        return;
    }
    json.member("restart_seconds", job.on_devices->restart);
    json.member("fixed_seconds", job.on_devices->fixed);
    json.member("divided_seconds", job.on_devices->divided);
    json.key("speeds").array([&] {
        for (auto const& [devices, speed] : job.on_devices->measured)
            json.object([&] {
                json.member("devices", devices);
                json.member("steps_per_second", speed);
            });
    });
}

void write_model(json_writer& json, fitted_job const& job) {
    json.object([&] {
        json.member("job", job.name);
        json.member("steps", job.steps);
        write_speed(json, job);
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
    out += printable(fmt::format("Measured in {}: {}", all.measured_log, machine_text(all.machine)));
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
        json.member("devices", all.machine.devices);
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
