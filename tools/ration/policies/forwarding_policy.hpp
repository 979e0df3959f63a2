// SPDX-License-Identifier: BSL-1.0
/// The base of policies that ask another one, and change or observe a part of it.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include <ration/host/any_policy.hpp>

namespace ration::program {

/// Forwards all calls but `decide` and `follows_changes`. Without the latter, the other policy gets no list of changes.
class forwarding_policy : public any_policy {
    any_policy& policy_;

public:
    [[nodiscard]] meta const& about() const noexcept override { return policy_.about(); }
    [[nodiscard]] result<void> bind(std::span<column_info const> schema, limits const& most) noexcept override {
        return policy_.bind(schema, most);
    }
    [[nodiscard]] bool reads(std::string_view column) const noexcept override { return policy_.reads(column); }
    void on_events(std::span<ration::event const> events) noexcept override { policy_.on_events(events); }
    [[nodiscard]] std::size_t save(std::span<std::byte> space) noexcept override { return policy_.save(space); }
    [[nodiscard]] status load(std::span<std::byte const> saved) noexcept override { return policy_.load(saved); }

protected:
    explicit forwarding_policy(any_policy& policy) noexcept : policy_(policy) {}
    [[nodiscard]] any_policy& inner() const noexcept { return policy_; }
};

}  // namespace ration::program
