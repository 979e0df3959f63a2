// SPDX-License-Identifier: BSL-1.0
/// The kernel's data about processes: one row of `/proc/PID/stat`, a table of processes, exact CPU clocks. Sources:
/// proc(5), clock_getcpuclockid(3).
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <fcntl.h>
#include <optional>
#include <span>
#include <string_view>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <ration/host/no_memory.hpp>
#include <ration/process/descriptor.hpp>
#include <ration/result.hpp>
#include <ration/units.hpp>

namespace ration::process {

/// A process as in `/proc/PID/stat`. `pid` together with `start_time` is unique; a pid alone is
/// reused.
struct process_info {
    /// Number of the process, its parent, its process group and its session.
    pid_t pid = 0;
    /// Changes to a subreaper or to init when the parent ends.
    pid_t parent = 0;
    pid_t group = 0;
    /// Number of the session's first process.
    pid_t session = 0;
    char state = '?';                  ///< R running, S sleeping, D uninterruptible, T stopped, Z zombie, ...
    bool exiting = false;              ///< exit(2) has begun; a v1 cgroup hierarchy shows such a process at its root
    std::uint64_t children_ticks = 0;  ///< CPU time of children that it waited for, in clock ticks
    std::uint64_t start_time = 0;      ///< clock ticks after boot
    /// True after its end, until it is reaped.
    [[nodiscard]] bool zombie() const noexcept { return state == 'Z' || state == 'X'; }
    friend bool operator==(process_info const&, process_info const&) = default;
};

namespace detail {

/// Reads a clock; empty after an error.
[[nodiscard]] inline std::optional<nanoseconds> read_clock(clockid_t clock) noexcept {
    timespec t{};
    if (::clock_gettime(clock, &t) != 0) return std::nullopt;
    return nanoseconds{static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec};
}

}  // namespace detail

/// The time of CLOCK_MONOTONIC, the clock of all deadlines in this module.
[[nodiscard]] inline nanoseconds now() noexcept { return detail::read_clock(CLOCK_MONOTONIC).value_or(nanoseconds{}); }

/// CPU time of a process and all its threads, including threads that ended; empty once it was
/// reaped. Exact to the nanosecond.
[[nodiscard]] inline std::optional<nanoseconds> cpu_clock(pid_t pid) noexcept {
    clockid_t clock{};
    return ::clock_getcpuclockid(pid, &clock) == 0 ? detail::read_clock(clock) : std::nullopt;
}

namespace detail {

/// CPU time of the calling thread: the cost of an operation, independent of the load.
[[nodiscard]] inline nanoseconds spent_here() noexcept {
    return read_clock(CLOCK_THREAD_CPUTIME_ID).value_or(nanoseconds{});
}

/// Clock ticks as time.
[[nodiscard]] inline nanoseconds from_ticks(std::uint64_t ticks) noexcept {
    static long const per_second = ::sysconf(_SC_CLK_TCK);
    return {static_cast<std::int64_t>(ticks) * (1'000'000'000 / (per_second > 0 ? per_second : 100))};
}

/// Reads at most `Size` bytes of a /proc file; empty if it cannot be read.
template <std::size_t Size>
[[nodiscard]] std::string_view read_some(int directory, char const* path, std::array<char, Size>& buffer) noexcept {
    descriptor const file(::openat(directory, path, O_RDONLY | O_CLOEXEC));
    if (!file) return {};
    std::size_t filled = 0;
    while (filled < Size) {
        ssize_t const n = ::read(file.get(), buffer.data() + filled, Size - filled);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        filled += static_cast<std::size_t>(n);
    }
    return {buffer.data(), filled};
}

/// Parses the next number of a blank-separated line; false for anything else.
template <class Number>
[[nodiscard]] bool take(std::string_view& line, Number& out) noexcept {
    while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
    auto const [end, problem] = std::from_chars(line.data(), line.data() + line.size(), out);
    auto const length = static_cast<std::size_t>(end - line.data());
    if (problem != std::errc{} || (length < line.size() && line[length] != ' ' && line[length] != '\n')) return false;
    line.remove_prefix(length);
    return true;
}

/// Skips blank-separated fields.
[[nodiscard]] inline bool skip(std::string_view& line, int fields) noexcept {
    for (; fields > 0; --fields) {
        std::size_t const start = line.find_first_not_of(' ');
        std::size_t const end = line.find(' ', start);
        if (start == std::string_view::npos || end == std::string_view::npos) return false;
        line.remove_prefix(end);
    }
    return true;
}

/// Calls `visit(number)` for each entry of a directory of numbers (`/proc`, `/proc/PID/task`). No
/// allocation.
template <class Visit>
[[nodiscard]] bool for_each_number(int directory, Visit&& visit) {
    alignas(std::uint64_t) std::array<char, 4096> buffer;
    constexpr std::size_t length_at = 16, name_at = 19;  // struct linux_dirent64: ino, off, reclen, type, name
    for (;;) {
        long const filled = ::syscall(SYS_getdents64, directory, buffer.data(), buffer.size());
        if (filled <= 0) return filled == 0;
        for (std::size_t at = 0; at < static_cast<std::size_t>(filled);) {
            auto const length = static_cast<unsigned char>(buffer[at + length_at]) +
                                256U * static_cast<unsigned char>(buffer[at + length_at + 1]);
            std::string_view const name(&buffer[at + name_at]);
            pid_t number = 0;
            auto const [end, problem] = std::from_chars(name.data(), name.data() + name.size(), number);
            if (problem == std::errc{} && end == name.data() + name.size()) visit(number);
            at += length;
        }
    }
}

/// Calls `visit(pid)` for each child of a process. The kernel keeps a list for each thread, since a child belongs to
/// the thread that started it. A child can be missing while siblings of it end (proc(5), /proc/PID/task/TID/children).
template <class Visit>
void for_each_child(pid_t pid, Visit&& visit) {
    std::array<char, 40> path{};
    std::snprintf(path.data(), path.size(), "/proc/%d/task", static_cast<int>(pid));
    descriptor const threads(::open(path.data(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!threads) return;
    static_cast<void>(for_each_number(threads.get(), [&](pid_t thread) {
        std::snprintf(path.data(), path.size(), "%d/children", static_cast<int>(thread));
        descriptor const file(::openat(threads.get(), path.data(), O_RDONLY | O_CLOEXEC));
        std::array<char, 4096> buffer;
        pid_t child = 0;
        for (ssize_t n = 0; file && (n = ::read(file.get(), buffer.data(), buffer.size())) > 0;) {
            for (char const c : std::string_view(buffer.data(), static_cast<std::size_t>(n)))
                if (c >= '0' && c <= '9')
                    child = child * 10 + (c - '0');
                else if (child != 0)
                    visit(std::exchange(child, 0));
        }
    }));
}

/// Resident memory of a process, including shared pages; 0 if it has ended.
[[nodiscard]] inline std::int64_t resident_bytes(pid_t pid) noexcept {
    std::array<char, 40> path{};
    std::snprintf(path.data(), path.size(), "/proc/%d/statm", static_cast<int>(pid));
    std::array<char, 128> buffer;
    std::string_view line = read_some(AT_FDCWD, path.data(), buffer);
    std::int64_t pages = 0;
    return skip(line, 1) && take(line, pages) ? pages * ::sysconf(_SC_PAGESIZE) : 0;
}

}  // namespace detail

/// Parses one line of `/proc/PID/stat`. The process chooses the name in it, which can contain
/// blanks and parentheses; so the fields start after the last parenthesis.
[[nodiscard]] inline std::optional<process_info> parse_stat(std::string_view line) noexcept {
    process_info out;
    std::size_t const name_end = line.rfind(')');
    if (name_end == std::string_view::npos || line.size() < name_end + 3 || line[name_end + 1] != ' ' ||
        !detail::take(line, out.pid)) {
        return std::nullopt;
    }
    line = line.substr(line.rfind(')') + 2);
    out.state = line.front();
    line.remove_prefix(1);
    std::uint64_t flags = 0, user = 0, system = 0;
    bool const whole = line.starts_with(' ') && detail::take(line, out.parent) && detail::take(line, out.group) &&
                       detail::take(line, out.session) && detail::skip(line, 2) && detail::take(line, flags) &&
                       detail::skip(line, 6) && detail::take(line, user) && detail::take(line, system) &&
                       detail::skip(line, 4) && detail::take(line, out.start_time);
    constexpr std::uint64_t pf_exiting = 4;  // include/linux/sched.h
    out.exiting = (flags & pf_exiting) != 0;
    out.children_ticks = user + system;
    return whole ? std::optional(out) : std::nullopt;
}

/// One process; empty if there is none with that number.
[[nodiscard]] inline std::optional<process_info> read_process(pid_t pid) noexcept {
    std::array<char, 40> path{};
    std::snprintf(path.data(), path.size(), "/proc/%d/stat", static_cast<int>(pid));
    std::array<char, 1024> buffer;
    return parse_stat(detail::read_some(AT_FDCWD, path.data(), buffer));
}

/// True if this is still the same living process, and not a later one with its number.
[[nodiscard]] inline bool same_process(pid_t pid, std::uint64_t start_time) noexcept {
    auto const seen = read_process(pid);
    return seen && seen->start_time == start_time && !seen->zombie();
}

/// True if the kernel lists the children of each thread (CONFIG_PROC_CHILDREN, in every kernel of Debian).
[[nodiscard]] inline bool lists_children() noexcept { return ::access("/proc/thread-self/children", R_OK) == 0; }

/// Processes that this user can see, ordered by pid: all, or some with their descendants.
class process_table {
    std::vector<process_info> rows_;
    bool whole_ = true;

public:
    /// An empty table.
    process_table() noexcept = default;
    /// A recorded table, in any order. For tests.
    explicit process_table(std::vector<process_info> rows) noexcept : rows_(std::move(rows)) {
        std::ranges::sort(rows_, {}, &process_info::pid);
    }

    /// Reads all processes, with three system calls for each. Errors: no_memory, and those of reading /proc. The table
    /// is then empty.
    [[nodiscard]] result<void> scan() noexcept {
        whole_ = true;
        auto const read = or_no_memory("list processes", "/proc", [this] { return read_all(); });
        if (!read) rows_.clear();
        std::ranges::sort(rows_, {}, &process_info::pid);
        return read;
    }

    /// Reads only these processes, the subreaper to which their orphans go, and the descendants of all. Makes seven
    /// system calls for each process, and three for each further thread. Precondition: `lists_children`, and
    /// `processes` is ordered and without the subreaper. Error: no_memory. The table is then empty.
    [[nodiscard]] result<void> scan_below(std::span<pid_t const> processes, pid_t subreaper) noexcept {
        whole_ = false;
        auto const read = or_no_memory("list processes", "/proc", [&]() -> result<void> {
            read_below(processes, subreaper);
            return {};
        });
        if (!read) rows_.clear();
        return read;
    }

    /// False after `scan_below`: there may be other processes.
    [[nodiscard]] bool whole() const noexcept { return whole_; }

    [[nodiscard]] std::vector<process_info> const& rows() const noexcept { return rows_; }
    [[nodiscard]] process_info const* find(pid_t pid) const noexcept {
        auto const at = std::ranges::lower_bound(rows_, pid, {}, &process_info::pid);
        return at != rows_.end() && at->pid == pid ? &*at : nullptr;
    }

private:
    [[nodiscard]] result<void> read_all() {
        rows_.clear();
        descriptor const directory(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        bool const read = directory && detail::for_each_number(directory.get(), [this](pid_t pid) {
                              if (auto const row = read_process(pid)) rows_.push_back(*row);
                          });
        if (!read) {
            return system_error("list processes", "/proc", errno,
                                "mount proc on /proc; without it jobs cannot be followed");
        }
        return {};
    }

    void read_below(std::span<pid_t const> processes, pid_t subreaper) {
        rows_.clear();
        auto const add = [this](pid_t pid) {
            if (auto const row = read_process(pid)) rows_.push_back(*row);
        };
        std::size_t next = 0;
        auto const add_descendants = [&] {
            for (; next < rows_.size(); ++next) {
                detail::for_each_child(rows_[next].pid, [&](pid_t child) {
                    if (!std::ranges::binary_search(processes, child)) add(child);
                });
            }
        };
        for (pid_t const pid : processes) add(pid);
        add_descendants();
        // Last, so that it has the orphans of each process that ended before its children were read
        add(subreaper);
        add_descendants();
        std::ranges::sort(rows_, {}, &process_info::pid);
        // A process can become an orphan after it was read below its parent
        auto const repeated = std::ranges::unique(rows_, {}, &process_info::pid);
        rows_.erase(repeated.begin(), repeated.end());
    }
};

}  // namespace ration::process
