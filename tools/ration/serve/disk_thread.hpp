// SPDX-License-Identifier: BSL-1.0
/// A thread for what waits for the disk, so that the loop of the service does not.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include <ration/process/descriptor.hpp>
#include <ration/result.hpp>

namespace ration::program {

/// Performs one piece of work at a time, whose outcome comes back as a value. One other thread calls all functions.
class disk_thread {
    process::descriptor ended_;  // an eventfd
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::function<result<void>()> next_;
    std::optional<result<void>> outcome_;
    bool works_ = false;   // of the caller: an outcome was not taken yet
    std::jthread thread_;  // the last member: it uses the others until it has ended

    explicit disk_thread(process::descriptor ended);

public:
    /// Starts the thread, which gets no signals. Errors: `limit` (threads or descriptors).
    [[nodiscard]] static result<std::unique_ptr<disk_thread>> start();
    disk_thread(disk_thread const&) = delete;
    disk_thread& operator=(disk_thread const&) = delete;
    /// Waits for the work.
    ~disk_thread() = default;

    /// Returns at once. Pre: `works` is false.
    void perform(std::function<result<void>()> work);
    /// Whether there is work with an outcome that was not taken.
    [[nodiscard]] bool works() const noexcept { return works_; }
    /// Readable once the work has ended, until its outcome is taken.
    [[nodiscard]] int fd() const noexcept { return ended_.get(); }
    /// The outcome, once; none: the work has not ended, or there is none. Does not wait.
    [[nodiscard]] std::optional<result<void>> take();
    /// Waits for the end of the work, and takes its outcome. Pre: `works` is true.
    [[nodiscard]] result<void> wait();

private:
    void run(std::stop_token const& stop);
    [[nodiscard]] result<void> take_outcome();
};

}  // namespace ration::program
