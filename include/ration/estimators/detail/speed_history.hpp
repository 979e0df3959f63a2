// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// The measured speeds of one job by its number of devices, and the speeds in between and beyond.
///
/// Source of the bound beyond: A. Qiao et al., "Pollux", OSDI 2021.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>

#include <ration/resource.hpp>
#include <ration/target.hpp>
#include <ration/units.hpp>

namespace ration::estimators::detail {

/// A speed on one number of devices: the mean of its measurements.
struct speed_point {
    std::int64_t devices = 0;
    double per_second = 0;
    double measurements = 0;  // at most `speed_history::remembered`; 0: `per_second` is an upper bound
    std::uint64_t last = 0;   // the number of the last one among all of the job

    static auto fields(auto& self) noexcept {
        return std::tie(self.devices, self.per_second, self.measurements, self.last);
    }
    [[nodiscard]] bool sane() const noexcept {
        return devices >= 0 && devices <= max_amount && is_finite(per_second) && measurements >= 0;
    }
};

/// The columns of a job in one tick.
struct speed_observation {
    nanoseconds now{0};
    std::uint64_t step = 0;
    std::int64_t devices = 0;
    double per_second = 0;
    double attained = 0;    // device-seconds held so far
    std::int64_t most = 0;  // devices that the job can have
};

/// A measurement counts if the job has made a step since the last one, and has kept its devices for as long as its
/// meter remembers what came before. O(points) for a measurement.
///
/// A job may make no step during `patience` where it has never run. If it has not run on fewer devices either, there
/// are too few for its batch or memory, unless it cannot have more. Otherwise its speed there is at most one step in
/// the time that has passed: its batch may be too small for all devices.
class speed_history {
    static constexpr std::size_t most_points = 8;
    static constexpr double remembered = 16;  // measurements; older ones fade
    /// Five times the memory of `rate_meter`, after which a former speed weighs less than 2 %.
    static constexpr nanoseconds settling = seconds(5);
    static constexpr std::int64_t reach = 2;  // as in Pollux: times the most devices that were measured
    /// The speed of a further device there, by that of a measured one. Pollux assumes 1.
    static constexpr double share_of_further = 0.6;
    /// Seconds. Most jobs start and make a step in less; a job that gets more devices too early has to start again.
    static constexpr double patience = 600;

    std::array<speed_point, most_points> points_{};  // devices ascend
    std::uint32_t used_ = 0;
    std::int64_t devices_ = 0;  // in use now
    nanoseconds since_{0};
    std::uint64_t step_ = 0, measurements_ = 0;
    double attained_ = 0;       // at the last step, or when the job got its devices
    std::int64_t too_few_ = 0;  // the job cannot run on this number of devices or fewer

public:
    /// Takes what a tick shows of the job.
    void see(speed_observation const& job) noexcept {
        bool const goes_on = job.devices == devices_ && job.step >= step_;
        bool const steps = goes_on && job.step > step_ && job.devices > 0;
        if (!goes_on) since_ = job.now;
        devices_ = job.devices;
        step_ = job.step;
        if (steps) reconsider(job.attained - attained_);
        if (steps || !goes_on) attained_ = job.attained;
        if (is_stuck(job)) limit(job.attained - attained_);
        if (!steps || job.now - since_ < settling || !(job.per_second > 0) || !is_finite(job.per_second)) return;
        speed_point& here = point_of_devices();
        if (here.measurements < remembered) here.measurements += 1;
        here.per_second += (job.per_second - here.per_second) / here.measurements;
        here.last = ++measurements_;
    }

    /// The job runs only on more devices than this.
    [[nodiscard]] std::int64_t too_few() const noexcept { return too_few_; }

    /// The points so far, by their devices.
    [[nodiscard]] std::span<speed_point const> points() const noexcept { return std::span(points_).first(used_); }

    /// Writes the speeds on 0, 1, 2 ... devices: straight lines from 0 through the points, a flatter one to twice the
    /// devices of the last point, and the same beyond; 0 where the job cannot run. Precondition: there is a point.
    void show(std::span<double> to) const noexcept {
        speed_point below{};
        std::size_t next = 0;
        for (std::size_t k = 0; k < to.size(); ++k) {
            auto const devices = static_cast<std::int64_t>(k);
            while (next < used_ && points_[next].devices < devices) below = points_[next++];
            double const speed = next < used_ ? between(below, points_[next], devices) : beyond(below, devices);
            to[k] = devices > too_few_ ? speed : 0;
        }
    }

    /// For saved state.
    static auto fields(auto& self) noexcept {
        return std::tie(self.points_, self.used_, self.devices_, self.since_, self.step_, self.measurements_,
                        self.attained_, self.too_few_);
    }
    [[nodiscard]] bool sane() const noexcept {
        if (used_ > most_points || devices_ < 0 || !is_finite(attained_) || too_few_ < 0) return false;
        if (used_ > 0 && too_few_ >= points_[0].devices) return false;
        for (std::size_t i = 0; i < used_; ++i) {
            bool const ascends = points_[i].devices > (i > 0 ? points_[i - 1].devices : 0);
            if (!ascends || !(points_[i].per_second > 0) || !(points_[i].measurements >= 0)) return false;
        }
        return true;
    }

private:
    /// The job has never run on its devices, and has had them long enough for two steps.
    [[nodiscard]] bool is_stuck(speed_observation const& job) const noexcept {
        double const spent = job.attained - attained_;
        if (devices_ <= too_few_ || !(spent >= patience * static_cast<double>(devices_))) return false;
        if (used_ == 0) return devices_ < job.most;
        for (auto const& p : points())
            if (p.devices == devices_ && p.measurements > 0) return false;
        return spent >= 2 * static_cast<double>(points_[0].devices) / points_[0].per_second;
    }
    /// After these device-seconds without a step.
    void limit(double device_seconds) noexcept {
        if (used_ == 0 || devices_ < points_[0].devices) {
            too_few_ = devices_;
            return;
        }
        speed_point& here = point_of_devices();
        here.per_second = static_cast<double>(devices_) / device_seconds;
        here.last = ++measurements_;
    }
    /// After a step that took these device-seconds. Where fewer devices were given up, a step could have taken as many.
    void reconsider(double device_seconds) noexcept {
        if (device_seconds >= patience * static_cast<double>(too_few_)) too_few_ = 0;
        if (too_few_ >= devices_) too_few_ = devices_ - 1;
    }

    [[nodiscard]] static double between(speed_point const& a, speed_point const& b, std::int64_t devices) noexcept {
        double const share = static_cast<double>(devices - a.devices) / static_cast<double>(b.devices - a.devices);
        return a.per_second + share * (b.per_second - a.per_second);
    }
    [[nodiscard]] static double beyond(speed_point const& last, std::int64_t devices) noexcept {
        std::int64_t const far = last.devices * reach, further = (devices < far ? devices : far) - last.devices;
        double const more = static_cast<double>(further) / static_cast<double>(last.devices);
        return last.per_second * (1 + share_of_further * more);
    }

    /// The point of the present devices. A new point replaces the one that was measured longest ago if the list is
    /// full.
    [[nodiscard]] speed_point& point_of_devices() noexcept {
        std::size_t at = 0, oldest = 0;
        while (at < used_ && points_[at].devices < devices_) ++at;
        if (at < used_ && points_[at].devices == devices_) return points_[at];
        if (used_ == most_points) {
            for (std::size_t i = 1; i < used_; ++i)
                if (points_[i].last < points_[oldest].last) oldest = i;
            for (std::size_t i = oldest; i + 1 < used_; ++i) points_[i] = points_[i + 1];
            --used_;
            if (oldest < at) --at;
        }
        for (std::size_t i = used_++; i > at; --i) points_[i] = points_[i - 1];
        points_[at] = {.devices = devices_};
        return points_[at];
    }
};

}  // namespace ration::estimators::detail
