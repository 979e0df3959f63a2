// SPDX-License-Identifier: BSL-1.0
/// The lines that a plugin logs, on their way from its worker process to the host.
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

/// What the plugin has logged and the host has not read yet: lines of a level and a length, each a std::uint32_t, and
/// the text.
struct worker_log {
    std::atomic<std::uint32_t> size{0};     ///< bytes of whole lines
    std::atomic<std::uint32_t> dropped{0};  ///< lines for which there was no room
    char lines[32768];
};

/// The worker's side; called by whatever thread of the plugin logs.
class worker_log_writer {
    worker_log& to_;
    std::mutex one_at_a_time_;

public:
    explicit worker_log_writer(worker_log& to) noexcept : to_(to) {}

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

    /// The host has read so many bytes, and waits for an answer: it does not read now.
    void forget(std::uint32_t read) noexcept {
        std::lock_guard const lock(one_at_a_time_);
        std::uint32_t const size = to_.size.load(std::memory_order_relaxed);
        if (read == 0 || read > size) return;
        std::memmove(to_.lines, to_.lines + read, size - read);
        to_.size.store(size - read, std::memory_order_relaxed);
        to_.dropped.store(0, std::memory_order_relaxed);
    }

    [[nodiscard]] log_sink as_sink() noexcept {
        return {[](void* self, std::uint32_t level, std::string_view text) {
                    static_cast<worker_log_writer*>(self)->write(level, text);
                },
                this};
    }
};

/// The host's side: passes on what has come beyond the first `read` bytes, and returns how many are read then. Sizes
/// and lengths are the worker's word: nothing is read beyond the end of the log, and each text is copied before anybody
/// looks at it.
[[nodiscard]] inline std::uint32_t read_worker_log(worker_log const& log, std::uint32_t read,
                                                   limited_log& to) noexcept {
    std::uint32_t const size = std::min<std::uint32_t>(log.size.load(std::memory_order_acquire), sizeof log.lines);
    for (std::uint32_t head[2]; read < size && size - read >= sizeof head;
         read += static_cast<std::uint32_t>(sizeof head) + head[1]) {
        std::memcpy(head, log.lines + read, sizeof head);
        // What is checked now is what is used: nobody reads them there again
        std::atomic_signal_fence(std::memory_order_seq_cst);
        if (head[1] > size - read - sizeof head) break;
        to.write(head[0], std::string(log.lines + read + sizeof head, head[1]));
    }
    if (std::uint32_t const dropped = log.dropped.load(std::memory_order_relaxed); dropped != 0)
        to.write(RATION_LOG_WARNING, std::to_string(dropped) + " lines of one tick were left out");
    return read;
}

}  // namespace ration::plugin
