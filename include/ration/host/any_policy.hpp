// SPDX-License-Identifier: BSL-1.0
/// A policy chosen at run time: one interface over classes in this program and over plugins.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include <ration/event.hpp>
#include <ration/policy.hpp>

namespace ration {

/// What an engine calls. Owned by the host; used by one thread at a time.
class any_policy {
public:
    virtual ~any_policy() = default;

    [[nodiscard]] virtual meta const& about() const noexcept = 0;
    /// Called once before the first tick and again whenever the schema or the limits change; the only place that
    /// allocates.
    [[nodiscard]] virtual result<void> bind(std::span<column_info const> schema, limits const& most) noexcept = 0;
    /// Whether it reads this column. A host may leave out the work of filling those that nobody reads.
    [[nodiscard]] virtual bool reads(std::string_view) const noexcept { return true; }
    [[nodiscard]] virtual status decide(tick_data const& t, grants& out) noexcept = 0;
    /// What became of the grants of its last answer, and what else has happened. Between two ticks.
    virtual void on_events(std::span<event const>) noexcept {}
    /// What it remembers, written if it fits; returns the bytes that it takes. 0: it remembers nothing, or cannot tell.
    [[nodiscard]] virtual std::size_t save(std::span<std::byte>) noexcept { return 0; }
    /// Becomes what was saved, or says `status::state` and stays as it was.
    [[nodiscard]] virtual status load(std::span<std::byte const> saved) noexcept {
        return saved.empty() ? status::ok : status::state;
    }

protected:
    any_policy() = default;
    any_policy(any_policy const&) = default;
    any_policy& operator=(any_policy const&) = default;
};

/// A static policy behind the interface. Final, so a direct use costs no virtual call.
template <class P>
class policy_adapter final : public any_policy {
    static_assert(sizeof(require_policy<P>) > 0);

    P policy_;
    binding<typename P::inputs> bound_;

public:
    policy_adapter() = default;
    explicit policy_adapter(P policy) noexcept
        requires std::is_move_constructible_v<P>
        : policy_(std::move(policy)) {}

    [[nodiscard]] P& policy() noexcept { return policy_; }
    [[nodiscard]] meta const& about() const noexcept override { return P::about; }

    [[nodiscard]] result<void> bind(std::span<column_info const> schema, limits const& most) noexcept override {
        auto bound = bind_columns<typename P::inputs>(schema);
        if (!bound) return bound.failure();
        bound_ = *bound;
        if constexpr (has_prepare<P>)
            if (policy_.prepare(most) != status::ok)
                return error{.code = errc::no_capacity, .operation = "prepare policy", .subject = P::about.id};
        return {};
    }

    [[nodiscard]] bool reads(std::string_view column) const noexcept override {
        for (auto const& input : P::inputs::descriptions)
            if (input.name == column) return true;
        return false;
    }
    [[nodiscard]] status decide(tick_data const& t, grants& out) noexcept override {
        return policy_.decide(tick<typename P::inputs>(t, bound_), out);
    }

    void on_events(std::span<event const> events) noexcept override {
        if constexpr (has_events<P>) policy_.on_events(events);
    }
    [[nodiscard]] std::size_t save(std::span<std::byte> space) noexcept override {
        if constexpr (has_state<P>) return policy_.save(space);
        return 0;
    }
    [[nodiscard]] status load(std::span<std::byte const> saved) noexcept override {
        if constexpr (has_state<P>) return policy_.load(saved);
        return any_policy::load(saved);
    }
};

}  // namespace ration
