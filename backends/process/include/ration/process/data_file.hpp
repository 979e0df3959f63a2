// SPDX-License-Identifier: BSL-1.0
/// Opens a file with data, and identifies it: two paths can lead to one file. Source: inode(7).
#pragma once

#include <cerrno>
#include <cstdint>
#include <string>
#include <sys/stat.h>
#include <sys/types.h>

#include <ration/process/input_file.hpp>

namespace ration::process {

/// A regular file that is not empty.
struct data_file {
    descriptor file;
    dev_t device = 0;
    ino_t inode = 0;         ///< the same file has the same device and inode
    std::int64_t bytes = 0;  ///< its size when it was opened
};

/// Opens the file for reading. `remedy` is static text. Errors: those of `open_input`; `invalid_value` for an empty
/// file.
[[nodiscard]] inline result<data_file> open_data_file(std::string const& path, char const* remedy) noexcept {
    input_rules const rules{.remedy = remedy};
    auto file = open_input(path, rules);
    if (!file) return file.failure();
    struct stat about{};
    if (::fstat(file->get(), &about) != 0) return detail::input_error("cannot be opened", path, errno, rules);
    if (about.st_size == 0) return detail::refusal(errc::invalid_value, "is empty", path, rules);
    return data_file{.file = std::move(*file), .device = about.st_dev, .inode = about.st_ino, .bytes = about.st_size};
}

}  // namespace ration::process
