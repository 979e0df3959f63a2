// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <ration/detail/sort.hpp>

namespace ration::policies::detail {

/// One of those among whom whole units are divided.
struct claim {
    std::uint32_t row = 0;   ///< the caller's
    std::uint32_t rank = 0;  ///< of equal remainders the lower rank gets the unit
    std::int64_t room = 0;   ///< units it takes at most, at least 0
    double weight = 0;       ///< finite, at least 0
    std::int64_t units = 0;  ///< the answer
    std::int64_t remainder = 0;
};

/// How much of `units` falls to the claim when all weigh `weights` together. Where no weight is left, everybody counts
/// the same.
[[nodiscard]] constexpr double quota_of(claim const& c, std::int64_t units, double weights,
                                        std::size_t claims) noexcept {
    return static_cast<double>(units) * (weights > 0 ? c.weight / weights : 1 / static_cast<double>(claims));
}

/// Takes out, from place `first` on, those whose quota reaches their room: they get the room and move to the front.
/// What one does not take raises the quota of the others, so that whoever is full stays full. Returns the new first
/// place.
inline std::size_t fill_the_full(std::span<claim> claims, std::size_t first, std::int64_t& units,
                                 double& weights) noexcept {
    for (std::size_t before = claims.size() + 1; first != before;) {
        before = first;
        weights = 0;
        for (auto const& c : claims.subspan(first)) weights += c.weight;
        std::int64_t const whole = units;
        for (std::size_t i = before; i < claims.size(); ++i) {
            claim& c = claims[i];
            if (quota_of(c, whole, weights, claims.size() - before) < static_cast<double>(c.room)) continue;
            c.units = c.room < units ? c.room : units;
            units -= c.units;
            std::swap(c, claims[first++]);
        }
    }
    return first;
}

/// Divides `units` in proportion to the weights, nobody beyond its room: each gets the whole part of its quota, and the
/// units left over go to the largest fractions. Reorders the claims. O(n log n), and O(n) more for each round in which
/// somebody is full.
inline void largest_remainder(std::span<claim> claims, std::int64_t units) noexcept {
    double weights = 0;
    std::size_t const first = fill_the_full(claims, 0, units, weights);
    auto const open = claims.subspan(first);
    std::int64_t left = units;
    for (auto& c : open) {
        double const quota = quota_of(c, units, weights, open.size());
        c.units = static_cast<std::int64_t>(quota);
        left -= c.units;
        // On a grid: fractions that differ by rounding only are equal, and equality that is not transitive would not
        // sort.
        c.remainder = std::llround((quota - static_cast<double>(c.units)) * (1 << 20));
    }
    ration::detail::sort(open.data(), open.size(), [](claim const& a, claim const& b) {
        return a.remainder != b.remainder ? a.remainder > b.remainder : a.rank < b.rank;
    });
    // Each open claim has room for one more: its quota is below its room.
    for (std::size_t i = 0; i < open.size() && left > 0; ++i, --left) ++open[i].units;
}

}  // namespace ration::policies::detail
