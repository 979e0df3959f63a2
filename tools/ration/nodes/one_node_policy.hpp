// SPDX-License-Identifier: BSL-1.0
/// Keeps each job on one node, whatever the policy answers.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include <ration/host/any_policy.hpp>

namespace ration::program {

/// Asks another policy. Of a job that it places on several nodes, the part on one node remains: on the node where the
/// job is, else the largest part. A part below the job's minimum is left out, so that the job keeps what it has, or
/// waits. All other answers pass as they are.
class one_node_policy final : public any_policy {
public:
    /// The node and the devices that the job with this `jobs/id` holds.
    using holding_of = std::function<std::optional<std::pair<std::uint32_t, std::int64_t>>(std::uint64_t)>;

private:
    struct part {
        std::uint32_t job, node;
        std::int64_t amount;
    };
    any_policy& policy_;
    holding_of holding_;
    std::vector<grant> space_;
    std::vector<part> parts_;  // of the answer, by job
    std::uint32_t id_slot_ = 0, minimum_slot_ = 0;

public:
    one_node_policy(any_policy& policy, holding_of holding) : policy_(policy), holding_(std::move(holding)) {}

    [[nodiscard]] meta const& about() const noexcept override { return policy_.about(); }
    [[nodiscard]] result<void> bind(std::span<column_info const> schema, limits const& most) noexcept override;
    [[nodiscard]] bool reads(std::string_view column) const noexcept override { return policy_.reads(column); }
    [[nodiscard]] status decide(tick_data const& t, grants& out) noexcept override;
    void on_events(std::span<ration::event const> events) noexcept override { policy_.on_events(events); }

private:
    void list_parts(std::span<grant const> answer, tick_data const& t);
    [[nodiscard]] std::optional<part> chosen(std::span<part const> parts, tick_data const& t) const;
    [[nodiscard]] std::span<part const> parts_of(std::uint32_t job) const noexcept;
};

}  // namespace ration::program
