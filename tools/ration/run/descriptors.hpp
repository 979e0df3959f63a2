// SPDX-License-Identifier: BSL-1.0
/// The descriptors of this process.
#pragma once

#include <cstddef>
#include <sys/resource.h>

#include <ration/result.hpp>

namespace ration::program {

/// Opens those of descriptors 0, 1 and 2 that are closed on /dev/null: otherwise the next file gets such a number, and
/// messages for the screen go into it. Call it before anything else is opened. False when /dev/null cannot be opened.
[[nodiscard]] bool open_standard_streams() noexcept;

/// Raises the soft limit on open files to the hard one. Returns the limits before that, which are those of the jobs.
[[nodiscard]] rlimit raise_open_files() noexcept;

/// Whether this number of jobs can be held at once. Error: `limit`, with the number of open files that they need.
[[nodiscard]] result<void> check_open_files(std::size_t jobs, std::size_t files_per_job) noexcept;

}  // namespace ration::program
