// SPDX-License-Identifier: BSL-1.0
/// Files from which a host may load code, and a copy that no process can change.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <span>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <ration/plugin/host/descriptor.hpp>
#include <ration/result.hpp>

namespace ration::plugin {

/// The largest plugin, in bytes.
inline constexpr std::size_t largest_plugin = 256U << 20;

namespace detail {

/// An error of this file.
[[nodiscard]] inline error file_error(errc code, std::string_view path, char const* remedy, int system = 0) noexcept {
    return {.code = code, .operation = "load plugin", .subject = path, .system = system, .remedy = remedy};
}

/// True if only root and the user of this process can change the file. A folder that others can
/// write to is accepted if they cannot replace files of others (sticky, as /tmp is).
[[nodiscard]] inline bool only_we_can_change(struct stat const& about) noexcept {
    bool const ours = about.st_uid == 0 || about.st_uid == ::geteuid();
    bool const sticky_folder = S_ISDIR(about.st_mode) && (about.st_mode & S_ISVTX) != 0;
    return ours && ((about.st_mode & (S_IWGRP | S_IWOTH)) == 0 || sticky_folder);
}

/// Checks every folder above the file; a user who can rename a folder can replace the file.
[[nodiscard]] inline result<void> check_folders(std::string const& path) noexcept {
    for (std::size_t slash = path.rfind('/'); slash != path.npos;
         slash = slash == 0 ? path.npos : path.rfind('/', slash - 1)) {
        std::string const folder = slash == 0 ? "/" : path.substr(0, slash);
        struct stat about{};
        if (::stat(folder.c_str(), &about) != 0)
            return file_error(errc::not_found, folder, "name a file that is there", errno);
        if (!only_we_can_change(about))
            return file_error(
                errc::denied, folder,
                "its group or others may write to this folder, or own it: chmod go-w it, or move the plugin");
    }
    return {};
}

}  // namespace detail

/// Opens a plugin for reading. Errors: invalid_value (not an absolute path, not a regular file),
/// not_found, denied (others could change the file or a folder above it), no_capacity (more than
/// 256 MiB).
[[nodiscard]] inline result<descriptor> open_trusted(std::string const& path) noexcept {
    using detail::file_error;
    if (!path.starts_with('/')) return file_error(errc::invalid_value, path, "give the whole path, from / on");
    // O_NONBLOCK: a pipe must not block the host.
    descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
    if (!file)
        return file_error(errno == ELOOP    ? errc::invalid_value
                          : errno == ENOENT ? errc::not_found
                                            : errc::denied,
                          path,
                          errno == ELOOP ? "it is a symbolic link: name the file that it leads to"
                                         : "name a file that is there and can be read",
                          errno);
    struct stat about{};
    if (::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode))
        return file_error(errc::invalid_value, path, "it is not a regular file: name the .so of a policy");
    if (!detail::only_we_can_change(about))
        return file_error(
            errc::denied, path,
            "its group or others may write to it, or own it: chmod go-w the file, or copy it to one of your own");
    if (static_cast<std::uint64_t>(about.st_size) > largest_plugin)
        return file_error(errc::no_capacity, path, "a plugin has at most 256 MiB");
    if (auto const folders = detail::check_folders(path); !folders) return folders.failure();
    return file;
}

/// The bytes of a plugin in a memory file that is sealed against every change, with a path to load
/// them from.
class sealed_copy {
    descriptor fd_;
    mapping map_;

public:
    /// Copies a file. Error: io.
    [[nodiscard]] static result<sealed_copy> of(descriptor const& file, std::string_view path) noexcept {
        struct stat about{};
        sealed_copy copy;
        copy.fd_ = descriptor(::memfd_create("ration-plugin", MFD_CLOEXEC | MFD_ALLOW_SEALING));
        if (!copy.fd_ || ::fstat(file.get(), &about) != 0)
            return detail::file_error(errc::io, path, "free some memory", errno);
        auto const size = static_cast<std::size_t>(about.st_size);
        // The bytes are copied before they are checked, so that the checks apply to what is
        // loaded.
        for (off_t at = 0; static_cast<std::size_t>(at) < size;)
            if (::sendfile(copy.fd_.get(), file.get(), &at, size) <= 0)
                return detail::file_error(errc::io, path, "the file could not be read to its end: copy it again",
                                          errno);
        if (::fcntl(copy.fd_.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0)
            return detail::file_error(errc::io, path, "memory files cannot be sealed on this kernel", errno);
        copy.map_ = mapping(copy.fd_.get(), size, PROT_READ);
        return copy;
    }

    /// A copy that another process made and passed on. Error: denied if it is not sealed.
    [[nodiscard]] static result<sealed_copy> reattach(descriptor fd) noexcept {
        struct stat about{};
        int const seals = ::fcntl(fd.get(), F_GET_SEALS);
        if (seals < 0 || (seals & F_SEAL_WRITE) == 0 || (seals & F_SEAL_SHRINK) == 0 || ::fstat(fd.get(), &about) != 0)
            return detail::file_error(errc::denied, "the passed file",
                                      "only a sealed copy is loaded: start this through a plugin host", errno);
        sealed_copy copy;
        copy.map_ = mapping(fd.get(), static_cast<std::size_t>(about.st_size), PROT_READ);
        copy.fd_ = std::move(fd);
        return copy;
    }

    /// The bytes.
    [[nodiscard]] std::span<std::byte const> bytes() const noexcept { return map_.bytes(); }
    /// The memory file, still owned.
    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    /// The path of the copy. Valid as long as the object; no other open file has it in that time.
    [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(fd_.get()); }
};

}  // namespace ration::plugin
