// SPDX-License-Identifier: BSL-1.0
/// Strikes and quarantine: the number of bad ticks after which a host stops calling a policy.
///
/// `open` (host.hpp) wraps every policy from a file in a `guarded_policy`. While it is in
/// quarantine, the engine uses its fallback.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include <ration/plugin/host/fault.hpp>

namespace ration::plugin {

namespace detail {

/// Keeps a policy until the end of the program without destroying it. It stays reachable, so leak
/// checkers do not report it.
inline void keep_for_good(std::unique_ptr<plugin_policy> policy) noexcept {
    struct kept {
        plugin_policy* policy;
        kept* before;
    };
    static std::atomic<kept*> last{nullptr};
    // A lock-free list: policies may be dropped by any thread.
    auto* const one = new (std::nothrow) kept{policy.release(), last.load(std::memory_order_relaxed)};
    while (one != nullptr &&
           !last.compare_exchange_weak(one->before, one, std::memory_order_release, std::memory_order_relaxed)) {
    }
}

}  // namespace detail

/// The number of faults after which a plugin is no longer called.
struct strike_rules {
    int most = 3;     ///< this number of bad ticks ...
    int window = 64;  ///< ... among this number of ticks (at most 64) leads to quarantine
};

/// Forwards ticks until the policy reaches its strikes. From then on it is never called again, not
/// even to be destroyed, and every tick is refused at once, so that the engine's fallback answers.
class guarded_policy final : public any_policy {
    std::unique_ptr<plugin_policy> policy_;
    int most_strikes_;
    std::uint64_t window_;       // a bit for each tick that counts
    std::uint64_t history_ = 0;  // bit 0 is the last tick; 1 = bad
    std::uint64_t ticks_ = 0;
    fault last_;
    bool quarantined_ = false;

public:
    /// `policy` must not be null.
    explicit guarded_policy(std::unique_ptr<plugin_policy> policy, strike_rules rules = {}) noexcept
        : policy_(std::move(policy)), most_strikes_(rules.most),
          window_(rules.window < 64 ? (std::uint64_t{1} << rules.window) - 1 : ~std::uint64_t{0}) {}
    ~guarded_policy() override {
        // Its code may be damaged in a way that shows in the destructor; that of a worker ends with
        // its process.
        if (quarantined_ && policy_->ends_here()) detail::keep_for_good(std::move(policy_));
    }

    /// The policy itself.
    [[nodiscard]] plugin_policy& policy() noexcept { return *policy_; }
    /// The policy itself.
    [[nodiscard]] plugin_policy const& policy() const noexcept { return *policy_; }
    /// True after too many strikes.
    [[nodiscard]] bool quarantined() const noexcept { return quarantined_; }
    /// The number of bad ticks in the window.
    [[nodiscard]] int strikes() const noexcept { return std::popcount(history_); }
    /// The last fault; kind `none` if there never was one.
    [[nodiscard]] fault const& last_fault() const noexcept { return last_; }

    /// The identity of the policy.
    [[nodiscard]] meta const& about() const noexcept override { return policy_->about(); }
    /// True if the policy reads the column.
    [[nodiscard]] bool reads(std::string_view column) const noexcept override { return policy_->reads(column); }
    /// True if the policy goes by the list of changes.
    [[nodiscard]] bool follows_changes() const noexcept override { return policy_->follows_changes(); }
    /// Binds the policy; without an effect in quarantine.
    [[nodiscard]] result<void> bind(std::span<column_info const> schema, limits const& most) noexcept override {
        if (quarantined_) return {};  // the host continues with its fallback
        return policy_->bind(schema, most);
    }

    /// Forwards a tick and counts a fault. A worker that is absent after a crash is not counted
    /// again.
    [[nodiscard]] status decide(tick_data const& t, grants& out) noexcept override {
        if (quarantined_) return status::internal;
        history_ = history_ << 1 & window_;
        ticks_ = t.number;
        auto const reply = policy_->decide(t, out);
        if (reply != status::ok && policy_->last_fault().kind != fault_kind::absent) strike(policy_->last_fault());
        return reply;
    }

    /// Counts one strike for an answer that the host could not use.
    void reject(std::string_view why) noexcept { strike({fault_kind::rejected, ticks_, why}); }

    /// Counts one strike if grants were rejected, and forwards the events.
    void on_events(std::span<event const> events) noexcept override {
        if (quarantined_) return;
        for (auto const& e : events)
            if (e.kind == event_kind::grant_rejected) {
                strike({fault_kind::rejected, ticks_, "granted what the rules do not allow"});
                break;
            }
        if (!quarantined_) policy_->on_events(events);
    }

    /// The state of the policy; none in quarantine.
    [[nodiscard]] std::size_t save(std::span<std::byte> space) noexcept override {
        return quarantined_ ? 0 : policy_->save(space);
    }
    /// Restores the state; refused in quarantine.
    [[nodiscard]] status load(std::span<std::byte const> saved) noexcept override {
        return quarantined_ ? status::state : policy_->load(saved);
    }

private:
    /// Counts a strike. A policy that changes the process is quarantined at once.
    [[gnu::cold, gnu::noinline]] void strike(fault const& why) noexcept {
        history_ |= 1;
        last_ = why;
        quarantined_ = strikes() >= most_strikes_ || why.kind == fault_kind::meddled;
        if (quarantined_) policy_->end();
    }
};

}  // namespace ration::plugin
