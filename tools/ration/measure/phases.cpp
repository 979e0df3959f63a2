// SPDX-License-Identifier: BSL-1.0
#include "measure/phases.hpp"

#include <cstdint>
#include <cstdio>
#include <fmt/format.h>
#include <string>
#include <vector>

#include <ration/estimators/phase_fit.hpp>

#include "common/printable.hpp"
#include "measure/refusal.hpp"
#include "measure/usage_recording.hpp"
#include "run/phase_models.hpp"
#include "view/text_table.hpp"

namespace ration::program {
namespace {

/// Samples whose demand one estimate covers. Each sample of a log is kept as often.
constexpr std::int64_t most_samples_ahead = 1000;

/// A table for each class, with a line for each phase.
[[nodiscard]] std::string phases_text(phase_models const& all) {
    std::string text;
    for (std::size_t i = 0; i < all.models.size(); ++i) {
        auto const& model = all.models[i];
        std::vector<std::vector<std::string>> lines{{"phase", "samples", "cores", "0.9", "0.99", "MiB", "0.9", "0.99"}};
        for (std::uint32_t p = 0; p < model.count; ++p) {
            auto const& phase = model.phases.at(p);
            auto& line = lines.emplace_back(std::vector{std::to_string(p), std::to_string(phase.samples)});
            for (std::size_t const q : {0U, 1U, 3U}) line.push_back(fmt::format("{:.2f}", phase.cpu.at(q) / 1000));
            for (std::size_t const q : {0U, 1U, 3U})
                line.push_back(fmt::format("{:.0f}", phase.memory.at(q) / (1024 * 1024)));
        }
        text += fmt::format("{}{}\n{}", i > 0 ? "\n" : "", printable(all.classes[i]), aligned(lines));
    }
    return text;
}

}  // namespace

exit_code measure_phases(phases_options const& options) {
    if (options.period.count <= 0)
        return refuse(exit_code::bad_input, {.file = "--period", .text = "a sample takes time; write a time above 0"});
    if (options.horizon < options.period || (options.horizon.count - 1) / options.period.count >= most_samples_ahead)
        return refuse(
            exit_code::bad_input,
            {.file = "--horizon",
             .text = fmt::format("it holds 1 to {} samples of --period; change one of them", most_samples_ahead)});
    usage_by_job usage;
    for (auto const& log : options.logs)
        if (auto const added = add_usage(log, options.period, usage); !added)
            return refuse_file(exit_code::bad_input, added.failure());
    if (usage.size() > most_phase_classes)
        return refuse(exit_code::bad_input,
                      {.text = fmt::format("the logs have {} jobs, and a file has at most {} classes; "
                                           "name fewer logs",
                                           usage.size(), most_phase_classes)});
    phase_models all;
    for (auto const& [name, runs] : usage) {
        auto const model = estimators::fit_phases(runs, {.phases = options.phases,
                                                         .period = to_seconds(options.period),
                                                         .horizon = to_seconds(options.horizon),
                                                         .seed = options.seed});
        if (model.count > 0) {
            all.classes.push_back(name);
            all.models.push_back(model);
        } else {
            std::fprintf(stderr, "ration: job %s has too few samples for phases; record a longer run of it\n",
                         printable(name).c_str());
        }
    }
    if (all.empty())
        return refuse(exit_code::nothing_read,
                      {.text = fmt::format("no job has {} samples; record a longer run, or give a shorter --period",
                                           estimators::phase_window)});
    fmt::print("{}\n", options.json ? phase_models_json(all) : phases_text(all));
    return exit_code::ok;
}

}  // namespace ration::program
