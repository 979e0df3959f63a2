// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// Division of whole units by weight, for `loss_delta_ratio`. The method is Hamilton's, with an
/// upper limit for each claim.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <ration/detail/sort.hpp>

namespace ration::policies::detail {

/// One participant of a division.
struct claim {
    std::uint32_t row = 0;   ///< row of the caller
    std::uint32_t rank = 0;  ///< with equal remainders, the lower rank gets the unit
    std::int64_t room = 0;   ///< most units that it takes, at least 0
    double weight = 0;       ///< finite, at least 0
    std::int64_t units = 0;  ///< the answer
    std::int64_t remainder = 0;
};

/// The part of `units` that belongs to the claim if all claims together weigh `weights`. If no
/// weight is left, all claims count the same.
[[nodiscard]] constexpr double quota_of(claim const& c, std::int64_t units, double weights,
                                        std::size_t claims) noexcept {
    return static_cast<double>(units) * (weights > 0 ? c.weight / weights : 1 / static_cast<double>(claims));
}

/// Removes claims whose quota reaches their room, from index `first` on: they get their room and
/// move to the front. The rest of their quota raises that of the others, so a full claim stays
/// full. Returns the new first index.
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

/// Divides `units` in proportion to the weights, no claim beyond its room. Each claim gets the
/// whole part of its quota; the remaining units go to the largest fractions. Reorders the claims.
/// O(n log n), and O(n) more for each round in which a claim becomes full.
inline void largest_remainder(std::span<claim> claims, std::int64_t units) noexcept {
    double weights = 0;
    std::size_t const first = fill_the_full(claims, 0, units, weights);
    auto const open = claims.subspan(first);
    std::int64_t left = units;
    for (auto& c : open) {
        double const quota = quota_of(c, units, weights, open.size());
        c.units = static_cast<std::int64_t>(quota);
        left -= c.units;
        // Rounded to a grid: fractions that differ by rounding errors only are equal. An equality
        // with a tolerance would not be transitive, and could not be sorted by.
        c.remainder = std::llround((quota - static_cast<double>(c.units)) * (1 << 20));
    }
    ration::detail::sort(open.data(), open.size(), [](claim const& a, claim const& b) {
        return a.remainder != b.remainder ? a.remainder > b.remainder : a.rank < b.rank;
    });
    // Each open claim has room for one more: its quota is below its room.
    for (std::size_t i = 0; i < open.size() && left > 0; ++i, --left) ++open[i].units;
}

}  // namespace ration::policies::detail
