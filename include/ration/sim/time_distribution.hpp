// SPDX-License-Identifier: BSL-1.0
/// The distribution of many times in memory of a fixed size.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <ration/units.hpp>

namespace ration::sim {

/// Counts times in classes whose width is at most 1/1024 of the time. A quantile is the middle of its class, so it is
/// wrong by at most 1/2048 of its value (0.05 %); mean, least and longest time are exact. The result does not depend on
/// the order of the times, as it would with a t-digest, whose error also has no such bound. Source of the classes:
/// HdrHistogram, G. Tene. 0.5 MB.
class time_distribution {
    static constexpr int bits = 10;  // of a time's mantissa, without the leading one
    std::vector<std::uint64_t> counts_;
    std::uint64_t size_ = 0;
    double sum_ = 0;  // seconds
    std::int64_t least_ = std::numeric_limits<std::int64_t>::max(), longest_ = 0;

public:
    /// Relative error of a quantile.
    static constexpr double error = 1.0 / (1 << (bits + 1));

    /// Adds a time; a negative one counts as 0. O(1).
    void add(nanoseconds time) {
        std::int64_t const ns = std::max<std::int64_t>(time.count, 0);
        std::size_t const at = class_of(static_cast<std::uint64_t>(ns));
        if (at >= counts_.size()) counts_.resize(at + 1);
        ++counts_[at];
        ++size_;
        sum_ += to_seconds({ns});
        least_ = std::min(least_, ns);
        longest_ = std::max(longest_, ns);
    }
    /// Adds all times of another distribution. O(classes).
    void add(time_distribution const& other) {
        if (counts_.size() < other.counts_.size()) counts_.resize(other.counts_.size());
        for (std::size_t i = 0; i < other.counts_.size(); ++i) counts_[i] += other.counts_[i];
        size_ += other.size_;
        sum_ += other.sum_;
        least_ = std::min(least_, other.least_);
        longest_ = std::max(longest_, other.longest_);
    }

    /// The number of times.
    [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
    /// Seconds; NaN without times.
    [[nodiscard]] double mean() const noexcept {
        return size_ == 0 ? std::numeric_limits<double>::quiet_NaN() : sum_ / static_cast<double>(size_);
    }
    /// Seconds, interpolated between the two nearest times, as `quantile` of summary.hpp does; NaN without times.
    /// `part` is from 0 to 1. O(classes).
    [[nodiscard]] double quantile(double part) const noexcept {
        if (size_ == 0) return std::numeric_limits<double>::quiet_NaN();
        double const place = part * static_cast<double>(size_ - 1);
        auto const below = static_cast<std::uint64_t>(place);
        double const from = at(below), to = at(std::min(below + 1, size_ - 1));
        return from + (place - static_cast<double>(below)) * (to - from);
    }
    /// Calls `visit(seconds, number)` for each class that is not empty, in ascending order.
    template <class Visit>
    void each(Visit visit) const {
        for (std::size_t i = 0; i < counts_.size(); ++i)
            if (counts_[i] > 0) visit(middle_of(i), counts_[i]);
    }

private:
    /// Times below 2^(bits + 1) ns have classes of their own.
    [[nodiscard]] static std::size_t class_of(std::uint64_t ns) noexcept {
        int const shift = std::max(static_cast<int>(std::bit_width(ns)) - bits - 1, 0);
        return (static_cast<std::size_t>(shift) << bits) + static_cast<std::size_t>(ns >> shift);
    }
    /// Seconds; never outside of the exact extremes.
    [[nodiscard]] double middle_of(std::size_t place) const noexcept {
        std::size_t const octave = place >> bits;
        std::size_t const shift = octave < 2 ? 0 : octave - 1;
        std::uint64_t const first = static_cast<std::uint64_t>(place - (shift << bits)) << shift;
        auto const ns = static_cast<std::int64_t>(first + ((std::uint64_t{1} << shift) >> 1));
        return to_seconds({std::clamp(ns, least_, longest_)});
    }
    /// The time with this rank, from 0, in seconds.
    [[nodiscard]] double at(std::uint64_t rank) const noexcept {
        if (rank == 0) return to_seconds({least_});
        if (rank + 1 == size_) return to_seconds({longest_});
        std::uint64_t seen = 0;
        std::size_t i = 0;
        while (i < counts_.size() && (seen += counts_[i]) <= rank) ++i;
        return middle_of(i);
    }
};

}  // namespace ration::sim
