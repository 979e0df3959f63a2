// SPDX-License-Identifier: BSL-1.0
/// Errors of the machine, as opposed to those of a job: the same launch can succeed later.
#pragma once

#include <ration/result.hpp>

#include "config/config.hpp"

namespace ration::program {

/// Whether a launch of the job has failed for lack of space, files, processes or memory, by a failing disk or network,
/// or since its folder is not there, which may be mounted later.
[[nodiscard]] bool is_of_host(error const& failure, job_config const& job) noexcept;

}  // namespace ration::program
