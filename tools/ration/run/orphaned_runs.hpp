// SPDX-License-Identifier: BSL-1.0
/// Finds the remains of killed runs: jobs that continue, groups, folders.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ration/process/proc.hpp>
#include <ration/result.hpp>

#include "run/run_directory.hpp"

namespace ration::program {

/// The variable of a job's environment that all jobs of a run have alike.
inline constexpr std::string_view place_to_report = "RATION_PROGRESS";

/// The parts of a recorded job that are found on this machine.
struct job_traces {
    bool launched = false;   ///< its program was started in the recorded incarnation
    bool has_first = false;  ///< the recorded process lives, and is the job's
    /// The recorded process lives, and nothing proves that it is the job's: it is left alone
    bool doubtful = false;
    /// With the job's token in their environment, or in its group; the oldest first
    std::vector<process::process_info> processes;
    /// With the output of the job in their environment, and another token: its modules of `preload` or an earlier
    /// launch started them. They do not count as the job.
    std::vector<process::process_info> strays;
};

/// A job that continues, or a process of a job that cannot be named.
struct orphan_process {
    std::string job;    ///< empty: unknown
    std::string reply;  ///< "vae (process 123)", "cnn (between two launches)", "process 123"
};

/// One abandoned run and what of it is still alive.
struct orphaned_run {
    run_record record;
    std::vector<job_traces> traces;  ///< of `record.jobs`, in the same order
    /// Why its record cannot be read: then its processes are known, but not their jobs; empty: it can
    std::string damage;
    bool out_of_sight = false;  ///< its processes count in another PID namespace, and one of them may live there
    bool restarted = false;     ///< nothing of it can be alive: the machine or the container was restarted since
    std::vector<orphan_process> alive;
    locked_folder folder;
};

/// Those that `abandoned_runs` finds. Errors: those of reading /proc.
[[nodiscard]] result<std::vector<orphaned_run>> find_orphaned_runs(std::span<std::string const> parents = {});

/// The error of a command that cannot start beside the jobs of these runs. If some are of a service, it names that one,
/// and how to start it. `remedy`: static text, for the others.
[[nodiscard]] error error_of_alive(std::span<orphaned_run const> runs, char const* remedy);

/// "the record of the run 7-1234 cannot be read: it is missing"; empty when nothing is wrong with it.
[[nodiscard]] std::string sentence_of_damage(orphaned_run const& what);

/// "process 456, which its first process left"; the pids of several.
[[nodiscard]] std::string text_of(job_traces const& traces);

/// Kills the strays. Returns "process 456, which its modules of 'preload' or an earlier launch left"; empty: none.
[[nodiscard]] std::string end_strays(job_traces const& traces, bool only_report = false);
/// "vae (process 123)", or with the text of its traces.
[[nodiscard]] std::string text_of(recorded_job const& job, job_traces const& traces);

}  // namespace ration::program
