// SPDX-License-Identifier: BSL-1.0
/// Finds and ends processes by an entry of the environment with which they were started: all remaining processes of a
/// job, also moved ones. Source: proc(5), /proc/PID/environ.
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <fcntl.h>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

#include <ration/host/no_memory.hpp>
#include <ration/process/child.hpp>
#include <ration/process/descriptor.hpp>
#include <ration/process/proc.hpp>
#include <ration/result.hpp>
#include <ration/units.hpp>

namespace ration::process {

/// A process, and the value of the entry at its start.
struct marked_process {
    /// The process.
    process_info info;
    /// The value.
    std::string value;
};

namespace detail {

enum class marked : std::uint8_t { yes, no, unknown };

/// Tests whether KEY=VALUE is in the environment with which the process was started. `unknown`: it cannot be read
/// now, as during exec.
[[nodiscard]] inline marked has_mark(pid_t pid, std::string_view mark) noexcept {
    std::array<char, 40> path{};
    std::snprintf(path.data(), path.size(), "/proc/%d/environ", static_cast<int>(pid));
    descriptor const file(::open(path.data(), O_RDONLY | O_CLOEXEC));
    if (!file) return errno == EACCES || errno == EPERM ? marked::no : marked::unknown;
    std::array<char, 4096> buffer;
    std::size_t at = 0;  // in the present entry
    bool same = true, any = false;
    for (ssize_t n = 0; (n = ::read(file.get(), buffer.data(), buffer.size())) > 0;) {
        any = true;
        for (char const c : std::string_view(buffer.data(), static_cast<std::size_t>(n))) {
            if (c != '\0') {
                same = same && at < mark.size() && mark[at] == c;
                ++at;
                continue;
            }
            if (same && at == mark.size()) return marked::yes;
            at = 0;
            same = true;
        }
    }
    return any ? marked::no : marked::unknown;
}

/// Signals this process, but no later one with its number.
inline void signal_exactly(process_info const& process, int number) noexcept {
    descriptor const pidfd = open_pidfd(process.pid);
    if (pidfd && same_process(process.pid, process.start_time)) static_cast<void>(send_signal(pidfd.get(), number));
}

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

/// Every process except this one that was started with this KEY=VALUE in its environment. Errors: those of
/// `process_table::scan`.
[[nodiscard]] inline result<std::vector<process_info>> find_marked(std::string_view mark) noexcept {
    return or_no_memory("list marked processes", "/proc", [mark]() -> result<std::vector<process_info>> {
        process_table table;
        if (auto const scanned = table.scan(); !scanned) return scanned.failure();
        std::vector<process_info> found;
        std::ranges::copy_if(table.rows(), std::back_inserter(found), [&](process_info const& row) {
            return !row.zombie() && row.pid != ::getpid() && detail::has_mark(row.pid, mark) == detail::marked::yes;
        });
        return found;
    });
}

/// Sends SIGKILL to every process with this mark until none is left, for a launch whose first process was not
/// recorded. Blocks. Error: `errc::timed_out` as in `terminate`.
[[nodiscard]] inline result<void> kill_marked(std::string_view mark) noexcept {
    for (nanoseconds const last = now() + seconds(2);;) {
        auto const found = find_marked(mark);
        if (!found) return found.failure();
        if (found->empty()) return {};
        for (process_info const& row : *found) detail::signal_exactly(row, SIGKILL);
        if (now() > last) {
            return error{
                .code = errc::timed_out,
                .operation = "end what is left of a job",
                .subject = mark.substr(0, mark.find('=')),
                .system = EBUSY,
                .remedy = "a process waits inside the kernel and cannot be killed yet; what it holds stays taken"};
        }
        ::usleep(5'000);
    }
}

}  // namespace ration::process
