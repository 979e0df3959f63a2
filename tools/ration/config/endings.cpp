// SPDX-License-Identifier: BSL-1.0
#include "config/endings.hpp"

#include <algorithm>
#include <csignal>
#include <fmt/format.h>
#include <iterator>
#include <utility>

#include "common/printable.hpp"
#include "config/job.hpp"

namespace ration::program {
namespace {

constexpr std::string_view actions[] = {"save", "stop", "continue"};
constexpr std::pair<std::string_view, int> stop_signals[] = {{"SIGTERM", SIGTERM}, {"SIGINT", SIGINT},
                                                             {"SIGHUP", SIGHUP},   {"SIGQUIT", SIGQUIT},
                                                             {"SIGUSR1", SIGUSR1}, {"SIGUSR2", SIGUSR2}};

void read_at_objective(table_reader& keys, job_config& job, diagnostics& problems) {
    constexpr std::string_view key = "at_objective";
    auto const* const word = keys.take<std::string>(key, "\"save\", \"stop\" or \"continue\"");
    if (word == nullptr) return;
    auto const found = std::ranges::find(actions, *word);
    if (found == std::end(actions))
        return problems.add(keys.place_of(key),
                            fmt::format("'{}' is {}; write \"save\", \"stop\" or \"continue\"", key, quoted(*word)));
    job.at_objective = static_cast<objective_action>(found - actions);
}

void read_stop_signal(table_reader& keys, job_config& job, diagnostics& problems) {
    constexpr std::string_view key = "stop_signal";
    auto const* const word = keys.take<std::string>(key, "the name of a signal in quotes, such as \"SIGINT\"");
    if (word == nullptr) return;
    auto const found = std::ranges::find(stop_signals, *word, [](auto const& s) { return s.first; });
    if (found == std::end(stop_signals))
        return problems.add(
            keys.place_of(key),
            fmt::format("'{}' is {}; write SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1 or SIGUSR2", key, quoted(*word)));
    job.stop_signal = found->second;
}

/// `on_acceptable` is also the word "save".
[[nodiscard]] bool take_save(table_reader& keys, job_config& job, diagnostics& problems) {
    auto const* const held = keys.take("on_acceptable");
    auto const* const word = held == nullptr ? nullptr : std::get_if<std::string>(&held->data);
    if (word == nullptr) return false;
    if (*word == "save")
        job.saves_at_acceptable = true;
    else
        problems.add(held->at,
                     fmt::format("'on_acceptable' is {}; write \"save\", or an array with a command", quoted(*word)));
    return true;
}

void read_hooks(table_reader& keys, job_config& job, diagnostics& problems) {
    bool const saves = take_save(keys, job, problems);
    for (std::size_t i = 0; i < hook_keys.size(); ++i)
        if (i != static_cast<std::size_t>(hook::acceptable) || !saves)
            job.hooks[i] = read_command(keys, hook_keys[i], problems);
    auto const needs_tier = [&](std::string_view key, bool has, std::string_view tier) {
        if (keys.place_of(key).line != 0 && !has)
            problems.add(keys.place_of(key),
                         fmt::format("'{}' is for a target with that tier; add {}, or leave it out", key, tier));
    };
    needs_tier("on_acceptable", job.target.acceptable.has_value(), "acceptable");
    needs_tier("on_objective", job.target.objective.has_value(), "objective");
}

}  // namespace

void read_endings(table_reader& keys, job_config& job, diagnostics& problems) {
    read_at_objective(keys, job, problems);
    read_stop_signal(keys, job, problems);
    if (auto const* const text = keys.take<std::string>("grace", "a duration in quotes, such as \"30s\""))
        if (auto const grace = read_duration("grace", *text, keys.place_of("grace"), problems)) job.grace = *grace;
    read_hooks(keys, job, problems);
}

}  // namespace ration::program
