// SPDX-License-Identifier: BSL-1.0
// Real processes for tests: shell scripts, folders that clean up after themselves, patience with a limit.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <poll.h>
#include <sstream>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <ration/process/launch.hpp>

#include "support/catch.hpp"

namespace process_test {

namespace process = ration::process;
using ration::errc;
using ration::milliseconds;
using ration::nanoseconds;
using ration::seconds;

/// How long a test waits before it gives up: a failure and not a measurement, so it may be long.
inline constexpr nanoseconds patience = seconds(30);

/// A separate folder, removed with the test.
class folder {
    std::string path_;

public:
    folder() {
        char name[] = "/tmp/ration-process-XXXXXX";
        path_ = ::mkdtemp(name);
        std::filesystem::permissions(path_, std::filesystem::perms::all);  // another user may have to write here
    }
    folder(folder const&) = delete;
    folder& operator=(folder const&) = delete;
    ~folder() { std::filesystem::remove_all(path_); }

    [[nodiscard]] std::string const& path() const { return path_; }
    [[nodiscard]] std::string operator/(std::string_view name) const { return path_ + '/' + std::string(name); }

    [[nodiscard]] std::string write(std::string_view name, std::string_view content, int mode = 0644) const {
        std::string const path = *this / name;
        std::ofstream(path) << content;
        ::chmod(path.c_str(), static_cast<mode_t>(mode));
        return path;
    }
};

[[nodiscard]] inline std::string content_of(std::string const& path) {
    std::ifstream file(path);
    std::ostringstream out;
    out << file.rdbuf();
    return out.str();
}

/// Asks again until it is true, or patience is at its end.
template <class Question>
[[nodiscard]] bool eventually(Question&& question) {
    for (nanoseconds const last = process::now() + patience; process::now() < last; ::usleep(2000))
        if (question()) return true;
    return false;
}

[[nodiscard]] inline process::launch_spec shell(std::string const& script) {
    return {.command = {"/bin/sh", "-c", script}, .environment = {"PATH=/usr/bin:/bin"}};
}

/// A job that does not outlive its test, not even when that fails in the middle.
class test_job : public process::child {
public:
    explicit test_job(process::child started) noexcept : process::child(std::move(started)) {}
    test_job(test_job&&) noexcept = default;
    ~test_job() {
        if (pidfd() >= 0 && !ended()) {
            static_cast<void>(signal_group(SIGKILL));
            static_cast<void>(wait_for(seconds(1)));
        }
    }
};

[[nodiscard]] inline test_job start(process::launch_spec const& spec) {
    auto started = process::launch(spec);
    if (!started) {
        FAIL(started.failure().operation << ": " << started.failure().subject.c_str() << ", errno "
                                         << started.failure().system);
    }
    return test_job(std::move(started).value());
}

/// Everything that is written to the output until no process can write any more.
[[nodiscard]] inline std::string output_of(process::child& job) {
    std::string out;
    for (;;) {
        pollfd wanted{.fd = job.output_fd(), .events = POLLIN, .revents = 0};
        char buffer[4096];
        if (::poll(&wanted, 1, static_cast<int>(patience.count / 1'000'000)) != 1) FAIL("no end of the output");
        ssize_t const n = ::read(job.output_fd(), buffer, sizeof buffer);
        if (n <= 0) return out;
        out.append(buffer, static_cast<std::size_t>(n));
    }
}

/// Waits for the end, and returns how the job ended.
inline process::exit_report finish(process::child& job) {
    auto const report = job.wait_for(patience);
    REQUIRE(report);
    return *report;
}

[[nodiscard]] inline std::size_t open_descriptors() {
    std::size_t n = 0;
    for ([[maybe_unused]] auto const& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++n;
    return n;
}

/// Children of this process that it has not waited for, dead or alive.
[[nodiscard]] inline std::size_t children() {
    process::process_table table;
    REQUIRE(table.scan());
    return static_cast<std::size_t>(
        std::ranges::count(table.rows(), ::getpid(), [](process::process_info const& row) { return row.parent; }));
}

/// Runs `body` in a separate process, so that it may give up privileges or die; 0 is success.
template <class Body>
[[nodiscard]] int in_another_process(Body&& body) {
    pid_t const pid = ::fork();
    if (pid == 0) ::_exit(body());
    int status = 0;
    ::waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Reads the pid that a script wrote into a file.
[[nodiscard]] inline pid_t pid_in(std::string const& path) {
    REQUIRE(eventually([&] { return content_of(path).ends_with('\n'); }));
    return static_cast<pid_t>(std::stol(content_of(path)));
}

[[nodiscard]] inline char state_of(pid_t pid) {
    auto const row = process::read_process(pid);
    return row ? row->state : '-';
}

[[nodiscard]] inline bool dead(pid_t pid) {
    char const state = state_of(pid);
    return state == '-' || state == 'Z' || state == 'X';
}

}  // namespace process_test
