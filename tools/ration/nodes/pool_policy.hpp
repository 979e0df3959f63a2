// SPDX-License-Identifier: BSL-1.0
/// Asks a policy that does not name nodes about all devices as one pool, and places its answer.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include <ration/host/any_policy.hpp>

#include "nodes/pool_placement.hpp"
#include "policies/forwarding_policy.hpp"

namespace ration::program {

/// Whether the policy cannot name nodes: it reads neither where jobs are nor how many devices of each node are free.
[[nodiscard]] bool answers_for_one_pool(any_policy const& policy) noexcept;

/// A policy that answers for one pool gets a nodes table of one row with the sums of all nodes. `place_in_nodes`
/// divides its grants of devices. Grants of other resources pass as they are, and so do all answers of other policies.
class pool_policy final : public forwarding_policy {
    std::function<bool()> is_pooled_;
    nodes_of_job nodes_;
    std::vector<grant> space_;
    std::vector<bool> is_sum_;  // by slot of the nodes table: a sum of whole numbers, not the value of the first node
    /// A column of one row, with the boundary and the size that plugins rely on.
    struct alignas(64) pooled_column {
        std::array<std::int64_t, 8> values{};
    };
    std::vector<pooled_column> sums_;
    std::vector<void const*> columns_;
    table_view pool_{};
    std::uint32_t id_slot_ = 0, minimum_slot_ = 0, capacity_slot_ = 0;

public:
    /// `is_pooled`: whether `policy` answers for one pool at present.
    pool_policy(any_policy& policy, std::function<bool()> is_pooled, nodes_of_job nodes)
        : forwarding_policy(policy), is_pooled_(std::move(is_pooled)), nodes_(std::move(nodes)) {}

    [[nodiscard]] result<void> bind(std::span<column_info const> schema, limits const& most) noexcept override;
    [[nodiscard]] status decide(tick_data const& t, grants& out) noexcept override;

private:
    void add_up(table_view const& nodes) noexcept;
    [[nodiscard]] std::vector<pooled_job> jobs_to_place(std::span<grant const> answer, tick_data const& t) const;
    [[nodiscard]] bool place(std::span<grant const> answer, tick_data const& t, grants& out) const;
};

}  // namespace ration::program
