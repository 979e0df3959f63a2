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

/// A child process that the destructor kills and reaps. Move-only.
class worker_process {
    pid_t pid_ = -1;
    int end_ = 0;

    /// Makes file k the descriptor 3 + k. `copies` are numbered so high that placing one overwrites no other.
    [[nodiscard]] static bool place(posix_spawn_file_actions_t& actions, std::span<int const> files,
                                    std::span<descriptor const> copies) noexcept {
        bool placed = true;
        for (std::size_t i = 0; i < files.size(); ++i) {
            int const number = plugin_fd + static_cast<int>(i);
            placed &= (files[i] < 0 ? ::posix_spawn_file_actions_addclose(&actions, number)
                                    : ::posix_spawn_file_actions_adddup2(&actions, copies[i].get(), number)) == 0;
        }
        return placed;
    }

public:
    /// No process.
    worker_process() noexcept = default;
    /// Takes over the process.
    worker_process(worker_process&& other) noexcept : pid_(std::exchange(other.pid_, -1)), end_(other.end_) {}
    /// Exchanges the processes; that of the target ends with `other`.
    worker_process& operator=(worker_process&& other) noexcept {
        std::swap(pid_, other.pid_);
        std::swap(end_, other.end_);
        return *this;
    }
    /// Kills and reaps the process.
    ~worker_process() { kill(); }

    /// Starts the program. `files` become the descriptors 3, 4, ..., where a negative one stays closed; besides them
    /// the process gets an empty environment, and /dev/null as 0, 1 and 2. Error: io.
    [[nodiscard]] static result<worker_process> start(worker_program const& program,
                                                      std::span<int const> files) noexcept {
        std::vector<descriptor> out_of_the_way;
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
        ::posix_spawnattr_setpgroup(&attributes, 0);  // Ctrl-C goes to the host, which decides
        ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
        bool placed = true;
        for (int const fd : {0, 1, 2})
            placed &= ::posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0) == 0;
        placed &= place(actions, files, out_of_the_way);
        // Descriptors of the host without close-on-exec must not reach the plugin.
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

    /// The process; -1 after its end.
    [[nodiscard]] pid_t pid() const noexcept { return pid_; }

    /// Returns false once the process has ended; then `end` describes it.
    [[nodiscard]] bool alive() noexcept {
        if (pid_ <= 0) return false;
        pid_t const found = ::waitpid(pid_, &end_, WNOHANG);
        if (found == 0) return true;
        pid_ = -1;
        return false;
    }
    /// The end of the process, in words.
    [[nodiscard]] text<95> end() const noexcept { return describe_end(end_); }

    /// Kills the process and waits for its end. No effect if it has ended.
    void kill() noexcept {
        if (pid_ <= 0) return;
        ::kill(pid_, SIGKILL);
        while (::waitpid(pid_, &end_, 0) < 0 && errno == EINTR) {
        }
        pid_ = -1;
    }
};

}  // namespace ration::plugin
