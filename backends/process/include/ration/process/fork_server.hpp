// SPDX-License-Identifier: BSL-1.0
/// A program that has imported its modules, and is forked for each launch of a job instead of a new start: the
/// controller's side of python/ration/fork_server.py.
///
/// The server is a child of the controller and part of no job. A launched process is forked twice, so that it becomes
/// a child of the controller as well. From the gate on its launch is that of launch.hpp.
/// Sources: unix(7) SCM_RIGHTS and SCM_CREDENTIALS, memfd_create(2), prctl(2) PR_SET_CHILD_SUBREAPER.
#pragma once

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <poll.h>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <ration/process/launch.hpp>
#include <ration/process/proc.hpp>

namespace ration::process {

namespace detail {

/// Makes this process the parent of orphans among its descendants, as long as the object lives.
class subreaper_scope {
    int before_ = 0;

public:
    subreaper_scope() noexcept {
        ::prctl(PR_GET_CHILD_SUBREAPER, &before_, 0UL, 0UL, 0UL);
        ::prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL);
    }
    subreaper_scope(subreaper_scope const&) = delete;
    subreaper_scope& operator=(subreaper_scope const&) = delete;
    ~subreaper_scope() noexcept { ::prctl(PR_SET_CHILD_SUBREAPER, static_cast<unsigned long>(before_), 0UL, 0UL, 0UL); }
};

/// A file in memory with the words that a server needs, each with a zero byte at its end: the journal entry, the
/// number of arguments, these, the environment. Empty with errno set if it cannot be made.
[[nodiscard]] inline descriptor request_file(launch_spec const& spec) noexcept {
    std::string text = spec.journal < 0 ? std::string() : spec.journal_entry;
    text += '\0';
    text += std::to_string(spec.command.size() - 1) + '\0';
    for (std::size_t i = 1; i < spec.command.size(); ++i) text += spec.command[i] + '\0';
    for (std::string const& entry : spec.environment) text += entry + '\0';
    descriptor file = above_standard(descriptor(::memfd_create("ration-launch", MFD_CLOEXEC)));
    std::size_t done = 0;
    while (file && done < text.size()) {
        ssize_t const n = ::write(file.get(), text.data() + done, text.size() - done);
        if (n < 0) return {};
        done += static_cast<std::size_t>(n);
    }
    if (file) ::lseek(file.get(), 0, SEEK_SET);
    return file;
}

/// Sends one byte with descriptors. Returns false with errno set.
[[nodiscard]] inline bool send_descriptors(int channel, std::array<int, 6> const& numbers) noexcept {
    char word = 1;
    iovec part{.iov_base = &word, .iov_len = 1};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof numbers)> space{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = space.data();
    message.msg_controllen = space.size();
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof numbers);
    std::memcpy(CMSG_DATA(head), numbers.data(), sizeof numbers);
    return ::sendmsg(channel, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

/// The process that has sent the next report, by the kernel's evidence. 0: the report is not that of a new session, or
/// none has come in time.
[[nodiscard]] inline pid_t await_sender(int gate, nanoseconds patience) noexcept {
    pollfd wanted{.fd = gate, .events = POLLIN, .revents = 0};
    if (::poll(&wanted, 1, static_cast<int>(patience.count / 1'000'000)) != 1) return 0;
    spawn_word report{.stage = spawn_stage::exec, .system = 0};
    iovec part{.iov_base = &report, .iov_len = sizeof report};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred))> space{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = space.data();
    message.msg_controllen = space.size();
    bool const whole = ::recvmsg(gate, &message, MSG_CMSG_CLOEXEC) == sizeof report;
    cmsghdr const* const head = CMSG_FIRSTHDR(&message);
    if (!whole || report.stage != spawn_stage::session || report.system != 0 || head == nullptr ||
        head->cmsg_type != SCM_CREDENTIALS)
        return 0;
    ucred sender{};
    std::memcpy(&sender, CMSG_DATA(head), sizeof sender);
    return sender.pid;
}

}  // namespace detail

/// One server, for the launches of one job. Not movable: `launch` may be in use by a reference.
class fork_server {
    child process_;
    descriptor channel_;
    bool is_ready_ = false;

public:
    /// The longest time for the server to fork a process.
    static constexpr nanoseconds patience = seconds(2);

    /// The server has started, and imports its modules. See `start`.
    fork_server(child process, descriptor channel) noexcept
        : process_(std::move(process)), channel_(std::move(channel)) {}
    fork_server(fork_server const&) = delete;
    fork_server& operator=(fork_server const&) = delete;
    /// Ends the server. Processes that it has launched stay.
    ~fork_server() noexcept {
        static_cast<void>(process_.signal(SIGKILL));
        static_cast<void>(process_.wait_for(seconds(1)));
    }

    /// Starts the program of a server. `spec` is that of a launch without another user; its standard input is the
    /// socket. Errors: those of `process::launch`.
    [[nodiscard]] static result<std::unique_ptr<fork_server>> start(launch_spec const& spec) noexcept {
        if (auto const checked = detail::check(spec); !checked) return checked.failure();
        auto files = detail::open_files_of(spec);
        if (!files) return files.failure();
        int ends[2];
        if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
            return system_error("open a socket pair", "fork server", errno, "raise the limit on open files: ulimit -n");
        descriptor ours = above_standard(descriptor(ends[0]));
        files->in_and_out.input = above_standard(descriptor(ends[1]));
        auto started = detail::start(spec, std::move(files).value());
        if (!started) return started.failure();
        return std::make_unique<fork_server>(std::move(started).value(), std::move(ours));
    }

    /// Whether the modules are imported. Does not block.
    [[nodiscard]] bool is_ready() noexcept {
        char word = 0;
        if (!is_ready_) is_ready_ = ::recv(channel_.get(), &word, 1, MSG_DONTWAIT) == 1;
        return is_ready_;
    }
    /// The end of the server; empty while it runs.
    [[nodiscard]] std::optional<exit_report> ended() noexcept { return process_.try_wait(); }

    /// As `process::launch`, but the server runs the command after the interpreter, which is its first word. Pre:
    /// `is_ready()`, and no other user. Errors also: `errc::gone` if the server does not fork the process in time.
    [[nodiscard]] result<child> launch(launch_spec const& spec) noexcept {
        if (auto const checked = detail::check(spec); !checked) return checked.failure();
        auto files = detail::open_files_of(spec);
        if (!files) return files.failure();
        int ends[2];
        if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
            return system_error("open a socket pair", "start", errno, "raise the limit on open files: ulimit -n");
        descriptor ours = above_standard(descriptor(ends[0]));
        descriptor theirs = above_standard(descriptor(ends[1]));
        int const yes = 1;
        ::setsockopt(ours.get(), SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes);
        detail::subreaper_scope const parent_of_orphans;
        auto const pid = request(spec, *files, std::move(theirs), ours.get());
        if (!pid) return pid.failure();
        descriptor pidfd = detail::open_pidfd(*pid);
        auto const row = read_process(*pid);
        // Any other process ends at the gate, which closes here
        if (!pidfd || !row || row->parent != ::getpid() || row->session != *pid) return no_answer();
        detail::held_child held(*pid, std::move(pidfd), std::move(ours), false);
        return detail::send_off(spec, files->program, std::move(held), std::move(files->in_and_out.reader));
    }

private:
    [[nodiscard]] static error no_answer() noexcept {
        return {.code = errc::gone,
                .operation = "fork",
                .subject = "fork server",
                .remedy = "it did not fork the job's process; read the output of the job"};
    }

    /// The pid of the process that the server has forked.
    [[nodiscard]] result<pid_t> request(launch_spec const& spec, detail::launch_files const& files, descriptor gate,
                                        int reports) noexcept {
        descriptor const text = detail::request_file(spec);
        if (!text) return system_error("write the request", "fork server", errno, "too little memory: free");
        int const input = files.in_and_out.input.get();
        int const output = files.in_and_out.output ? files.in_and_out.output.get() : STDERR_FILENO;
        if (!detail::send_descriptors(channel_.get(), {gate.get(), files.directory.get(), input, output,
                                                       spec.journal < 0 ? input : spec.journal, text.get()}))
            return no_answer();
        gate.reset();  // only the process has it, so that its end closes the gate
        pid_t const pid = detail::await_sender(reports, patience);
        if (pid <= 0) return no_answer();
        return pid;
    }
};

}  // namespace ration::process
