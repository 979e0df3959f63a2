// SPDX-License-Identifier: BSL-1.0
/// A policy that a worker's own program contains: the worker (worker_main.hpp) makes and asks it as it asks the code
/// of a plugin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <ration/event.hpp>
#include <ration/host/any_policy.hpp>
#include <ration/plugin/abi.h>
#include <ration/plugin/host/live_instance.hpp>
#include <ration/plugin/tick_of.hpp>

namespace ration::plugin {

/// Makes a policy from its parameters: one flat JSON object, or an empty text for the defaults. Null, with a sentence
/// in `why`, if they are not right.
using policy_maker = std::function<std::unique_ptr<any_policy>(std::string_view config, std::string& why)>;

/// One policy of this program behind the calls of `live_instance`. `changed` has to outlive the object.
class compiled_in_instance {
    policy_maker make_;
    ration_changed_rows const* changed_;
    std::unique_ptr<any_policy> policy_;
    std::string sentence_;

public:
    /// `make` is called by `create`.
    compiled_in_instance(policy_maker make, ration_changed_rows const* changed) noexcept
        : make_(std::move(make)), changed_(changed) {}

    /// The message of the last error; empty if there was none.
    [[nodiscard]] std::string_view sentence() const noexcept { return sentence_; }
    /// True if the policy goes by the list of changes.
    [[nodiscard]] bool follows_changes() const noexcept { return policy_->follows_changes(); }

    /// Makes the policy. Returns a code of the ABI.
    [[nodiscard]] std::int32_t create(std::string_view config) noexcept {
        return detail::without_exceptions([&] {
            policy_ = make_(config, sentence_);
            return policy_ == nullptr ? RATION_E_ARG : RATION_OK;
        });
    }
    /// Binds the columns. Returns a code of the ABI.
    [[nodiscard]] std::int32_t bind(std::span<column_info const> schema, limits const& most) noexcept {
        auto const bound = policy_->bind(schema, most);
        if (bound) return RATION_OK;
        return detail::without_exceptions([&] {
            sentence_ = std::string(bound.failure().subject.view()) + ": " + bound.failure().remedy;
            return RATION_E_UNSUPPORTED;
        });
    }

    /// A tick without values.
    [[nodiscard]] static ration_tick blank_tick() noexcept {
        ration_tick blank{};
        blank.struct_size = sizeof blank;
        blank.n_tables = table_count;
        return blank;
    }
    /// Decides. A policy that reports a lost state receives the event `state_lost` at once.
    [[nodiscard]] std::int32_t decide(ration_tick const& t, ration_out& out) noexcept {
        auto const data = tick_of(t, reinterpret_cast<table_changes const* const*>(t.changes));
        auto const code = answer_tick(changed_, out, [&](grants& answer) { return policy_->decide(data, answer); });
        event const lost{.kind = event_kind::state_lost, .at = data.now};
        if (code == RATION_E_STATE) on_events({&lost, 1});
        return code;
    }
    /// Sends events.
    void on_events(std::span<event const> events) noexcept {
        if (!events.empty()) policy_->on_events(events);
    }

    /// Saves the state if it fits, and returns its size; 0 if the policy has none.
    [[nodiscard]] std::size_t save(std::span<std::byte> space) noexcept { return policy_->save(space); }
    /// Restores the state. Returns a code of the ABI.
    [[nodiscard]] std::int32_t load(std::span<std::byte const> saved) noexcept {
        return static_cast<std::int32_t>(policy_->load(saved));
    }
};

}  // namespace ration::plugin
