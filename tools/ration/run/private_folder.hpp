// SPDX-License-Identifier: BSL-1.0
/// Folders that only this user can change, opened so that no other user can exchange them between check and use.
#pragma once

#include <string>
#include <sys/types.h>

#include <ration/process/descriptor.hpp>
#include <ration/result.hpp>

namespace ration::program {

/// Opens a folder (O_PATH) from "/" on, one component at a time. Each folder and each symbolic link on the way must
/// belong to root or to this user; a folder that others may write to must be sticky, as /tmp is. So no other user can
/// put another folder in its place. Errors: `denied` with the component that fails, those of openat(2).
[[nodiscard]] result<process::descriptor> open_trusted_folder(std::string const& path);

/// Opens a file as open(2) does, and neither it nor a folder on the way by a symbolic link of another user. The last
/// component is not followed at all. The file belongs to this user and has no other name, so another user who may
/// change the folders cannot lead the path to a file elsewhere. Errors: `denied` with the component that fails, those
/// of openat(2).
[[nodiscard]] result<process::descriptor> open_own_file(std::string const& path, int flags, mode_t mode = 0600);

/// Opens the folder of a file (O_PATH) likewise; it may be of any user. Errors: `denied`, those of openat(2).
[[nodiscard]] result<process::descriptor> open_folder_of(std::string const& path);

/// Makes a folder, in one that is opened likewise. Errors: `denied`, those of mkdirat(2).
[[nodiscard]] result<void> make_own_folder(std::string const& path);

/// Opens the folder `name` in `parent`: it belongs to this user, and its mode gives others no more than `mode` does.
/// `path` is for messages. Errors: `denied`, those of openat(2).
[[nodiscard]] result<process::descriptor> open_private_folder(process::descriptor const& parent,
                                                              std::string const& name, std::string const& path,
                                                              mode_t mode = 0700);

/// The same; makes it where it is missing, and gives it this mode.
[[nodiscard]] result<process::descriptor> make_private_folder(process::descriptor const& parent,
                                                              std::string const& name, std::string const& path,
                                                              mode_t mode = 0700);

/// Opens any folder. Errors: those of open(2).
[[nodiscard]] result<process::descriptor> open_folder(std::string const& path);

/// Takes the folder's lock (flock(2)), which ends with the last copy of the descriptor. False while another holder has
/// it.
[[nodiscard]] bool try_lock(process::descriptor const& folder) noexcept;

}  // namespace ration::program
