// SPDX-License-Identifier: BSL-1.0
/// One worker process as its host sees it: started with its files in place, asked, waited for, ended.
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
    std::string path;
    std::vector<std::string> arguments{};
};

/// How a process ended, in words.
[[nodiscard]] inline text<95> describe_end(int wait_status) noexcept {
    if (WIFEXITED(wait_status))
        return text<95>("ended by itself with exit code ").append(std::to_string(WEXITSTATUS(wait_status)));
    int const signal = WTERMSIG(wait_status);
    if (signal == SIGSYS) return "was ended by the sandbox: it tried what a policy has no use for";
    char const* const name = ::sigabbrev_np(signal);
    return text<95>("was killed by signal SIG").append(name == nullptr ? std::to_string(signal) : name);
}

/// Killed and reaped by the destructor.
class worker_process {
    pid_t pid_ = -1;
    int end_ = 0;

    [[nodiscard]] static bool place(posix_spawn_file_actions_t& actions, int from, int to) noexcept {
        return ::posix_spawn_file_actions_adddup2(&actions, from, to) == 0;
    }

public:
    worker_process() noexcept = default;
    worker_process(worker_process&& other) noexcept : pid_(std::exchange(other.pid_, -1)), end_(other.end_) {}
    worker_process& operator=(worker_process&& other) noexcept {
        std::swap(pid_, other.pid_);
        std::swap(end_, other.end_);
        return *this;
    }
    ~worker_process() { kill(); }

    /// `files` become the descriptors 3, 4, ...; nothing else is passed on but an empty environment and /dev/null.
    [[nodiscard]] static result<worker_process> start(worker_program const& program,
                                                      std::span<int const> files) noexcept {
        std::vector<descriptor> out_of_the_way;  // so that placing one never overwrites another
        for (int const fd : files) out_of_the_way.emplace_back(::fcntl(fd, F_DUPFD_CLOEXEC, 64));
        posix_spawn_file_actions_t actions;
        posix_spawnattr_t attributes;
        ::posix_spawn_file_actions_init(&actions);
        ::posix_spawnattr_init(&attributes);
        sigset_t none, all;
        ::sigemptyset(&none);
        ::sigfillset(&all);
        ::posix_spawnattr_setsigmask(&attributes, &none);
        ::posix_spawnattr_setsigdefault(&attributes, &all);
        ::posix_spawnattr_setpgroup(&attributes, 0);  // an interrupt from the keyboard is the host's to handle
        ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
        bool placed = true;
        for (int const fd : {0, 1, 2})
            placed &= ::posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0) == 0;
        for (std::size_t i = 0; i < out_of_the_way.size(); ++i)
            placed &= place(actions, out_of_the_way[i].get(), plugin_fd + static_cast<int>(i));
        placed &= ::posix_spawn_file_actions_addclosefrom_np(&actions, plugin_fd + static_cast<int>(files.size())) == 0;
        std::vector<char*> arguments{const_cast<char*>(program.path.c_str())};
        for (auto const& argument : program.arguments) arguments.push_back(const_cast<char*>(argument.c_str()));
        arguments.push_back(nullptr);
        char* environment[] = {nullptr};
        worker_process started;
        int const failed = placed ? ::posix_spawn(&started.pid_, program.path.c_str(), &actions, &attributes,
                                                  arguments.data(), environment)
                                  : EMFILE;
        ::posix_spawn_file_actions_destroy(&actions);
        ::posix_spawnattr_destroy(&attributes);
        if (failed == 0) return started;
        started.pid_ = -1;
        return error{.code = errc::io,
                     .operation = "start the worker",
                     .subject = std::string_view(program.path),
                     .system = failed,
                     .remedy = "name a program that calls ration::plugin::worker_main, such as `ration worker`"};
    }

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }

    /// False once it has ended; then `end` says how.
    [[nodiscard]] bool alive() noexcept {
        if (pid_ <= 0) return false;
        pid_t const found = ::waitpid(pid_, &end_, WNOHANG);
        if (found == 0) return true;
        pid_ = -1;
        return false;
    }
    [[nodiscard]] text<95> end() const noexcept { return describe_end(end_); }

    void kill() noexcept {
        if (pid_ <= 0) return;
        ::kill(pid_, SIGKILL);
        while (::waitpid(pid_, &end_, 0) < 0 && errno == EINTR) {
        }
        pid_ = -1;
    }
};

}  // namespace ration::plugin
