// SPDX-License-Identifier: BSL-1.0
/// Commands to a running job: messages C1 (docs/progress-protocol.md, "Commands") to the socket
/// that the job named in its `hello`. The job's side is client_commands.h. Linux; needs /proc.
#pragma once

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <fcntl.h>
#include <string_view>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

#include <ration/progress/message.hpp>
#include <ration/result.hpp>
#include <ration/units.hpp>

namespace ration::progress {

/// The commands.
enum class command_type : std::uint8_t {
    save,  ///< save at the next step boundary; with `hold`, wait for `go`, `stop` or the deadline
    go,    ///< end a hold
    stop,  ///< stop at the next step boundary, save before unless just saved, send `bye` and exit
    ping,  ///< only answer
};

/// A command and its arguments.
struct command {
    /// The action that the job has to take.
    command_type type = command_type::ping;
    /// Save, stop: the time that the job has, from when it reads this; 0: no limit given. Sent in
    /// ms, rounded up
    nanoseconds by{};
    bool hold = false;  ///< save
};

/// The text of a message C1, at most 175 characters.
using command_text = text<max_word + 128>;

namespace detail {

/// Appends a number.
inline void append_number(command_text& out, std::uint64_t value) noexcept {
    std::array<char, 20> digits{};
    auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    out.append({digits.data(), static_cast<std::size_t>(end - digits.data())});
}

/// Appends a time as seconds with three decimals.
inline void append_seconds(command_text& out, nanoseconds time) noexcept {
    auto const milliseconds = (static_cast<std::uint64_t>(time.count) + 999'999) / 1'000'000;
    append_number(out, milliseconds / 1000);
    std::array<char, 4> const fraction{'.', static_cast<char>('0' + milliseconds / 100 % 10),
                                       static_cast<char>('0' + milliseconds / 10 % 10),
                                       static_cast<char>('0' + milliseconds % 10)};
    out.append({fraction.data(), fraction.size()});
}

/// An error of a command.
[[nodiscard]] inline error cannot_send(errc code, std::string_view to, int system, char const* remedy) noexcept {
    return {code, "send a command to a job", text<120>(to), system, remedy};
}

}  // namespace detail

/// The message with this command for a job with this incarnation and token. Precondition:
/// `receiver::register_job` accepts the token.
[[nodiscard]] inline command_text format_command(command const& what, incarnation_id run, std::string_view token,
                                                 std::uint64_t sequence) noexcept {
    constexpr std::array<char const*, 4> words{"C1 save e=", "C1 go e=", "C1 stop e=", "C1 ping e="};
    command_text out{words[static_cast<std::size_t>(what.type)]};
    detail::append_number(out, run.value);
    out.append(" k=").append(token).append(" q=");
    detail::append_number(out, sequence);
    if (what.by.count > 0 && (what.type == command_type::save || what.type == command_type::stop)) {
        out.append(" by=");
        detail::append_seconds(out, what.by);
    }
    return what.hold && what.type == command_type::save ? out.append(" hold=1") : out;
}

/// The sending end: one unnamed socket for all jobs of a run. For one thread at a time.
class control {
public:
    /// `directory` is that of the receiver's socket: `receiver::path()` up to its last '/', or
    /// `job_user::control_directory`. `owner`: of the sockets in it. Errors: `io`, and those of
    /// open(2).
    [[nodiscard]] static result<control> open(std::string_view directory, uid_t owner = ::geteuid()) noexcept {
        text<max_socket_path> const path{directory};
        int const folder = ::open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        int const socket = folder < 0 ? -1 : ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (socket < 0) {
            int const why = errno;
            if (folder >= 0) ::close(folder);
            return error{errc::io, "open the socket for commands", text<120>(directory), why,
                         "the directory is that of the progress socket, which must be open"};
        }
        return control(directory, folder, socket, owner);
    }

    /// Takes over the sockets.
    control(control&& other) noexcept
        : directory_(other.directory_), folder_(std::exchange(other.folder_, -1)),
          socket_(std::exchange(other.socket_, -1)), owner_(other.owner_), sequence_(other.sequence_) {}
    /// Exchanges the sockets.
    control& operator=(control other) noexcept {
        std::swap(directory_, other.directory_);
        std::swap(folder_, other.folder_);
        std::swap(socket_, other.socket_);
        std::swap(owner_, other.owner_);
        std::swap(sequence_, other.sequence_);
        return *this;
    }
    /// Closes the sockets.
    ~control() {
        if (folder_ >= 0) ::close(folder_);
        if (socket_ >= 0) ::close(socket_);
    }

    /// Sends a command to the job that listens at `to` (`report::control` of its `hello`), with its
    /// incarnation and token. Never blocks. Returns the number of the command, which the job's
    /// `ack` repeats in `report::command`. A message that the kernel accepted may never be read.
    ///
    /// Errors: `gone` (no process listens there any more), `busy` (the job's queue is full; retry
    /// later), `denied` (not a socket of the owner in the directory; symbolic links are not
    /// followed), `invalid_value` (not a path in the directory), `io`.
    [[nodiscard]] result<std::uint64_t> send(std::string_view to, incarnation_id run, std::string_view token,
                                             command const& what) noexcept {
        if (!detail::is_socket_path(to) || to.substr(0, to.rfind('/')) != directory_.view()) {
            return detail::cannot_send(errc::invalid_value, to, 0,
                                       "a job listens in the directory of the progress socket only");
        }
        auto const file = find(to);
        if (!file) return file.failure();
        // The kernel resolves the descriptor to the file that was checked, so another process
        // cannot replace it meanwhile.
        text<40> const place = name_of(*file);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        place.view().copy(address.sun_path, sizeof address.sun_path - 1);
        auto const message = format_command(what, run, token, sequence_ + 1);
        auto const sent = ::sendto(socket_, message.view().data(), message.view().size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                                   reinterpret_cast<sockaddr const*>(&address), sizeof address);
        int const why = errno;
        ::close(*file);
        return sent >= 0 ? result<std::uint64_t>(++sequence_) : refused(to, why);
    }

private:
    control(std::string_view directory, int folder, int socket, uid_t owner) noexcept
        : directory_(directory), folder_(folder), socket_(socket), owner_(owner) {}

    /// Opens the socket file with O_PATH; the caller closes it.
    [[nodiscard]] result<int> find(std::string_view to) const noexcept {
        text<max_socket_path> const name{to.substr(to.rfind('/') + 1)};
        int const file = ::openat(folder_, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (file < 0) return refused(to, errno);
        struct stat about{};
        if (::fstat(file, &about) == 0 && S_ISSOCK(about.st_mode) && about.st_uid == owner_) return file;
        ::close(file);
        return detail::cannot_send(errc::denied, to, 0,
                                   "the file there must be a socket of your own: end the job that created it");
    }

    /// A path to the opened file.
    [[nodiscard]] static text<40> name_of(int file) noexcept {
        command_text number;
        detail::append_number(number, static_cast<std::uint64_t>(file));
        return text<40>("/proc/self/fd/").append(number);
    }

    /// The error for an errno of sendto(2).
    [[nodiscard]] static error refused(std::string_view to, int why) noexcept {
        if (why == ENOENT || why == ECONNREFUSED || why == ECONNRESET) {
            return detail::cannot_send(errc::gone, to, why,
                                       "the job has ended or has closed its socket: no command can reach it");
        }
        if (why == EAGAIN || why == EWOULDBLOCK || why == ENOBUFS) {
            return detail::cannot_send(errc::busy, to, why,
                                       "the job has not read its last commands: try again, or give it up");
        }
        return detail::cannot_send(errc::io, to, why, "end the job by a signal");
    }

    text<max_socket_path> directory_;
    int folder_;
    int socket_;
    uid_t owner_;
    std::uint64_t sequence_ = 0;  ///< of the last command sent
};

}  // namespace ration::progress
