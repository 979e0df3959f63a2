// SPDX-License-Identifier: BSL-1.0
/// Where the lines go that a plugin logs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <mutex>
#include <string>
#include <string_view>

#include <ration/plugin/abi.h>

namespace ration::plugin {

/// Takes what a plugin logs; `level` is one of RATION_LOG_*. For a worker it is called by the thread that ticks, in
/// process by any thread of the plugin. The text comes from outside: it may hold any bytes but line ends.
struct log_sink {
    void (*write)(void* context, std::uint32_t level, std::string_view text) = nullptr;
    void* context = nullptr;
};

inline constexpr std::size_t longest_log_line = 4096;

/// Passes on so many lines a second, and says how many more there were.
class limited_log {
    static constexpr std::uint64_t most = 1000;
    log_sink to_;
    std::mutex one_at_a_time_;
    std::time_t second_ = 0;
    std::uint64_t lines_ = 0;

    void begin_second(std::time_t now) {
        if (lines_ > most) {
            std::string const text = std::to_string(lines_ - most) + " more lines in one second were left out";
            to_.write(to_.context, RATION_LOG_WARNING, text);
        }
        second_ = now;
        lines_ = 0;
    }

public:
    explicit limited_log(log_sink to) noexcept : to_(to) {}
    limited_log(limited_log const&) = delete;
    limited_log& operator=(limited_log const&) = delete;
    ~limited_log() {
        if (to_.write != nullptr) begin_second(0);
    }

    /// A text of several lines comes out as several.
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

    /// The same as a sink.
    [[nodiscard]] log_sink as_sink() noexcept {
        return {[](void* self, std::uint32_t level, std::string_view text) {
                    static_cast<limited_log*>(self)->write(level, text);
                },
                this};
    }
};

}  // namespace ration::plugin
