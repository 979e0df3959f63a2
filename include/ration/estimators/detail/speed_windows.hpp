// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// The measurements of one job in windows, behind the estimator `bottleneck`.
///
/// Source of the median, of the limit 0.9 and of two windows in a row: S. Li, R. J. Walls and T. Guo, "Characterizing
/// and Modeling Distributed Training with Transient Cloud GPU Servers" (CM-DARE), ICDCS 2020.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>

#include <ration/resource.hpp>
#include <ration/target.hpp>
#include <ration/units.hpp>

namespace ration::estimators::detail {

/// Values of `jobs/bottleneck`.
enum class bottleneck_kind : std::uint32_t {
    none,
    exchange,   ///< workers wait for each other
    input,      ///< the job uses fewer cores than it could, as one does that waits for data
    throttled,  ///< the job waits for CPU that its own maximum refuses
};
inline constexpr std::uint32_t bottleneck_kinds = 4;

/// Measurements of a job in one tick, or the mean of several ticks.
struct speed_sample {
    double per_second = 0;  ///< steps, or samples; only of a measurement
    double cores = 0;       ///< that it used, in millicores
    double throttled = 0;   ///< part of the time in which its limit stopped it
    double spare = 0;       ///< millicores of the machine that no job used

    static auto fields(auto& self) noexcept {
        return std::tie(self.per_second, self.cores, self.throttled, self.spare);
    }
    [[nodiscard]] bool sane() const noexcept {
        return is_finite(per_second) && is_finite(cores) && is_finite(throttled) && is_finite(spare);
    }
    bool operator==(speed_sample const&) const = default;
    [[nodiscard]] friend speed_sample operator+(speed_sample const& a, speed_sample const& b) noexcept {
        return {a.per_second + b.per_second, a.cores + b.cores, a.throttled + b.throttled, a.spare + b.spare};
    }
    [[nodiscard]] friend speed_sample operator/(speed_sample const& sum, double n) noexcept {
        return {sum.per_second / n, sum.cores / n, sum.throttled / n, sum.spare / n};
    }
};

/// The steps of a job up to a tick.
struct speed_progress {
    nanoseconds at{0};
    std::uint64_t step = 0;
    double samples = 1;  ///< of a step; 1 if they are unknown

    /// Samples per second, or steps. 0 if no time has passed, or the job has returned to an earlier step.
    [[nodiscard]] double speed_since(speed_progress const& before) const noexcept {
        double const seconds = to_seconds(at - before.at);
        if (step <= before.step || seconds <= 0) return 0;
        return static_cast<double>(step - before.step) * samples / seconds;
    }
    static auto fields(auto& self) noexcept { return std::tie(self.at, self.step, self.samples); }
    [[nodiscard]] bool sane() const noexcept { return is_finite(samples); }
};

/// The circumstances of a measurement. A change of them starts another window.
struct speed_circumstances {
    std::int64_t workers = 0;  ///< devices in use; 0 = the job runs on processors only
    std::int64_t limit = 0;    ///< millicores that it may use; 0 = no limit is known
    std::int64_t most = 0;     ///< millicores that it accepts

    bool operator==(speed_circumstances const&) const = default;
    static auto fields(auto& self) noexcept { return std::tie(self.workers, self.limit, self.most); }
    [[nodiscard]] static bool sane() noexcept { return true; }
};

/// O(window) for a measurement that completes one, else O(1).
class speed_windows {
    static constexpr std::size_t length = 7;        // odd: the median is one of them
    static constexpr std::uint32_t settling = 3;    // after a change, meters still remember what came before
    static constexpr double saturated_below = 0.9;  // of the expected speed
    static constexpr std::uint64_t most_ticks = std::uint64_t{1} << 62;  // no run has as many
    static constexpr double core = 1000;                                 // millicores; each job can use one

    std::array<speed_sample, length> window_{};
    speed_sample last_, sum_;    // of the last tick, and of those since the last further step
    std::uint64_t ticks_ = 0;    // in the sum
    std::uint32_t samples_ = 0;  // `settling` of them do not count
    speed_progress made_;        // at the last one
    speed_circumstances here_;
    // Of the fewest workers that were measured: their number, and the speed of each
    std::int64_t fewest_ = 0;
    double of_each_ = 0, cores_of_each_ = 0;
    double most_cores_ = 0;                 // the largest median of a window
    std::uint32_t seen_ = 0, present_ = 0;  // `bottleneck_kind` of the last window, and of the last two equal ones

public:
    /// Takes the measurements of a tick. Values that equal the last ones are ignored: they may be the same tick, asked
    /// again.
    ///
    /// A tick with a further step ends a measurement: the speed since the step before, and means of the rest. The meter
    /// of a host is unsuitable, since it decays between the steps of a job with long steps.
    void take(speed_progress const& made, speed_sample const& now, speed_circumstances const& here) noexcept {
        if (here != here_) {
            here_ = here;
            samples_ = seen_ = present_ = 0;
            ticks_ = 0;
        }
        auto const sum = ticks_ == 0 ? now : sum_ + now;
        if (!sum.sane() || (made.step == made_.step && now == last_)) return;
        last_ = now;
        sum_ = sum;
        ++ticks_;
        if (made.step == made_.step) return;
        auto measured = sum_ / static_cast<double>(ticks_);
        measured.per_second = made.speed_since(made_);
        made_ = made;
        ticks_ = 0;
        if (!(measured.per_second > 0) || !measured.sane()) return;
        if (samples_ >= settling) window_[samples_ - settling] = measured;
        if (++samples_ < settling + length) return;
        samples_ = settling;
        std::uint32_t const found = static_cast<std::uint32_t>(classify());
        if (found == seen_) present_ = found;
        seen_ = found;
    }

    /// The bottleneck of the last two windows that agree; `none` until there are two.
    [[nodiscard]] bottleneck_kind present() const noexcept { return static_cast<bottleneck_kind>(present_); }

    static auto fields(auto& self) noexcept {
        return std::tie(self.window_, self.last_, self.sum_, self.ticks_, self.samples_, self.made_, self.here_,
                        self.fewest_, self.of_each_, self.cores_of_each_, self.most_cores_, self.seen_, self.present_);
    }
    [[nodiscard]] bool sane() const noexcept {
        return samples_ < settling + length && ticks_ < most_ticks && fewest_ >= 0 && is_finite(of_each_) &&
               is_finite(cores_of_each_) && is_finite(most_cores_) && seen_ < bottleneck_kinds &&
               present_ < bottleneck_kinds;
    }

private:
    [[nodiscard]] double median(double speed_sample::* value) const noexcept {
        std::array<double, length> sorted{};
        for (std::size_t i = 0; i < length; ++i) {
            std::size_t at = i;
            for (; at > 0 && sorted[at - 1] > window_[i].*value; --at) sorted[at] = sorted[at - 1];
            sorted[at] = window_[i].*value;
        }
        return sorted[length / 2];
    }

    [[nodiscard]] bottleneck_kind classify() noexcept {
        double const speed = median(&speed_sample::per_second), cores = median(&speed_sample::cores);
        if (cores > most_cores_) most_cores_ = cores;
        if (here_.workers > 0 && (fewest_ == 0 || here_.workers <= fewest_)) {
            fewest_ = here_.workers;
            of_each_ = speed / static_cast<double>(fewest_);
            cores_of_each_ = cores / static_cast<double>(fewest_);
        }
        if (is_own_limit(cores) && 1 - median(&speed_sample::throttled) < saturated_below)
            return bottleneck_kind::throttled;
        // Without CPU to spare, a job that uses less than it could waits for the others
        double const spare = median(&speed_sample::spare);
        auto const workers = static_cast<double>(here_.workers);
        double const usable = here_.workers > 0 ? cores_of_each_ * workers : usable_cores();
        bool const is_idle = cores < saturated_below * usable;
        if (is_idle && spare < usable - cores) return bottleneck_kind::none;
        if (here_.workers > fewest_ && speed < saturated_below * of_each_ * workers) return bottleneck_kind::exchange;
        return here_.workers == 0 && is_idle ? bottleneck_kind::input : bottleneck_kind::none;
    }

    /// Only its own limit can stop the job. Devices of the CPU have a limit as well, which a host does not show: a job
    /// on devices that does not use its own is stopped by theirs.
    [[nodiscard]] bool is_own_limit(double cores) const noexcept {
        bool const is_in_force = here_.most < unlimited && (here_.limit == 0 || here_.limit >= here_.most);
        return is_in_force && (here_.workers == 0 || cores >= saturated_below * static_cast<double>(here_.most));
    }

    /// One core, or as many as the job has used, within its limit.
    [[nodiscard]] double usable_cores() const noexcept {
        bool const is_limited = here_.limit != 0 && here_.limit < here_.most;
        auto const limit = static_cast<double>(is_limited ? here_.limit : here_.most);
        double const used = most_cores_ > core ? most_cores_ : core;
        return used < limit ? used : limit;
    }
};

}  // namespace ration::estimators::detail
