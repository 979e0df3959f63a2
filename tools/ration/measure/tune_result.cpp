// SPDX-License-Identifier: BSL-1.0
#include "measure/tune_result.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <optional>

#include "common/printable.hpp"
#include "events/json_writer.hpp"
#include "view/text_table.hpp"

namespace ration::program {
namespace {

constexpr std::size_t shown_settings = 10;

[[nodiscard]] double mean_speed(halving_candidate const& one) {
    double sum = 0;
    for (double const speed : one.speeds) sum += speed;
    return sum / static_cast<double>(one.speeds.size());
}

[[nodiscard]] std::optional<speed_ratio> gain_of(tune_result const& all, halving_candidate const& one) {
    auto const* const present = present_of(all);
    if (present == nullptr || one.failed || one.index == 0) return std::nullopt;
    return ratio_of(one, *present, all.repeat);
}

[[nodiscard]] std::vector<std::string> tune_row(tune_result const& all, halving_candidate const& one) {
    auto const name = setting_text(all.space, all.settings[one.index]) + (one.index == 0 ? " (present)" : "");
    if (one.failed) return {name, "failed"};
    std::vector<std::string> row{name, fmt::format("{:.4g}", mean_speed(one)), std::to_string(one.speeds.size())};
    if (auto const gain = gain_of(all, one)) {
        row.push_back(fmt::format("{:.3f}", gain->mean));
        if (!std::isnan(gain->low)) row.push_back(fmt::format("{:.3f} to {:.3f}", gain->low, gain->high));
    }
    return row;
}

[[nodiscard]] std::string outcome_text(tune_result const& all) {
    auto const* const best = best_of(all);
    if (best == nullptr) return "no setting has a speed\n";
    if (best->index == 0)
        return "the present setting stays: no other one is faster beyond the error of the measurement\n";
    std::string values;
    for (std::size_t i = 0; i < all.space.size(); ++i)
        values += fmt::format("{}{} = {}", i == 0 ? "" : ", ", all.space[i].name, all.settings[best->index][i]);
    return fmt::format("best: {}\n", values);
}

void write_candidate(json_writer& json, tune_result const& all, halving_candidate const& one) {
    json.object([&] {
        json.key("setting").object([&] {
            for (std::size_t i = 0; i < all.space.size(); ++i)
                json.member(all.space[i].name, all.settings[one.index][i]);
        });
        json.member("present", one.index == 0);
        json.key("speeds").array([&] {
            for (double const speed : one.speeds) json.value(speed);
        });
        auto const gain = gain_of(all, one);
        json.member("gain", gain ? std::optional(gain->mean) : std::nullopt);
        bool const bounded = gain && !std::isnan(gain->low);
        json.member("gain_low", bounded ? std::optional(gain->low) : std::nullopt);
        json.member("gain_high", bounded ? std::optional(gain->high) : std::nullopt);
        auto const& failure = all.failures[one.index];
        json.member("failure", failure.empty() ? std::nullopt : std::optional<std::string_view>(failure));
    });
}

}  // namespace

halving_candidate const* present_of(tune_result const& all) noexcept {
    auto const found = std::ranges::find(all.ranking, std::size_t{0}, &halving_candidate::index);
    return found == all.ranking.end() || found->failed ? nullptr : &*found;
}

halving_candidate const* best_of(tune_result const& all) {
    if (all.ranking.empty() || all.ranking.front().failed) return nullptr;
    auto const& fastest = all.ranking.front();
    auto const* const present = present_of(all);
    if (present == nullptr || fastest.index == 0) return &fastest;
    return ratio_of(fastest, *present, all.repeat).low > 1 ? &fastest : present;
}

std::string tune_text(tune_result const& all) {
    std::vector<std::vector<std::string>> lines{
        {"setting", all.samples ? "samples/s" : "steps/s", "launches", "gain", "95 % interval"}};
    for (std::size_t i = 0; i < all.ranking.size(); ++i)
        if (i < shown_settings || all.ranking[i].index == 0) lines.push_back(tune_row(all, all.ranking[i]));
    auto text = aligned(lines);
    text += fmt::format("\n{} of {} settings measured in {} launches\n", all.ranking.size(), all.fitting, all.runs);
    for (auto const& one : all.ranking)
        if (one.failed)
            text += fmt::format("{}: {}\n", setting_text(all.space, all.settings[one.index]), all.failures[one.index]);
    text += outcome_text(all);
    return printable_lines(text);  // values and failures come from outside
}

std::string tune_json(tune_result const& all) {
    std::string out;
    json_writer json(out);
    auto const* const best = best_of(all);
    json.object([&] {
        json.member("file", all.file);
        json.member("job", all.job);
        json.member("compares", all.samples ? "samples" : "steps");
        json.member("fitting", all.fitting);
        json.member("launches", all.runs);
        json.key("settings").array([&] {
            for (auto const& one : all.ranking) write_candidate(json, all, one);
        });
        json.key("best").object([&] {
            if (best == nullptr) return;
            for (std::size_t i = 0; i < all.space.size(); ++i)
                json.member(all.space[i].name, all.settings[best->index][i]);
        });
        json.member("changes", best != nullptr && best->index != 0);
    });
    return out;
}

}  // namespace ration::program
