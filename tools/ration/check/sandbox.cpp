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
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include <ration/plugin/host/descriptor.hpp>

#include "guarded.hpp"
#include "process_namespace.hpp"
#include "record.hpp"
#include "stack.hpp"
#include "surroundings.hpp"

namespace ration::conformance {
namespace {

using plugin::descriptor;

constexpr std::size_t shown_output = 2000;
// A policy that wants too much meets the probe on stacks, not this.
constexpr std::size_t stack_of_a_probe = std::size_t{96} << 20;
constexpr std::int64_t most_threads = 256;

probe_record* record = nullptr;  // of the probe's process

struct assignment {
    std::function<void()> const& body;
    deadline const& until;
    rights_filter const& give_up_rights;
};

[[noreturn]] void give_up(char const* what) {
    throw std::system_error(errno, std::generic_category(), fmt::format("cannot start a probe: {}", what));
}

/// A random number, hidden from the plugin, so that only the end of the probe can write it.
[[nodiscard]] std::string fresh_token() {
    std::random_device random;
    return fmt::format("{:08x}{:08x}", random(), random());
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

/// The kernel takes this process first when memory runs out.
void offer_to_die_first() {
    descriptor const score(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
    static_cast<void>(!::write(score.get(), "1000", 4));
}

/// As in a worker: what the program inherited or set is not for plugins.
void reset_signals() {
    for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void be_the_probe(assignment const& mine, pid_t supervisor, std::string const& token,
                               descriptor const& output) {
    die_with(supervisor);
    ::setsid();  // it has no terminal
    reset_signals();
    offer_to_die_first();
    rlimit const no_core{0, 0}, output_limit{most_output, most_output};
    ::setrlimit(RLIMIT_CORE, &no_core);
    ::setrlimit(RLIMIT_FSIZE, &output_limit);
    ::dup2(output.get(), STDOUT_FILENO);
    ::dup2(output.get(), STDERR_FILENO);
    explain_faults();
    auto const why_not = mine.give_up_rights ? mine.give_up_rights() : std::string();
    record->finish(why_not.empty() ? run_here(mine.body) : finding{verdict::failed, why_not, {}}, token);
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

[[nodiscard]] bool is_stopped(pid_t child) {
    siginfo_t state{};
    return ::waitid(P_PID, static_cast<id_t>(child), &state, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
           state.si_pid == child;
}

enum class outcome : std::uint8_t { ended, late, stopped, crowded };

/// Waits until the child ends, or must be ended.
[[nodiscard]] outcome await(pid_t child, deadline const& until) {
    descriptor const ended(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
    if (!ended) give_up("pidfd_open");
    double const last = now() + until.wall_seconds;
    for (;;) {
        pollfd watched{ended.get(), POLLIN, 0};
        if (::poll(&watched, 1, 50) > 0) return outcome::ended;
        if (is_stopped(child)) return outcome::stopped;
        if (threads_of(std::to_string(child)) > most_threads) return outcome::crowded;
        if (cpu_seconds_of(child) > until.cpu_seconds || now() > last) return outcome::late;
    }
}

[[nodiscard]] std::string end_of(descriptor const& output) {
    auto const size = ::lseek(output.get(), 0, SEEK_END);
    std::string text(shown_output, '\0');
    auto const from = size > static_cast<off_t>(text.size()) ? size - static_cast<off_t>(text.size()) : 0;
    auto const n = ::pread(output.get(), text.data(), text.size(), from);
    text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return text;
}

/// How a process ended that did not finish its probe, as words.
[[nodiscard]] std::string ending(int status) {
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
        return "killed by SIGSYS (Bad system call): it made a system call that the sandbox of a worker refuses";
    if (WIFSIGNALED(status)) {
        auto const* const name = ::sigabbrev_np(WTERMSIG(status));
        return fmt::format("killed by SIG{} ({})", name != nullptr ? name : "?", ::strsignal(WTERMSIG(status)));
    }
    return fmt::format("the process ended with status {} before the probe was through: the plugin must not call exit",
                       WEXITSTATUS(status));
}

[[nodiscard]] finding classify(outcome how, int status, probe_record const& left, std::string const& token) {
    auto const note = left.note().empty() ? "" : ": " + left.note();
    auto found = left.result(token);
    switch (how) {
        case outcome::stopped: return {verdict::crashed, "it stopped its process, which was killed" + note, {}};
        case outcome::crowded:
            return {verdict::failed,
                    fmt::format("it started more than {} threads and was killed{}", most_threads, note),
                    {}};
        case outcome::late:
            if (!found)
                return {verdict::timed_out, "it did not come back before the deadline and was killed" + note, {}};
            return {verdict::timed_out, "the probe was through, but its process did not end and was killed" + note, {}};
        case outcome::ended: break;
    }
    return found ? *found : finding{verdict::crashed, ending(status) + note, {}};
}

[[nodiscard]] int wait_for(pid_t child) {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

[[nodiscard]] finding supervise(assignment const& mine) {
    descriptor const output(::memfd_create("ration-check", MFD_CLOEXEC));
    if (!output) give_up("memfd_create");
    auto const token = fresh_token();
    record = &probe_record::make();
    process_namespace const around;
    auto const supervisor = ::getpid();
    pid_t const child = ::fork();
    if (child < 0) give_up("fork");
    if (child == 0) be_the_probe(mine, supervisor, token, output);
    auto const how = await(child, mine.until);
    ::kill(-child, SIGKILL);  // before it is reaped: until then no other process can have its number
    ::kill(child, SIGKILL);
    auto found = classify(how, wait_for(child), *record, token);
    found.output = end_of(output);
    return found;
}

/// The pipe carries a mark, the sentence, a zero byte and the output. This mark is an error of ours, not a verdict.
constexpr char mark_of_error = 'X';

[[noreturn]] void be_the_supervisor(assignment const& mine, pid_t program, descriptor const& pipe) {
    die_with(program);
    ::setpgid(0, 0);  // an interrupt from the keyboard is the program's to handle
    std::string message;
    try {
        auto const found = supervise(mine);
        message = static_cast<char>('0' + static_cast<int>(found.is)) + found.why + '\0' + found.output;
    } catch (std::exception const& e) {
        message = mark_of_error + std::string(e.what()) + '\0';
    }
    for (std::string_view rest = message; !rest.empty();) {
        auto const n = ::write(pipe.get(), rest.data(), rest.size());
        if (n <= 0) break;
        rest.remove_prefix(static_cast<std::size_t>(n));
    }
    ::_exit(0);
}

[[nodiscard]] std::string read_all(descriptor const& pipe) {
    std::string all;
    char bytes[4096];
    for (ssize_t n = 0; (n = ::read(pipe.get(), bytes, sizeof bytes)) > 0 || (n < 0 && errno == EINTR);)
        if (n > 0) all.append(bytes, static_cast<std::size_t>(n));
    return all;
}

[[nodiscard]] finding decode(std::string const& message) {
    auto const end = message.find('\0');
    if (end == message.npos) throw std::runtime_error("the supervisor of a probe was killed: run the check again");
    auto why = message.substr(1, end - 1);
    if (message.front() == mark_of_error) throw std::runtime_error(why);
    return {static_cast<verdict>(message.front() - '0'), std::move(why), message.substr(end + 1)};
}

}  // namespace

finding run_isolated(std::function<void()> const& body, deadline const& until, rights_filter const& give_up_rights) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) give_up("pipe");
    descriptor const reading(ends[0]);
    descriptor writing(ends[1]);
    std::fflush(nullptr);
    auto const program = ::getpid();
    pid_t const supervisor = ::fork();
    if (supervisor < 0) give_up("fork");
    if (supervisor == 0) be_the_supervisor({body, until, give_up_rights}, program, writing);
    writing.reset();
    auto const message = read_all(reading);
    static_cast<void>(wait_for(supervisor));
    return decode(message);
}

void leave_note(char const* text, std::size_t size) noexcept {
    if (record != nullptr) record->add_note({text, size});
}

}  // namespace ration::conformance
