// SPDX-License-Identifier: BSL-1.0
/// The cost of the devices that jobs hold, by their type.
///
/// Part of simulation.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include <ration/host/ledger.hpp>
#include <ration/sim/node_states.hpp>
#include <ration/units.hpp>

namespace ration::sim {

/// Adds up the price of all held devices, with or without progress.
class rental {
    ledger const& holdings_;
    node_states const& nodes_;
    std::span<double const> prices_;  // by type, for a device-hour; empty: nothing is added up
    double per_hour_ = 0, sum_ = 0;
    nanoseconds since_{0};
    bool changed_ = false;

public:
    /// All arguments have to outlive the object.
    rental(ledger const& holdings, node_states const& nodes, std::span<double const> prices) noexcept
        : holdings_(holdings), nodes_(nodes), prices_(prices) {}

    /// Holdings have changed at the time of the last `advance`.
    void note_change() noexcept { changed_ = true; }

    /// Adds the cost of the present holdings up to a time. O(nodes) after a change, O(1) otherwise.
    void advance(nanoseconds now) noexcept {
        if (prices_.empty()) return;
        if (changed_) count();
        sum_ += per_hour_ * (to_seconds(now - since_) / 3600);
        since_ = now;
    }

    /// The sum; NaN without prices.
    [[nodiscard]] double cost() const noexcept {
        return prices_.empty() ? std::numeric_limits<double>::quiet_NaN() : sum_;
    }

private:
    void count() noexcept {
        changed_ = false;
        per_hour_ = 0;
        for (std::uint32_t node = 0; node < nodes_.size(); ++node)
            per_hour_ += static_cast<double>(holdings_.sum(node, resource_id::gpu)) * prices_[nodes_.type(node)];
    }
};

}  // namespace ration::sim
