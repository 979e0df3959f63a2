// SPDX-License-Identifier: BSL-1.0
/// The nodes of a simulation: which of them are available, and their speed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <ration/buffer.hpp>
#include <ration/sim/columns.hpp>
#include <ration/sim/faults.hpp>

namespace ration::sim {

/// Writes the rows of the nodes table, and sums up the available device-seconds.
class node_states {
    snapshot_store& store_;
    sim_columns const& columns_;
    cluster const& cluster_;
    buffer<std::uint32_t> groups_, losses_;  // losses_: number of losses without a return
    buffer<double> speeds_;
    buffer<nanoseconds> up_since_;
    double capacity_ = 0, capacity_seconds_ = 0;
    nanoseconds since_{0};

public:
    /// All arguments have to outlive the object.
    node_states(snapshot_store& store, sim_columns const& columns, cluster const& machines) noexcept
        : store_(store), columns_(columns), cluster_(machines) {}

    /// Makes all nodes available. Error: `no_capacity`.
    [[nodiscard]] result<void> prepare() noexcept {
        for (std::uint32_t g = 0; g < cluster_.groups.size(); ++g)
            for (std::size_t n = 0; n < cluster_.groups[g].nodes; ++n) {
                groups_.push_back(g);
                speeds_.push_back(1);
                up_since_.push_back({});
            }
        losses_.resize(groups_.size());
        if (auto sized = store_.resize(table_id::nodes, groups_.size()); !sized) return sized;
        for (std::uint32_t node = 0; node < groups_.size(); ++node) write(node);
        return {};
    }

    /// The number of nodes.
    [[nodiscard]] std::size_t size() const noexcept { return groups_.size(); }
    /// The type of the devices of a node.
    [[nodiscard]] std::uint32_t type(std::uint32_t node) const noexcept { return cluster_.groups[groups_[node]].type; }
    /// The devices that are available now.
    [[nodiscard]] double capacity() const noexcept { return capacity_; }
    /// The device-seconds that were available up to `now`, for the utilisation.
    [[nodiscard]] double capacity_seconds(nanoseconds now) const noexcept {
        return capacity_seconds_ + capacity_ * to_seconds(now - since_);
    }
    /// The speed of each node, relative to the usual speed.
    [[nodiscard]] std::span<double const> speeds() const noexcept { return speeds_.view(); }

    /// A node is lost. A node that was lost twice has to return twice. Returns false if that
    /// changes nothing.
    [[nodiscard]] bool lose(std::uint32_t node, nanoseconds now) noexcept {
        return ++losses_[node] == 1 && change(node, now);
    }
    /// A node returns. Returns false if that changes nothing.
    [[nodiscard]] bool bring_back(std::uint32_t node, nanoseconds now) noexcept {
        if (losses_[node] == 0) return false;
        --losses_[node];
        if (losses_[node] != 0) return false;
        up_since_[node] = now;
        return change(node, now);
    }
    /// Writes the hazard of each node at its age, if a policy reads it. O(nodes).
    void show_hazard(fault_rates const& rates, nanoseconds now) noexcept {
        if (!columns_.shows_hazard) return;
        auto const column = columns_.get<"nodes/hazard">();
        for (std::uint32_t node = 0; node < groups_.size(); ++node) {
            double const hazard = rates.hazard(to_seconds(now - up_since_[node]));
            if (std::exchange(store_.at(column, node), hazard) != hazard)
                store_.changes().mark(table_id::nodes, node, description_columns);
        }
    }
    /// Sets the speed of a node; 1 is the usual speed.
    void set_speed(std::uint32_t node, double speed) noexcept { speeds_[node] = speed; }

private:
    /// Records the device-seconds so far, and updates the row.
    bool change(std::uint32_t node, nanoseconds now) noexcept {
        capacity_seconds_ = capacity_seconds(now);
        since_ = now;
        write(node);
        return true;
    }

    /// Writes the capacities of a node; 0 while it is lost.
    void write(std::uint32_t node) noexcept {
        node_group const& group = cluster_.groups[groups_[node]];
        bool const up = losses_[node] == 0;
        auto& devices = store_.at(columns_.of(resource_id::gpu).capacity, node);
        capacity_ += static_cast<double>((up ? group.devices : 0) - devices);
        devices = up ? group.devices : 0;
        store_.at(columns_.of(resource_id::cpu).capacity, node) =
            up ? static_cast<std::int64_t>(group.cores * 1000) : 0;
        // Memory is not scarce.
        if (columns_.shows_phases) store_.at(columns_.of(resource_id::memory).capacity, node) = max_amount;
        store_.at(columns_.get<"nodes/type">(), node) = group.type;
        store_.changes().mark(table_id::nodes, node, capacity_columns);
    }
};

}  // namespace ration::sim
