// SPDX-License-Identifier: BSL-1.0
/// Destinations of the messages that a plugin logs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <mutex>
#include <string>
#include <string_view>

#include <ration/plugin/abi.h>

namespace ration::plugin {

/// Receives the messages of a plugin; `level` is one of RATION_LOG_*. For a worker it is called by
/// the thread that ticks, and in this process by any thread of the plugin. The text comes from
/// outside and can contain any byte except line ends.
struct log_sink {
    /// Called for each line; null to discard messages.
    void (*write)(void* context, std::uint32_t level, std::string_view text) = nullptr;
    /// The first argument of `write`.
    void* context = nullptr;
};

/// Longer lines are cut off.
inline constexpr std::size_t longest_log_line = 4096;

/// Forwards at most 1000 lines a second, and reports the number of further lines. Thread-safe.
class limited_log {
    static constexpr std::uint64_t most = 1000;
    log_sink to_;
    std::mutex one_at_a_time_;
    std::time_t second_ = 0;
    std::uint64_t lines_ = 0;

    /// Reports the lines that were dropped, and starts a new second.
    void begin_second(std::time_t now) {
        if (lines_ > most) {
            std::string const text = std::to_string(lines_ - most) + " more lines in one second were left out";
            to_.write(to_.context, RATION_LOG_WARNING, text);
        }
        second_ = now;
        lines_ = 0;
    }

public:
    /// `to` receives the lines.
    explicit limited_log(log_sink to) noexcept : to_(to) {}
    limited_log(limited_log const&) = delete;
    limited_log& operator=(limited_log const&) = delete;
    /// Reports the lines that were dropped in the last second.
    ~limited_log() {
        if (to_.write != nullptr) begin_second(0);
    }

    /// Writes a text; its lines become separate messages.
    void write(std::uint32_t level, std::string_view text) noexcept {
        if (to_.write == nullptr) return;
        std::lock_guard const lock(one_at_a_time_);
        if (std::time_t const now = std::time(nullptr); now != second_) begin_second(now);
        text = text.substr(0, longest_log_line);
        for (std::size_t end = 0; end != text.npos; text.remove_prefix(end == text.npos ? 0 : end + 1)) {
            end = text.find('\n');
            if (++lines_ <= most)
                to_.write(to_.context, level < RATION_LOG_ERROR ? level : std::uint32_t{RATION_LOG_ERROR},
                          text.substr(0, end));
        }
    }

    /// This object as a sink. It has to outlive the sink.
    [[nodiscard]] log_sink as_sink() noexcept {
        return {[](void* self, std::uint32_t level, std::string_view text) {
                    static_cast<limited_log*>(self)->write(level, text);
                },
                this};
    }
};

}  // namespace ration::plugin
