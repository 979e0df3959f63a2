// SPDX-License-Identifier: BSL-1.0
/// A policy without the list of changes, so that each tick reads all jobs and all nodes.
///
/// The baseline of scale.cpp for policies whose rule for hosts without a list is the one from before they followed
/// changes, and of tests/simulation.
#pragma once

#include <span>
#include <string_view>

#include <ration/host/any_policy.hpp>

namespace ration::bench {

/// Hides the list from `P`.
template <class P>
class every_row final : public any_policy {
    policy_adapter<P> policy_;

public:
    explicit every_row(P const& policy = P{}) : policy_(policy) {}
    [[nodiscard]] meta const& about() const noexcept override { return policy_.about(); }
    [[nodiscard]] result<void> bind(std::span<column_info const> schema, limits const& most) noexcept override {
        return policy_.bind(schema, most);
    }
    [[nodiscard]] bool reads(std::string_view column) const noexcept override { return policy_.reads(column); }
    [[nodiscard]] status decide(tick_data const& t, grants& out) noexcept override { return policy_.decide(t, out); }
};

}  // namespace ration::bench
