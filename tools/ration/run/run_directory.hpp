// SPDX-License-Identifier: BSL-1.0
/// The private folder of a run: the progress socket, and the record by which a later start finds what an earlier one left.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include <ration/result.hpp>
#include <ration/units.hpp>

namespace ration::program {

/// One job in the record: enough to take it over.
struct recorded_job {
    std::string name;
    std::uint64_t id = 0;
    pid_t pid = 0;
    std::uint64_t start_time = 0;  ///< clock ticks after boot: proves that the pid is still the same process
    std::uint32_t epoch = 0;
    std::string token;
    std::int64_t started_ns = 0;   ///< on the clock of the run
    std::uint32_t tier = 0;
    // --- of a job with devices; by their names
    std::string phase{};           ///< of `resize_phase`; "over" also for a job without devices that has ended; empty: no devices
    std::vector<std::string> holds{}, next{}, origin{};
    std::int64_t wanted = 0, batch = 0, launched_batch = 0;
    bool falls_back = false, returning = false, has_saved = false, finishing = false;
    double cost = 0;
    std::string control{};         ///< where it listens for commands
    std::string checkpoint{};      ///< its folder
    std::string how{}, why{};        ///< of one that is over
};

/// What a run writes down at every start and end of a job, and before each step of a change of its size.
struct run_record {
    std::string run;               ///< its name, also that of its groups
    pid_t owner = 0;
    std::uint64_t owner_start_time = 0;
    std::string file, policy;
    std::string memberships;       ///< the owner's /proc/self/cgroup: its groups lie below, wherever the next start comes from
    std::int64_t began_ns = 0;     ///< CLOCK_MONOTONIC at the start of the run; means something until the next boot only
    std::vector<recorded_job> jobs;
};

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
    /// Written to a new file first and then put in place, with both file and folder synchronised.
    [[nodiscard]] result<void> save(run_record const& record) const;

    /// Where the folders of all runs of this user are: $XDG_RUNTIME_DIR/ration, or /tmp/ration-UID.
    [[nodiscard]] static std::string base();
};

/// The records of runs whose owner is dead. A record that cannot be read is given with its name only.
[[nodiscard]] std::vector<run_record> abandoned_runs();

/// A name for a run of this process that no other run has: "PID-START_TIME".
[[nodiscard]] std::string new_run_name();

}  // namespace ration::program
