// SPDX-License-Identifier: BSL-1.0
/// Hot swap: the exchange of a running policy between two ticks. The new policy is prepared beside
/// the old one, takes over its state, decides as a shadow for some ticks, and is rolled back if it
/// fails.
///
/// For hosts that replace a plugin without a stop; docs/plugin-abi.md describes the rules.
/// policy_slot.hpp passes policies between threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ration/host/any_policy.hpp>
#include <ration/plugin/host/resource_names.hpp>

namespace ration::plugin {

/// The limits of an exchange.
struct swap_rules {
    std::uint32_t shadow_ticks = 0;  ///< ticks in which both decide and only the old one counts
    std::uint32_t warm_ticks = 0;    ///< ticks in which the old one is kept for a roll back
};

/// The phase of an exchange: none is in progress, both decide, or the old policy is kept.
enum class swap_phase : std::uint8_t { settled, shadow, warm };

/// The result of the last exchange.
struct swap_report {
    /// The present phase.
    swap_phase phase = swap_phase::settled;
    std::uint32_t shadow_ticks = 0;  ///< shadow ticks so far
    std::uint32_t differing = 0;     ///< shadow ticks with different answers
    bool rolled_back = false;        ///< the new policy failed and was removed
};

/// A policy that can be exchanged. All calls are made between two ticks, by the thread of the
/// ticks. `decide` does not allocate.
class hot_swap_policy final : public any_policy {
    std::unique_ptr<any_policy> current_, other_;  // other: the new one as a shadow, or the old one kept warm
    std::unique_ptr<any_policy> retired_;          // until the host takes it, so that no tick pays for its destruction
    std::vector<column_info> schema_;
    limits most_;
    std::string resource_names_;
    swap_rules rules_;
    swap_report report_;
    std::uint32_t left_ = 0;
    bool failed_ = false;
    bool is_new_ = true;  // the present policy has not decided the last tick
    std::vector<grant> shadow_;

public:
    /// `first` must not be null.
    explicit hot_swap_policy(std::unique_ptr<any_policy> first) noexcept : current_(std::move(first)) {}

    /// The policy that answers now.
    [[nodiscard]] any_policy& current() noexcept { return *current_; }
    /// The result of the last exchange.
    [[nodiscard]] swap_report const& report() const noexcept { return report_; }
    /// The policy that is no longer needed, to be destroyed outside the tick; null if there is
    /// none.
    [[nodiscard]] std::unique_ptr<any_policy> take_retired() noexcept { return std::move(retired_); }

    /// Binds `next`, transfers the state of the present policy to it, and starts the exchange.
    /// After an error the present one stays. Errors: those of `any_policy::bind`; conflict if
    /// `next` cannot read that state; busy during another exchange.
    [[nodiscard]] result<void> change_to(std::unique_ptr<any_policy> next, swap_rules rules = {}) {
        if (report_.phase != swap_phase::settled)
            return error{.code = errc::busy,
                         .operation = "change the policy",
                         .subject = next->about().id,
                         .remedy = "wait until the last change is settled"};
        limits most = most_;
        auto const resources = resources_named(resource_names_);
        most.resource_table = resources.empty() ? nullptr : resources.data();
        if (auto const bound = next->bind(schema_, most); !bound) return bound;
        if (auto const moved = move_state(*next); !moved) return moved;
        rules_ = rules;
        report_ = {};
        shadow_.resize(rules.shadow_ticks == 0 ? 0 : most_.grants());
        other_ = std::move(next);
        left_ = rules.shadow_ticks;
        report_.phase = swap_phase::shadow;
        if (left_ == 0) take_over();
        return {};
    }

    /// The identity of the present policy.
    [[nodiscard]] meta const& about() const noexcept override { return current_->about(); }

    /// True if the present policy goes by the list of changes. The list is about the last tick, so that it is of use
    /// only to a policy that has decided in that one. Therefore no policy gets it during an exchange.
    [[nodiscard]] bool follows_changes() const noexcept override {
        return report_.phase == swap_phase::settled && !is_new_ && current_->follows_changes();
    }
    /// Binds the present policy; an exchange in progress ends.
    [[nodiscard]] result<void> bind(std::span<column_info const> schema, limits const& most) noexcept override {
        settle();
        is_new_ = false;  // the first list after `bind` has any row
        schema_.assign(schema.begin(), schema.end());
        most_ = most;
        resource_names_ = names_of_resources(most);
        return current_->bind(schema, most);
    }

    /// Decides with the present policy. In a shadow tick the new one decides as well, and the
    /// answers are compared.
    [[nodiscard]] status decide(tick_data const& t, grants& out) noexcept override {
        tick_data shown = t;
        if (!follows_changes()) shown.changes = nullptr;
        advance();
        auto const reply = current_->decide(shown, out);
        is_new_ = false;
        if (report_.phase == swap_phase::shadow) compare(shown, out.rows());
        failed_ = reply != status::ok;
        if (!failed_ || report_.phase != swap_phase::warm) return reply;
        roll_back();  // the old one answers this tick
        out.clear();
        is_new_ = false;
        return current_->decide(shown, out);
    }

    /// Forwards events. Outcomes of grants go to the policy that made them; events of jobs and
    /// nodes go to both.
    void on_events(std::span<event const> events) noexcept override {
        failed_ |= std::ranges::any_of(events, [](event const& e) { return e.kind == event_kind::grant_rejected; });
        current_->on_events(events);
        if (other_ == nullptr) return;
        for (auto const& e : events)
            if (!is_of_a_grant(e.kind)) other_->on_events({&e, 1});
    }
    /// The state of the present policy.
    [[nodiscard]] std::size_t save(std::span<std::byte> space) noexcept override { return current_->save(space); }
    /// Restores the state of the present policy.
    [[nodiscard]] status load(std::span<std::byte const> saved) noexcept override { return current_->load(saved); }

private:
    /// Transfers the state, if both are versions of the same policy.
    [[nodiscard]] result<void> move_state(any_policy& next) {
        std::vector<std::byte> state(current_->save({}));
        if (state.empty() || current_->about().id != next.about().id) return {};  // another policy starts without state
        state.resize(std::min(state.size(), current_->save(state)));
        if (next.load(state) == status::ok) return {};
        return error{.code = errc::conflict,
                     .operation = "change the policy",
                     .subject = next.about().id,
                     .remedy = "the new version cannot read the state of the old one: end the run and start it again"};
    }

    /// Moves the exchange on at the begin of a tick.
    void advance() noexcept {
        if (report_.phase == swap_phase::warm && failed_) roll_back();
        if (report_.phase == swap_phase::settled) return;
        if (left_ != 0)
            --left_;
        else if (report_.phase == swap_phase::shadow)
            take_over();
        else
            settle();
    }

    /// Lets the shadow decide, and compares its answer with the counted one. A shadow that fails is
    /// removed.
    void compare(tick_data const& t, std::span<grant const> counted) noexcept {
        grants out(shadow_);
        bool const answered = other_->decide(t, out) == status::ok && !out.overflowed();
        ++report_.shadow_ticks;
        report_.differing += !answered || !std::ranges::equal(out.rows(), counted);
        if (answered) return;
        report_.rolled_back = true;
        settle();
    }

    /// Makes the new policy the present one; the old one is kept warm.
    void take_over() noexcept {
        current_.swap(other_);
        is_new_ = true;
        report_.phase = swap_phase::warm;
        left_ = rules_.warm_ticks;
        failed_ = false;
        if (left_ == 0) settle();
    }

    /// Makes the old policy the present one again.
    void roll_back() noexcept {
        current_.swap(other_);
        is_new_ = true;
        report_.rolled_back = true;
        settle();
    }

    /// Ends the exchange; the policy that is not used is retired.
    void settle() noexcept {
        if (other_ != nullptr) retired_ = std::move(other_);
        report_.phase = swap_phase::settled;
        failed_ = false;
    }
};

}  // namespace ration::plugin
