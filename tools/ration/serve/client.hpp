// SPDX-License-Identifier: BSL-1.0
/// The commands of the service's users. `cancel` and `submit` ask the service; the others read its list of jobs, so
/// that they also work while it is down.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/exit_code.hpp"

namespace ration::program {

struct submit_options {
    std::string folder;              ///< of --state
    std::vector<std::string> words;  ///< a command, or one jobs file that ends in .toml
    std::string name;                ///< empty: that of the program
    std::int64_t priority = 0;
    std::int64_t retries = 0;
    std::vector<std::string> after;
    std::string time_limit;  ///< as `parse_duration` takes it; empty: none
    std::string key;         ///< empty: a random one
    bool json = false;
};
/// Prints the label of the job.
[[nodiscard]] exit_code submit_job(submit_options const& options);

struct status_options {
    std::string folder;
    std::string job;  ///< empty: all
    bool json = false;
};
[[nodiscard]] exit_code show_status(status_options const& options);

struct cancel_options {
    std::string folder;
    std::vector<std::string> jobs;
    bool json = false;
};
[[nodiscard]] exit_code cancel_jobs(cancel_options const& options);

struct wait_options {
    std::string folder;
    std::string job;
    bool json = false;
};
/// Returns the exit code of the job's program: 128 + number for a signal, 1 for a failed job without either, 4 for one
/// that was cancelled.
[[nodiscard]] exit_code wait_for_job(wait_options const& options);

/// The number of a job that a word names: "17" or its label, "vae-17". None for another word.
[[nodiscard]] std::optional<std::int64_t> job_named(std::string const& word);

}  // namespace ration::program
