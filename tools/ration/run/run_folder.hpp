// SPDX-License-Identifier: BSL-1.0
/// The folder of one run below `ration-output`: output and checkpoints of its jobs, `events.jsonl`, `jobs.toml`, and
/// `summary.json`. Its name is the argument of `ration logs --run`.
#pragma once

#include <ctime>
#include <string>
#include <string_view>

#include <ration/process/descriptor.hpp>
#include <ration/result.hpp>
#include <ration/sim/diagnostic.hpp>

namespace ration::program {

/// Below the working directory: the folders of all runs, and the link to the newest one.
inline constexpr std::string_view folder_of_runs = "ration-output", latest_run = "latest";

/// Makes the folder of a new run, `ration-output/20261124-124813-NAME`; runs of the same second get `-2`, `-3` and so
/// on behind it. `name`: that of a `planned_run`. Returns the absolute path. Errors: those of mkdir(2).
[[nodiscard]] result<std::string> make_run_folder(std::string_view name, std::time_t now);

/// Lets `latest` beside the folder name it, in one step. Errors: `already_exists` if it is not a symbolic link, those
/// of symlink(2) and rename(2).
[[nodiscard]] result<void> point_latest_to(std::string const& folder);

/// Replaces a file in one step by one that only this user can read: a jobs file may contain secrets. Errors: those of
/// open(2), write(2) and rename(2).
[[nodiscard]] result<void> replace_private_file(std::string const& path, std::string_view text);

/// Opens a file for appending that only this user can read, and cuts off a last line without an end, as a killed ration
/// leaves it. Errors: those of open(2).
[[nodiscard]] result<process::descriptor> open_private_log(std::string const& path);

/// Opens the file for the output of a job of this user. Errors: those of `open_own_file`.
[[nodiscard]] result<process::descriptor> open_job_output(std::string const& path);

/// The folder that a word of the command line names: "latest", the name of a run or a path. `latest` is replaced by the
/// name of the run, which stays valid if a new run starts. The folder need not exist.
[[nodiscard]] std::string run_folder_named(std::string const& word);

/// The event log that a word names: that of a run, or else the file of this path. Errors: the run has its event log
/// elsewhere, or `latest` names no run.
[[nodiscard]] result<std::string, diagnostic> event_log_named(std::string const& word);

}  // namespace ration::program
