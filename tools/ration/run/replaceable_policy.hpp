// SPDX-License-Identifier: BSL-1.0
/// The policy of a run, which can change, and the one that replaces it when ration no longer calls it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include <ration/host/any_policy.hpp>

namespace ration::program {

/// Asks the chosen policy until `replace`, then the fallback. Both are bound and receive every event, so that the
/// fallback can answer at any time.
class replaceable_policy final : public any_policy {
    std::unique_ptr<any_policy>& chosen_;
    any_policy& fallback_;
    bool replaced_ = false;

public:
    /// `chosen`: not null while a function is called.
    replaceable_policy(std::unique_ptr<any_policy>& chosen, any_policy& fallback) noexcept
        : chosen_(chosen), fallback_(fallback) {}

    /// Exchanges the chosen policy for another one, which has to be bound then. Pre: `other` is not null.
    void exchange(std::unique_ptr<any_policy>& other) noexcept {
        chosen_.swap(other);
        replaced_ = false;
    }
    /// Until the next `exchange`.
    void replace() noexcept { replaced_ = true; }
    [[nodiscard]] bool replaced() const noexcept { return replaced_; }
    [[nodiscard]] any_policy const& chosen() const noexcept { return *chosen_; }

    [[nodiscard]] meta const& about() const noexcept override { return current().about(); }
    [[nodiscard]] result<void> bind(std::span<column_info const> schema, limits const& most) noexcept override {
        if (auto bound = chosen_->bind(schema, most); !bound) return bound;
        return fallback_.bind(schema, most);
    }
    [[nodiscard]] bool reads(std::string_view column) const noexcept override {
        return chosen_->reads(column) || fallback_.reads(column);
    }
    [[nodiscard]] status decide(tick_data const& t, grants& out) noexcept override { return current().decide(t, out); }
    void on_events(std::span<ration::event const> events) noexcept override {
        chosen_->on_events(events);
        fallback_.on_events(events);
    }

    /// The one that answers now.
    [[nodiscard]] any_policy& current() const noexcept { return replaced_ ? fallback_ : *chosen_; }
};

}  // namespace ration::program
