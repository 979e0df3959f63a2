// SPDX-License-Identifier: BSL-1.0
/// The record with which a later start can continue the jobs of a run, as text and back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "events/events.hpp"
#include "run/resize_phase.hpp"

namespace ration::program {

/// One job in the record: enough to take it over.
struct recorded_job {
    std::string name;
    std::uint64_t id = 0;
    pid_t pid = 0;
    std::uint64_t start_time = 0;  ///< clock ticks after boot: proves that the pid is still the same process
    std::uint32_t incarnation = 0;
    std::string token;
    /// Its launch was decided; whether it was made is written elsewhere, by the process itself
    bool launching = false;
    // On the clock of the run; 0: not yet
    std::int64_t started_ns = 0, acceptable_ns = 0, objective_ns = 0, ended_ns = 0;
    std::uint32_t tier = 0;
    std::vector<std::string> definition{};  ///< of `job_config`
    // --- of a job with devices; by their names
    /// `over` also for a job without devices that has ended; none: no devices
    std::optional<resize_phase> phase{};
    std::vector<std::string> holds{}, next{}, origin{};
    std::int64_t wanted = 0, batch = 0, launched_batch = 0;
    bool falls_back = false, returning = false, has_saved = false, finishing = false;
    double cost = 0;
    std::string control{};           ///< where it listens for commands
    std::string checkpoint{};        ///< its folder
    std::optional<condition> how{};  ///< of one that is over
    std::string why{};               ///< the same

    [[nodiscard]] bool is_over() const noexcept { return phase == resize_phase::over; }
};

/// The record that a run writes before and after each start of a job, at its tiers and its end, and before each step of
/// a change of its size.
struct run_record {
    std::string run;  ///< its name, also that of its groups
    pid_t owner = 0;
    std::uint64_t owner_start_time = 0;
    std::string file, policy;
    std::string output;  ///< the folder for the output of its jobs, absolute
    /// The owner's /proc/self/cgroup: its groups are below, wherever the next start comes from
    std::string memberships;
    /// The kernel's number of this boot: neither processes nor clocks of another one are meant
    std::string boot;
    std::uint64_t pid_namespace = 0;  ///< in which the numbers of processes count
    std::int64_t written_ns = 0;      ///< CLOCK_MONOTONIC when this was written down
    std::int64_t clock_ns = 0;        ///< the clock of the run then
    std::vector<recorded_job> jobs;
};

/// The list of jobs of a service in its state folder. The record of a service has its path in place of a jobs file.
inline constexpr std::string_view job_list_of_service = "/jobs.db";

/// The state folder of a service, by the file of its record; none for a jobs file.
[[nodiscard]] std::optional<std::string> state_folder_of(std::string_view file);

/// One JSON object with a checksum of its content. Bytes of its texts that are not UTF-8 become U+FFFD: a record with a
/// letter less is better than none.
[[nodiscard]] std::string to_json(run_record const& record);

/// Why this is not a record of a run, as a sentence; empty: `into` holds one that can be used. Everything in it is
/// doubted: it is as it was written, each number is in its range, a process is named by its number and its start or not
/// at all, no two jobs have the same name, process, token or device.
[[nodiscard]] std::string read_record(std::string_view text, run_record& into);

}  // namespace ration::program
