// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// The order in which jobs and tenants get devices one by one.
///
/// Part of `max_min`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ration/policies/detail/elastic_jobs.hpp>
#include <ration/policies/detail/heap.hpp>

namespace ration::policies::detail {

/// The turn of a job or a tenant for one device.
struct device_claim {
    static constexpr std::uint32_t none = 0xFFFF'FFFF;
    double for_weight = 0;       // devices without this one
    bool is_held = false;        // at present
    std::uint32_t place = none;  // among those that compete, such as the row of a job

    /// The turn for one more device than `devices`. Precondition: `weight` is above 0.
    [[nodiscard]] static device_claim of(std::int64_t devices, double weight, std::int64_t held,
                                         std::size_t place) noexcept {
        return {static_cast<double>(devices) / weight, held > devices, static_cast<std::uint32_t>(place)};
    }
    friend bool operator==(device_claim const&, device_claim const&) noexcept = default;
    /// The order in which devices are given.
    [[nodiscard]] static bool before(device_claim const& a, device_claim const& b) noexcept {
        if (a.for_weight != b.for_weight) return a.for_weight < b.for_weight;
        return a.is_held != b.is_held ? a.is_held : a.place < b.place;
    }
};

/// Gives up to `left` devices one by one, each to the share with the first claim. A share competes until it has
/// `most(share)`. `claim_of(place)`: its next claim. Returns the number left. O(devices log claims).
template <class Most, class ClaimOf>
[[nodiscard]] std::int64_t fill_by_claims(heap<device_claim>& claims, std::span<share> shares, std::int64_t left,
                                          Most const& most, ClaimOf const& claim_of) noexcept {
    for (; left > 0 && !claims.empty(); --left) {
        std::size_t const place = claims.top().place;
        if (++shares[place].given < most(shares[place]))
            claims.replace_top(claim_of(place));
        else
            claims.pop();
    }
    return left;
}

}  // namespace ration::policies::detail
