// SPDX-License-Identifier: BSL-1.0
/// The receiving socket: an AF_UNIX datagram socket that one user can reach, and batches of messages with
/// kernel-verified sender credentials (unix(7), SO_PASSCRED). Linux.
#pragma once

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <string_view>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <ration/progress/message.hpp>
#include <ration/result.hpp>

namespace ration::progress {

/// The users whose jobs send to a receiver.
enum class audience : bool { owner, everybody };

}  // namespace ration::progress

namespace ration::progress::detail {

/// A received message and its sender. `bytes` is valid until the next `receive`.
struct datagram {
    std::string_view bytes;
    bool truncated = false;  ///< longer than a message can be
    /// True if the kernel supplied the credentials.
    bool signed_by_kernel = false;
    ucred sender{};  ///< valid if `signed_by_kernel`
};

/// An error of this file.
[[nodiscard]] inline error socket_error(char const* operation, std::string_view path, int system,
                                        char const* remedy = "") noexcept {
    auto const code = system == EACCES || system == EPERM ? errc::denied
                      : system == ENOENT                  ? errc::not_found
                      : system == EADDRINUSE              ? errc::already_exists
                                                          : errc::io;
    return {code, operation, text<120>(path), system, remedy};
}

/// Creates the directory (one level, mode 0700, or 0711 for everybody) if it does not exist. Returns
/// true if it was created. A directory that others can enter is refused, or one that they can list.
[[nodiscard]] inline result<bool> private_directory(char const* path, audience senders) noexcept {
    constexpr char const* operation = "make the directory of the progress socket";
    bool const shared = senders == audience::everybody;
    bool const made = ::mkdir(path, 0700) == 0 && (!shared || ::chmod(path, 0711) == 0);
    if (!made && errno != EEXIST)
        return socket_error(operation, path, errno, "create its parent directory, or choose another place");
    struct stat about{};
    if (::lstat(path, &about) != 0) return socket_error(operation, path, errno);
    if (!S_ISDIR(about.st_mode) || about.st_uid != ::geteuid() || (about.st_mode & (shared ? 066 : 077)) != 0) {
        return error{
            errc::denied, operation, text<120>(path), 0,
            "it must be a directory of your own that no other user can enter: chmod 700 it, or choose another place"};
    }
    return made;
}

/// Removes the socket of a receiver that has ended. Error: `already_exists` if it is in use, or is
/// not a socket.
[[nodiscard]] inline result<void> clear_stale(sockaddr_un const& address) noexcept {
    constexpr char const* operation = "take over the progress socket";
    struct stat about{};
    if (::lstat(address.sun_path, &about) != 0)
        return errno == ENOENT ? result<void>() : socket_error(operation, address.sun_path, errno);
    if (!S_ISSOCK(about.st_mode)) {
        return error{errc::already_exists, operation, text<120>(address.sun_path), 0,
                     "it is not a socket: move it away"};
    }
    int const probe = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    // Connecting a datagram socket succeeds only if a process has the other end open.
    bool const alive = ::connect(probe, reinterpret_cast<sockaddr const*>(&address), sizeof address) == 0;
    ::close(probe);
    if (alive) {
        return error{errc::already_exists, operation, text<120>(address.sun_path), 0,
                     "another ration listens here: stop it, or choose another place"};
    }
    return ::unlink(address.sun_path) == 0 ? result<void>() : socket_error(operation, address.sun_path, errno);
}

/// Removes command sockets of jobs that were killed: files rx.* on which no process listens.
inline void clear_stale_controls(std::string_view directory) noexcept {
    DIR* const open = ::opendir(text<107>(directory).c_str());
    if (open == nullptr) return;
    while (dirent const* const entry = ::readdir(open)) {
        std::string_view const name(entry->d_name);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        if (name.starts_with("rx.") && directory.size() + 1 + name.size() < sizeof address.sun_path) {
            auto const end = directory.copy(address.sun_path, directory.size());
            address.sun_path[end] = '/';
            name.copy(address.sun_path + end + 1, name.size());
            static_cast<void>(clear_stale(address));  // sockets in use stay
        }
    }
    ::closedir(open);
}

/// The bound socket, and buffers for one batch.
class message_socket {
public:
    static constexpr std::size_t batch = 32;  ///< datagrams per system call

    /// Binds the socket, to which only `user` and root can send. `path` is absolute, with at most 107 bytes. Errors:
    /// `invalid_value`, `out_of_range`, `denied`, `already_exists`, `io`.
    [[nodiscard]] static result<std::unique_ptr<message_socket>> open(std::string_view path, audience senders,
                                                                      uid_t user = ::geteuid()) noexcept {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        auto const cut = path.rfind('/');
        if (cut == path.npos || cut == 0 || path.front() != '/' || path.find('\0') != path.npos) {
            return error{errc::invalid_value, "open the progress socket", text<120>(path), 0,
                         "give an absolute path below a directory"};
        }
        if (path.size() >= sizeof address.sun_path) {
            return error{errc::out_of_range, "open the progress socket", text<120>(path), 0,
                         "a socket's path has at most 107 bytes: choose a shorter directory"};
        }
        std::memcpy(address.sun_path, path.data(), path.size());
        auto made = std::unique_ptr<message_socket>(new message_socket(path, path.substr(0, cut)));
        auto const bound = made->bind(address, senders, user);
        if (!bound) return bound.failure();
        return made;
    }

    message_socket(message_socket const&) = delete;
    message_socket& operator=(message_socket const&) = delete;

    /// Removes the socket file if it is still this one, and the directory if it was created here.
    ~message_socket() {
        struct stat about{};
        // A later receiver may have replaced the file.
        if (bound_ && ::lstat(path_.c_str(), &about) == 0 && about.st_ino == inode_ && about.st_dev == device_)
            ::unlink(path_.c_str());
        if (socket_ >= 0) ::close(socket_);
        if (bound_) clear_stale_controls(directory_);
        if (made_directory_) ::rmdir(directory_.c_str());
    }

    /// The descriptor, to be polled.
    [[nodiscard]] int fd() const noexcept { return socket_; }
    /// The path of the socket.
    [[nodiscard]] std::string_view path() const noexcept { return path_; }
    /// Its directory.
    [[nodiscard]] std::string_view directory() const noexcept { return directory_; }

    /// Receives up to `batch` waiting datagrams, and returns their number. Never blocks.
    [[nodiscard]] result<std::size_t> receive() noexcept {
        // The kernel has overwritten the lengths in the last call.
        for (std::size_t at = 0; at < batch; ++at) headers_[at].msg_hdr.msg_controllen = sizeof(slot::control);
        int const count = ::recvmmsg(socket_, headers_.data(), batch, MSG_DONTWAIT | MSG_CMSG_CLOEXEC, nullptr);
        if (count >= 0) return static_cast<std::size_t>(count);
        if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return std::size_t{0};
        return socket_error("receive progress messages", path_, errno);
    }

    /// The `at`-th datagram of the last batch. Precondition: below the result of `receive`.
    [[nodiscard]] datagram at(std::size_t at) noexcept {
        auto& header = headers_[at].msg_hdr;
        datagram out{{slots_[at].data.data(), headers_[at].msg_len}, (header.msg_flags & MSG_TRUNC) != 0};
        // The buffer has room for credentials only, so the kernel discards descriptors that a
        // sender attaches.
        for (auto* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
            if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_CREDENTIALS) {
                std::memcpy(&out.sender, CMSG_DATA(part), sizeof out.sender);
                out.signed_by_kernel = true;
            }
        }
        return out;
    }

private:
    /// The buffers of one datagram.
    struct slot {
        std::array<char, max_datagram> data;
        alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred))> control;
        iovec part;
    };

    message_socket(std::string_view path, std::string_view directory) noexcept : path_(path), directory_(directory) {
        for (std::size_t at = 0; at < batch; ++at) {
            auto& own = slots_[at];
            own.part = {own.data.data(), own.data.size()};
            headers_[at].msg_hdr.msg_iov = &own.part;
            headers_[at].msg_hdr.msg_iovlen = 1;
            headers_[at].msg_hdr.msg_control = own.control.data();
        }
    }

    /// Creates the directory and the socket.
    [[nodiscard]] result<void> bind(sockaddr_un const& address, audience senders, uid_t user) noexcept {
        auto const directory = private_directory(directory_.c_str(), senders);
        if (!directory) return directory.failure();
        // Only a directory that was created here is removed at the end.
        made_directory_ = *directory;
        clear_stale_controls(directory_);
        auto const cleared = clear_stale(address);
        if (!cleared) return cleared;
        socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        int const yes = 1;
        // The mode is set before the file exists and becomes that of the file, without the bits of
        // the umask, so it is never open to others. No other user can replace the file in this directory.
        if (socket_ < 0 || ::setsockopt(socket_, SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) != 0 ||
            ::fchmod(socket_, 0600) != 0 ||
            ::bind(socket_, reinterpret_cast<sockaddr const*>(&address), sizeof address) != 0 ||
            ::chmod(address.sun_path, 0600) != 0 ||
            (user != ::geteuid() && ::lchown(address.sun_path, user, static_cast<gid_t>(-1)) != 0)) {
            return socket_error("open the progress socket", path_, errno);
        }
        struct stat about{};
        if (::lstat(address.sun_path, &about) != 0) return socket_error("open the progress socket", path_, errno);
        bound_ = true;
        inode_ = about.st_ino;
        device_ = about.st_dev;
        return {};
    }

    text<107> path_;
    text<107> directory_;
    int socket_ = -1;
    bool made_directory_ = false;
    bool bound_ = false;
    ino_t inode_ = 0;
    dev_t device_ = 0;
    std::array<slot, batch> slots_{};
    std::array<mmsghdr, batch> headers_{};
};

}  // namespace ration::progress::detail
