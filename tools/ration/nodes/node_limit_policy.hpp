// SPDX-License-Identifier: BSL-1.0
/// Keeps each job on at most as many nodes as it can use, whatever the policy answers.
#pragma once

#include <utility>
#include <vector>

#include <ration/host/any_policy.hpp>

#include "nodes/node_share.hpp"
#include "policies/forwarding_policy.hpp"

namespace ration::program {

/// Asks another policy. Of a job that it places on too many nodes, the parts on the nodes where the job is remain, then
/// the largest ones. If they are below the job's minimum, they are left out, so that the job keeps what it has, or
/// waits. All other answers pass as they are.
class node_limit_policy final : public forwarding_policy {
    struct part {
        std::uint32_t job, node;
        std::int64_t amount;
        bool stays;  // the job is on the node
    };
    nodes_of_job nodes_;
    std::vector<grant> space_;
    std::vector<part> parts_;  // of the answer, by job
    std::uint32_t id_slot_ = 0, minimum_slot_ = 0;

public:
    node_limit_policy(any_policy& policy, nodes_of_job nodes) : forwarding_policy(policy), nodes_(std::move(nodes)) {}

    [[nodiscard]] result<void> bind(std::span<column_info const> schema, limits const& most) noexcept override;
    [[nodiscard]] status decide(tick_data const& t, grants& out) noexcept override;

private:
    void list_parts(std::span<grant const> answer, tick_data const& t);
    void limit_parts(tick_data const& t);
    [[nodiscard]] bool passes(grant const& g) const noexcept;
    [[nodiscard]] std::span<part> parts_of(std::uint32_t job) noexcept;
};

}  // namespace ration::program
