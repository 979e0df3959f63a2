// SPDX-License-Identifier: BSL-1.0
/// Whole runs of streams of jobs, each in a separate process.
#pragma once

namespace ration::bench {

/// Prints time of the processor and memory of runs with 1 000 000 and 10 000 000 jobs. Returns false if one failed.
[[nodiscard]] bool print_streamed_runs();

}  // namespace ration::bench
