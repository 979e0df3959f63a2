// SPDX-License-Identifier: BSL-1.0
/// Jobs that are too many to keep: each run makes or reads them one after another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>

#include <ration/sim/generator.hpp>
#include <ration/sim/time_distribution.hpp>
#include <ration/sim/trace/stream.hpp>

#include "common/diagnostics.hpp"

namespace ration::program {

/// Workloads with more jobs are streams: tables, bounds and lists of jobs would need 1 KB for each.
inline constexpr std::size_t most_kept_jobs = 1'000'000, most_streamed_jobs = 1'000'000'000;

/// Generated jobs.
struct generated_stream {
    sim::generator_options how;
    sim::rigid_options only;
};
/// The number of jobs of a stream.
[[nodiscard]] inline std::size_t size_of(generated_stream const& made) noexcept { return made.how.jobs; }
[[nodiscard]] inline std::size_t size_of(sim::trace::streamed_table const& read) noexcept { return read.jobs; }
/// The jobs of a stream.
using job_stream = std::variant<generated_stream, sim::trace::streamed_table>;

/// Times of a run over a stream, in place of the outcome of each job.
struct streamed_times {
    sim::time_distribution jct, wait;
};

}  // namespace ration::program
