// SPDX-License-Identifier: BSL-1.0
#include "run/gpu_prober.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>

#include <ration/process/descriptor.hpp>

namespace ration::program {

struct gpu_prober::state {
    std::mutex mutex;
    std::condition_variable changed;
    std::uint64_t asked = 0, begun = 0;
    std::optional<gpu_sample> newest;
    bool stop = false, ended = false;
    process::descriptor ready{::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};

    void work(probe_function probe) {
        std::unique_lock lock(mutex);
        for (;;) {
            changed.wait(lock, [this] { return stop || asked > begun; });
            if (stop) break;
            gpu_sample seen{.number = ++begun};
            lock.unlock();
            probe(seen);
            lock.lock();
            hand_over(std::move(seen));
        }
        probe = nullptr;  // with the driver that it keeps open, before the destructor continues
        ended = true;
        changed.notify_all();
    }

    /// The driver reports each error once.
    void hand_over(gpu_sample seen) {
        if (newest) seen.received.insert(seen.received.begin(), newest->received.begin(), newest->received.end());
        newest = std::move(seen);
        static_cast<void>(::eventfd_write(ready.get(), 1));
    }
};

gpu_prober::gpu_prober(probe_function probe)
    : state_(std::make_shared<state>()),
      thread_([mine = state_, probe = std::move(probe)]() mutable { mine->work(std::move(probe)); }) {}

gpu_prober::~gpu_prober() {
    std::unique_lock lock(state_->mutex);
    state_->stop = true;
    state_->changed.notify_all();
    bool const ended = state_->changed.wait_for(lock, std::chrono::seconds(1), [this] { return state_->ended; });
    lock.unlock();
    ended ? thread_.join() : thread_.detach();
}

std::uint64_t gpu_prober::ask() {
    std::scoped_lock const lock(state_->mutex);
    state_->asked = state_->begun + 1;
    state_->changed.notify_all();
    return state_->asked;
}

std::optional<gpu_prober::gpu_sample> gpu_prober::take() {
    std::scoped_lock const lock(state_->mutex);
    eventfd_t ignored = 0;
    static_cast<void>(::eventfd_read(state_->ready.get(), &ignored));
    return std::exchange(state_->newest, std::nullopt);
}

int gpu_prober::fd() const noexcept { return state_->ready.get(); }

}  // namespace ration::program
