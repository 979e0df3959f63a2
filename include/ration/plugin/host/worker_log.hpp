// SPDX-License-Identifier: BSL-1.0
/// The messages of a plugin on their way from its worker process to the host.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>

#include <ration/plugin/host/log_sink.hpp>

namespace ration::plugin {

/// Messages that the host has not read yet: for each a level and a length, each a std::uint32_t,
/// and the text.
struct worker_log {
    std::atomic<std::uint32_t> size{0};     ///< bytes of complete lines
    std::atomic<std::uint32_t> dropped{0};  ///< lines that did not fit
    /// The lines.
    char lines[32768];
};

/// The worker's side. Thread-safe: any thread of the plugin can log.
class worker_log_writer {
    worker_log& to_;
    std::mutex one_at_a_time_;

public:
    /// Writes to `to`, which is in shared memory.
    explicit worker_log_writer(worker_log& to) noexcept : to_(to) {}

    /// Appends a line, or counts it as dropped.
    void write(std::uint32_t level, std::string_view text) noexcept {
        std::lock_guard const lock(one_at_a_time_);
        std::uint32_t const head[] = {level, static_cast<std::uint32_t>(text.size())};
        std::uint32_t const at = to_.size.load(std::memory_order_relaxed);
        if (sizeof head + text.size() > sizeof to_.lines - at) {
            to_.dropped.fetch_add(1, std::memory_order_relaxed);
            return;
        }
        std::memcpy(to_.lines + at, head, sizeof head);
        std::memcpy(to_.lines + at + sizeof head, text.data(), text.size());
        to_.size.store(at + static_cast<std::uint32_t>(sizeof head + text.size()), std::memory_order_release);
    }

    /// Removes the bytes that the host has read. Called while the host waits for an answer, when it
    /// does not read.
    void forget(std::uint32_t read) noexcept {
        std::lock_guard const lock(one_at_a_time_);
        std::uint32_t const size = to_.size.load(std::memory_order_relaxed);
        if (read == 0 || read > size) return;
        std::memmove(to_.lines, to_.lines + read, size - read);
        to_.size.store(size - read, std::memory_order_relaxed);
        to_.dropped.store(0, std::memory_order_relaxed);
    }

    /// This object as a sink.
    [[nodiscard]] log_sink as_sink() noexcept {
        return {[](void* self, std::uint32_t level, std::string_view text) {
                    static_cast<worker_log_writer*>(self)->write(level, text);
                },
                this};
    }
};

/// The host's side: forwards lines behind the first `read` bytes, and returns the new number of
/// bytes read. Sizes and lengths come from the worker and are not trusted: nothing is read beyond
/// the end of the log, and each text is copied before it is used.
[[nodiscard]] inline std::uint32_t read_worker_log(worker_log const& log, std::uint32_t read,
                                                   limited_log& to) noexcept {
    std::uint32_t const size = std::min<std::uint32_t>(log.size.load(std::memory_order_acquire), sizeof log.lines);
    for (std::uint32_t head[2]; read < size && size - read >= sizeof head;
         read += static_cast<std::uint32_t>(sizeof head) + head[1]) {
        std::memcpy(head, log.lines + read, sizeof head);
        // The values that are validated now are used below; they must not be read again
        std::atomic_signal_fence(std::memory_order_seq_cst);
        if (head[1] > size - read - sizeof head) break;
        to.write(head[0], std::string(log.lines + read + sizeof head, head[1]));
    }
    if (std::uint32_t const dropped = log.dropped.load(std::memory_order_relaxed); dropped != 0)
        to.write(RATION_LOG_WARNING, std::to_string(dropped) + " lines of one tick were left out");
    return read;
}

}  // namespace ration::plugin
