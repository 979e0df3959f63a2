// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// When the next quantity that grows with time reaches a threshold.
///
/// For policies that follow changes and rank jobs by such a quantity (las).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <ration/buffer.hpp>
#include <ration/units.hpp>

namespace ration::policies::detail {

/// One time for each row, and the earliest of all: a tournament tree. O(log rows) for each change.
class crossing_times {
    buffer<std::int64_t> times_;  // a complete binary tree; the leaves are its second half
    std::size_t leaves_ = 0;

public:
    /// The time of a row that never crosses.
    static constexpr nanoseconds never{std::numeric_limits<std::int64_t>::max()};
    /// Behind the last row.
    static constexpr std::size_t none = ~std::size_t{0};

    /// For rows below this number; all times are `never`. O(rows).
    void reset(std::size_t rows) noexcept {
        leaves_ = std::bit_ceil(rows + 1);
        times_.resize(2 * leaves_);
        for (auto& time : times_) time = never.count;
    }
    /// The number of rows that have a place.
    [[nodiscard]] std::size_t size() const noexcept { return leaves_; }

    /// Sets the time of a row.
    void set(std::size_t row, nanoseconds at) noexcept {
        std::size_t i = leaves_ + row;
        if (times_[i] == at.count) return;
        times_[i] = at.count;
        for (i /= 2; i > 0; i /= 2) {
            std::int64_t const earlier = times_[2 * i] < times_[2 * i + 1] ? times_[2 * i] : times_[2 * i + 1];
            if (times_[i] == earlier) return;
            times_[i] = earlier;
        }
    }

    /// A row whose time has come; `none` if there is none.
    [[nodiscard]] std::size_t due(nanoseconds now) const noexcept {
        if (leaves_ == 0 || times_[1] > now.count) return none;
        std::size_t i = 1;
        while (i < leaves_) i = times_[2 * i] <= now.count ? 2 * i : 2 * i + 1;
        return i - leaves_;
    }
};

}  // namespace ration::policies::detail
