// SPDX-License-Identifier: BSL-1.0
#include "config/target.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "common/diagnostics.hpp"
#include "common/printable.hpp"
#include "config/job.hpp"

namespace ration::program {

namespace {

constexpr std::string_view example = "target = { loss = { acceptable = 0.5, objective = 0.4 } }";
constexpr std::string_view level_example = "target = { p95 = { at_most = 0.2, over = \"10s\" } }";
constexpr std::string_view level_keys[] = {"at_most", "at_least", "over"};
constexpr std::string_view down_names[] = {"loss", "error", "perplexity", "nll", "mse", "mae", "rmse", "wer"};
constexpr std::string_view up_names[] = {"accuracy", "acc", "f1", "auc", "bleu", "reward"};
constexpr std::size_t longest_metric = 32;
constexpr std::int64_t most_values = 100'000;

[[nodiscard]] std::string_view word_of(direction improves) noexcept {
    return improves == direction::down ? "down" : "up";
}

/// The name of a metric is a word of the progress protocol, and appears in tables.
[[nodiscard]] bool is_metric_name(std::string_view name) noexcept {
    return !name.empty() && name.size() <= longest_metric &&
           std::ranges::all_of(name, [](char c) { return c > ' ' && c < '\x7f' && c != '='; });
}

class target_reader {
    entry const& metric_;
    table_reader keys_;
    diagnostics& problems_;
    target_config target_;

    void refuse(position at, std::string sentence) const { problems_.add(at, std::move(sentence)); }

public:
    target_reader(entry const& metric, table const& from, diagnostics& problems)
        : metric_(metric), keys_(from, "the target", problems), problems_(problems) {
        target_.metric = metric.key;
    }

    [[nodiscard]] target_config read() {
        std::size_t const before = problems_.size();
        for (auto const key : level_keys)
            if (keys_.take(key) != nullptr) return read_level(key);
        read_tiers();
        auto const stated = read_direction();
        read_mean_of();
        keys_.report_all_unknown();
        if (problems_.size() == before) settle_direction(stated);
        return std::move(target_);
    }

private:
    /// `key` is one of the level's.
    [[nodiscard]] target_config read_level(std::string_view key) {
        for (auto const other : {"acceptable", "objective", "mean_of", "direction"})
            if (keys_.take(other) != nullptr)
                refuse(keys_.place_of(other),
                       fmt::format("'{}' is not for a level, which '{}' describes; remove one of them", other, key));
        auto const most = read_bound("at_most"), least = read_bound("at_least");
        if (keys_.take("at_most") != nullptr && keys_.take("at_least") != nullptr)
            refuse(keys_.place_of("at_least"), "a level has one bound; remove at_most or at_least");
        else if (key == "over")
            refuse(metric_.key_at, fmt::format("the level on {} has no bound; add at_most or at_least, such as {}",
                                               quoted(metric_.key), level_example));
        target_.improves = most ? direction::down : direction::up;
        target_.level = {.bound = most ? *most : least.value_or(0), .over = read_window()};
        keys_.report_all_unknown();
        return std::move(target_);
    }

    [[nodiscard]] std::optional<double> read_bound(std::string_view key) {
        auto const bound = keys_.take_number(key, "a number");
        if (!bound || (is_finite(*bound) && *bound != 0)) return bound;
        refuse(keys_.place_of(key), fmt::format("the level '{}' is {}; write a finite number other than 0, because the "
                                                "slack is relative to it",
                                                key, *bound));
        return std::nullopt;
    }

    [[nodiscard]] nanoseconds read_window() {
        constexpr std::string_view key = "over";
        if (keys_.take(key) == nullptr) {
            refuse(metric_.key_at, fmt::format("the level on {} has no window; add over, such as {}",
                                               quoted(metric_.key), level_example));
            return {};
        }
        auto const* const text = keys_.take<std::string>(key, "a duration in quotes, such as \"10s\"");
        if (text == nullptr) return {};
        auto const over = read_duration(key, *text, keys_.place_of(key), problems_);
        if (over && over->count <= 0)
            refuse(keys_.place_of(key), "'over' is 0; write a duration above 0, such as \"10s\"");
        return over.value_or(nanoseconds{});
    }

    void read_tiers() {
        target_.acceptable = read_tier("acceptable");
        target_.objective = read_tier("objective");
        if (keys_.place_of("acceptable").line == 0 && keys_.place_of("objective").line == 0)
            refuse(metric_.key_at,
                   fmt::format("the target on {} has no tier; add acceptable, objective or both, such as {}",
                               quoted(metric_.key), example));
    }

    [[nodiscard]] std::optional<double> read_tier(std::string_view key) {
        auto const tier = keys_.take_number(key, "a number");
        if (!tier || is_finite(*tier)) return tier;
        refuse(keys_.place_of(key), fmt::format("the tier '{}' is {}; write a finite number", key, *tier));
        return std::nullopt;
    }

    [[nodiscard]] std::optional<direction> read_direction() {
        auto const* const word = keys_.take<std::string>("direction", "\"down\" or \"up\"");
        if (word == nullptr) return std::nullopt;
        if (*word == "down") return direction::down;
        if (*word == "up") return direction::up;
        refuse(keys_.place_of("direction"), quoted(*word) + " is not a direction; write \"down\" or \"up\"");
        return std::nullopt;
    }

    void read_mean_of() {
        auto const* const count = keys_.take<std::int64_t>("mean_of", "a whole number of values");
        if (count == nullptr) return;
        if (*count < 1 || *count > most_values)
            return refuse(keys_.place_of("mean_of"),
                          fmt::format("'mean_of' is {}; write a number from 1 to {}", *count, most_values));
        target_.mean_of = static_cast<std::uint32_t>(*count);
    }

    /// The user's statement counts first, then the name, then the order of two tiers that differ.
    void settle_direction(std::optional<direction> stated) {
        auto const &a = target_.acceptable, &o = target_.objective;
        auto const usual = usual_direction(target_.metric);
        if (stated || usual)
            target_.improves = stated ? *stated : *usual;
        else if (a && o && *a != *o)
            target_.improves = *o < *a ? direction::down : direction::up;
        else
            return refuse(metric_.key_at,
                          fmt::format("the direction of {} is missing; add direction = \"down\" or direction = \"up\"",
                                      quoted(metric_.key)));
        if (a && o && !reaches(target_.improves, *o, *a))
            refuse(keys_.place_of("objective"),
                   fmt::format("the objective {} is easier than the acceptable {}, since {} goes {}; swap them{}", *o,
                               *a, quoted(metric_.key), word_of(target_.improves),
                               stated ? ", or turn the direction round"
                                      : fmt::format(", or add direction = \"{}\"",
                                                    word_of(target_.improves == direction::down ? direction::up
                                                                                                : direction::down))));
    }
};

}  // namespace

std::optional<direction> usual_direction(std::string_view metric) noexcept {
    constexpr std::string_view separators = "._-/:";
    while (!metric.empty()) {
        std::size_t const end = std::min(metric.find_first_of(separators), metric.size());
        auto const word = metric.substr(0, end);
        if (std::ranges::find(down_names, word) != std::ranges::end(down_names)) return direction::down;
        if (std::ranges::find(up_names, word) != std::ranges::end(up_names)) return direction::up;
        metric.remove_prefix(std::min(end + 1, metric.size()));
    }
    return std::nullopt;
}

target_config read_target(table_reader& job, diagnostics& problems) {
    if (job.take("target") == nullptr) return {.metric = "loss"};
    auto const* const metrics = job.take<table>("target", fmt::format("a table: {}", example));
    if (metrics == nullptr) return {};
    if (metrics->size() != 1) {
        problems.add(job.place_of("target"),
                     fmt::format("a target is on one metric, here are {}; write {}", metrics->size(), example));
        return {};
    }
    auto const& metric = metrics->front();
    auto const* const tiers = std::get_if<table>(&metric.held.data);
    if (tiers == nullptr) {
        problems.add(metric.held.at, fmt::format("'{}' must be a table of tiers, not {}; write {}",
                                                 printable(metric.key), kind_of(metric.held), example));
        return {};
    }
    if (!is_metric_name(metric.key))
        problems.add(metric.key_at, fmt::format("{} cannot be a metric; use at most {} visible characters without '='",
                                                quoted(metric.key), longest_metric));
    return target_reader(metric, *tiers, problems).read();
}

}  // namespace ration::program
