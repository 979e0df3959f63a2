// SPDX-License-Identifier: BSL-1.0
#include "serve/exit_recorder.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include <ration/process/input_file.hpp>

#include "serve/definition.hpp"
#include "serve/output_rotation.hpp"

namespace ration::program {
namespace {

constexpr int no_start = 127;  // as of a shell
constexpr std::size_t longest_end = 64;

/// Of processes, memory or files, which is not a failure of the job.
[[nodiscard]] bool is_shortage(int system) noexcept {
    return system == EAGAIN || system == ENOMEM || system == EMFILE || system == ENFILE;
}

void wait_for_machine(char const* what) {
    static bool reported = false;
    if (!std::exchange(reported, true))
        std::fprintf(stderr, "ration: %s cannot be started now: %s; it is tried again each second\n", what,
                     std::strerror(errno));
    ::sleep(1);
}

[[nodiscard]] pid_t fork_patiently() {
    pid_t child = ::fork();
    for (; child < 0 && is_shortage(errno); child = ::fork()) wait_for_machine("the process of the job");
    return child;
}

[[noreturn]] void start(char** words, char const* checkpoint, sigset_t const& signals) {
    ::mkdir(checkpoint, 0700);  // it may exist; a job that needs it reports what is wrong
    ::setenv("RATION_CHECKPOINT", checkpoint, 1);
    if (std::string_view(words[0]).starts_with(array_index) && words[1] != nullptr) ::putenv(*words++);
    ::sigprocmask(SIG_SETMASK, &signals, nullptr);
    ::execvp(words[0], words);
    while (is_shortage(errno)) {
        wait_for_machine("its program");
        ::execvp(words[0], words);
    }
    std::fprintf(stderr, "ration: %s: it cannot be started: %s; check the command and PATH\n", words[0],
                 std::strerror(errno));
    ::_exit(no_start);
}

void write_end(std::string const& path, std::string_view text) {
    auto const made = path + ".new";
    ::unlink(made.c_str());  // the job may have put anything there, as a pipe without a reader
    process::descriptor const file(::open(made.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    bool const written = file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                         ::fsync(file.get()) == 0 && ::rename(made.c_str(), path.c_str()) == 0;
    if (!written)
        std::fprintf(stderr, "ration: %s: the end of the job cannot be noted: %s; free space on its disk\n",
                     path.c_str(), std::strerror(errno));
}

/// Waits for the program, and looks after its output once a second. Pre: SIGCHLD is blocked.
[[nodiscard]] int wait_for(pid_t program, std::string const& log) {
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    timespec const interval{.tv_sec = 1, .tv_nsec = 0};
    for (int how = 0;;) {
        pid_t const ended = ::waitpid(program, &how, WNOHANG);
        if (ended == program) return how;
        if (ended < 0 && errno != EINTR) return 0;
        ::sigtimedwait(&child, nullptr, &interval);
        rotate_output(STDOUT_FILENO, log, largest_output);
    }
}

/// Ends this process by the signal, without a second core file.
[[nodiscard]] int end_by(int number) {
    rlimit const none{};
    ::setrlimit(RLIMIT_CORE, &none);
    std::signal(number, SIG_DFL);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, number);
    ::sigprocmask(SIG_UNBLOCK, &only, nullptr);
    std::raise(number);
    return 128 + number;
}

}  // namespace

int record_exit(char** words) {
    std::string const end = words[0];
    char const* const checkpoint = words[1];
    std::string const log = words[2];
    ::unlink(end.c_str());  // of an earlier launch, with other devices
    sigset_t all, before;
    sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, &before);
    pid_t const program = fork_patiently();
    if (program == 0) start(words + 3, checkpoint, before);
    ::umask(077);  // that of the program is the job's
    if (program < 0) std::perror("ration: the program of the job cannot be started; raise the limit on processes");
    int const how = program < 0 ? no_start << 8 : wait_for(program, log);
    std::array<char, longest_end> text{};
    bool const killed = WIFSIGNALED(how);
    int const number = killed ? WTERMSIG(how) : WEXITSTATUS(how);
    std::snprintf(text.data(), text.size(), "%s %d\n", killed ? "killed" : "exited", number);
    write_end(end, text.data());
    return killed ? end_by(number) : number;
}

std::optional<process::exit_report> recorded_end(std::string const& path) {
    auto const text = process::read_input(path, {.most_bytes = longest_end});
    if (!text) return std::nullopt;
    std::array<char, 8> word{};
    int number = 0;
    if (std::sscanf(text->c_str(), "%7s %d", word.data(), &number) != 2) return std::nullopt;
    bool const killed = std::string_view(word.data()) == "killed";
    if (!killed && std::string_view(word.data()) != "exited") return std::nullopt;
    using kind = process::exit_report::kind;
    return process::exit_report{.how = killed ? kind::killed : kind::exited, .number = number};
}

}  // namespace ration::program
