// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// Nodes by the type of their devices, for `sia`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ration/buffer.hpp>
#include <ration/policies/detail/elastic_jobs.hpp>

namespace ration::policies::detail {

/// The devices of each type, and the type that each job uses.
class node_types {
    static constexpr std::uint32_t no_type = 0xFFFF'FFFF;  // on no node, on several types, or its node failed
    buffer<std::int64_t> sizes_, available_;               // by type: devices of its largest node; devices for the jobs
    buffer<std::uint32_t> type_of_;                        // by row

public:
    static constexpr std::uint32_t most_types = 64;  ///< higher numbers count as the last type

    /// Allocates for the largest tables.
    void reserve(limits const& most) noexcept {
        sizes_.reserve(most_types);
        available_.reserve(most_types);
        type_of_.reserve(most.jobs);
    }

    /// Reads the types of all nodes. A type without a node counts as one without devices. O(nodes).
    template <class Tick>
    void count(Tick const& t) noexcept {
        auto const capacity = t.template get<"nodes/capacity.gpu">();
        sizes_.reset(1);
        for (std::size_t node = 0; node < t.nodes(); ++node) {
            std::uint32_t const type = of_node(t, node);
            if (type >= sizes_.size()) sizes_.resize(type + 1);
            if (capacity[node] > sizes_[type]) sizes_[type] = capacity[node];
        }
    }
    /// The number of types; at least 1.
    [[nodiscard]] std::size_t declared() const noexcept { return sizes_.size(); }
    /// The type of a node.
    template <class Tick>
    [[nodiscard]] static std::uint32_t of_node(Tick const& t, std::size_t node) noexcept {
        std::uint32_t const type = t.template get<"nodes/type">()[node];
        return type < most_types ? type : most_types - 1;
    }
    /// Computes the devices of each type that are free or held by active jobs. O(nodes + holdings).
    template <class Tick>
    void read_holdings(Tick const& t, placement const& places) noexcept {
        available_.reset(sizes_.size());
        for (std::size_t node = 0; node < t.nodes(); ++node) {
            bool const overdrawn = t.template get<"nodes/free.gpu">()[node] < 0;
            std::int64_t const capacity = t.template get<"nodes/capacity.gpu">()[node];
            available_[of_node(t, node)] += !overdrawn ? places.free(node) : capacity > 0 ? capacity : 0;
        }
        type_of_.clear();
        std::uint32_t* const types = type_of_.extend(t.jobs());
        for (std::size_t row = 0; row < t.jobs(); ++row) types[row] = no_type;
        auto const owner = t.template get<"held/job">(), ids = t.template get<"jobs/id">();
        auto const node = t.template get<"held/node">(), resource = t.template get<"held/resource">();
        std::size_t row = 0;
        for (std::size_t i = 0; i < owner.size(); ++i) {
            while (row < ids.size() && ids[row] < owner[i]) ++row;
            if (row == ids.size()) break;
            bool const counts = ids[row] == owner[i] && resource[i] == static_cast<std::uint32_t>(resource_id::gpu) &&
                                node[i] < t.nodes();
            if (!counts || !is_active(static_cast<job_state>(t.template get<"jobs/state">()[row]))) continue;
            std::uint32_t const type = of_node(t, node[i]);
            if (t.template get<"nodes/free.gpu">()[node[i]] >= 0)
                available_[type] += t.template get<"held/amount">()[i];
            // A second holding of another type makes the job unsettled.
            types[row] = i > 0 && owner[i - 1] == owner[i] && types[row] != type ? no_type : type;
        }
        // Jobs that lost devices have to be placed again.
        for (std::size_t i = 0; i < places.touched(); ++i) types[places.touched_row(i)] = no_type;
    }
    /// The devices of each type that the jobs can have.
    [[nodiscard]] std::span<std::int64_t const> available() const noexcept { return available_.view(); }
    /// True if all devices of the job are of one type, and no node of them has failed.
    [[nodiscard]] bool is_settled(std::size_t row) const noexcept { return type_of_[row] != no_type; }
    /// The type of the job's devices. Precondition: `is_settled(row)`.
    [[nodiscard]] std::uint32_t type_of(std::size_t row) const noexcept { return type_of_[row]; }

    /// Calls `visit(type, devices)` for each configuration that the job accepts: its least; 1, 2, 4
    /// ... up to one node; whole nodes.
    template <class Visit>
    void for_each_configuration(share const& s, Visit const& visit) const noexcept {
        for (std::uint32_t type = 0; type < sizes_.size(); ++type) {
            std::int64_t const size = sizes_[type], most = s.most < available_[type] ? s.most : available_[type];
            if (s.least > most) continue;
            visit(type, s.least);
            for (std::int64_t k = 1; k <= most; k = k >= size ? k + size : 2 * k < size ? 2 * k : size)
                if (k > s.least) visit(type, k);
        }
    }
};

}  // namespace ration::policies::detail
