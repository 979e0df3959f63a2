// SPDX-License-Identifier: BSL-1.0
#include "sandbox.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <random>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include "guarded.hpp"
#include "stack.hpp"

namespace ration::conformance {
namespace {

constexpr std::size_t longest_sentence = 3000;  // a message stays below PIPE_BUF, so it arrives whole
constexpr std::size_t shown_output = 2000;
constexpr std::size_t stack_of_a_probe = std::size_t{96}
                                         << 20;  // a policy that wants too much meets the probe on stacks, not this
constexpr rlim_t most_output = rlim_t{16} << 20;

int notes = -1;  // of the child: the writing end of its pipe

/// A file descriptor that closes itself.
class descriptor {
    int fd_;

public:
    explicit descriptor(int fd) noexcept : fd_(fd) {}
    descriptor(descriptor const&) = delete;
    descriptor& operator=(descriptor const&) = delete;
    ~descriptor() { close(); }
    void close() noexcept {
        if (fd_ >= 0) ::close(fd_);
        fd_ = -1;
    }
    [[nodiscard]] int get() const noexcept { return fd_; }
};

[[noreturn]] void give_up(char const* what) {
    throw std::system_error(errno, std::generic_category(), fmt::format("cannot start a probe: {}", what));
}

/// A number that the plugin does not know, so that only the probe's own end can send it.
[[nodiscard]] std::string fresh_token() {
    std::random_device dice;
    return fmt::format("{:08x}{:08x}", dice(), dice());
}

[[nodiscard]] finding run_here(std::function<void()> const& body) {
    finding found;
    run_on_stack(stack_of_a_probe, [&] {
        try {
            body();
        } catch (broken_rule const& rule) {
            found = {verdict::failed, rule.sentence};
        } catch (not_applicable const& why) {
            found = {verdict::skipped, why.reason};
        } catch (std::exception const& e) {
            found = {verdict::failed, fmt::format("the probe itself ended with an error: {}", e.what())};
        }
    });
    return found;
}

void send(finding const& found, std::string const& token) {
    std::string const message =
        "E" + token + static_cast<char>('0' + static_cast<int>(found.is)) + found.why.substr(0, longest_sentence);
    static_cast<void>(!::write(notes, message.data(), message.size()));
}

[[noreturn]] void be_the_child(std::function<void()> const& body, std::string const& token, int pipe, int output) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    rlimit const no_core{0, 0}, output_limit{most_output, most_output};
    ::setrlimit(RLIMIT_CORE, &no_core);
    ::setrlimit(RLIMIT_FSIZE, &output_limit);
    notes = ::fcntl(pipe, F_DUPFD_CLOEXEC, 200);  // out of the way of what a plugin closes
    ::close(pipe);
    ::dup2(output, STDOUT_FILENO);
    ::dup2(output, STDERR_FILENO);
    explain_faults();
    send(run_here(body), token);
    ::_exit(0);
}

[[nodiscard]] double cpu_seconds_of(pid_t child) {
    clockid_t clock;
    timespec spent{};
    if (::clock_getcpuclockid(child, &clock) != 0 || ::clock_gettime(clock, &spent) != 0) return 0;
    return static_cast<double>(spent.tv_sec) + static_cast<double>(spent.tv_nsec) * 1e-9;
}

[[nodiscard]] double now() {
    timespec t{};
    ::clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

void drain(int pipe, std::string& said) {
    char bytes[4096];
    for (ssize_t n = 0; (n = ::read(pipe, bytes, sizeof bytes)) > 0;) said.append(bytes, static_cast<std::size_t>(n));
}

/// Waits for the end of the child; false when the deadline came first.
[[nodiscard]] bool await(pid_t child, int pipe, deadline const& until, std::string& said) {
    descriptor const ended(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
    if (ended.get() < 0) give_up("pidfd_open");
    double const last = now() + until.wall_seconds;
    for (;;) {
        pollfd watched{ended.get(), POLLIN, 0};
        bool const over = ::poll(&watched, 1, 50) > 0;
        drain(pipe, said);
        if (over) return true;
        if (cpu_seconds_of(child) > until.cpu_seconds || now() > last) return false;
    }
}

[[nodiscard]] std::string end_of(int output) {
    auto const size = ::lseek(output, 0, SEEK_END);
    std::string text(shown_output, '\0');
    auto const from = size > static_cast<off_t>(text.size()) ? size - static_cast<off_t>(text.size()) : 0;
    auto const n = ::pread(output, text.data(), text.size(), from);
    text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return text;
}

/// How the child ended without its token, as words.
[[nodiscard]] std::string ending(int status) {
    if (WIFSIGNALED(status)) {
        auto const* const name = ::sigabbrev_np(WTERMSIG(status));
        return fmt::format("killed by SIG{} ({})", name != nullptr ? name : "?", ::strsignal(WTERMSIG(status)));
    }
    return fmt::format("the process ended with status {} before the probe was through: the plugin must not call exit",
                       WEXITSTATUS(status));
}

[[nodiscard]] finding judge_end(std::string const& said, std::string const& token, int status, bool in_time) {
    if (auto const at = said.find("E" + token); at != std::string::npos && at + 1 + token.size() < said.size())
        return {static_cast<verdict>(said[at + 1 + token.size()] - '0'), said.substr(at + 2 + token.size())};
    if (!in_time) return {verdict::timed_out, "it did not come back before the deadline and was killed"};
    return {verdict::crashed, ending(status) + (said.empty() ? "" : ": " + said.substr(0, longest_sentence))};
}

}  // namespace

finding run_isolated(std::function<void()> const& body, deadline const& until) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) give_up("pipe");
    descriptor const reading(ends[0]);
    descriptor writing(ends[1]);
    descriptor const output(::memfd_create("ration-check", MFD_CLOEXEC));
    if (output.get() < 0) give_up("memfd_create");
    ::fcntl(reading.get(), F_SETFL, O_NONBLOCK);
    auto const token = fresh_token();
    std::fflush(nullptr);
    pid_t const child = ::fork();
    if (child < 0) give_up("fork");
    if (child == 0) be_the_child(body, token, writing.get(), output.get());
    ::setpgid(child, child);
    writing.close();
    std::string said;
    bool const in_time = await(child, reading.get(), until, said);
    ::kill(-child, SIGKILL);  // before it is reaped: until then nobody else can have its number
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    drain(reading.get(), said);
    auto found = judge_end(said, token, status, in_time);
    found.output = end_of(output.get());
    return found;
}

void leave_note(char const* text, std::size_t size) noexcept { static_cast<void>(!::write(notes, text, size)); }

}  // namespace ration::conformance
