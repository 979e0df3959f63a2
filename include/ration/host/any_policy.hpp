// SPDX-License-Identifier: BSL-1.0
/// A policy chosen at run time: one interface for classes in this program and for plugins.
///
/// Example:
/// ~~~{.cpp}
/// ration::policy_adapter<ration::policies::equal_share> policy;
/// ration::policy_adapter<ration::policies::none> fallback;
/// ration::engine engine(backend, policy, fallback, store, columns, ration::standard_resources, {});
/// ~~~
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include <ration/event.hpp>
#include <ration/policy.hpp>

namespace ration {

/// The interface that an engine calls. The host owns the object; one thread at a time uses it.
class any_policy {
public:
    /// Destroys the policy.
    virtual ~any_policy() = default;

    /// The identity of the policy; valid as long as the object.
    [[nodiscard]] virtual meta const& about() const noexcept = 0;
    /// Called once before the first tick, and again when the schema or the limits change. It is the
    /// only call that may allocate. Errors: those of `bind_column`, and those of the policy.
    [[nodiscard]] virtual result<void> bind(std::span<column_info const> schema, limits const& most) noexcept = 0;
    /// True if the policy reads this column. A host need not fill columns that no policy reads.
    [[nodiscard]] virtual bool reads(std::string_view) const noexcept { return true; }
    /// True if the policy goes by the list of changes, so that a host need not refresh rows that have not changed.
    /// After `bind`, it may be false for some ticks: in these the policy gets no list.
    [[nodiscard]] virtual bool follows_changes() const noexcept { return false; }
    /// Writes the grants of one tick. After a status other than `ok` the fallback answers.
    [[nodiscard]] virtual status decide(tick_data const& t, grants& out) noexcept = 0;
    /// Reports the outcome of the grants of its last answer, and other events. Called between two
    /// ticks.
    virtual void on_events(std::span<event const>) noexcept {}
    /// Writes the state if it fits, and returns its size in bytes. 0: the policy has no state, or
    /// cannot save it.
    [[nodiscard]] virtual std::size_t save(std::span<std::byte>) noexcept { return 0; }
    /// Restores a saved state, or returns `status::state` and changes nothing.
    [[nodiscard]] virtual status load(std::span<std::byte const> saved) noexcept {
        return saved.empty() ? status::ok : status::state;
    }

    // Copies only through derived classes, so that no policy is sliced.
protected:
    any_policy() = default;
    any_policy(any_policy const&) = default;
    any_policy& operator=(any_policy const&) = default;
};

namespace detail {

/// True if the policy reads a column of the table tenants.
[[nodiscard]] inline bool reads_tenants(any_policy const& policy, std::span<column_info const> schema) noexcept {
    for (auto const& c : schema)
        if (c.table == table_id::tenants && policy.reads(c.name.view())) return true;
    return false;
}

}  // namespace detail

/// A static policy behind the interface. The class is final, so a direct use needs no virtual call.
template <class P>
class policy_adapter final : public any_policy {
    static_assert(sizeof(require_policy<P>) > 0);

    P policy_;
    binding<typename P::inputs> bound_;

public:
    /// A policy with default parameters.
    policy_adapter() = default;
    /// Takes a policy that was constructed with parameters.
    explicit policy_adapter(P policy) noexcept
        requires std::is_move_constructible_v<P>
        : policy_(std::move(policy)) {}

    /// The policy itself.
    [[nodiscard]] P& policy() noexcept { return policy_; }
    /// The identity of the class.
    [[nodiscard]] meta const& about() const noexcept override { return P::about; }

    /// Finds the columns, and calls `prepare` if the class has it.
    [[nodiscard]] result<void> bind(std::span<column_info const> schema, limits const& most) noexcept override {
        auto bound = bind_columns<typename P::inputs>(schema);
        if (!bound) return bound.failure();
        bound_ = *bound;
        if constexpr (has_prepare<P>) {
            status const ready = policy_.prepare(most);
            if (ready == status::unsupported)
                return error{
                    .code = errc::not_supported,
                    .operation = "prepare policy",
                    .subject = P::about.id,
                    .remedy =
                        "this host lacks a resource that it needs: choose a policy that does without, or a host that has it"};
            if (ready != status::ok)
                return error{.code = errc::no_capacity, .operation = "prepare policy", .subject = P::about.id};
        }
        return {};
    }

    /// True if the class declares the column.
    [[nodiscard]] bool reads(std::string_view column) const noexcept override {
        for (auto const& input : P::inputs::descriptions)
            if (input.name == column) return true;
        return false;
    }
    /// True if the class declares it.
    [[nodiscard]] bool follows_changes() const noexcept override { return has_followed_changes<P>; }
    /// Calls `decide` of the class.
    [[nodiscard]] status decide(tick_data const& t, grants& out) noexcept override {
        return policy_.decide(tick<typename P::inputs>(t, bound_), out);
    }

    /// Calls `on_events` if the class has it.
    void on_events(std::span<event const> events) noexcept override {
        if constexpr (has_events<P>) policy_.on_events(events);
    }
    /// Calls `save` if the class has it.
    [[nodiscard]] std::size_t save(std::span<std::byte> space) noexcept override {
        if constexpr (has_state<P>) return policy_.save(space);
        return 0;
    }
    /// Calls `load` if the class has it.
    [[nodiscard]] status load(std::span<std::byte const> saved) noexcept override {
        if constexpr (has_state<P>) return policy_.load(saved);
        return any_policy::load(saved);
    }
};

}  // namespace ration
