// SPDX-License-Identifier: BSL-1.0
/// A running process, held by its pidfd: no signal can reach a later process with the same number.
///
/// Returned by `launch` (launch.hpp), and by `attach` after a restart of the controller. tree.hpp
/// follows the descendants. Sources: pidfd_open(2), pidfd_send_signal(2), waitid(2).
#pragma once

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <optional>
#include <poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include <ration/process/descriptor.hpp>
#include <ration/process/proc.hpp>
#include <ration/result.hpp>
#include <ration/units.hpp>

namespace ration::process {

/// The end of a process. `unknown`: it was not a child of this program (reattached after a
/// restart), so the kernel does not report how it ended.
struct exit_report {
    /// The kinds of ends.
    enum class kind : std::uint8_t { exited, killed, unknown };
    /// Exited by itself, or killed by a signal.
    kind how = kind::unknown;
    int number = 0;  ///< exit code, or the signal's number
    /// True if the kernel wrote a core file.
    bool core_dumped = false;
    nanoseconds cpu_time{};  ///< of the process and the children that it waited for; 0 if unknown
    /// True for exit code 0.
    [[nodiscard]] bool success() const noexcept { return how == kind::exited && number == 0; }
};

namespace detail {

/// Opens a process; empty with errno set if there is none.
[[nodiscard]] inline descriptor open_pidfd(pid_t pid) noexcept {
    return descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0U)));  // close-on-exec by itself
}

/// Sends a signal. Returns false with errno set.
[[nodiscard]] inline bool send_signal(int pidfd, int number) noexcept {
    return ::syscall(SYS_pidfd_send_signal, pidfd, number, nullptr, 0U) == 0;
}

/// Converts the result of waitid(2).
[[nodiscard]] inline exit_report report_of(siginfo_t const& info, rusage const& used) noexcept {
    auto const time = [](timeval t) { return nanoseconds{t.tv_sec * 1'000'000'000LL + t.tv_usec * 1'000LL}; };
    bool const exited = info.si_code == CLD_EXITED;
    return {.how = exited ? exit_report::kind::exited : exit_report::kind::killed,
            .number = info.si_status,
            .core_dumped = info.si_code == CLD_DUMPED,
            .cpu_time = time(used.ru_utime) + time(used.ru_stime)};
}

}  // namespace detail

/// A process that `launch` started or `attach` found. Move-only. The destructor only closes
/// descriptors: it neither kills nor waits, since a job can outlive its controller.
class child {
    pid_t pid_ = 0;
    std::uint64_t start_time_ = 0;
    descriptor pidfd_;
    descriptor output_;
    std::optional<exit_report> ended_;

public:
    /// No process.
    child() noexcept = default;
    /// Takes ownership of the descriptors. `start_time` as in `process_info`.
    child(pid_t pid, std::uint64_t start_time, descriptor pidfd, descriptor output) noexcept
        : pid_(pid), start_time_(start_time), pidfd_(std::move(pidfd)), output_(std::move(output)) {}

    /// The number of the process.
    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    /// Clock ticks after boot. Together with the pid it identifies the process uniquely; save it
    /// for `attach`.
    [[nodiscard]] std::uint64_t start_time() const noexcept { return start_time_; }
    /// Becomes readable (POLLIN) when the process has ended.
    [[nodiscard]] int pidfd() const noexcept { return pidfd_.get(); }
    /// Non-blocking read end of its standard output and error, or -1. Its end of file comes when
    /// the last writer closes it, possibly after the end of the process.
    [[nodiscard]] int output_fd() const noexcept { return output_.get(); }
    /// Closes the read end.
    void close_output() noexcept { output_.reset(); }
    /// True if the end of the process was seen.
    [[nodiscard]] bool ended() const noexcept { return ended_.has_value(); }

    /// The end of the process; empty while it runs. Reaps the zombie; later calls return the same.
    /// Never blocks.
    [[nodiscard]] std::optional<exit_report> try_wait() noexcept {
        if (ended_ || !pidfd_) return ended_;
        siginfo_t info{};
        rusage used{};
        // The system call, not the C function: it also gives the resources used.
        long const waited = ::syscall(SYS_waitid, P_PIDFD, pidfd_.get(), &info, WEXITED | WNOHANG, &used);
        if (waited == 0 && info.si_pid != 0)
            ended_ = detail::report_of(info, used);
        else if (waited != 0 && errno == ECHILD && gone())
            ended_ = exit_report{};
        return ended_;
    }

    /// Waits for the end, at most `limit`.
    [[nodiscard]] std::optional<exit_report> wait_for(nanoseconds limit) noexcept {
        nanoseconds const deadline = now() + limit;
        for (;;) {
            if (auto const report = try_wait()) return report;
            nanoseconds const left = deadline - now();
            if (left <= nanoseconds{0} || !pidfd_) return std::nullopt;
            pollfd wanted{.fd = pidfd_.get(), .events = POLLIN, .revents = 0};
            timespec const timeout{.tv_sec = left.count / 1'000'000'000, .tv_nsec = left.count % 1'000'000'000};
            ::ppoll(&wanted, 1, &timeout, nullptr);
        }
    }

    /// Sends a signal to this process only. Error: `errc::gone` if it has ended.
    [[nodiscard]] result<void> signal(int number) noexcept {
        if (!pidfd_ || ended_ || !detail::send_signal(pidfd_.get(), number)) {
            int const system = !pidfd_ || ended_ ? ESRCH : errno;
            error failed =
                system_error("signal", "process", system, system == EPERM ? "the job runs as another user" : "");
            failed.code = system == ESRCH ? errc::gone : failed.code;
            return failed;
        }
        return {};
    }

    /// Sends a signal to every process of its group: its descendants that did not create groups.
    /// Only valid before the process was reaped; afterwards the number could belong to another
    /// group, and the error is `errc::gone`. For the whole tree see tree.hpp.
    [[nodiscard]] result<void> signal_group(int number) noexcept {
        if (auto const alone = signal(0); !alone) return alone;
        if (::getpgid(pid_) != pid_)
            return signal(number);  // reattached, and not the leader: the group belongs to another program
        if (::kill(-pid_, number) != 0) return system_error("signal group", "process", errno, "");
        return {};
    }

private:
    /// True if the process has ended, for processes that cannot be waited for.
    [[nodiscard]] bool gone() const noexcept {
        pollfd wanted{.fd = pidfd_.get(), .events = POLLIN, .revents = 0};
        return ::poll(&wanted, 1, 0) == 1;
    }
};

/// Opens an existing process, usually one that an earlier controller started. `start_time` shows
/// that the number was not reused; a mismatch or an ended process gives `errc::gone`.
[[nodiscard]] inline result<child> attach(pid_t pid, std::uint64_t start_time) noexcept {
    auto const subject = [pid] {
        std::array<char, 24> buffer{};
        std::snprintf(buffer.data(), buffer.size(), "process %d", static_cast<int>(pid));
        return text<120>(buffer.data());
    };
    if (pid <= 0) return error{.code = errc::invalid_value, .operation = "attach", .subject = subject()};
    descriptor pidfd = detail::open_pidfd(pid);
    if (!pidfd) {
        error failed = system_error("attach", subject(), errno, "the job has ended; start it again");
        failed.code = failed.system == ESRCH || failed.system == EINVAL ? errc::gone : failed.code;
        return failed;
    }
    // The pidfd is opened before the test: from here on the number cannot change its meaning.
    if (!same_process(pid, start_time)) {
        return error{.code = errc::gone,
                     .operation = "attach",
                     .subject = subject(),
                     .remedy = "the job has ended and its number may belong to another process; start it again"};
    }
    return child(pid, start_time, std::move(pidfd), descriptor{});
}

}  // namespace ration::process
