// SPDX-License-Identifier: BSL-1.0
/// One agent at a time for each node of a run, so that the jobs of an earlier agent have ended before the next one
/// begins.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <ration/process/descriptor.hpp>

namespace ration::program {

/// The kernel releases the lock when the process ends, however it ends. The destructor removes the file.
class node_lock {
    std::string path_;
    process::descriptor file_;

    node_lock(std::string path, process::descriptor file) noexcept : path_(std::move(path)), file_(std::move(file)) {}

public:
    node_lock(node_lock&& other) noexcept = default;
    node_lock& operator=(node_lock&&) = delete;
    ~node_lock();

    [[nodiscard]] std::string const& path() const noexcept { return path_; }
    /// A process with a copy of this descriptor holds the lock too.
    [[nodiscard]] int get() const noexcept { return file_.get(); }

    /// Writes text that others can read, for example how to reach this process.
    void note(std::string_view text) const noexcept;
    /// The text that the holder of a lock has written; empty if none did, or if the file belongs to another user.
    [[nodiscard]] static std::string note_in(std::string const& path);

    /// Removes the file of a lock. `file`: a copy of its descriptor. The file of a later lock remains.
    static void remove_file(std::string const& path, int file) noexcept;

    /// None: another process holds it, or the file cannot be opened.
    [[nodiscard]] static std::optional<node_lock> try_lock(std::string const& path);
};

}  // namespace ration::program
