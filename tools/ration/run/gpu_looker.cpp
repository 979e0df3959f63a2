// SPDX-License-Identifier: BSL-1.0
#include "run/gpu_looker.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>

#include <ration/process/descriptor.hpp>

namespace ration::program {

struct gpu_looker::state {
    std::mutex mutex;
    std::condition_variable changed;
    std::uint64_t asked = 0, begun = 0;
    std::optional<sight> newest;
    bool stop = false, ended = false;
    process::descriptor ready{::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};

    void work(looking look) {
        std::unique_lock lock(mutex);
        for (;;) {
            changed.wait(lock, [this] { return stop || asked > begun; });
            if (stop) break;
            sight seen{.number = ++begun};
            lock.unlock();
            look(seen);
            lock.lock();
            hand_over(std::move(seen));
        }
        look = nullptr;  // with the driver that it keeps open, before anybody goes on
        ended = true;
        changed.notify_all();
    }

    /// What the driver reports of an error it reports once.
    void hand_over(sight seen) {
        if (newest) seen.heard.insert(seen.heard.begin(), newest->heard.begin(), newest->heard.end());
        newest = std::move(seen);
        static_cast<void>(::eventfd_write(ready.get(), 1));
    }
};

gpu_looker::gpu_looker(looking look)
    : state_(std::make_shared<state>()),
      thread_([mine = state_, look = std::move(look)]() mutable { mine->work(std::move(look)); }) {}

gpu_looker::~gpu_looker() {
    std::unique_lock lock(state_->mutex);
    state_->stop = true;
    state_->changed.notify_all();
    bool const ended = state_->changed.wait_for(lock, std::chrono::seconds(1), [this] { return state_->ended; });
    lock.unlock();
    ended ? thread_.join() : thread_.detach();
}

std::uint64_t gpu_looker::ask() {
    std::scoped_lock const lock(state_->mutex);
    state_->asked = state_->begun + 1;
    state_->changed.notify_all();
    return state_->asked;
}

std::optional<gpu_looker::sight> gpu_looker::take() {
    std::scoped_lock const lock(state_->mutex);
    eventfd_t ignored = 0;
    static_cast<void>(::eventfd_read(state_->ready.get(), &ignored));
    return std::exchange(state_->newest, std::nullopt);
}

int gpu_looker::fd() const noexcept { return state_->ready.get(); }

}  // namespace ration::program
