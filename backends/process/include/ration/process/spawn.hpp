// SPDX-License-Identifier: BSL-1.0
/// Creates a child process with clone3 or fork. The child waits at a gate, and reports the error
/// that stopped it before exec.
///
/// The lower half of launch.hpp.
#pragma once

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <ration/process/account.hpp>
#include <ration/process/child.hpp>
#include <ration/process/descriptor.hpp>
#include <ration/result.hpp>

namespace ration::process::detail {

/// Everything that the child needs, prepared before it exists: between fork and exec it must
/// neither allocate nor lock.
struct spawn_plan {
    char const* program = nullptr;
    std::vector<char*> arguments, environment;    ///< terminated by a null pointer
    int directory = -1, input = -1, output = -1;  ///< output -1: that of the caller
    int journal = -1;                             ///< as in `launch_spec`; -1: none
    std::string_view journal_entry = {};
    rlimit const* open_files = nullptr;  ///< null: those of the caller
    account const* user = nullptr;       ///< null: that of the caller
    mode_t const* umask = nullptr;       ///< null: that of the caller
};

/// The steps of the child, in order.
enum class spawn_stage : std::uint8_t { session, streams, user, directory, gate, journal, exec };

/// A report of the child: the step, and the errno that stopped it there. 0 at the gate: it waits; 0
/// at exec: it runs.
struct spawn_word {
    spawn_stage stage = spawn_stage::session;
    int system = 0;
};

/// The strings as for execve(2).
[[nodiscard]] inline std::vector<char*> pointers(std::vector<std::string> const& words) noexcept {
    std::vector<char*> out;
    out.reserve(words.size() + 1);
    for (std::string const& word : words)
        out.push_back(const_cast<char*>(word.c_str()));  // execve(2) does not write through them
    out.push_back(nullptr);
    return out;
}

/// Sends a report.
inline void report(int channel, spawn_stage stage, int system) noexcept {
    spawn_word const word{.stage = stage, .system = system};
    static_cast<void>(::send(channel, &word, sizeof word, MSG_NOSIGNAL));
}

/// Reports errno at this step, and ends the child.
[[noreturn]] inline void give_up(int channel, spawn_stage stage) noexcept {
    report(channel, stage, errno);
    ::_exit(127);
}

/// Sets default actions for all signals; the caller's handlers have no meaning in the job.
inline void default_signals() noexcept {
    struct sigaction fresh{};
    fresh.sa_handler = SIG_DFL;
    for (int number = 1; number < NSIG; ++number) {
        // The kernel refuses KILL, STOP and those of the C library, which is fine
        ::sigaction(number, &fresh, nullptr);
    }
}

/// The child before exec. Only async-signal-safe calls: another thread of the parent may have held
/// any lock.
[[noreturn]] inline void become(spawn_plan const& plan, int channel, int parents_end) noexcept {
    ::close(parents_end);  // so that the gate reads end-of-file if the parent ends
    if (::setsid() < 0) give_up(channel, spawn_stage::session);
    default_signals();
    bool const streams =
        ::dup2(plan.input, STDIN_FILENO) >= 0 &&
        (plan.output < 0 || (::dup2(plan.output, STDOUT_FILENO) >= 0 && ::dup2(plan.output, STDERR_FILENO) >= 0));
    if (!streams) give_up(channel, spawn_stage::streams);
    if (plan.open_files != nullptr)
        ::setrlimit(RLIMIT_NOFILE, plan.open_files);  // cannot fail: it lowers the soft limit to an earlier value
    // Before exec: with the environment of the job, as LD_PRELOAD, its program would be root otherwise
    if (plan.user != nullptr) {
        errno = become_user(*plan.user);
        if (errno != 0) give_up(channel, spawn_stage::user);
    }
    if (plan.umask != nullptr) ::umask(*plan.umask);
    if (::fchdir(plan.directory) != 0) give_up(channel, spawn_stage::directory);
    report(channel, spawn_stage::gate, 0);
    char go = 0;
    ssize_t n = 0;
    do {
        n = ::recv(channel, &go, 1, 0);
    } while (n < 0 && errno == EINTR);
    if (n != 1) ::_exit(127);
    // Descriptors that the caller or its libraries opened without O_CLOEXEC. Best effort: kernels
    // before 5.11 lack the flag.
    constexpr unsigned close_on_exec = 4U;
    ::syscall(SYS_close_range, STDERR_FILENO + 1U, ~0U, close_on_exec);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    if (plan.journal >= 0 && ::write(plan.journal, plan.journal_entry.data(), plan.journal_entry.size()) < 0)
        give_up(channel, spawn_stage::journal);
    ::execve(plan.program, plan.arguments.data(), plan.environment.data());
    give_up(channel, spawn_stage::exec);
}

/// `struct clone_args` of <linux/sched.h>, which conflicts with <sched.h> on some systems.
struct clone_request {
    std::uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size,
        cgroup;
};

/// As fork(2), with a pidfd, and in a cgroup if one is given.
[[nodiscard]] inline pid_t clone_here(int& pidfd, int clone_directory) noexcept {
    constexpr std::uint64_t want_pidfd = 0x1000, into_cgroup = 0x200000000;
    constexpr std::size_t first_version = 64;  // of the structure: what kernels before 5.7 accept
    bool const into = clone_directory >= 0;
    clone_request request{};
    request.flags = want_pidfd | (into ? into_cgroup : 0);
    request.pidfd = reinterpret_cast<std::uintptr_t>(&pidfd);
    request.exit_signal = SIGCHLD;
    request.cgroup = into ? static_cast<std::uint64_t>(clone_directory) : 0;
    return static_cast<pid_t>(::syscall(SYS_clone3, &request, into ? sizeof request : first_version));
}

/// True for errors after which fork(2) can still succeed: no clone3 (old kernel, seccomp filter),
/// or not in this group.
[[nodiscard]] constexpr bool worth_a_fork(int system) noexcept {
    return system == ENOSYS || system == EPERM || system == EOPNOTSUPP || system == EBUSY || system == EACCES ||
           system == EBADF;
}

/// A child at the gate. Unless `release` lets it continue, the destructor kills and reaps it.
class held_child {
    pid_t pid_ = 0;
    descriptor pidfd_, channel_;
    bool released_ = false;

public:
    /// True if the child was created in its cgroup.
    bool in_group = false;

    held_child(pid_t pid, descriptor pidfd, descriptor channel, bool inside) noexcept
        : pid_(pid), pidfd_(std::move(pidfd)), channel_(std::move(channel)), in_group(inside) {}
    held_child(held_child&& other) noexcept
        : pid_(std::exchange(other.pid_, 0)), pidfd_(std::move(other.pidfd_)), channel_(std::move(other.channel_)),
          released_(other.released_), in_group(other.in_group) {}
    held_child& operator=(held_child&&) = delete;
    ~held_child() noexcept {
        if (pid_ != 0 && !released_) {
            // It was not waited for, so the number is still its own. Closing the gate would also
            // end it, but not if it is frozen.
            ::kill(pid_, SIGKILL);
            static_cast<void>(child(pid_, 0, std::move(pidfd_), descriptor{}).wait_for(seconds(1)));
        }
    }

    /// The child's process.
    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    /// Takes the pidfd for the `child` that the launch returns.
    [[nodiscard]] descriptor take_pidfd() noexcept { return std::move(pidfd_); }

    /// Waits until the child is at the gate: it leads its session, and its streams and its
    /// directory are set.
    [[nodiscard]] result<spawn_word> await_gate() const noexcept { return next_word(); }

    /// Opens the gate and waits for exec.
    [[nodiscard]] result<spawn_word> release() noexcept {
        char const go = 1;
        if (::send(channel_.get(), &go, 1, MSG_NOSIGNAL) != 1)
            return system_error("start", "process", errno, "it was ended before it began");
        auto const word = next_word();
        released_ = word && word->stage == spawn_stage::exec && word->system == 0;
        return word;
    }

private:
    /// The next report. The end of the channel means exec, or the end of the child, which its pidfd
    /// shows.
    [[nodiscard]] result<spawn_word> next_word() const noexcept {
        nanoseconds const deadline = now() + seconds(10);
        for (int ready = -1; ready <= 0;) {
            auto const left = (deadline - now()).count / 1'000'000;
            pollfd wanted{.fd = channel_.get(), .events = POLLIN, .revents = 0};
            ready = left > 0 ? ::poll(&wanted, 1, static_cast<int>(left)) : 0;
            if (ready == 0) {
                return error{
                    .code = errc::timed_out,
                    .operation = "start",
                    .subject = "process",
                    .remedy =
                        "it did not get to run: is its cgroup frozen, or its program on a disk that does not answer?"};
            }
        }
        spawn_word word{.stage = spawn_stage::exec, .system = 0};
        ssize_t const n = ::recv(channel_.get(), &word, sizeof word, 0);
        return n < 0 ? result<spawn_word>(system_error("start", "process", errno, "")) : word;
    }
};

/// Creates the child, which waits at the gate.
[[nodiscard]] inline result<held_child> spawn(spawn_plan const& plan, int clone_directory) noexcept {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return system_error("open a socket pair", "start", errno, "raise the limit on open files: ulimit -n");
    descriptor ours = above_standard(descriptor(ends[0]));
    descriptor const theirs = above_standard(descriptor(ends[1]));
    // Handlers must not run in the child, where they would write to descriptors that it shares with
    // the parent.
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    int pidfd = -1;
    bool inside = clone_directory >= 0;
    pid_t pid = clone_here(pidfd, clone_directory);
    if (pid < 0 && worth_a_fork(errno)) {
        inside = false;
        pidfd = -1;  // the kernel may have set a number before it failed, and closed it
        pid = ::fork();
    }
    if (pid == 0) become(plan, theirs.get(), ours.get());
    int const system = errno;
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (pid < 0) {
        return system_error("start a process", plan.program, system,
                            "too many processes, or too little memory: ulimit -u, free");
    }
    descriptor held = pidfd >= 0 ? descriptor(pidfd) : open_pidfd(pid);
    int const why = errno;
    bool const usable = static_cast<bool>(held);
    held_child out(pid, std::move(held), std::move(ours), inside);
    if (!usable)
        return system_error("hold a process", plan.program, why, "Linux 5.4 or later is needed, and a free descriptor");
    return out;
}

}  // namespace ration::process::detail
