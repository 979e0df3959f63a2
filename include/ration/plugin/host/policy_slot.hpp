// SPDX-License-Identifier: BSL-1.0
/// Passes a policy from one thread to another. A policy is opened and closed outside the thread of
/// the ticks, since both take longer than a tick may.
///
/// Used in pairs: one object for new policies, and one for retired ones.
#pragma once

#include <atomic>
#include <memory>

#include <ration/host/any_policy.hpp>

namespace ration::plugin {

/// A slot for one policy. One thread leaves a policy, another takes it; neither waits, locks or
/// allocates.
class policy_slot {
    std::atomic<any_policy*> there_{nullptr};

public:
    /// An empty slot.
    policy_slot() noexcept = default;
    policy_slot(policy_slot const&) = delete;
    policy_slot& operator=(policy_slot const&) = delete;
    /// Destroys a policy that was not taken.
    ~policy_slot() { delete there_.load(std::memory_order_acquire); }

    /// Puts a policy into the slot. Returns false, and `policy` stays with the caller, if the slot
    /// is not empty.
    [[nodiscard]] bool leave(std::unique_ptr<any_policy>& policy) noexcept {
        any_policy* nothing = nullptr;
        // Release: the thread that takes the policy sees all earlier writes to it.
        if (!there_.compare_exchange_strong(nothing, policy.get(), std::memory_order_release,
                                            std::memory_order_relaxed))
            return false;
        static_cast<void>(policy.release());
        return true;
    }

    /// Takes the policy out of the slot; null if it is empty.
    [[nodiscard]] std::unique_ptr<any_policy> take() noexcept {
        return std::unique_ptr<any_policy>(there_.exchange(nullptr, std::memory_order_acquire));
    }
};

}  // namespace ration::plugin
