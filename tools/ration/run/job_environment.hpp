// SPDX-License-Identifier: BSL-1.0
/// The part of a job's environment that follows from the jobs file: shared by a launch, a dry run and a hook.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <ration/process/environment.hpp>

#include "config/config.hpp"

namespace ration::program {

/// The entries of the key `environment`, as NAME=VALUE.
[[nodiscard]] std::vector<std::string> declared_entries(job_config const& job);

/// The inherited environment of the job, as NAME=VALUE.
[[nodiscard]] std::vector<std::string> inherited_entries(job_config const& job);

/// A request with the inherited and declared entries of the job, and the CPU that it can get on a machine with this
/// capacity. The threads fit its even share with `jobs` jobs at once: on two cores, two jobs of two threads each made
/// half as many steps as two jobs of one thread (bench/run.sh threads). A process reads the number only once, so a
/// later change of the share does not reach it.
[[nodiscard]] process::environment_request environment_of(job_config const& job, millicores capacity, std::size_t jobs);

/// The entries, as NAME=VALUE, by which the threads of a job are counted and wait, in an environment that
/// `process::make_environment` made.
[[nodiscard]] std::vector<std::string> thread_entries(std::vector<std::string> const& environment);

}  // namespace ration::program
