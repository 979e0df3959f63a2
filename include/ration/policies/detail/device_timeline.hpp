// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// The free devices of the future, by which `edf` plans.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include <ration/buffer.hpp>
#include <ration/policies/detail/speed.hpp>

namespace ration::policies::detail {

/// Steps that a job has to make until a deadline. Times are seconds from now.
struct timed_work {
    speed_curve speed;
    double steps = 0, deadline = 0;
    double pause = 0;  ///< seconds in which it holds devices and makes no step, before the first one
    std::int64_t least = 1;
};

/// The devices that no planned job uses, a piecewise constant function of time from now on.
class device_timeline {
    struct piece {
        double from;
        std::int64_t free;
    };
    buffer<piece> pieces_;  // ascending; the first begins now, the last has no end

    static constexpr double never = std::numeric_limits<double>::infinity();
    /// Relative: a plan that is made again on the way must not fail by a rounding error.
    static constexpr double tolerance = 1e-9;

public:
    /// Allocates for plans of this number of jobs.
    void reserve(std::size_t jobs) noexcept { pieces_.reserve(jobs + 2); }
    /// Every device is free at all times.
    void reset(std::int64_t devices) noexcept {
        pieces_.clear();
        pieces_.push_back({0, devices});
    }

    /// The second in which the work is done if the job has up to `most` devices, those that are free at each time;
    /// infinite if that is after its deadline. O(pieces).
    [[nodiscard]] double end_of(timed_work const& work, std::int64_t most) const noexcept {
        double left = work.steps;
        for (std::size_t i = 0; i < pieces_.size(); ++i) {
            double const end = end_of_piece(i), begin = begin_of(work, i), speed = work.speed.at(used(work, most, i));
            if (begin > work.deadline * (1 + tolerance)) return never;
            if (begin >= end || speed == 0) continue;
            if (double const done = begin + left / speed; done <= end)
                return done <= work.deadline * (1 + tolerance) ? done : never;
            left -= speed * (end - begin);
        }
        return never;
    }

    /// Takes the devices that `end_of` counted, until `end`. Returns those that the job has now. A job without work has
    /// them until another plan begins or ends. O(pieces).
    std::int64_t take(timed_work const& work, std::int64_t most, double end) noexcept {
        split(end);
        std::int64_t const now = used(work, most, 0);
        for (std::size_t i = 0; i < pieces_.size() && (i == 0 || pieces_[i].from < end); ++i)
            pieces_[i].free -= used(work, most, i);
        return now;
    }

    /// Devices that are free now.
    [[nodiscard]] std::int64_t free_now() const noexcept { return pieces_[0].free; }

private:
    [[nodiscard]] double end_of_piece(std::size_t i) const noexcept {
        return i + 1 < pieces_.size() ? pieces_[i + 1].from : never;
    }
    [[nodiscard]] double begin_of(timed_work const& work, std::size_t i) const noexcept {
        return pieces_[i].from > work.pause ? pieces_[i].from : work.pause;
    }
    [[nodiscard]] std::int64_t used(timed_work const& work, std::int64_t most, std::size_t i) const noexcept {
        std::int64_t const devices = pieces_[i].free < most ? pieces_[i].free : most;
        return devices < work.least ? 0 : devices;
    }
    /// Lets a piece begin at this time.
    void split(double at) noexcept {
        std::size_t i = pieces_.size();
        while (pieces_[i - 1].from > at) --i;
        if (pieces_[i - 1].from < at) pieces_.insert(i, {at, pieces_[i - 1].free});
    }
};

}  // namespace ration::policies::detail
