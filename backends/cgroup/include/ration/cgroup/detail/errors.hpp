// SPDX-License-Identifier: BSL-1.0
/// The errno values that cgroup files and directories give, as errors with a subject and a remedy.
/// Source: the kernel's cgroup-v1 and cgroup-v2 documents, and measurements on 6.1 and 6.18.
#pragma once

#include <cerrno>
#include <string>
#include <string_view>

#include <ration/result.hpp>

namespace ration::cgroup {

[[nodiscard]] constexpr errc code_of(int number) noexcept {
    switch (number) {
        case EINVAL: return errc::invalid_value;
        case ERANGE: return errc::out_of_range;
        case EEXIST: return errc::already_exists;
        case ENOENT:  // a file that this kernel does not offer; `directory` distinguishes a lost group
        case EOPNOTSUPP:
        case ENOSYS: return errc::not_supported;
        case EACCES:
        case EPERM:
        case EROFS: return errc::denied;
        case EBUSY: return errc::busy;
        case ENOSPC: return errc::empty_set;
        case EAGAIN:
        case EMFILE:
        case ENFILE: return errc::limit;
        case ENODEV: return errc::gone;
        case ESRCH: return errc::not_found;
        case EXDEV:
        case ELOOP: return errc::namespace_mismatch;
        case ETIMEDOUT: return errc::timed_out;
        case ENOMEM: return errc::no_memory;
        default: return errc::io;
    }
}

[[nodiscard]] constexpr char const* remedy_of(errc code) noexcept {
    switch (code) {
        case errc::denied:
            return "start it as root, or in a separate group: systemd-run --user --scope -p Delegate=yes ...";
        case errc::gone: return "the group was removed: the job runs without limits until it is restarted";
        case errc::busy: return "another program is using the group: try again";
        case errc::conflict: return "a limit above or below this group contradicts it: change that one first";
        case errc::empty_set: return "the group has no usable cpus or memory nodes: give it some that its parent has";
        case errc::limit: return "raise the limit on groups, processes or open files";
        case errc::no_memory: return "free memory on this machine, or raise the limit of this process, and try again";
        case errc::already_exists: return "choose another name, or remove the group that has it";
        default: return "";
    }
}

/// The text when it fits; otherwise its end, which is where the group and the file are named.
template <std::size_t Capacity>
[[nodiscard]] inline text<Capacity> tail_of(std::string_view path) noexcept {
    if (path.size() <= Capacity) return path;
    text<Capacity> cut("~");
    return cut.append(path.substr(path.size() - (Capacity - 1)));
}

[[nodiscard]] inline error make_error(errc code, char const* operation, std::string_view subject, int number = 0,
                                      char const* remedy = nullptr) noexcept {
    return {.code = code,
            .operation = operation,
            .subject = tail_of<120>(subject),
            .system = number,
            .remedy = remedy != nullptr ? remedy : remedy_of(code)};
}

[[nodiscard]] inline error system_error(char const* operation, std::string_view subject, int number) noexcept {
    return make_error(code_of(number), operation, subject, number);
}

}  // namespace ration::cgroup
