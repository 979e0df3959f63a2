// SPDX-License-Identifier: BSL-1.0
/// The folders of the records of runs: where they are, and their locks. See docs/adr/0050.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ration/process/descriptor.hpp>
#include <ration/result.hpp>

namespace ration::program {

/// The folder of a run whose lock this process holds: no other ration takes the run for dead, takes it over or cleans
/// it.
class locked_folder {
    std::string path_;
    process::descriptor folder_, lock_;

public:
    /// `lock`: the file in it that is locked; empty: the folder itself.
    locked_folder(std::string path, process::descriptor folder, process::descriptor lock = {}) noexcept
        : path_(std::move(path)), folder_(std::move(folder)), lock_(std::move(lock)) {}

    [[nodiscard]] std::string const& path() const noexcept { return path_; }
    [[nodiscard]] int get() const noexcept { return folder_.get(); }
    /// False while another holder has the lock, and if the file of the lock could not be opened.
    [[nodiscard]] bool try_lock() const noexcept;
};

/// The folder of a run for its sockets has a link of this name to its record, if that is elsewhere. The folder of such
/// a record has the other link.
inline constexpr char const *link_to_record = "record", *link_to_sockets = "sockets";

/// Where the folders for sockets of new runs of this user are: $XDG_RUNTIME_DIR/ration, /tmp/ration-UID or
/// /var/tmp/ration-UID. Another user may have made the one or other; then it is the next one, and at last a new folder
/// in /tmp, for this process alone.
[[nodiscard]] std::string folder_of_sockets();

/// A folder on this machine for records and locks that no login, no variable and no mount decides over:
/// /var/tmp/ration-UID. If another user has made it, a folder as of `folder_of_sockets`. Errors: those of mkdir(2).
[[nodiscard]] result<std::string> make_node_folder();

/// Makes the folder NAME in `folder_of_sockets()`, with its lock, before another process can see it without. Prints a
/// sentence if that is not the first choice. Errors: those of mkdir(2) and flock(2).
[[nodiscard]] result<locked_folder> make_socket_folder(std::string const& run);

/// That of an earlier run, where its jobs still report; made once more if it is missing. Errors: those of mkdir(2).
[[nodiscard]] result<locked_folder> remake_socket_folder(std::string const& path);

/// Makes PARENT/.ration/RUN with its lock, or takes the lock of an empty one. Errors: those of mkdir(2) and flock(2).
[[nodiscard]] result<locked_folder> make_record_folder(std::string const& parent, std::string const& run);

/// Opens the folder of a record, unlocked. Errors: as of `open_private_folder`.
[[nodiscard]] result<locked_folder> open_record_folder(std::string const& path);

/// Whether the folder has its record in `PARENT/.ration`, and not beside its sockets.
[[nodiscard]] bool is_apart(std::string const& record_folder);

/// The folders of records that are known here, each once: by the sockets of this user, of the runs whose output is
/// below this working directory, and in `parents`. A folder with sockets and without a record counts, too. Folders that
/// another user can exchange are left out.
[[nodiscard]] std::vector<std::string> find_record_folders(std::span<std::string const> parents = {});

/// Removes such a folder, and the one above if it is then empty.
void remove_record_folder(std::string const& path);

}  // namespace ration::program
