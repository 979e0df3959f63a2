// SPDX-License-Identifier: BSL-1.0
// Host and worker have a core each, as a scheduler leaves them while nothing else wants to run.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <sched.h>
#include <thread>

#include <ration/host/any_policy.hpp>

namespace plugin_bench {

using clock = std::chrono::steady_clock;

[[nodiscard]] inline double nanoseconds_since(clock::time_point start) {
    return std::chrono::duration<double, std::nano>(clock::now() - start).count();
}

/// The calling thread or process stays on this core from now on, where there is more than one.
inline void stay_on(int core) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    if (std::thread::hardware_concurrency() > 1) static_cast<void>(::sched_setaffinity(0, sizeof one, &one));
}

/// Asks a policy on a separate thread, on the second core: what cores pay for each other's columns without any
/// boundary between them. The thread never sleeps, so other threads on that core wait until this ends.
class on_second_core {
    ration::any_policy& policy_;
    ration::tick_data const* tick_ = nullptr;  // none: only the line goes there and back
    ration::grants* out_ = nullptr;
    ration::status message_ = ration::status::ok;
    alignas(64) std::atomic<std::uint32_t> asked_{0};
    alignas(64) std::atomic<std::uint32_t> answered_{0};
    std::jthread thread_;

    void serve(std::stop_token const& end) {
        stay_on(1);
        for (std::uint32_t done = 0;; ++done) {
            while (asked_.load(std::memory_order_acquire) == done)
                if (end.stop_requested()) return;
            if (tick_ != nullptr) message_ = policy_.decide(*tick_, *out_);
            answered_.store(done + 1, std::memory_order_release);
        }
    }
    void ask() {
        std::uint32_t const next = answered_.load(std::memory_order_relaxed) + 1;
        asked_.store(next, std::memory_order_release);
        while (answered_.load(std::memory_order_acquire) != next) {
        }
    }

public:
    explicit on_second_core(ration::any_policy& policy)
        : policy_(policy), thread_([this](std::stop_token const& end) { serve(end); }) {}

    [[nodiscard]] ration::status decide(ration::tick_data const& t, ration::grants& out) {
        tick_ = &t;
        out_ = &out;
        ask();
        return message_;
    }

    /// Nanoseconds there and back, of one line.
    [[nodiscard]] double round_trip() {
        tick_ = nullptr;
        auto const start = clock::now();
        for (int i = 0; i < 200; ++i) ask();
        return nanoseconds_since(start) / 200;
    }
};

}  // namespace plugin_bench
