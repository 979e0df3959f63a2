// SPDX-License-Identifier: BSL-1.0
/// `io` on the running kernel. Names are resolved below a held directory and nowhere else (openat2 with
/// RESOLVE_BENEATH), no link is followed, and the file system of what was opened is checked.
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <new>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <utility>

#include <ration/cgroup/detail/pids.hpp>
#include <ration/cgroup/io.hpp>
#include <ration/process/descriptor.hpp>

namespace ration::cgroup {

namespace detail {

inline constexpr long magic_v1 = 0x27e0eb, magic_v2 = 0x63677270;

[[nodiscard]] constexpr version version_of_magic(long magic) noexcept {
    return magic == magic_v2 ? version::v2 : magic == magic_v1 ? version::v1 : version::none;
}

/// Repeats a call that a signal broke off.
template <class Call>
[[nodiscard]] inline auto uninterrupted(Call call) noexcept {
    auto answer = call();
    while (answer < 0 && errno == EINTR) answer = call();
    return answer;
}

/// The errno value of `call()`, or ENOMEM where an allocation in it fails: a system call answers so too.
template <class Call>
[[nodiscard]] int or_enomem(Call call) noexcept {
    try {
        return call();
    } catch (std::bad_alloc const&) {
        return ENOMEM;
    }
}

[[nodiscard]] inline int read_all(int file, std::string& into) noexcept {
    into.clear();
    std::array<char, 4096> block;
    return or_enomem([&] {
        for (;;) {
            ssize_t const got = uninterrupted([&] { return ::read(file, block.data(), block.size()); });
            if (got <= 0) return got < 0 ? errno : 0;
            into.append(block.data(), static_cast<std::size_t>(got));
        }
    });
}

}  // namespace detail

class kernel_io final : public io {
public:
    int open_directory(char const* path, int& directory) noexcept override {
        directory = ::open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return directory < 0 ? errno : 0;
    }

    int open_child(int parent, char const* name, int& directory) noexcept override {
        return open_below(parent, name, O_RDONLY | O_DIRECTORY, directory);
    }

    void close(int directory) noexcept override { ::close(directory); }

    int identify(int directory, identity& who) noexcept override {
        struct stat status{};
        struct statfs system{};
        if (::fstat(directory, &status) != 0 || ::fstatfs(directory, &system) != 0) return errno;
        who = {.kind = detail::version_of_magic(static_cast<long>(system.f_type)), .inode = status.st_ino};
        return 0;
    }

    int native(int directory) noexcept override { return directory; }

    int read(int directory, char const* file, std::string& into) noexcept override {
        process::descriptor opened;
        int const failed = open_file(directory, file, O_RDONLY, opened);
        return failed ? failed : detail::read_all(opened.get(), into);
    }

    int write(int directory, char const* file, std::string_view text) noexcept override {
        if (text.empty()) return EINVAL;
        process::descriptor opened;
        if (int const failed = open_file(directory, file, O_WRONLY, opened)) return failed;
        ssize_t const put = detail::uninterrupted([&] { return ::write(opened.get(), text.data(), text.size()); });
        if (put < 0) return errno;
        return static_cast<std::size_t>(put) == text.size() ? 0 : EIO;
    }

    int make(int parent, char const* name) noexcept override { return ::mkdirat(parent, name, 0755) < 0 ? errno : 0; }
    int remove(int parent, char const* name) noexcept override {
        return ::unlinkat(parent, name, AT_REMOVEDIR) < 0 ? errno : 0;
    }

    int list(int directory, std::vector<std::string>& children) noexcept override {
        children.clear();
        process::descriptor again;
        if (int const failed = open_raw(directory, ".", O_RDONLY | O_DIRECTORY, again)) return failed;
        int const own = ::fcntl(again.get(), F_DUPFD_CLOEXEC, 0);
        DIR* const stream = own >= 0 ? ::fdopendir(own) : nullptr;
        if (stream == nullptr) {
            int const failed = errno;
            process::descriptor const unused(own);
            return failed;
        }
        int const failed = detail::or_enomem([&] {
            errno = 0;
            while (dirent const* const entry = ::readdir(stream))
                if (entry->d_type == DT_DIR && entry->d_name[0] != '.') children.emplace_back(entry->d_name);
            return errno;
        });
        ::closedir(stream);
        return failed;
    }

    int signal_members(int directory, int number, std::size_t& reached) noexcept override {
        return detail::or_enomem([&] { return signal_each(directory, number, reached); });
    }
    int wait_change(int directory, char const* file, std::string_view known, nanoseconds at_most) noexcept override;

    int read_system(char const* path, std::string& into) noexcept override {
        process::descriptor const opened(::open(path, O_RDONLY | O_CLOEXEC));
        return opened ? detail::read_all(opened.get(), into) : errno;
    }

    int read_link(char const* path, std::string& into) noexcept override {
        std::array<char, PATH_MAX> target;
        ssize_t const length = ::readlink(path, target.data(), target.size());
        if (length < 0) return errno;
        return detail::or_enomem([&] {
            into.assign(target.data(), static_cast<std::size_t>(length));
            return 0;
        });
    }

    int self() noexcept override { return ::getpid(); }

    nanoseconds now() noexcept override {
        timespec time{};
        ::clock_gettime(CLOCK_MONOTONIC, &time);
        return {static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec};
    }

    void sleep(nanoseconds duration) noexcept override {
        timespec const time{.tv_sec = duration.count / 1'000'000'000, .tv_nsec = duration.count % 1'000'000'000};
        ::nanosleep(&time, nullptr);
    }

private:
    [[nodiscard]] int signal_each(int directory, int number, std::size_t& reached);

    /// Opens a single name right below `parent`. Without openat2 (ENOSYS, or EPERM from an old seccomp filter) the name
    /// itself is the protection: it holds no '/', and a link as its last part is refused.
    [[nodiscard]] static int open_raw(int parent, char const* name, int flags, process::descriptor& opened) noexcept {
        open_how how{};
        how.flags = static_cast<std::uint64_t>(flags) | O_CLOEXEC;
        how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV;
        opened = process::descriptor(static_cast<int>(::syscall(SYS_openat2, parent, name, &how, sizeof how)));
        if (!opened && (errno == ENOSYS || errno == EPERM) && std::strchr(name, '/') == nullptr &&
            std::strcmp(name, "..") != 0) {
            opened = process::descriptor(::openat(parent, name, flags | O_CLOEXEC | O_NOFOLLOW));
        }
        return opened ? 0 : errno;
    }

    [[nodiscard]] static int open_file(int parent, char const* name, int flags, process::descriptor& opened) noexcept {
        if (int const failed = open_raw(parent, name, flags, opened)) return failed;
        struct statfs system{};
        if (::fstatfs(opened.get(), &system) != 0) return errno;
        return detail::version_of_magic(static_cast<long>(system.f_type)) == version::none ? EXDEV : 0;
    }

    [[nodiscard]] static int open_below(int parent, char const* name, int flags, int& directory) noexcept {
        process::descriptor opened;
        if (int const failed = open_file(parent, name, flags, opened)) return failed;
        directory = ::fcntl(opened.get(), F_DUPFD_CLOEXEC, 0);
        return directory < 0 ? errno : 0;
    }
};

/// First every member is held by a pidfd, then the list is read again: a number that is still in it is a member that
/// the pidfd holds, or one that died, whose pidfd reaches no process. A number given to a stranger in between is in no
/// list.
inline int kernel_io::signal_each(int directory, int number, std::size_t& reached) {
    reached = 0;
    std::string text;
    if (int const failed = read(directory, "cgroup.procs", text)) return failed;
    std::vector<std::pair<int, process::descriptor>> held;
    for (int const pid : parse_pids(text)) {
        process::descriptor pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0U)));
        if (!pidfd && (errno == EMFILE || errno == ENFILE)) break;  // the caller repeats until the group is empty
        if (pidfd) held.emplace_back(pid, std::move(pidfd));
    }
    if (int const failed = read(directory, "cgroup.procs", text)) return failed;
    std::vector<int> const still = parse_pids(text);
    for (auto const& [pid, pidfd] : held) {
        bool const member = std::binary_search(still.begin(), still.end(), pid);
        if (member && ::syscall(SYS_pidfd_send_signal, pidfd.get(), number, nullptr, 0U) == 0) ++reached;
    }
    return 0;
}

/// The file stays open between the read and the poll, so that no change in between is lost.
inline int kernel_io::wait_change(int directory, char const* file, std::string_view known,
                                  nanoseconds at_most) noexcept {
    process::descriptor opened;
    if (int const failed = open_file(directory, file, O_RDONLY, opened)) return failed;
    std::string text;
    nanoseconds const deadline = now() + at_most;
    for (;;) {
        if (::lseek(opened.get(), 0, SEEK_SET) < 0) return errno;
        if (int const failed = detail::read_all(opened.get(), text)) return failed;
        if (text != known) return 0;
        nanoseconds const left = deadline - now();
        if (left.count <= 0) return ETIMEDOUT;
        pollfd wanted{.fd = opened.get(), .events = POLLPRI, .revents = 0};
        timespec const limit{.tv_sec = left.count / 1'000'000'000, .tv_nsec = left.count % 1'000'000'000};
        ::ppoll(&wanted, 1, &limit, nullptr);
    }
}

}  // namespace ration::cgroup
