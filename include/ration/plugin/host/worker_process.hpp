// SPDX-License-Identifier: BSL-1.0
/// One worker process: start, state, end.
#pragma once

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <span>
#include <spawn.h>
#include <string>
#include <string_view>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <ration/plugin/host/descriptor.hpp>
#include <ration/plugin/host/worker_layout.hpp>
#include <ration/result.hpp>
#include <ration/text.hpp>

namespace ration::plugin {

/// The program that calls `worker_main`, and its arguments.
struct worker_program {
    /// Its path; the search path is not used.
    std::string path;
    /// Arguments behind the name of the program.
    std::vector<std::string> arguments{};
};

/// The end of a process, in words.
[[nodiscard]] inline text<95> describe_end(int wait_status) noexcept {
    if (WIFEXITED(wait_status))
        return text<95>("ended by itself with exit code ").append(std::to_string(WEXITSTATUS(wait_status)));
    int const signal = WTERMSIG(wait_status);
    if (signal == SIGSYS) return "was ended by the sandbox: it tried what a policy has no use for";
    char const* const name = ::sigabbrev_np(signal);
    return text<95>("was killed by signal SIG").append(name == nullptr ? std::to_string(signal) : name);
}

namespace detail {

/// The files and attributes of a process that is about to start.
class spawn_plan {
    posix_spawn_file_actions_t actions_;
    posix_spawnattr_t attributes_;
    bool placed_ = true;

public:
    /// No signal is blocked or handled, and the process has a group for itself: Ctrl-C goes to the host, which decides.
    spawn_plan() noexcept {
        ::posix_spawn_file_actions_init(&actions_);
        ::posix_spawnattr_init(&attributes_);
        sigset_t none, all;
        ::sigemptyset(&none);
        ::sigfillset(&all);
        ::posix_spawnattr_setsigmask(&attributes_, &none);
        ::posix_spawnattr_setsigdefault(&attributes_, &all);
        ::posix_spawnattr_setpgroup(&attributes_, 0);
        ::posix_spawnattr_setflags(&attributes_,
                                   POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    }
    spawn_plan(spawn_plan const&) = delete;
    spawn_plan& operator=(spawn_plan const&) = delete;
    ~spawn_plan() {
        ::posix_spawn_file_actions_destroy(&actions_);
        ::posix_spawnattr_destroy(&attributes_);
    }

    /// Starts the program with /dev/null as 0, 1 and 2, and `files` as 3, 4, ..., where a negative one stays closed.
    /// No other file of this process reaches it, and no variable. Returns an error number, or 0.
    [[nodiscard]] int start(worker_program const& program, std::span<int const> files, pid_t& pid) noexcept {
        std::vector<descriptor> copies;  // numbered from 64 on: placing one file never overwrites another
        for (int const fd : files) copies.emplace_back(::fcntl(fd, F_DUPFD_CLOEXEC, 64));
        for (int const fd : {0, 1, 2}) done(::posix_spawn_file_actions_addopen(&actions_, fd, "/dev/null", O_RDWR, 0));
        for (std::size_t i = 0; i < files.size(); ++i) {
            int const number = host_fd + static_cast<int>(i);
            done(files[i] < 0 ? ::posix_spawn_file_actions_addclose(&actions_, number)
                              : ::posix_spawn_file_actions_adddup2(&actions_, copies[i].get(), number));
        }
        // Descriptors of the host without close-on-exec must not reach the plugin.
        done(::posix_spawn_file_actions_addclosefrom_np(&actions_, host_fd + static_cast<int>(files.size())));
        if (!placed_) return EMFILE;
        std::vector<char*> arguments{const_cast<char*>(program.path.c_str())};
        for (auto const& argument : program.arguments) arguments.push_back(const_cast<char*>(argument.c_str()));
        arguments.push_back(nullptr);
        char* environment[] = {nullptr};
        return ::posix_spawn(&pid, program.path.c_str(), &actions_, &attributes_, arguments.data(), environment);
    }

private:
    void done(int failed) noexcept { placed_ &= failed == 0; }
};

}  // namespace detail

/// A child process that the destructor kills and reaps. It ends with the process that has started it, and not with the
/// thread. Move-only.
class worker_process {
    pid_t pid_ = -1, host_ = -1;
    descriptor handle_, life_;  // a pidfd, and the end of a pipe that closes with this process
    std::optional<int> end_;    // none: another thread has reaped it

public:
    /// No process.
    worker_process() noexcept = default;
    /// Takes over the process.
    worker_process(worker_process&& other) noexcept
        : pid_(std::exchange(other.pid_, -1)), host_(other.host_), handle_(std::move(other.handle_)),
          life_(std::move(other.life_)), end_(other.end_) {}
    /// Exchanges the processes; that of the target ends with `other`.
    worker_process& operator=(worker_process&& other) noexcept {
        std::swap(pid_, other.pid_);
        std::swap(host_, other.host_);
        std::swap(handle_, other.handle_);
        std::swap(life_, other.life_);
        std::swap(end_, other.end_);
        return *this;
    }
    /// Kills and reaps the process.
    ~worker_process() { kill(); }

    /// Starts the program. Its descriptor 3 is the end of a pipe that closes with this process; `files` are 4, 5, ...,
    /// where a negative one stays closed. Error: io.
    [[nodiscard]] static result<worker_process> start(worker_program const& program,
                                                      std::span<int const> files) noexcept {
        worker_process started;
        int ends[2] = {-1, -1};
        int failed = ::pipe2(ends, O_CLOEXEC) == 0 ? 0 : errno;
        descriptor const of_worker(ends[0]);
        started.life_ = descriptor(ends[1]);
        std::vector<int> all{of_worker.get()};
        all.insert(all.end(), files.begin(), files.end());
        if (failed == 0) failed = detail::spawn_plan().start(program, all, started.pid_);
        if (failed != 0) {
            started.pid_ = -1;
            bool const is_shortage = failed == EAGAIN || failed == ENOMEM || failed == EMFILE || failed == ENFILE;
            return error{.code = errc::io,
                         .operation = "start the worker",
                         .subject = std::string_view(program.path),
                         .system = failed,
                         .remedy = is_shortage ? "free processes, memory or open files: see ulimit -a"
                                               : "name a program that calls ration::plugin::worker_main"};
        }
        started.host_ = ::getpid();
        started.handle_ = descriptor(static_cast<int>(::syscall(SYS_pidfd_open, started.pid_, 0)));
        return started;
    }

    /// The process; -1 after its end.
    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    /// False in a child that was forked after the start: the worker belongs to the parent.
    [[nodiscard]] bool is_ours() const noexcept { return pid_ <= 0 || host_ == ::getpid(); }

    /// Returns false once the process has ended; then `end` describes it. Precondition: `is_ours`.
    [[nodiscard]] bool alive() noexcept {
        if (pid_ <= 0) return false;
        int status = 0;
        pid_t const found = ::waitpid(pid_, &status, WNOHANG);
        if (found == 0) return true;
        forget(found, status);
        return false;
    }
    /// The end of the process, in words.
    [[nodiscard]] text<95> end() const noexcept {
        return end_ ? describe_end(*end_)
                    : text<95>("has ended, and another thread of this process took its exit code");
    }

    /// Kills the process and waits for its end. No effect if it has ended, and in a forked child.
    void kill() noexcept {
        if (pid_ <= 0 || !is_ours()) return;
        // By its pidfd: if another thread reaps all children, the number may be that of another process
        if (handle_)
            ::syscall(SYS_pidfd_send_signal, handle_.get(), SIGKILL, nullptr, 0);
        else
            ::kill(pid_, SIGKILL);
        int status = 0;
        pid_t found = -1;
        while ((found = ::waitpid(pid_, &status, 0)) < 0 && errno == EINTR) {
        }
        forget(found, status);
    }

private:
    void forget(pid_t reaped, int status) noexcept {
        end_ = reaped > 0 ? std::optional(status) : std::nullopt;
        pid_ = -1;
    }
};

}  // namespace ration::plugin
