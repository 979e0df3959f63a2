// SPDX-License-Identifier: BSL-1.0
/// Levels: the goal of a service, which holds and can be lost again.
///
/// A `level_target` bounds a metric, such as a latency. `level_tracker` compares it with the reports of a running job
/// over a sliding window of time. Policies read the result in `jobs/slo.met`, `jobs/slo.slack` and `jobs/tier`. A
/// target whose tiers are never lost is a `two_tier_target`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include <ration/buffer.hpp>
#include <ration/result.hpp>
#include <ration/target.hpp>
#include <ration/text.hpp>
#include <ration/units.hpp>

namespace ration {

/// True if a job has a level, by its `jobs/slo.met` and `jobs/slo.slack`. Both are 0 for a job without one, and never
/// for a job with one, since a mean at the level needs values that reach it.
[[nodiscard]] constexpr bool has_level(double met, double slack) noexcept { return met != 0 || slack != 0; }

/// A bound on a metric, for its mean over a window of time. It is tier 1, and a job with a level has no end by itself.
///
/// Example:
/// ~~~{.cpp}
/// auto const goal = ration::level_target::make({.metric = "p95", .at_most = 0.2, .over = ration::seconds(10)});
/// if (!goal) return goal.failure();
/// goal->slack(0.15);  // 0.25: a quarter of the level is left
/// ~~~
class level_target {
    text<32> metric_;
    direction improves_ = direction::down;
    double level_ = 0;
    nanoseconds over_{0};

public:
    /// Declares the class as a target.
    using target_concept = target_tag;
    /// Of a window.
    static constexpr nanoseconds longest = seconds(10.0 * 365 * 24 * 3600);

    /// The values from which a level is made, as a jobs file gives them.
    struct description {
        /// The name of the metric in the job's reports; at most 32 characters are kept.
        std::string_view metric = "loss";
        /// The bound: one of the two is required. It is not 0, because the slack is relative to it.
        std::optional<double> at_most{}, at_least{};
        nanoseconds over{0};  ///< length of the window, above 0 and up to `longest`
    };

    /// Validates a description. Errors: `invalid_value` if there is not exactly one bound, the bound is 0 or not
    /// finite, or the window is empty or too long.
    [[nodiscard]] static result<level_target> make(description const& d) noexcept {
        auto const refuse = [&](char const* remedy) {
            return error{.code = errc::invalid_value, .operation = "make level", .subject = d.metric, .remedy = remedy};
        };
        if (d.at_most.has_value() == d.at_least.has_value()) return refuse("give at_most or at_least");
        level_target t;
        t.level_ = d.at_most ? *d.at_most : *d.at_least;
        if (!is_finite(t.level_) || t.level_ == 0) return refuse("give a level that is finite and not 0");
        if (d.over.count <= 0 || longest < d.over) return refuse("give a window above 0 and of at most 10 years");
        t.metric_ = d.metric;
        t.improves_ = d.at_most ? direction::down : direction::up;
        t.over_ = d.over;
        return t;
    }

    /// The name of the metric that the job reports.
    [[nodiscard]] std::string_view metric() const noexcept { return metric_.view(); }
    /// `down` for the largest good value, `up` for the smallest.
    [[nodiscard]] direction improves() const noexcept { return improves_; }
    /// The bound.
    [[nodiscard]] double level() const noexcept { return level_; }
    /// The length of the window.
    [[nodiscard]] nanoseconds over() const noexcept { return over_; }

    /// As of a `two_tier_target` without an Objective: tier 2 is never reached.
    [[nodiscard]] std::uint32_t tiers() const noexcept { return two_tier_target::objective_tier; }
    /// 1 if the value is within the bound, otherwise 0. NaN is not.
    [[nodiscard]] std::uint32_t reached(double value) const noexcept {
        return reaches(improves_, value, level_) ? two_tier_target::acceptable_tier : 0;
    }
    /// The distance of a value from the level, relative to the level: 0.25 is better by a quarter of it, and a negative
    /// number is worse.
    [[nodiscard]] double slack(double value) const noexcept {
        double const better = improves_ == direction::down ? level_ - value : value - level_;
        return better / (level_ < 0 ? -level_ : level_);
    }
};

// The class that the concept was written for has to model it.
static_assert(Target<level_target>);

/// Tracks one job's metric against its level.
///
/// A value counts from its report to the next one, but no longer than the window, and not after `pause`. The level
/// *holds* while the present value is within the bound. Values that are not finite are counted and otherwise ignored.
/// Reports less than 1/128 of the window apart are averaged, so the window has at most 131 parts: `see` and `update`
/// are O(parts) and do not allocate. Times ascend from call to call. One thread at a time may use an object.
class level_tracker {
    /// A stretch of time with its known values.
    struct part {
        nanoseconds begin{0}, end{0};
        double known = 0, held = 0;  // seconds with a value, and with one within the bound
        double sum = 0;              // of values times seconds
    };
    /// Sums over a window.
    struct sums {
        double known = 0, held = 0, sum = 0;

        /// Adds the part of `p` after `from`.
        void add(part const& p, nanoseconds from) noexcept {
            if (p.end <= from || p.end <= p.begin) return;
            double const inside = p.begin < from ? to_seconds(p.end - from) / to_seconds(p.end - p.begin) : 1;
            known += inside * p.known;
            held += inside * p.held;
            sum += inside * p.sum;
        }
    };
    static constexpr std::int64_t finest = 128;

    level_target target_;
    buffer<part> parts_;  // a ring: the last ones reach back to the begin of the window
    std::size_t newest_ = 0, count_ = 0;
    std::optional<double> value_;          // at present
    std::optional<nanoseconds> first_at_;  // of the first value
    nanoseconds value_at_{0}, now_{0};
    double held_ = 0;  // seconds of all parts so far
    std::uint64_t not_finite_ = 0;
    double met_ = 0;
    std::optional<double> mean_;

public:
    /// Allocates the window.
    explicit level_tracker(level_target const& target)
        : target_(target), parts_(static_cast<std::size_t>(finest) + 3) {}

    /// The level that is tracked.
    [[nodiscard]] level_target const& target() const noexcept { return target_; }
    /// The number of values that were NaN or infinite.
    [[nodiscard]] std::uint64_t not_finite() const noexcept { return not_finite_; }

    /// The job reports this value.
    void see(double value, nanoseconds now) noexcept {
        if (!is_finite(value)) {
            ++not_finite_;
            return update(now);
        }
        close(now);
        value_ = value;
        value_at_ = now_;
        if (!first_at_) first_at_ = now_;
        update(now);
    }
    /// Its process has ended: no value counts until the next report.
    void pause(nanoseconds now) noexcept {
        close(now);
        value_.reset();
        update(now);
    }
    /// Moves the window on to `now`. The figures below are those of then.
    void update(nanoseconds now) noexcept {
        if (now > now_) now_ = now;
        nanoseconds const from = now_ - target_.over();
        while (count_ > 0 && at(count_ - 1).end <= from) --count_;
        sums all;
        for (std::size_t i = 0; i < count_; ++i) all.add(at(i), from);
        all.add(present(), from);
        met_ = met_of(all, from);
        mean_ = all.known > 0 ? std::optional(on_its_side(all)) : std::nullopt;
        if (value_ && value_at_ == now_ && !mean_) mean_ = value_;
        if (mean_ && !is_finite(*mean_)) mean_.reset();  // finite values whose sum is not
    }

    /// The part of the window in which the level held, 0 to 1. Before the window is full, the part of the time since
    /// the first value; 0 before that. Times without a value count as missed.
    [[nodiscard]] double met() const noexcept { return met_; }
    /// The mean over the times of the window that have a value; empty if none has.
    [[nodiscard]] std::optional<double> smoothed() const noexcept { return mean_; }
    /// The slack of that mean; NaN without one.
    [[nodiscard]] double slack() const noexcept {
        return mean_ ? target_.slack(*mean_) : std::numeric_limits<double>::quiet_NaN();
    }
    /// 1 while the window is full and its mean is within the bound, otherwise 0. One lucky value reaches no tier.
    [[nodiscard]] std::uint32_t tier() const noexcept {
        bool const is_full = first_at_ && *first_at_ + target_.over() <= now_;
        return is_full && mean_ ? target_.reached(*mean_) : 0;
    }
    /// The part of the time since the first value in which the level held; empty before that. Times without a value
    /// count as missed.
    [[nodiscard]] std::optional<double> met_since_first() const noexcept {
        if (!first_at_ || !(*first_at_ < now_)) return std::nullopt;
        return (held_ + present().held) / to_seconds(now_ - *first_at_);
    }

private:
    // at(0) is the newest part.
    [[nodiscard]] part& at(std::size_t age) noexcept { return parts_[(newest_ + parts_.size() - age) % parts_.size()]; }

    /// The mean. If all values are on one side of the level, rounding does not take it to the other side.
    [[nodiscard]] double on_its_side(sums const& all) const noexcept {
        double const mean = all.sum / all.known, level = target_.level();
        bool const holds = target_.reached(mean) > 0;
        if (!holds && all.held == all.known && is_finite(mean)) return level;
        if (!holds || all.held > 0) return mean;
        constexpr double relative = std::numeric_limits<double>::epsilon();
        bool const grows = (target_.improves() == direction::down) == (level > 0);
        return level * (grows ? 1 + relative : 1 - relative);
    }
    [[nodiscard]] double met_of(sums const& all, nanoseconds from) const noexcept {
        if (!first_at_) return 0;
        if (*first_at_ == now_) return value_ ? target_.reached(*value_) : 0;
        double const part = all.held / to_seconds(*first_at_ > from ? now_ - *first_at_ : target_.over());
        return part < 1 ? part : 1;  // above 1 by rounding
    }
    /// The time of the present value so far.
    [[nodiscard]] part present() const noexcept {
        if (!value_) return {};
        nanoseconds const last = value_at_ + target_.over(), end = now_ < last ? now_ : last;
        double const seconds = to_seconds(end - value_at_);
        return {value_at_, end, seconds, target_.reached(*value_) > 0 ? seconds : 0, *value_ * seconds};
    }
    /// Adds the time of the present value up to `now` to the window.
    void close(nanoseconds now) noexcept {
        update(now);
        part const next = present();
        if (next.end <= next.begin) return;
        held_ += next.held;
        part& newest = at(0);
        std::int64_t const spacing = (target_.over().count + finest - 1) / finest;  // rounded up: `parts_` has an end
        if (count_ > 0 && (next.begin - newest.begin).count < spacing) {
            newest = {newest.begin, next.end, newest.known + next.known, newest.held + next.held,
                      newest.sum + next.sum};
            return;
        }
        newest_ = (newest_ + 1) % parts_.size();
        parts_[newest_] = next;
        ++count_;
    }
};

}  // namespace ration
