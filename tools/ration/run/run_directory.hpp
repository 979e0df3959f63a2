// SPDX-License-Identifier: BSL-1.0
/// The private folders of a run: one for sockets, and one for the record by which a later start finds what an earlier
/// one left. A run holds their locks as long as it lives, wherever its process numbers count.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ration/process/descriptor.hpp>
#include <ration/result.hpp>

#include "run/record_folder.hpp"
#include "run/run_record.hpp"

namespace ration::program {

/// The record of a run, and its folder for sockets. The destructor removes those of a new run, with everything in them;
/// those of an earlier run stay until `remove_at_end`.
class run_directory {
    locked_folder record_;
    std::optional<locked_folder> sockets_;  // none: beside the record
    process::descriptor launches_;
    std::string earlier_;  // the folder of an earlier record of this run, until this one is complete
    bool removed_at_end_ = false;

public:
    /// Of an earlier run, to be removed.
    explicit run_directory(locked_folder record);
    run_directory(run_directory&& other) noexcept = default;
    run_directory& operator=(run_directory&&) = delete;
    ~run_directory();

    /// Of a new run, whose record is in PARENT/.ration, or beside its sockets if `parent` is empty or has no locks.
    /// Errors: as of mkdir(2).
    [[nodiscard]] static result<run_directory> create(std::string const& run, std::string const& parent);
    /// Of an earlier run, to be continued. A record that is not in PARENT/.ration is replaced by one there when that
    /// one is saved. Errors: as of `create`.
    [[nodiscard]] static result<run_directory> reopen(locked_folder record, std::string const& parent);

    /// The run has come to its end.
    void remove_at_end() noexcept { removed_at_end_ = true; }
    /// For sockets, and for what is worth nothing after the run.
    [[nodiscard]] std::string const& folder() const noexcept { return (sockets_ ? *sockets_ : record_).path(); }
    [[nodiscard]] std::string const& record_folder() const noexcept { return record_.path(); }
    [[nodiscard]] std::string socket() const { return folder() + "/progress"; }
    /// Written to a new file first and then put in place, with both file and folder synchronised, except for the record
    /// of a service. Makes the folder for sockets known again if another program has removed it.
    [[nodiscard]] result<void> save(run_record const& record);
    /// Replaces the state that `ration list` shows. It does not have to survive the machine, so nothing is
    /// synchronised.
    [[nodiscard]] result<void> save_state(std::string_view json) const;
    /// Open for appending: each launch adds its token, in the last moment before its program starts. -1: it could not
    /// be opened.
    [[nodiscard]] int launches() const noexcept { return launches_.get(); }

private:
    run_directory(locked_folder record, std::optional<locked_folder> sockets);
    void link_folders() const;
    void remove_earlier();
    void restore_sockets();
};

/// A run whose owner is dead.
struct abandoned_run {
    run_record record;               ///< with its name only when it cannot be read
    std::string damage;              ///< why it cannot be, as a sentence; empty: it can
    bool unwritten = false;          ///< it has no record yet: its owner died before the first launch
    std::set<std::string> launches;  ///< the tokens of launches whose program was started
    locked_folder folder;
};
/// Those that can be found from here, and in PARENT/.ration for each of `parents`.
[[nodiscard]] std::vector<abandoned_run> abandoned_runs(std::span<std::string const> parents = {});

/// A run whose folder exists.
struct present_run {
    run_record record;   ///< with its name only if it cannot be read
    std::string damage;  ///< why it cannot be, as a sentence; empty: it can
    /// Its ration runs. For one in another PID namespace this process cannot find that out, and assumes it
    bool alive = false;
    std::string state;  ///< as `save_state` wrote it last; empty: not yet
};

/// Those of this user that have a record and can be found from here, and in PARENT/.ration for each of `parents`. They
/// are only read, without a lock, so that no run waits.
[[nodiscard]] std::vector<present_run> present_runs(std::span<std::string const> parents = {});

/// One of them by its name; none if it has ended.
[[nodiscard]] std::optional<present_run> present_run_named(std::string const& run);

/// The kernel's number of this boot; empty where the kernel does not report it.
[[nodiscard]] std::string this_boot();

/// The number of the PID namespace that this process is in; 0 where the kernel does not report it.
[[nodiscard]] std::uint64_t this_pid_namespace();

/// Whether every process of the machine can be seen from here.
[[nodiscard]] bool sees_all_processes();

/// A name for a run that no other run has: "PID-" and 16 random digits.
[[nodiscard]] result<std::string> new_run_name();

}  // namespace ration::program
