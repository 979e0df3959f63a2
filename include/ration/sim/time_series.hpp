// SPDX-License-Identifier: BSL-1.0
/// A quantity over simulated time, in a few hundred numbers for a run of any length. For plots.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <ration/units.hpp>

namespace ration::sim {

/// Samples a step function: it keeps the means over segments of equal length. When there are too
/// many segments, each two are merged.
class time_series {
    static constexpr std::size_t most = 600;  // even
    std::vector<double> sums_;                // integral of the value over nanoseconds
    std::int64_t width_ = 1'000'000'000;
    std::int64_t until_ = 0;
    double value_ = 0;

public:
    /// The value is `value` from `now` on. Precondition: `now` never decreases. Amortised O(1).
    void set(nanoseconds now, double value) {
        go_on(now);
        value_ = value;
    }

    /// The means up to `end`; the last segment ends there. O(segments).
    [[nodiscard]] std::vector<double> means(nanoseconds end) {
        go_on(end);
        std::vector<double> all;
        all.reserve(sums_.size());
        for (std::size_t i = 0; i < sums_.size(); ++i) {
            auto const from = static_cast<std::int64_t>(i) * width_;
            all.push_back(sums_[i] / static_cast<double>(std::min(width_, until_ - from)));
        }
        return all;
    }
    /// The length of a segment.
    [[nodiscard]] nanoseconds width() const noexcept { return {width_}; }

private:
    /// Adds the present value up to `now`.
    void go_on(nanoseconds now) {
        while (until_ < now.count) {
            auto const at = static_cast<std::size_t>(until_ / width_);
            // The segments are twice as long afterwards, so the present time is in an earlier one.
            if (at == most) {
                fold();
                continue;
            }
            if (at == sums_.size()) sums_.push_back(0);
            std::int64_t const end = std::min(now.count, (static_cast<std::int64_t>(at) + 1) * width_);
            sums_[at] += value_ * static_cast<double>(end - until_);
            until_ = end;
        }
    }

    /// Merges each two segments.
    void fold() {
        for (std::size_t i = 0; i < most / 2; ++i) sums_[i] = sums_[2 * i] + sums_[2 * i + 1];
        sums_.resize(most / 2);
        width_ *= 2;
    }
};

}  // namespace ration::sim
