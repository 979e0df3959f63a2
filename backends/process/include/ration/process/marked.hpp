// SPDX-License-Identifier: BSL-1.0
/// Finds processes by an entry of the environment with which they were started: all remaining
/// processes of a job, also moved ones. Source: proc(5), /proc/PID/environ.
#pragma once

#include <algorithm>
#include <array>
#include <cstdio>
#include <fcntl.h>
#include <optional>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

#include <ration/process/descriptor.hpp>
#include <ration/process/proc.hpp>
#include <ration/result.hpp>

namespace ration::process {

/// A process, and the value of the entry at its start.
struct marked_process {
    /// The process.
    process_info info;
    /// The value.
    std::string value;
};

namespace detail {

/// Reads the environment; empty if it cannot be read: a process of another user, or one that has
/// ended.
[[nodiscard]] inline std::string read_environment(pid_t pid) noexcept {
    std::array<char, 40> path{};
    std::snprintf(path.data(), path.size(), "/proc/%d/environ", static_cast<int>(pid));
    descriptor const file(::open(path.data(), O_RDONLY | O_CLOEXEC));
    std::string text;
    std::array<char, 4096> buffer;
    for (ssize_t n = 0; file && (n = ::read(file.get(), buffer.data(), buffer.size())) > 0;)
        text.append(buffer.data(), static_cast<std::size_t>(n));
    return text;
}

/// The value of the first entry with this name in a block of zero-terminated entries.
[[nodiscard]] inline std::optional<std::string> value_in(std::string_view block, std::string_view name) noexcept {
    while (!block.empty()) {
        auto const entry = block.substr(0, block.find('\0'));
        if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=')
            return std::string(entry.substr(name.size() + 1));
        block.remove_prefix(std::min(block.size(), entry.size() + 1));
    }
    return std::nullopt;
}

}  // namespace detail

/// Every process except this one that was started with an entry of this name, the oldest first.
/// Errors: those of `process_table::scan`. O(processes on the machine), with four system calls for
/// each.
[[nodiscard]] inline result<std::vector<marked_process>> find_with_entry(std::string_view name) noexcept {
    process_table table;
    if (auto const scanned = table.scan(); !scanned) return scanned.failure();
    std::vector<marked_process> found;
    for (process_info const& row : table.rows()) {
        if (row.zombie() || row.pid == ::getpid()) continue;
        auto value = detail::value_in(detail::read_environment(row.pid), name);
        // Otherwise the environment was that of a later process with the same number
        if (value && same_process(row.pid, row.start_time)) found.push_back({row, std::move(*value)});
    }
    std::ranges::sort(found, {},
                      [](marked_process const& one) { return std::pair(one.info.start_time, one.info.pid); });
    return found;
}

}  // namespace ration::process
