// SPDX-License-Identifier: BSL-1.0
/// A private folder for the output and the checkpoints of measurements.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include <ration/process/descriptor.hpp>
#include <ration/result.hpp>

namespace ration::program {

/// Below $TMPDIR, or else /tmp. The destructor removes it with all its files.
class scratch_folder {
    std::string path_;

    explicit scratch_folder(std::string path) : path_(std::move(path)) {}

public:
    scratch_folder(scratch_folder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
    scratch_folder& operator=(scratch_folder&&) = delete;
    ~scratch_folder() {
        std::error_code ignored;
        if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
    }

    /// Errors: those of mkdtemp(3).
    [[nodiscard]] static result<scratch_folder> make() {
        char const* const named = std::getenv("TMPDIR");
        auto path = std::string(named != nullptr && *named != '\0' ? named : "/tmp") + "/ration-measure-XXXXXX";
        if (::mkdtemp(path.data()) == nullptr)
            return process::system_error("make the folder for measurements", path, errno,
                                         "set TMPDIR to a folder that you can write to");
        return scratch_folder(std::filesystem::absolute(path).string());
    }

    [[nodiscard]] std::string const& path() const noexcept { return path_; }
};

}  // namespace ration::program
