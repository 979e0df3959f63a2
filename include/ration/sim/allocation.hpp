// SPDX-License-Identifier: BSL-1.0
/// The allocation of one job, read from the engine's ledger, as models need it.
///
/// Used by job_speeds.hpp whenever the devices of a job change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ration/buffer.hpp>
#include <ration/detail/sort.hpp>
#include <ration/host/ledger.hpp>
#include <ration/sim/model.hpp>

namespace ration::sim {

/// Reads the holdings of one job after another, and reuses its memory.
class held_devices {
    buffer<std::int32_t> spread_;
    allocation view_;
    std::uint64_t places_ = 0;

public:
    /// Reads the holdings of a job. `types[node]` and `speeds[node]` are indexed by node.
    /// O(holdings).
    void read(holding_range all, std::span<std::uint32_t const> types, std::span<double const> speeds) noexcept {
        double together = 0;
        spread_.clear();
        view_ = {};
        places_ = 0;
        for (auto const& h : all) {
            if (h.what.resource == resource_id::batch) view_.batch += h.what.amount;
            if (h.what.resource == resource_id::cpu && h.what.amount != unlimited)
                view_.cores += static_cast<double>(h.what.amount) / 1000;
            if (h.what.resource != resource_id::gpu) continue;
            if (types[h.what.node] > view_.type) view_.type = types[h.what.node];
            view_.devices += h.what.amount;
            view_.slowest = speeds[h.what.node] < view_.slowest ? speeds[h.what.node] : view_.slowest;
            together += speeds[h.what.node] * static_cast<double>(h.what.amount);
            spread_.push_back(static_cast<std::int32_t>(h.what.amount));
            // A hash of the placement: nodes and amounts, independent of their order.
            places_ +=
                (std::uint64_t{h.what.node} + 1) * 0x9E3779B97F4A7C15u * static_cast<std::uint64_t>(h.what.amount);
        }
        ration::detail::sort(spread_.data(), spread_.size(), [](std::int32_t a, std::int32_t b) { return a > b; });
        view_.spread = spread_.view();
        if (view_.devices > 0) view_.mean_speed = together / static_cast<double>(view_.devices);
    }

    /// The allocation; valid until the next `read`.
    [[nodiscard]] allocation const& view() const noexcept { return view_; }
    /// The devices on all nodes.
    [[nodiscard]] std::int64_t devices() const noexcept { return view_.devices; }
    /// The batch that a policy chose, in samples per step; 0 if none did.
    [[nodiscard]] std::int64_t batch() const noexcept { return view_.batch; }
    /// A hash of nodes and amounts; 0 without devices. Two placements with the same hash are
    /// practically certain to be equal.
    [[nodiscard]] std::uint64_t places() const noexcept { return places_; }
};

/// The job that holds a device of a node, where devices are counted in the order of the jobs; job 0
/// if the device is free. O(holdings).
[[nodiscard]] inline job_id holder_of(ledger const& all, std::uint32_t node, std::int64_t device) noexcept {
    for (auto const& h : all.all()) {
        if (h.what.node != node || h.what.resource != resource_id::gpu) continue;
        if (device < h.what.amount) return h.what.job;
        device -= h.what.amount;
    }
    return {};
}

}  // namespace ration::sim
