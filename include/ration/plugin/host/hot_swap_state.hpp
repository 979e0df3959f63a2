// SPDX-License-Identifier: BSL-1.0
/// How a policy gets from one thread to another: to the thread of the ticks when it was prepared beside them, and away
/// from it when it has retired, because opening and closing code takes longer than a tick may.
#pragma once

#include <atomic>
#include <memory>

#include <ration/host/any_policy.hpp>

namespace ration::plugin {

/// A place for one policy. One thread leaves it there, another takes it; neither waits, locks or allocates.
class hot_swap_state {
    std::atomic<any_policy*> there_{nullptr};

public:
    hot_swap_state() noexcept = default;
    hot_swap_state(hot_swap_state const&) = delete;
    hot_swap_state& operator=(hot_swap_state const&) = delete;
    ~hot_swap_state() { delete there_.load(std::memory_order_acquire); }

    /// False, and `policy` stays with the caller, while the last one has not been taken.
    [[nodiscard]] bool leave(std::unique_ptr<any_policy>& policy) noexcept {
        any_policy* nothing = nullptr;
        // Release: who takes it sees all that was done to it here.
        if (!there_.compare_exchange_strong(nothing, policy.get(), std::memory_order_release,
                                            std::memory_order_relaxed))
            return false;
        static_cast<void>(policy.release());
        return true;
    }

    /// Null when nothing is there.
    [[nodiscard]] std::unique_ptr<any_policy> take() noexcept {
        return std::unique_ptr<any_policy>(there_.exchange(nullptr, std::memory_order_acquire));
    }
};

}  // namespace ration::plugin
