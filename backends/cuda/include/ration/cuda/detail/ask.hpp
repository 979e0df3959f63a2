// SPDX-License-Identifier: BSL-1.0
/// Queries in a child process: everything that the child loads, maps and initialises ends with it,
/// and a child without an answer is killed.
///
/// Used for the CUDA driver, whose initialisation cannot be undone, and for programs of the driver
/// (nvidia-smi, MPS).
#pragma once

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/prctl.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <ration/process/child.hpp>
#include <ration/process/descriptor.hpp>
#include <ration/process/environment.hpp>
#include <ration/process/spawn.hpp>
#include <ration/result.hpp>
#include <ration/units.hpp>

namespace ration::cuda {

/// The output of a child, and its end.
struct reply {
    /// Its output, at most 256 KiB.
    std::string text;
    /// Its exit status.
    process::exit_report ended;
};

/// Texts for the errors of a query; static except for the subject.
struct question {
    /// The operation of an error.
    char const* operation;
    /// The subject of an error.
    text<120> subject;
    char const* when_late;  ///< the remedy if no answer comes in time
};

namespace detail {

/// The longest output that is read.
inline constexpr std::size_t longest_reply = std::size_t{256} * 1024;

/// Kills a child that was not waited for, with all processes of its group.
inline void end_group(process::child& child) noexcept {
    ::kill(-child.pid(), SIGKILL);
    ::kill(child.pid(), SIGKILL);
    static_cast<void>(child.wait_for(seconds(1)));
}

/// Reads until the child has ended. A daemon that it started may keep the pipe open, and is not
/// waited for.
[[nodiscard]] inline result<reply> read_reply(process::child& child, process::descriptor from, question const& about,
                                              nanoseconds at_most) noexcept {
    auto const fail = [&](errc code, int system, char const* remedy) {
        end_group(child);
        return error{
            .code = code, .operation = about.operation, .subject = about.subject, .system = system, .remedy = remedy};
    };
    nanoseconds const deadline = process::now() + at_most;
    for (reply out;;) {
        nanoseconds const left = deadline - process::now();
        if (left.count <= 0) return fail(errc::timed_out, 0, about.when_late);
        timespec const timeout{.tv_sec = left.count / 1'000'000'000, .tv_nsec = left.count % 1'000'000'000};
        pollfd ready[] = {{.fd = from.get(), .events = POLLIN, .revents = 0},
                          {.fd = child.pidfd(), .events = POLLIN, .revents = 0}};
        if (::ppoll(ready, 2, &timeout, nullptr) <= 0) continue;
        if (ready[0].revents != 0) {
            char some[4096];
            ssize_t const n = ::read(from.get(), some, sizeof some);
            if (n > 0) out.text.append(some, static_cast<std::size_t>(n));
            // End of the output, but the child may still run: wait for its end below.
            if (n == 0) from.reset();
            if (n < 0 && errno != EINTR) return fail(errc::io, errno, "");
            if (out.text.size() > longest_reply)
                return fail(errc::limit, 0, "the answer has no end: see what the program of this name is");
        } else if (ready[1].revents != 0) {
            out.ended = child.wait_for(seconds(1)).value_or(process::exit_report{});
            return out;
        }
    }
}

/// Forks. The child calls `work(descriptor to write to)` and exits. Errors: `timed_out` (the child
/// and its group are killed), `limit`, `io`.
template <class Work>
[[nodiscard]] result<reply> ask(question const& about, nanoseconds at_most, Work const& work) noexcept {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        return process::system_error(about.operation, about.subject, errno, "raise the limit on open files: ulimit -n");
    process::descriptor from = process::above_standard(process::descriptor(ends[0]));
    process::descriptor to = process::above_standard(process::descriptor(ends[1]));
    // Handlers of the caller must not run in the child, where they would write to the caller's
    // descriptors.
    sigset_t all, none, before;
    ::sigfillset(&all);
    ::sigemptyset(&none);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t const pid = ::fork();
    if (pid == 0) {
        ::setpgid(0, 0);
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        process::detail::default_signals();
        // Its own children would inherit signals that the caller has blocked
        ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
        work(to.get());
        ::_exit(0);
    }
    int const why = errno;
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (pid < 0)
        return process::system_error(about.operation, about.subject, why,
                                     "too many processes, or too little memory: ulimit -u, free");
    ::setpgid(pid, pid);  // both processes do this, since either can be first
    to.reset();
    process::child child(pid, 0, process::detail::open_pidfd(pid), {});
    if (child.pidfd() < 0) {
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
        return process::system_error(about.operation, about.subject, ENOSYS,
                                     "Linux 5.4 or later is needed, and a free descriptor");
    }
    return read_reply(child, std::move(from), about, at_most);
}

}  // namespace detail

/// Runs a program (found as by execvp(3)) with `environment` (NAME=VALUE). Its standard input is
/// `input`, which must fit into a pipe (4096 bytes); its output and errors are the reply. Errors:
/// `not_found` (no such program), `out_of_range` (the input), and those of `detail::ask`.
[[nodiscard]] inline result<reply> run_program(question const& about, std::vector<std::string> const& words,
                                               std::vector<std::string> const& environment, std::string_view input,
                                               nanoseconds at_most) noexcept {
    static constexpr int exec_failed = 127;
    int ends[2];
    if (input.size() > 4096)
        return error{.code = errc::out_of_range,
                     .operation = about.operation,
                     .subject = about.subject,
                     .remedy = "say it in 4096 bytes"};
    if (::pipe2(ends, O_CLOEXEC) != 0)
        return process::system_error(about.operation, about.subject, errno, "raise the limit on open files: ulimit -n");
    process::descriptor const reply = process::above_standard(process::descriptor(ends[0]));
    process::descriptor send_line = process::above_standard(process::descriptor(ends[1]));
    if (!input.empty() && ::write(send_line.get(), input.data(), input.size()) < 0)
        return process::system_error(about.operation, about.subject, errno, "");
    send_line.reset();
    auto const arguments = process::detail::pointers(words), variables = process::detail::pointers(environment);
    auto out = detail::ask(about, at_most, [&](int to) {
        if (::dup2(reply.get(), STDIN_FILENO) >= 0 && ::dup2(to, STDOUT_FILENO) >= 0 && ::dup2(to, STDERR_FILENO) >= 0)
            ::execvpe(arguments[0], arguments.data(), variables.data());
        ::_exit(exec_failed);
    });
    if (out && out->text.empty() && out->ended.how == process::exit_report::kind::exited &&
        out->ended.number == exec_failed)
        return error{.code = errc::not_found,
                     .operation = about.operation,
                     .subject = text<120>(words.front()),
                     .remedy = "install it, or put its folder into PATH"};
    return out;
}

}  // namespace ration::cuda
