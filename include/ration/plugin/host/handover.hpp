// SPDX-License-Identifier: BSL-1.0
/// How a policy gets from one thread to another: to the thread of the ticks when it was prepared beside them, and away
/// from it when it has retired, because opening and closing code takes longer than a tick may.
#pragma once

#include <atomic>
#include <memory>

#include <ration/host/decider.hpp>

namespace ration::plugin {

/// A place for one policy. One thread leaves it there, another takes it; neither waits, locks or allocates.
class handover {
    std::atomic<decider*> there_{nullptr};

public:
    handover() noexcept = default;
    handover(handover const&) = delete;
    handover& operator=(handover const&) = delete;
    ~handover() { delete there_.load(std::memory_order_acquire); }

    /// False, and `policy` stays with the caller, while the last one has not been taken.
    [[nodiscard]] bool leave(std::unique_ptr<decider>& policy) noexcept {
        decider* nothing = nullptr;
        // Release: who takes it sees all that was done to it here.
        if (!there_.compare_exchange_strong(nothing, policy.get(), std::memory_order_release,
                                            std::memory_order_relaxed))
            return false;
        static_cast<void>(policy.release());
        return true;
    }

    /// Null when nothing is there.
    [[nodiscard]] std::unique_ptr<decider> take() noexcept {
        return std::unique_ptr<decider>(there_.exchange(nullptr, std::memory_order_acquire));
    }
};

}  // namespace ration::plugin
