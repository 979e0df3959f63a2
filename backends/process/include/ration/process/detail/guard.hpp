// SPDX-License-Identifier: BSL-1.0
/// The guard: a process that outlives the controller and continues all jobs that the controller had
/// stopped. After SIGKILL of a controller no job stays stopped, and no code in the killed process
/// could ensure that.
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

#include <ration/process/child.hpp>
#include <ration/process/descriptor.hpp>
#include <ration/process/proc.hpp>
#include <ration/result.hpp>

namespace ration::process {

namespace detail {

/// A message to the guard: a process or group can be stopped from now on (`watch`), or no longer.
struct guard_word {
    pid_t target = 0;              ///< as for kill(2): a process group if negative
    std::uint64_t start_time = 0;  ///< of a single process
    bool watch = true;
};

/// The guard's list. Of fixed size, since it is in a forked process in which another thread may
/// have held the lock of the allocator.
class guard_list {
    std::array<guard_word, 4096> words_;
    std::size_t size_ = 0;

public:
    /// Adds or removes an entry. A full list ignores new entries.
    void handle(guard_word const& word) noexcept {
        auto const end = words_.begin() + static_cast<std::ptrdiff_t>(size_);
        auto const at = std::find_if(words_.begin(), end, [&](guard_word const& w) {
            return w.target == word.target && w.start_time == word.start_time;
        });
        if (at == end && word.watch && size_ < words_.size())
            words_[size_++] = word;
        else if (at != end && !word.watch)
            *at = words_[--size_];
    }

    /// Sends SIGCONT to all entries.
    void continue_all() const noexcept {
        for (std::size_t i = 0; i < size_; ++i)
            if (words_[i].target < 0 || same_process(words_[i].target, words_[i].start_time))
                ::kill(words_[i].target, SIGCONT);
    }
};

/// The main function of the guard. Signals stay blocked: it must survive the Ctrl-C that ends the
/// controller.
[[noreturn]] inline void stand_guard(int channel) noexcept {
    ::setsid();
    ::prctl(PR_SET_NAME, "ration-guard", 0UL, 0UL, 0UL);
    if (::dup2(channel, STDIN_FILENO) < 0) ::_exit(1);
    ::syscall(SYS_close_range, STDIN_FILENO + 1U, ~0U, 0U);  // closes pipes and sockets of the controller
    guard_list list;
    for (guard_word word;;) {
        ssize_t const n = ::recv(STDIN_FILENO, &word, sizeof word, 0);
        if (n == static_cast<ssize_t>(sizeof word)) {
            list.handle(word);
            // End of file: the controller has ended, in any way.
        } else if (!(n < 0 && errno == EINTR)) {
            list.continue_all();
            ::_exit(0);
        }
    }
}

}  // namespace detail

/// The controller's handle of its guard. Move-only. When it is destroyed, or its process ends in
/// any way, the guard continues everything on its list.
class guard {
    child process_;
    descriptor channel_;

    guard() noexcept = default;

public:
    /// Starts the guard. Errors: those of socketpair(2) and fork(2).
    [[nodiscard]] static result<guard> start() noexcept {
        int ends[2];
        if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
            return system_error("start the guard", "controller", errno, "raise the limit on open files: ulimit -n");
        descriptor ours = above_standard(descriptor(ends[0]));
        descriptor const theirs = above_standard(descriptor(ends[1]));
        // No handler of the controller may run in the guard.
        sigset_t all, before;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before);
        pid_t const pid = ::fork();
        if (pid == 0) detail::stand_guard(theirs.get());
        int const system = errno;
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
        if (pid < 0) return system_error("start the guard", "controller", system, "too many processes: ulimit -u");
        guard out;
        out.process_ = child(pid, 0, detail::open_pidfd(pid), descriptor{});
        out.channel_ = std::move(ours);
        return out;
    }

    guard(guard&&) noexcept = default;
    guard& operator=(guard&&) = delete;
    /// Closes the channel, and waits for the guard to end.
    ~guard() noexcept {
        channel_.reset();
        if (process_.pidfd() >= 0) static_cast<void>(process_.wait_for(seconds(1)));
    }

    /// The guard's process.
    [[nodiscard]] pid_t pid() const noexcept { return process_.pid(); }

    /// The processes of the group can be stopped from now on.
    void watch_group(pid_t group) const noexcept { report({.target = -group, .start_time = 0, .watch = true}); }
    /// They are no longer stopped by this controller.
    void forget_group(pid_t group) const noexcept { report({.target = -group, .start_time = 0, .watch = false}); }
    /// The process can be stopped from now on.
    void watch_process(process_info const& p) const noexcept {
        report({.target = p.pid, .start_time = p.start_time, .watch = true});
    }

private:
    void report(detail::guard_word const& word) const noexcept {
        static_cast<void>(::send(channel_.get(), &word, sizeof word, MSG_NOSIGNAL));
    }
};

}  // namespace ration::process
