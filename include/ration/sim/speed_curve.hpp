// SPDX-License-Identifier: BSL-1.0
/// The speeds of a job as a concave curve over its devices.
///
/// Used by price_bound.hpp. A job that alternates between two numbers of devices reaches each speed on the line
/// between them.
#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace ration::sim {

/// A speed on a number of devices, or of cores.
struct speed_point {
    /// Devices, more than 0.
    double devices = 0;
    double speed = 0;  ///< steps per second, more than 0
    friend bool operator==(speed_point const&, speed_point const&) = default;
    friend auto operator<=>(speed_point const&, speed_point const&) = default;
};

/// The smallest concave curve above some speeds, from speed 0 on 0 devices to the highest speed. Only its corners are
/// kept, by ascending devices.
class speed_curve {
    std::vector<speed_point> corners_;

public:
    speed_curve() = default;
    /// The curve above speeds by number of devices. O(speeds).
    explicit speed_curve(std::span<double const> speeds) {
        for (std::size_t k = 1; k < speeds.size(); ++k) add({static_cast<double>(k), speeds[k]});
    }

    /// Adds a speed on at least as many devices as all before. O(1) amortised.
    void add(speed_point const& point) {
        if (point.speed <= highest()) return;
        while (!corners_.empty() && !is_below(corners_.back(), point)) corners_.pop_back();
        corners_.push_back(point);
    }

    [[nodiscard]] std::span<speed_point const> corners() const noexcept { return corners_; }
    /// 0 for a curve without corners.
    [[nodiscard]] double highest() const noexcept { return corners_.empty() ? 0 : corners_.back().speed; }

    /// The least cost of a step if a second costs 1 and a device-second costs `price`. Precondition: it has corners.
    [[nodiscard]] double cost_of_step(double price) const noexcept {
        double least = (1 + price * corners_[0].devices) / corners_[0].speed;
        for (auto const& c : corners_) least = std::min(least, (1 + price * c.devices) / c.speed);
        return least;
    }

    /// Multiplies all speeds.
    void scale(double factor) noexcept {
        for (auto& c : corners_) c.speed *= factor;
    }

    friend bool operator==(speed_curve const&, speed_curve const&) = default;
    friend auto operator<=>(speed_curve const&, speed_curve const&) = default;

private:
    /// True if the last corner is above the line to `point` from the corner before it.
    [[nodiscard]] bool is_below(speed_point const& last, speed_point const& point) const noexcept {
        speed_point const before = corners_.size() > 1 ? corners_[corners_.size() - 2] : speed_point{};
        return (point.speed - before.speed) * (last.devices - before.devices) <
               (last.speed - before.speed) * (point.devices - before.devices);
    }
};

/// The least concave curve above several, each with its speeds multiplied by a weight. O(corners log corners).
[[nodiscard]] inline speed_curve highest_of(std::span<speed_curve const> curves, std::span<double const> weights) {
    std::vector<speed_point> all;
    for (std::size_t i = 0; i < curves.size(); ++i)
        for (auto const& c : curves[i].corners()) all.push_back({c.devices, c.speed * weights[i]});
    std::sort(all.begin(), all.end());
    speed_curve above;
    for (auto const& point : all) above.add(point);
    return above;
}

}  // namespace ration::sim
