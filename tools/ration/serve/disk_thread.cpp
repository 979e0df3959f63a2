// SPDX-License-Identifier: BSL-1.0
#include "serve/disk_thread.hpp"

#include <cerrno>
#include <csignal>
#include <sys/eventfd.h>
#include <system_error>
#include <utility>

namespace ration::program {
namespace {

[[nodiscard]] error cannot_start(int system) {
    return process::system_error("start", "the thread that writes the list of jobs", system,
                                 "too many threads or open files: ulimit -u, ulimit -n");
}

}  // namespace

disk_thread::disk_thread(process::descriptor ended)
    : ended_(std::move(ended)), thread_([this](std::stop_token const& stop) { run(stop); }) {}

result<std::unique_ptr<disk_thread>> disk_thread::start() {
    process::descriptor ended(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!ended) return cannot_start(errno);
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for the loop
    std::unique_ptr<disk_thread> out;
    int system = 0;
    try {
        out.reset(new disk_thread(std::move(ended)));
    } catch (std::system_error const& refused) {
        system = refused.code().value();
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (out == nullptr) return cannot_start(system);
    return out;
}

void disk_thread::perform(std::function<result<void>()> work) {
    works_ = true;
    std::scoped_lock const lock(mutex_);
    next_ = std::move(work);
    changed_.notify_all();
}

std::optional<result<void>> disk_thread::take() {
    if (!works_) return std::nullopt;
    std::scoped_lock const lock(mutex_);
    if (!outcome_) return std::nullopt;
    return take_outcome();
}

result<void> disk_thread::wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return outcome_.has_value(); });
    return take_outcome();
}

/// Pre: the mutex is locked, and there is an outcome.
result<void> disk_thread::take_outcome() {
    works_ = false;
    eventfd_t count = 0;
    static_cast<void>(::eventfd_read(ended_.get(), &count));
    return *std::exchange(outcome_, std::nullopt);
}

void disk_thread::run(std::stop_token const& stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [this] { return next_ != nullptr; })) {
        auto const work = std::exchange(next_, nullptr);
        lock.unlock();
        auto done = work();
        lock.lock();
        outcome_ = std::move(done);
        static_cast<void>(::eventfd_write(ended_.get(), 1));
        changed_.notify_all();
    }
}

}  // namespace ration::program
