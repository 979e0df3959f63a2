// SPDX-License-Identifier: BSL-1.0
#include "config/log.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

#include <ration/progress/log_adapter.hpp>

#include "common/printable.hpp"
#include "common/suggestion.hpp"

namespace ration::program {
namespace {

constexpr std::size_t most_patterns = 16;
constexpr std::string_view log_form =
    "a regular expression in single quotes, an array of them, or { preset = \"NAME\" }";
/// A number in any spelling of a program; "0.1+0.02" ends at the second sign.
constexpr std::string_view number = R"([-+]?(?:[\d.]+(?:[eE][-+]?\d+)?|[a-zA-Z]+))";

/// The output of a framework: a metric is its name between `front` and `back`, then a number.
struct preset {
    std::string_view name, front, back;
    std::string_view loss = "loss";   ///< the name of the training loss, as a pattern
    std::string_view step_line = {};  ///< the pattern of a line that has only the step
};

// Progress bars count within an epoch or an evaluation, so that only the epoch is a step there.
constexpr preset presets[] = {
    {"huggingface", R"(['"])", R"(['"]: ['"]?)"},
    {"lightning", R"(Epoch (?<step>\d+).*[ ,])", "=", "(?:train[_/])?loss(?:_step)?"},
    {"keras", R"((?:^|\s))", ": ", "loss", R"(^Epoch (?<step>\d+)/(?<total>\d+))"},
    {"nanogpt", R"((?:iter|step) (?<step>\d+):(?:.*,)? )", " "},
    {"xgboost", R"(^\[(?<step>\d+)\].*[\t-])", ":"},
};

/// The name of a metric as a pattern: frameworks write train-loss, train/loss or "train loss", which no group can be.
[[nodiscard]] std::string spellings(std::string_view metric) {
    std::string out;
    for (char const c : metric) out += c == '_' ? "[-_/. ]" : std::string(1, c);
    return out;
}

/// A line of output never contains such a character, so that the pattern would never match.
[[nodiscard]] bool has_control_character(std::string const& pattern) noexcept {
    return std::ranges::any_of(pattern, [](unsigned char c) { return c < ' ' && c != '\t'; });
}

[[nodiscard]] std::optional<std::vector<std::string>> texts_of(array const& from) {
    std::vector<std::string> out;
    for (auto const& item : from) {
        auto const* const text = std::get_if<std::string>(&item.data);
        if (text == nullptr) return std::nullopt;
        out.push_back(*text);
    }
    return out;
}

[[nodiscard]] result<std::vector<std::string>, diagnostic> patterns_of(value const& log, std::string const& metric,
                                                                       diagnostics& problems) {
    if (auto const* const text = std::get_if<std::string>(&log.data)) return std::vector{*text};
    if (auto const* const list = std::get_if<array>(&log.data))
        if (auto const texts = texts_of(*list)) return *texts;
    if (auto const* const from = std::get_if<table>(&log.data)) {
        table_reader keys(*from, "'log'", problems);
        auto const* const name = keys.take<std::string>("preset", "text");
        keys.report_all_unknown();
        return preset_patterns(name == nullptr ? "" : *name, metric.empty() ? "loss" : metric);
    }
    return diagnostic{.text = fmt::format("'log' must be {}", log_form)};
}

}  // namespace

bool has_group(std::string const& pattern, std::string const& metric) {
    return pattern.find("(?<" + metric + '>') != std::string::npos ||
           pattern.find("(?P<" + metric + '>') != std::string::npos;
}

std::vector<std::string_view> log_presets() {
    std::vector<std::string_view> names;
    for (auto const& one : presets) names.push_back(one.name);
    return names;
}

result<std::vector<std::string>, diagnostic> preset_patterns(std::string_view name, std::string const& metric) {
    auto const* const found = std::ranges::find(presets, name, &preset::name);
    if (found == std::end(presets))
        return diagnostic{.text = fmt::format("unknown preset {}{}", quoted(name), suggestion(name, log_presets()))};
    if (!progress::detail::is_group_name(metric))
        return diagnostic{
            .text = fmt::format("a preset cannot read the metric {}; write letters, digits and '_'", quoted(metric))};
    std::vector<std::string> patterns;
    if (!found->step_line.empty()) patterns.emplace_back(found->step_line);
    patterns.push_back(fmt::format("{}{}{}(?<loss>{})", found->front, found->loss, found->back, number));
    if (metric != "loss")
        patterns.push_back(
            fmt::format("{}{}{}(?<{}>{})", found->front, spellings(metric), found->back, metric, number));
    return patterns;
}

result<void, diagnostic> check_log_patterns(std::vector<std::string> const& patterns, std::string const& metric) {
    if (patterns.empty() || patterns.size() > most_patterns)
        return diagnostic{.text = fmt::format("'log' has {} patterns; write 1 to {}", patterns.size(), most_patterns)};
    for (auto const& pattern : patterns) {
        if (pattern.empty() || pattern.find('\0') != std::string::npos)
            return diagnostic{
                .text = "'log' is not a regular expression; leave the key out for a job that reports by itself"};
        if (has_control_character(pattern))
            return diagnostic{.text =
                                  "'log' contains a control character, which TOML reads from an escape in double "
                                  "quotes; write the pattern as log = '''...'''"};
    }
    auto const made = progress::log_adapter::make(patterns, job_id{}, incarnation_id{});
    if (!made) return diagnostic{.text = fmt::format("'log' cannot be used: {}", made.failure().remedy)};
    if (metric.empty() || std::ranges::any_of(patterns, [&](auto const& p) { return has_group(p, metric); })) return {};
    return diagnostic{
        .text = fmt::format("'log' does not read the metric of the target; put its number into a group: (?<{}>\\S+)",
                            metric)};
}

std::vector<std::string> read_log(table_reader& keys, target_config const& target, diagnostics& problems) {
    auto const* const log = keys.take("log");
    if (log == nullptr) return {};
    auto patterns = patterns_of(*log, target.metric, problems);
    auto const fits =
        patterns ? check_log_patterns(*patterns, target.is_given() ? target.metric : "") : patterns.failure();
    if (fits) return std::move(patterns).value();
    problems.add(log->at, fits.failure().text);
    return {};
}

}  // namespace ration::program
