// SPDX-License-Identifier: BSL-1.0
/// Targets: the goal that a user sets for a job, as ordered tiers on a metric. A target never names
/// a machine.
///
/// `two_tier_target` is the target of jobs files and of the program; `target_tracker` compares it
/// with the reports of a running job. Schedulers with goals of another form supply a type that
/// models `Target`. Policies read the result in the columns `jobs/tier` and `jobs/tiers`.
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

/// The direction in which the metric improves: a loss goes down, an accuracy goes up.
enum class direction : std::uint8_t { down, up };

/// True if `value` is at least as good as `threshold`. NaN reaches no threshold.
[[nodiscard]] constexpr bool reaches(direction improves, double value, double threshold) noexcept {
    return improves == direction::down ? value <= threshold : value >= threshold;
}

/// True for a number that is neither infinite nor NaN. The test reads the bits, because -ffast-math
/// permits a compiler to fold the usual comparisons.
[[nodiscard]] constexpr bool is_finite(double value) noexcept {
    static_assert(std::numeric_limits<double>::is_iec559);
    constexpr std::uint64_t exponent = std::uint64_t{0x7FF} << 52;
    return (std::bit_cast<std::uint64_t>(value) & exponent) != exponent;
}

/// Base of the tag by which a type declares that it is a target: `using target_concept =
/// ration::target_tag;`.
struct target_tag {};

/// The type has declared the tag.
template <class T>
concept has_target_tag = requires { requires std::derived_from<typename T::target_concept, target_tag>; };
/// `t.metric()`: the name of the metric that the job reports.
template <class T>
concept has_metric = requires(T const& t) {
    { t.metric() } noexcept -> std::convertible_to<std::string_view>;
};
/// `t.tiers()`: the number of tiers. `t.reached(value)`: the number of tiers that this value of the
/// metric reaches.
template <class T>
concept has_ordered_tiers = requires(T const& t, double value) {
    { t.tiers() } noexcept -> std::same_as<std::uint32_t>;
    { t.reached(value) } noexcept -> std::same_as<std::uint32_t>;
};

/// The goal of a job.
/// Valid expressions: `t.metric()`, `t.tiers()`, `t.reached(value)`; all noexcept and const.
/// Laws: (1) `reached` is at most `tiers()`; (2) a better value never reaches fewer tiers; (3) NaN reaches none.
/// Cost: O(tiers).
/// Smallest model: `ration::testing::target_archetype`.
template <class T>
concept Target = has_target_tag<T> && has_metric<T> && has_ordered_tiers<T>;

/// TRADL's target <Acceptable, Objective>: at Acceptable the model can be delivered, at Objective
/// the job is finished. Either may be left out.
///
/// Tiers are always counted 1 = Acceptable, 2 = Objective. Without an Objective, tier 2 is never
/// reached; without an Acceptable, both are reached together.
///
/// Source: Zheng et al., "Target-based Resource Allocation for Deep Learning Applications in a
/// Multi-tenancy System", HPEC 2019.
///
/// Example:
/// ~~~{.cpp}
/// auto const goal = ration::two_tier_target::make({.metric = "loss", .acceptable = 0.5, .objective = 0.3});
/// if (!goal) return goal.failure();
/// goal->reached(0.4);  // 1: Acceptable
/// ~~~
class two_tier_target {
    text<32> metric_;
    direction improves_ = direction::down;
    std::optional<double> acceptable_, objective_;
    std::uint32_t mean_of_ = 1;

public:
    /// Declares the class as a target.
    using target_concept = target_tag;
    /// The numbers of the two tiers, as `reached` and the column `jobs/tier` count them.
    static constexpr std::uint32_t acceptable_tier = 1, objective_tier = 2;
    /// The longest window.
    static constexpr std::uint32_t most_mean_of = 1'000'000;  // a tracker keeps this many reports at most: 16 MB

    /// The values from which a target is made, as a jobs file gives them.
    struct description {
        /// The name of the metric in the job's reports; at most 32 characters are kept.
        std::string_view metric = "loss";
        /// A smaller value is better (`down`) or a larger one (`up`).
        direction improves = direction::down;
        /// The thresholds of the two tiers; at least one of them is required.
        std::optional<double> acceptable{}, objective{};
        std::uint32_t mean_of = 1;  ///< the metric counts as its mean over the last `mean_of` reported values
    };

    /// Validates a description. Errors: `invalid_value` if both thresholds are absent, a threshold
    /// is not finite, `mean_of` is 0 or above `most_mean_of`, or the Objective is easier than the
    /// Acceptable.
    [[nodiscard]] static result<two_tier_target> make(description const& d) noexcept {
        // All checks fail with the same code; only the remedy differs.
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

    /// The name of the metric that the job reports.
    [[nodiscard]] std::string_view metric() const noexcept { return metric_.view(); }
    /// The direction in which the metric improves.
    [[nodiscard]] direction improves() const noexcept { return improves_; }
    /// The threshold of tier 1, if the target has one.
    [[nodiscard]] std::optional<double> acceptable() const noexcept { return acceptable_; }
    /// The threshold of tier 2, if the target has one.
    [[nodiscard]] std::optional<double> objective() const noexcept { return objective_; }
    /// The number of reported values over which the metric is averaged; 1 or more.
    [[nodiscard]] std::uint32_t mean_of() const noexcept { return mean_of_; }

    /// Always 2, also where one of the thresholds is absent.
    [[nodiscard]] std::uint32_t tiers() const noexcept { return objective_tier; }
    /// The highest tier that `value` reaches: 0, 1 or 2. NaN reaches none.
    [[nodiscard]] std::uint32_t reached(double value) const noexcept {
        if (objective_ && reaches(improves_, value, *objective_)) return objective_tier;
        return acceptable_ && reaches(improves_, value, *acceptable_) ? acceptable_tier : 0;
    }
};

// The class that the concept was written for has to model it.
static_assert(Target<two_tier_target>);

/// Tracks one job's metric: the smoothed value, the best one so far and the tiers reached, which
/// are never lost.
///
/// A tier is reached only on a full window of `mean_of` finite values. Values that are not finite
/// are counted and otherwise ignored. `see` is O(reports in the window), at most `mean_of`, and
/// does not allocate. One thread at a time may use an object.
class target_tracker {
    /// The mean of `count` consecutive values, as one report delivers them.
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
    /// Allocates the window. A window of `mean_of` values needs at most one report more than
    /// values.
    explicit target_tracker(two_tier_target const& target)
        : target_(target), window_(target.mean_of() + std::size_t{1}) {}

    /// The target that is tracked.
    [[nodiscard]] two_tier_target const& target() const noexcept { return target_; }
    /// The highest tier reached so far: 0, 1 or 2.
    [[nodiscard]] std::uint32_t tier() const noexcept { return tier_; }
    /// The number of values that were NaN or infinite, and reports of no values.
    [[nodiscard]] std::uint64_t not_finite() const noexcept { return not_finite_; }
    /// The best smoothed value so far; none before the first full window.
    [[nodiscard]] std::optional<double> best() const noexcept { return best_; }

    /// The mean over the window, each report weighted by the number of its values; empty before the
    /// first value.
    [[nodiscard]] std::optional<double> smoothed() const noexcept {
        if (values_ == 0) return std::nullopt;
        double sum = 0;
        for (std::size_t i = 0; i < reports_; ++i) sum += at(i).mean * static_cast<double>(at(i).count);
        return sum / static_cast<double>(values_);
    }

    /// Adds the mean of `count` values of the metric. A report of more than `mean_of` values has
    /// the weight of `mean_of`. Returns the tier, which never falls.
    std::uint32_t see(double mean, std::uint64_t count = 1) noexcept {
        if (!is_finite(mean) || count == 0) {
            not_finite_ += count;
            return tier_;
        }
        push({mean, count < target_.mean_of() ? count : target_.mean_of()});
        // A mean over a part of the window could reach a tier by one lucky value.
        if (values_ < target_.mean_of()) return tier_;
        auto const value = smoothed();
        if (!value || !is_finite(*value)) return tier_;  // finite values whose sum is not
        if (!best_ || reaches(target_.improves(), *value, *best_)) best_ = value;
        std::uint32_t const now = target_.reached(*value);
        if (now > tier_) tier_ = now;
        return tier_;
    }

    /// Empties the window and keeps the tiers. Called after a restart, since values of two
    /// incarnations must not be averaged.
    void clear_window() noexcept {
        newest_ = reports_ = 0;
        values_ = 0;
    }

private:
    // at(0) is the newest report.
    [[nodiscard]] report const& at(std::size_t age) const noexcept {
        return window_[(newest_ + window_.size() - age) % window_.size()];
    }

    // Adds a report and drops the oldest ones that a full window does not need. The newest report
    // is always kept.
    void push(report r) noexcept {
        newest_ = (newest_ + 1) % window_.size();
        window_[newest_] = r;
        ++reports_;
        values_ += r.count;
        while (reports_ > 1 && values_ - at(reports_ - 1).count >= target_.mean_of()) values_ -= at(--reports_).count;
    }
};

}  // namespace ration
