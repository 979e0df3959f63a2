// SPDX-License-Identifier: BSL-1.0
/// Changing the policy while it runs: the new one is prepared beside the old one, takes over its state between two
/// ticks, decides in its shadow for a while, and gives the place back when it fails.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <ration/host/any_policy.hpp>
#include <ration/resource.hpp>

namespace ration::plugin {

/// The limits of an exchange of a running policy.
struct swap_rules {
    std::uint32_t shadow_ticks = 0;  ///< both decide, only the old one counts
    std::uint32_t warm_ticks = 0;    ///< the old one is kept, and takes over again if the new one fails
};

enum class swap_phase : std::uint8_t { settled, shadow, warm };

/// The result of an exchange of a running policy.
struct swap_report {
    swap_phase phase = swap_phase::settled;
    std::uint32_t shadow_ticks = 0;  ///< so far, of the last change
    std::uint32_t differing = 0;     ///< of those: the answers were not the same
    bool rolled_back = false;        ///< the last change: the new one failed and is gone
};

/// A policy that can be exchanged. All calls between two ticks, by the thread of the ticks. `decide` allocates nothing.
class hot_swap_policy final : public any_policy {
    std::unique_ptr<any_policy> current_, other_;  // other: the new one in its shadow, or the old one kept warm
    std::unique_ptr<any_policy> retired_;          // until the host takes it away, so that no tick pays for its end
    std::vector<column_info> schema_;
    limits most_;
    swap_rules rules_;
    swap_report report_;
    std::uint32_t left_ = 0;
    bool failed_ = false;
    std::vector<grant> shadow_;

public:
    explicit hot_swap_policy(std::unique_ptr<any_policy> first) noexcept : current_(std::move(first)) {}

    [[nodiscard]] any_policy& current() noexcept { return *current_; }
    [[nodiscard]] swap_report const& report() const noexcept { return report_; }
    /// What is not needed any more, to be destroyed outside the tick; null when there is nothing.
    [[nodiscard]] std::unique_ptr<any_policy> take_retired() noexcept { return std::move(retired_); }

    /// Binds `next`, gives it the state of the present policy and begins the change. On an error the present one stays:
    /// those of `any_policy::bind`; conflict when `next` cannot read that state; busy while another change goes on.
    [[nodiscard]] result<void> change_to(std::unique_ptr<any_policy> next, swap_rules rules = {}) {
        if (report_.phase != swap_phase::settled)
            return error{.code = errc::busy,
                         .operation = "change the policy",
                         .subject = next->about().id,
                         .remedy = "wait until the last change is settled"};
        if (auto const bound = next->bind(schema_, most_); !bound) return bound;
        if (auto const moved = move_state(*next); !moved) return moved;
        rules_ = rules;
        report_ = {};
        shadow_.resize(rules.shadow_ticks == 0 ? 0 : most_.jobs * most_.nodes * std::size(standard_resources));
        other_ = std::move(next);
        left_ = rules.shadow_ticks;
        report_.phase = swap_phase::shadow;
        if (left_ == 0) take_over();
        return {};
    }

    [[nodiscard]] meta const& about() const noexcept override { return current_->about(); }

    [[nodiscard]] result<void> bind(std::span<column_info const> schema, limits const& most) noexcept override {
        settle();
        schema_.assign(schema.begin(), schema.end());
        most_ = most;
        return current_->bind(schema, most);
    }

    [[nodiscard]] status decide(tick_data const& t, grants& out) noexcept override {
        advance();
        auto const reply = current_->decide(t, out);
        if (report_.phase == swap_phase::shadow) compare(t, out.rows());
        failed_ = reply != status::ok;
        if (!failed_ || report_.phase != swap_phase::warm) return reply;
        roll_back();  // at once: the old one answers this very tick
        out.clear();
        return current_->decide(t, out);
    }

    /// What became of grants is heard by the one whose grants they are; what happened to jobs and nodes, by both.
    void on_events(std::span<event const> events) noexcept override {
        failed_ |= std::ranges::any_of(events, [](event const& e) { return e.kind == event_kind::grant_rejected; });
        current_->on_events(events);
        if (other_ == nullptr) return;
        for (auto const& e : events)
            if (!is_of_a_grant(e.kind)) other_->on_events({&e, 1});
    }
    [[nodiscard]] std::size_t save(std::span<std::byte> space) noexcept override { return current_->save(space); }
    [[nodiscard]] status load(std::span<std::byte const> saved) noexcept override { return current_->load(saved); }

private:
    [[nodiscard]] result<void> move_state(any_policy& next) {
        std::vector<std::byte> state(current_->save({}));
        if (state.empty() || current_->about().id != next.about().id) return {};  // another policy starts anew
        state.resize(std::min(state.size(), current_->save(state)));
        if (next.load(state) == status::ok) return {};
        return error{.code = errc::conflict,
                     .operation = "change the policy",
                     .subject = next.about().id,
                     .remedy = "the new version cannot read the state of the old one: end the run and start it again"};
    }

    /// What the end of the last tick means for the change.
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

    void compare(tick_data const& t, std::span<grant const> counted) noexcept {
        grants out(shadow_);
        bool const answered = other_->decide(t, out) == status::ok && !out.overflowed();
        ++report_.shadow_ticks;
        report_.differing += !answered || !std::ranges::equal(out.rows(), counted);
        if (answered) return;
        report_.rolled_back = true;
        settle();
    }

    void take_over() noexcept {
        current_.swap(other_);
        report_.phase = swap_phase::warm;
        left_ = rules_.warm_ticks;
        failed_ = false;
        if (left_ == 0) settle();
    }

    void roll_back() noexcept {
        current_.swap(other_);
        report_.rolled_back = true;
        settle();
    }

    void settle() noexcept {
        if (other_ != nullptr) retired_ = std::move(other_);
        report_.phase = swap_phase::settled;
        failed_ = false;
    }
};

}  // namespace ration::plugin
