// SPDX-License-Identifier: BSL-1.0
/// Bounds the output of a job of the service. The process that waits for the job calls it, so that it also works while
/// the service is down.
#pragma once

#include <cstdint>
#include <string>

namespace ration::program {

/// Bytes of a job's output from which on it is moved.
inline constexpr std::int64_t largest_output = std::int64_t{32} << 20;

/// The output before the present file.
[[nodiscard]] inline std::string earlier_output(std::string const& log) { return log + ".1"; }

/// Moves the content of a file with `largest` bytes or more to `earlier_output(log)`, in place of what is there, and
/// empties the file. `output`: open for appending, the file `log`. Programs keep it open, so that it cannot be renamed;
/// output between the last read and the call of ftruncate(2) is lost. Nothing happens if the copy cannot be written.
void rotate_output(int output, std::string const& log, std::int64_t largest);

}  // namespace ration::program
