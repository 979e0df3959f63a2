// SPDX-License-Identifier: BSL-1.0
/// The log of a policy from a file, on its way from any thread to the thread that prints it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <ration/plugin/host/log_sink.hpp>

namespace ration::program {

struct policy_line {
    std::uint32_t level = 0;  ///< RATION_LOG_*
    std::string text;
};

/// "debug", "info", "warning", "error".
[[nodiscard]] std::string_view name_of_level(std::uint32_t level) noexcept;
/// Whether the user gets the line, and not the event log alone.
[[nodiscard]] constexpr bool is_for_people(std::uint32_t level) noexcept { return level >= RATION_LOG_WARNING; }

/// Takes lines from any thread and gives them to one. Lines that do not fit are counted.
class policy_log {
    std::mutex one_at_a_time_;
    std::vector<policy_line> lines_;
    std::size_t bytes_ = 0;
    std::uint64_t left_out_ = 0;

public:
    static constexpr std::size_t most_bytes = 4U << 20;

    policy_log() = default;
    policy_log(policy_log const&) = delete;
    policy_log& operator=(policy_log const&) = delete;

    /// One that lives as long as the program: a policy in quarantine may keep its threads until then, and they may
    /// log.
    [[nodiscard]] static policy_log& for_good();
    /// The one, as long-lived, of all that is asked under this name, in whatever thread.
    [[nodiscard]] static policy_log& common_to(std::string const& policy);

    void write(std::uint32_t level, std::string_view text) noexcept;
    /// All since the last time, in the order in which it came; how many were left out is the last line.
    [[nodiscard]] std::vector<policy_line> take();
    /// Valid as long as this.
    [[nodiscard]] plugin::log_sink as_sink() noexcept;
};

/// Chooses what people see of a log: each sentence once, and not too many.
class policy_log_filter {
    std::vector<std::string> shown_;

public:
    static constexpr std::size_t most_shown = 100;

    enum class showing : std::uint8_t { no, yes, last };  ///< `last`: no other will be shown
    [[nodiscard]] showing classify(policy_line const& line);
};

/// Prints warnings and errors on standard error, where no run can report them.
void print_to_stderr(policy_log& log, std::string_view policy);

}  // namespace ration::program
