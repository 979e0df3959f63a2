// SPDX-License-Identifier: BSL-1.0
/// Starts the process of a job: placed in its cgroup before its first instruction, in a new
/// session, without unintended inheritance. Sources: clone3 in clone(2), cgroups(7), execve(2),
/// signal-safety(7).
///
/// Example:
/// ~~~{.cpp}
/// auto started = ration::process::launch({.command = {"./train", "--seed", "1"}, .environment = environment});
/// if (!started) return started.failure();
/// poll(started->pidfd(), ...);
/// ~~~
#pragma once

#include <concepts>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <type_traits>
#include <utility>
#include <vector>

#include <ration/process/account.hpp>
#include <ration/process/child.hpp>
#include <ration/process/descriptor.hpp>
#include <ration/process/spawn.hpp>
#include <ration/result.hpp>

namespace ration::process {

/// A function of the parent that runs while the child waits before exec, for example to move it
/// into cgroups. Refers to a callable that has to outlive the launch; temporaries do not compile.
class place_hook {
    void const* object_ = nullptr;
    result<void> (*call_)(void const*, pid_t) = nullptr;

public:
    /// No function.
    constexpr place_hook() noexcept = default;
    /// Refers to `callable`, which returns `result<void>` for a pid.
    template <class F>
        requires(!std::same_as<std::remove_const_t<F>, place_hook> && std::is_invocable_r_v<result<void>, F&, pid_t>)
    constexpr place_hook(F& callable) noexcept
        : object_(std::addressof(callable)),
          call_([](void const* object, pid_t pid) { return (*static_cast<F*>(const_cast<void*>(object)))(pid); }) {}

    /// True if there is a function.
    [[nodiscard]] explicit operator bool() const noexcept { return call_ != nullptr; }
    /// Calls it.
    [[nodiscard]] result<void> operator()(pid_t pid) const noexcept { return call_(object_, pid); }
};

/// Settings of a launch.
struct launch_spec {
    /// Program and arguments. A program without '/' is searched in the PATH of `environment`.
    std::vector<std::string> command = {};
    /// Working directory of the job; relative programs are relative to it. Empty: that of the
    /// caller.
    std::string working_directory = {};
    /// The complete environment, as KEY=VALUE; nothing else is inherited.
    std::vector<std::string> environment = {};
    /// Standard output and error go to a pipe, whose other end is `child::output_fd()`; otherwise
    /// to those of the caller. A job that writes to a pipe ends with SIGPIPE soon after its
    /// controller; `output_file` avoids that.
    bool capture_output = true;
    /// Standard output and error are appended to this file; overrides `capture_output`. Empty: no
    /// file.
    std::string output_file = {};
    /// Standard output and error go to this open file; overrides `output_file`. -1: none.
    int output = -1;
    /// Open directory of the cgroup v2 group in which the child is created, or -1. If the kernel
    /// refuses, the child starts outside and `place` has to move it; without `place` that is an
    /// error.
    int clone_directory = -1;
    /// File open for appending: the child writes `journal_entry` there directly before exec. So a
    /// later controller sees that the program was started, even if this controller ends at once.
    /// -1: none. If the entry cannot be written, the launch fails.
    int journal = -1;
    /// The text for `journal`; written with one write(2).
    std::string journal_entry = {};
    /// The child's limits on open files; nullopt: those of the caller.
    std::optional<rlimit> open_files = std::nullopt;
    /// The user of the job, whose rights also decide on the program, the working directory and
    /// `output_file`; nullopt: that of the caller. Another one needs a caller that is root.
    std::optional<account> user = std::nullopt;
    /// The umask of the program; nullopt: that of the caller, or of the fork server.
    std::optional<mode_t> umask = std::nullopt;
    /// Called with the child's pid before exec. Its error ends the child, and is the result of
    /// `launch`.
    place_hook place = {};
};

namespace detail {

/// The PATH of the job.
[[nodiscard]] inline std::string path_of(launch_spec const& spec) noexcept {
    for (std::string const& entry : spec.environment)
        if (entry.starts_with("PATH=")) return entry.substr(5);
    return "/usr/local/bin:/usr/bin:/bin";
}

/// Tests whether a file can be executed; returns 0 or an errno.
[[nodiscard]] inline int program_problem(int directory, char const* path) noexcept {
    struct stat about{};
    if (::fstatat(directory, path, &about, 0) != 0) return errno;
    if (!S_ISREG(about.st_mode)) return EACCES;
    return ::faccessat(directory, path, X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

/// An error about the program, with a hint.
[[nodiscard]] inline error program_error(std::string_view program, int system) noexcept {
    char const* remedy = "check the spelling; a relative path is relative to the job's working directory";
    if (system == EACCES) {
        remedy =
            "it is there but may not be executed: chmod +x it, or name its interpreter first, as in python3 train.py";
    } else if (program.find('/') == std::string_view::npos) {
        remedy = "it is in no directory of the job's PATH: install it or give its full path";
    }
    return system_error("find the program", program, system, remedy);
}

/// The path of the program, searched as in execvp(3): a file that cannot be executed is skipped
/// while others remain.
[[nodiscard]] inline result<std::string> find_program(launch_spec const& spec, int directory) noexcept {
    std::string const& program = spec.command.front();
    if (program.find('/') != std::string::npos) {
        int const problem = program_problem(directory, program.c_str());
        return problem == 0 ? result<std::string>(program) : program_error(program, problem);
    }
    std::string const path = path_of(spec);
    int problem = ENOENT;
    for (std::size_t at = 0; at <= path.size();) {
        std::size_t const end = std::min(path.find(':', at), path.size());
        std::string const folder = end == at ? "." : path.substr(at, end - at);
        std::string candidate = folder + '/' + program;
        int const found = program_problem(directory, candidate.c_str());
        if (found == 0) return candidate;
        problem = found == EACCES ? EACCES : problem;
        at = end + 1;
    }
    return program_error(program, problem);
}

/// Validates command and environment before anything is created.
[[nodiscard]] inline result<void> check(launch_spec const& spec) noexcept {
    auto const refuse = [](char const* what, std::string_view subject, char const* remedy) {
        return error{.code = errc::invalid_value, .operation = what, .subject = subject, .remedy = remedy};
    };
    if (spec.command.empty() || spec.command.front().empty()) {
        return refuse("start", "command",
                      "give the program and its arguments, as in command = [\"./train\", \"--seed\", \"1\"]");
    }
    for (std::string const& word : spec.command)
        if (word.find('\0') != std::string::npos)
            return refuse("start", word.c_str(), "an argument cannot hold a zero byte");
    for (std::string const& entry : spec.environment)
        if (entry.find('=') == std::string::npos || entry.front() == '=' || entry.find('\0') != std::string::npos)
            return refuse("set environment", entry.c_str(), "write NAME=VALUE, without a zero byte");
    return {};
}

/// Opens the working directory, and checks that it can be entered.
[[nodiscard]] inline result<descriptor> open_working_directory(std::string const& path) noexcept {
    char const* const wanted = path.empty() ? "." : path.c_str();
    descriptor directory = above_standard(descriptor(::open(wanted, O_PATH | O_DIRECTORY | O_CLOEXEC)));
    if (!directory)
        return path_error("enter the working directory", wanted, errno, "create it, or correct working_directory");
    if (::faccessat(directory.get(), ".", X_OK, AT_EACCESS) != 0) {
        return system_error("enter the working directory", wanted, errno,
                            "give this user the right to search it: chmod u+x");
    }
    return directory;
}

/// The job's ends of its standard streams, and the read end of its output.
struct streams {
    descriptor input, output, reader;
};

/// Opens them.
[[nodiscard]] inline result<streams> open_streams(launch_spec const& spec) noexcept {
    streams out;
    out.input = above_standard(descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC)));
    if (!out.input) return system_error("open", "/dev/null", errno, "the job's standard input comes from there");
    if (spec.output >= 0) {
        out.output = above_standard(descriptor(::fcntl(spec.output, F_DUPFD_CLOEXEC, 3)));
        if (!out.output) return system_error("open", "output", errno, "raise the limit on open files: ulimit -n");
    } else if (!spec.output_file.empty()) {
        // A pipe without a reader fails instead of blocking
        int const flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
        out.output = above_standard(descriptor(::open(spec.output_file.c_str(), flags, 0644)));
        if (!out.output) return path_error("open the job's output file", spec.output_file, errno, "make its folder");
        ::fcntl(out.output.get(), F_SETFL, O_APPEND);
    } else if (spec.capture_output) {
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) != 0)
            return system_error("open a pipe", "output", errno, "raise the limit on open files: ulimit -n");
        out.reader = above_standard(descriptor(ends[0]));
        out.output = above_standard(descriptor(ends[1]));
        ::fcntl(out.reader.get(), F_SETFL, O_NONBLOCK);  // only this end: the job's end is another open file
    }
    // Until the last process that inherits the file has ended, so that also another PID namespace sees that one lives
    if (!out.reader && out.output) static_cast<void>(::flock(out.output.get(), LOCK_SH | LOCK_NB));
    return out;
}

/// The error that the child reported before exec.
[[nodiscard]] inline error exec_error(launch_spec const& spec, std::string const& program, spawn_word reply) noexcept {
    if (reply.stage == spawn_stage::directory) {
        return system_error("enter the working directory", spec.working_directory, reply.system,
                            "check its permissions");
    }
    if (reply.stage == spawn_stage::user)
        return system_error("start as another user", program, reply.system, "start ration as root of the machine");
    if (reply.stage == spawn_stage::journal) {
        return system_error("write down the start of", program, reply.system,
                            "free some space where the records of runs are");
    }
    if (reply.stage != spawn_stage::exec) return system_error("prepare the process", program, reply.system, "");
    char const* remedy = "";
    switch (reply.system) {
        case ENOENT:
            remedy = "the file is there, but what runs it is not: check its #! line, or its dynamic loader";
            break;
        case ENOEXEC:
            remedy = "not a program of this machine; a script must begin with a line such as #!/bin/sh";
            break;
        case EACCES:
            remedy =
                "not permitted to execute it: check it, its #! interpreter, and whether the disk is mounted noexec";
            break;
        case E2BIG: remedy = "arguments and environment are too long together; put them into a file"; break;
        case ETXTBSY: remedy = "another process is writing to the program file; wait until it is finished"; break;
        default: break;
    }
    return system_error("execute", program, reply.system, remedy);
}

/// Places and releases a child that waits at the gate, and checks that exec succeeded.
[[nodiscard]] inline result<child> send_off(launch_spec const& spec, std::string const& program, held_child held,
                                            descriptor reader) noexcept {
    auto const ready = held.await_gate();
    if (!ready) return ready.failure();
    if (ready->stage != spawn_stage::gate) return exec_error(spec, program, *ready);
    if (spec.clone_directory >= 0 && !held.in_group && !spec.place) {
        return error{
            .code = errc::not_supported,
            .operation = "start in the group",
            .subject = std::string_view(program),
            .remedy = "the kernel cannot start a process inside a group here, and nothing was given to move it"};
    }
    if (auto const placed = spec.place ? spec.place(held.pid()) : result<void>{}; !placed) return placed.failure();
    auto const reply = held.release();
    if (!reply) return reply.failure();
    if (reply->system != 0) return exec_error(spec, program, *reply);
    auto const row = read_process(held.pid());
    return child(held.pid(), row ? row->start_time : 0, held.take_pidfd(), std::move(reader));
}

/// The files of a launch, opened with the rights of its user.
struct launch_files {
    descriptor directory;
    std::string program;
    streams in_and_out;
};

/// Opens them.
[[nodiscard]] inline result<launch_files> open_files_of(launch_spec const& spec) noexcept {
    file_rights const rights(spec.user ? &*spec.user : nullptr);
    auto directory = open_working_directory(spec.working_directory);
    if (!directory) return directory.failure();
    auto program = find_program(spec, directory->get());
    if (!program) return program.failure();
    auto in_and_out = open_streams(spec);
    if (!in_and_out) return in_and_out.failure();
    return launch_files{std::move(directory).value(), std::move(program).value(), std::move(in_and_out).value()};
}

/// Starts the program with these files.
[[nodiscard]] inline result<child> start(launch_spec const& spec, launch_files files) noexcept {
    spawn_plan const plan{.program = files.program.c_str(),
                          .arguments = pointers(spec.command),
                          .environment = pointers(spec.environment),
                          .directory = files.directory.get(),
                          .input = files.in_and_out.input.get(),
                          .output = files.in_and_out.output.get(),
                          .journal = spec.journal,
                          .journal_entry = spec.journal_entry,
                          .open_files = spec.open_files ? &*spec.open_files : nullptr,
                          .user = spec.user ? &*spec.user : nullptr,
                          .umask = spec.umask ? &*spec.umask : nullptr};
    auto held = spawn(plan, spec.clone_directory);
    if (!held) return held.failure();
    return send_off(spec, files.program, std::move(held).value(), std::move(files.in_and_out.reader));
}

}  // namespace detail

/// Starts a process. After success exec has happened, and the program is running. It leads a new
/// session and group; its standard input is empty, its signals have their default actions, and only
/// the descriptors 0, 1 and 2 are inherited. Errors: missing or forbidden files, with the command
/// and the remedy; the error of `place`; `errc::timed_out` if the child does not reach exec within
/// ten seconds (a frozen cgroup).
[[nodiscard]] inline result<child> launch(launch_spec const& spec) noexcept {
    if (auto const checked = detail::check(spec); !checked) return checked.failure();
    auto files = detail::open_files_of(spec);
    if (!files) return files.failure();
    return detail::start(spec, std::move(files).value());
}

}  // namespace ration::process
