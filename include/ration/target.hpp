// SPDX-License-Identifier: BSL-1.0
/// Targets: what the user wants of a job, as ordered tiers on a metric. Never a machine.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include <ration/buffer.hpp>
#include <ration/result.hpp>
#include <ration/text.hpp>

namespace ration {

/// Which way the metric has to go: a loss goes down, an accuracy goes up.
enum class direction : std::uint8_t { down, up };

/// True when `value` is at least as good as `threshold`. A value that is not a number reaches nothing.
[[nodiscard]] constexpr bool reaches(direction improves, double value, double threshold) noexcept {
    return improves == direction::down ? value <= threshold : value >= threshold;
}

/// True for a number that is neither infinite nor NaN. By its bits, since a program built with -ffast-math folds
/// comparisons.
[[nodiscard]] constexpr bool is_finite(double value) noexcept {
    static_assert(std::numeric_limits<double>::is_iec559);
    constexpr std::uint64_t exponent = std::uint64_t{0x7FF} << 52;
    return (std::bit_cast<std::uint64_t>(value) & exponent) != exponent;
}

struct target_tag {};

template <class T>
concept has_target_tag = requires { requires std::derived_from<typename T::target_concept, target_tag>; };
/// `t.metric()`: the name of the metric that the job reports.
template <class T>
concept has_metric = requires(T const& t) {
    { t.metric() } noexcept -> std::convertible_to<std::string_view>;
};
/// `t.tiers()`: how many tiers there are; `t.reached(value)`: how many of them this value of the metric reaches.
template <class T>
concept has_ordered_tiers = requires(T const& t, double value) {
    { t.tiers() } noexcept -> std::same_as<std::uint32_t>;
    { t.reached(value) } noexcept -> std::same_as<std::uint32_t>;
};

/// What the user wants of a job.
/// Valid expressions: `t.metric()`, `t.tiers()`, `t.reached(value)`; all noexcept and const.
/// Laws: (1) `reached` is at most `tiers()`; (2) a better value never reaches fewer tiers; (3) NaN reaches none.
/// Cost: O(tiers).
/// Smallest model: `ration::testing::target_archetype`.
template <class T>
concept Target = has_target_tag<T> && has_metric<T> && has_ordered_tiers<T>;

/// TRADL's target <Acceptable, Objective>: at Acceptable the model can be delivered, at Objective the job is finished.
/// Either may be left out. Tiers are counted 1 = Acceptable, 2 = Objective in every case: without an Objective, 2 is
/// never reached; without an Acceptable, both are reached together. Source: Zheng et al., "Target-based Resource
/// Allocation for Deep Learning Applications in a Multi-tenancy System", HPEC 2019.
class two_tier_target {
    text<32> metric_;
    direction improves_ = direction::down;
    std::optional<double> acceptable_, objective_;
    std::uint32_t mean_of_ = 1;

public:
    using target_concept = target_tag;
    static constexpr std::uint32_t acceptable_tier = 1, objective_tier = 2;
    static constexpr std::uint32_t most_mean_of = 1'000'000;  // a tracker keeps this many reports at most: 16 MB

    struct description {
        std::string_view metric = "loss";
        direction improves = direction::down;
        std::optional<double> acceptable{}, objective{};
        std::uint32_t mean_of = 1;  ///< the metric counts as its mean over the last `mean_of` reported values
    };

    /// Errors: `invalid_value` for no tier at all, a threshold that is not finite, `mean_of` 0 or above `most_mean_of`,
    /// an Objective that is easier than the Acceptable.
    [[nodiscard]] static result<two_tier_target> make(description const& d) noexcept {
        auto const refuse = [&](char const* remedy) {
            return error{
                .code = errc::invalid_value, .operation = "make target", .subject = d.metric, .remedy = remedy};
        };
        if (!d.acceptable && !d.objective) return refuse("give acceptable, objective or both");
        if ((d.acceptable && !is_finite(*d.acceptable)) || (d.objective && !is_finite(*d.objective)))
            return refuse("give thresholds that are finite numbers");
        if (d.mean_of == 0 || d.mean_of > most_mean_of) return refuse("give mean_of from 1 to 1000000");
        if (d.acceptable && d.objective && !reaches(d.improves, *d.objective, *d.acceptable))
            return refuse("make the objective at least as hard as the acceptable value");
        two_tier_target t;
        t.metric_ = d.metric;
        t.improves_ = d.improves;
        t.acceptable_ = d.acceptable;
        t.objective_ = d.objective;
        t.mean_of_ = d.mean_of;
        return t;
    }

    [[nodiscard]] std::string_view metric() const noexcept { return metric_.view(); }
    [[nodiscard]] direction improves() const noexcept { return improves_; }
    [[nodiscard]] std::optional<double> acceptable() const noexcept { return acceptable_; }
    [[nodiscard]] std::optional<double> objective() const noexcept { return objective_; }
    [[nodiscard]] std::uint32_t mean_of() const noexcept { return mean_of_; }

    [[nodiscard]] std::uint32_t tiers() const noexcept { return objective_tier; }
    [[nodiscard]] std::uint32_t reached(double value) const noexcept {
        if (objective_ && reaches(improves_, value, *objective_)) return objective_tier;
        return acceptable_ && reaches(improves_, value, *acceptable_) ? acceptable_tier : 0;
    }
};

static_assert(Target<two_tier_target>);

/// Follows one job's metric: the smoothed value, the best one so far and the tiers reached, which are never lost again.
/// A tier is reached only on a full window of `mean_of` finite values; values that are not finite are counted and
/// otherwise ignored. `see` is O(reports in the window), of which there are at most `mean_of`, and does not allocate.
class target_tracker {
    struct report {
        double mean = 0;
        std::uint64_t count = 0;
    };

    two_tier_target target_;
    buffer<report> window_;  // a ring: the newest reports that together hold at least mean_of values
    std::size_t newest_ = 0, reports_ = 0;
    std::uint64_t values_ = 0, not_finite_ = 0;
    std::optional<double> best_;
    std::uint32_t tier_ = 0;

public:
    explicit target_tracker(two_tier_target const& target)
        : target_(target), window_(target.mean_of() + std::size_t{1}) {}

    [[nodiscard]] two_tier_target const& target() const noexcept { return target_; }
    [[nodiscard]] std::uint32_t tier() const noexcept { return tier_; }
    [[nodiscard]] std::uint64_t not_finite() const noexcept { return not_finite_; }
    /// The best smoothed value so far; none before the first full window.
    [[nodiscard]] std::optional<double> best() const noexcept { return best_; }

    /// The mean over the window, each report weighted by the values it stands for; none before the first value.
    [[nodiscard]] std::optional<double> smoothed() const noexcept {
        if (values_ == 0) return std::nullopt;
        double sum = 0;
        for (std::size_t i = 0; i < reports_; ++i) sum += at(i).mean * static_cast<double>(at(i).count);
        return sum / static_cast<double>(values_);
    }

    /// Takes in the mean of `count` values of the metric; more than `mean_of` values weigh as much as `mean_of`.
    /// Returns the tier, which only ever rises.
    std::uint32_t see(double mean, std::uint64_t count = 1) noexcept {
        if (!is_finite(mean) || count == 0) {
            not_finite_ += count;
            return tier_;
        }
        push({mean, count < target_.mean_of() ? count : target_.mean_of()});
        if (values_ < target_.mean_of()) return tier_;
        auto const value = smoothed();
        if (!value || !is_finite(*value)) return tier_;  // finite values whose sum is not
        if (!best_ || reaches(target_.improves(), *value, *best_)) best_ = value;
        std::uint32_t const now = target_.reached(*value);
        if (now > tier_) tier_ = now;
        return tier_;
    }

    /// Forgets the window, not the tiers: after a restart old values must not mix with new ones.
    void clear_window() noexcept {
        newest_ = reports_ = 0;
        values_ = 0;
    }

private:
    // at(0) is the newest report.
    [[nodiscard]] report const& at(std::size_t age) const noexcept {
        return window_[(newest_ + window_.size() - age) % window_.size()];
    }

    void push(report r) noexcept {
        newest_ = (newest_ + 1) % window_.size();
        window_[newest_] = r;
        ++reports_;
        values_ += r.count;
        while (reports_ > 1 && values_ - at(reports_ - 1).count >= target_.mean_of()) values_ -= at(--reports_).count;
    }
};

}  // namespace ration
