// SPDX-License-Identifier: BSL-1.0
/// The private folder of a run: the progress socket, and the record by which a later start finds what an earlier one left.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <ration/result.hpp>

#include "run/run_record.hpp"

namespace ration::program {

/// Private (0700) and removed by the destructor, with everything in it, unless `keep` was called.
class run_directory {
    std::string path_;

public:
    run_directory() = default;
    run_directory(run_directory&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
    run_directory& operator=(run_directory&&) = delete;
    ~run_directory();

    /// A new one below `base()`. Errors: as of mkdir(2), `denied` when the base belongs to somebody else.
    [[nodiscard]] static result<run_directory> create(std::string const& run);
    /// That of an earlier run, to go on with it.
    [[nodiscard]] static run_directory take_over(std::string const& run);

    [[nodiscard]] std::string const& folder() const noexcept { return path_; }
    [[nodiscard]] std::string socket() const { return path_ + "/progress"; }
    /// That of another run: its jobs have it in their environment.
    [[nodiscard]] static std::string socket_of(std::string const& run) { return base() + '/' + run + "/progress"; }
    /// Written to a new file first and then put in place, with both file and folder synchronised.
    [[nodiscard]] result<void> save(run_record const& record) const;

    /// Where the folders of all runs of this user are: $XDG_RUNTIME_DIR/ration, or /tmp/ration-UID.
    [[nodiscard]] static std::string base();
};

/// A run whose owner is dead.
struct abandoned_run {
    run_record record;   ///< with its name only when it cannot be read
    std::string damage;  ///< why it cannot be, as a sentence; empty: it can
};
[[nodiscard]] std::vector<abandoned_run> abandoned_runs();

/// The kernel's number of this boot; empty where it does not tell.
[[nodiscard]] std::string this_boot();

/// A name for a run of this process that no other run has: "PID-START_TIME".
[[nodiscard]] std::string new_run_name();

}  // namespace ration::program
