// SPDX-License-Identifier: BSL-1.0
/// The private folder of a run: the progress socket, and the record by which a later start finds what an earlier one
/// left. A run holds the lock of its folder as long as it lives, wherever its process numbers count.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ration/process/descriptor.hpp>
#include <ration/result.hpp>

#include "run/run_record.hpp"

namespace ration::program {

/// The folder of a run whose lock this process holds: no other ration takes the run for dead, takes it over or cleans
/// it.
class locked_folder {
    std::string path_;
    process::descriptor folder_;

public:
    locked_folder(std::string path, process::descriptor folder) noexcept
        : path_(std::move(path)), folder_(std::move(folder)) {}

    [[nodiscard]] std::string const& path() const noexcept { return path_; }
    [[nodiscard]] int get() const noexcept { return folder_.get(); }
};

/// Private (0700). The destructor removes one of a new run, with everything in it; that of an earlier run stays until
/// `remove_at_end`.
class run_directory {
    locked_folder folder_;
    process::descriptor launches_;
    bool removed_at_end_ = false;

public:
    /// Of an earlier run, to be continued or removed.
    explicit run_directory(locked_folder folder);
    run_directory(run_directory&& other) noexcept = default;
    run_directory& operator=(run_directory&&) = delete;
    ~run_directory();

    /// A new one below `base()`. Errors: as of mkdir(2), `denied` when another user can change the base or a folder
    /// above it.
    [[nodiscard]] static result<run_directory> create(std::string const& run);

    /// The run has come to its end.
    void remove_at_end() noexcept { removed_at_end_ = true; }
    [[nodiscard]] std::string const& folder() const noexcept { return folder_.path(); }
    [[nodiscard]] std::string socket() const { return folder() + "/progress"; }
    /// That of another run: its jobs have it in their environment.
    [[nodiscard]] static std::string socket_of(std::string const& run) { return base() + '/' + run + "/progress"; }
    /// Written to a new file first and then put in place, with both file and folder synchronised.
    [[nodiscard]] result<void> save(run_record const& record) const;
    /// Replaces the state that `ration list` shows. It does not have to survive the machine, so nothing is
    /// synchronised.
    [[nodiscard]] result<void> save_state(std::string_view json) const;
    /// Open for appending: each launch adds its token, in the last moment before its program starts. -1: it could not
    /// be opened.
    [[nodiscard]] int launches() const noexcept { return launches_.get(); }

    /// Where the folders of all runs of this user are: $XDG_RUNTIME_DIR/ration, or /tmp/ration-UID.
    [[nodiscard]] static std::string base();
};

/// A run whose owner is dead.
struct abandoned_run {
    run_record record;               ///< with its name only when it cannot be read
    std::string damage;              ///< why it cannot be, as a sentence; empty: it can
    bool unwritten = false;          ///< it has no record yet: its owner died before the first launch
    std::set<std::string> launches;  ///< the tokens of launches whose program was started
    locked_folder folder;
};
/// Errors: `denied` when another user can change the folders of runs: nothing in them is read.
[[nodiscard]] result<std::vector<abandoned_run>> abandoned_runs();

/// A run whose folder exists.
struct present_run {
    run_record record;   ///< with its name only if it cannot be read
    std::string damage;  ///< why it cannot be, as a sentence; empty: it can
    /// Its ration runs. For one in another PID namespace this process cannot find that out, and assumes it
    bool alive = false;
    std::string state;  ///< as `save_state` wrote it last; empty: not yet
};

/// Those of this user that have a record. They are only read, without a lock, so that no run waits. Errors: as of
/// `abandoned_runs`.
[[nodiscard]] result<std::vector<present_run>> present_runs();

/// One of them by its name; none if it has ended. Errors: as of `abandoned_runs`.
[[nodiscard]] result<std::optional<present_run>> present_run_named(std::string const& run);

/// The kernel's number of this boot; empty where the kernel does not report it.
[[nodiscard]] std::string this_boot();

/// The number of the PID namespace that this process is in; 0 where the kernel does not report it.
[[nodiscard]] std::uint64_t this_pid_namespace();

/// Whether every process of the machine can be seen from here.
[[nodiscard]] bool sees_all_processes();

/// A name for a run that no other run has: "PID-" and 16 random digits.
[[nodiscard]] result<std::string> new_run_name();

}  // namespace ration::program
