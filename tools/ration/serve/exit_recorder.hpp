// SPDX-License-Identifier: BSL-1.0
/// The first process of a job of the service. It waits for the job's own program and writes down how that ended, since
/// the kernel reports it only to the parent, and the service may be gone by then.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <ration/process/child.hpp>

namespace ration::program {

/// The word of the command line that starts it: `ration record-exit END CHECKPOINT LOG
/// [RATION_ARRAY_INDEX=NUMBER] PROGRAM [ARGUMENT...]`.
inline constexpr std::string_view exit_recorder_word = "record-exit";

/// Starts the program with RATION_CHECKPOINT = CHECKPOINT, a folder that it makes, waits for its end, and writes END
/// (synchronised). Meanwhile it bounds its output, the file LOG. Signals are for the program: this process ends after
/// it, and in the same way. `words` ends with a null pointer. Returns the exit code.
[[nodiscard]] int record_exit(char** words);

/// What `record_exit` wrote; none without a file that it has written.
[[nodiscard]] std::optional<process::exit_report> recorded_end(std::string const& path);

}  // namespace ration::program
