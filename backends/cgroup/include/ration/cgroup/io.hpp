// SPDX-License-Identifier: BSL-1.0
/// The one seam between this backend and the machine. Every file and process call goes through `io`, so that the same
/// code runs on the kernel (kernel_io.hpp), on a model of it (model.hpp), under a recorder (recorder.hpp) and under
/// injected faults (fault_injector.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ration/units.hpp>

namespace ration::cgroup {

enum class version : std::uint8_t { none, v1, v2 };

[[nodiscard]] constexpr std::string_view name_of(version which) noexcept {
    return which == version::v1 ? "v1" : which == version::v2 ? "v2" : "none";
}

/// The identity of a directory. The kind comes from the file system, never from the path; the inode differs between
/// a group and a later one of the same name.
struct identity {
    version kind = version::none;
    std::uint64_t inode = 0;
    friend constexpr bool operator==(identity const&, identity const&) noexcept = default;
};

/// The calls. Each returns 0 or an errno value, as the kernel gives it; ENOMEM also where an answer finds no memory
/// here. Directories are held by number: a directory that was removed stays removed (ENOENT, ENODEV), even when another
/// of the same name appears.
class io {
public:
    io() noexcept = default;
    io(io const&) = delete;
    io& operator=(io const&) = delete;
    virtual ~io() = default;

    /// Opens an absolute path. The only call that follows a path of more than one name.
    [[nodiscard]] virtual int open_directory(char const* path, int& directory) noexcept = 0;
    /// Opens a group right below `parent`; EXDEV if it is not part of the same hierarchy.
    [[nodiscard]] virtual int open_child(int parent, char const* name, int& directory) noexcept = 0;
    virtual void close(int directory) noexcept = 0;
    [[nodiscard]] virtual int identify(int directory, identity& who) noexcept = 0;
    /// The kernel's own number of the directory (a descriptor), or -1.
    [[nodiscard]] virtual int native(int directory) noexcept = 0;

    /// The whole text of a file.
    [[nodiscard]] virtual int read(int directory, char const* file, std::string& into) noexcept = 0;
    /// One write of the whole text. Precondition: not empty (the kernel takes an empty write for success and does
    /// nothing).
    [[nodiscard]] virtual int write(int directory, char const* file, std::string_view text) noexcept = 0;
    [[nodiscard]] virtual int make(int parent, char const* name) noexcept = 0;
    [[nodiscard]] virtual int remove(int parent, char const* name) noexcept = 0;
    /// The names of the groups right below.
    [[nodiscard]] virtual int list(int directory, std::vector<std::string>& children) noexcept = 0;

    /// Sends a signal to every process that is in the group while it is sent, and to no other. Groups below are left
    /// out.
    [[nodiscard]] virtual int signal_members(int directory, int number, std::size_t& reached) noexcept = 0;
    /// Returns 0 as soon as the file's text is not `known`, ETIMEDOUT after `at_most`. For files that notify
    /// (cgroup.events).
    [[nodiscard]] virtual int wait_change(int directory, char const* file, std::string_view known,
                                          nanoseconds at_most) noexcept = 0;

    /// A file of /proc, by absolute path.
    [[nodiscard]] virtual int read_system(char const* path, std::string& into) noexcept = 0;
    /// The target of a symbolic link of /proc.
    [[nodiscard]] virtual int read_link(char const* path, std::string& into) noexcept = 0;
    [[nodiscard]] virtual int self() noexcept = 0;
    [[nodiscard]] virtual nanoseconds now() noexcept = 0;
    virtual void sleep(nanoseconds duration) noexcept = 0;
};

}  // namespace ration::cgroup
