// SPDX-License-Identifier: BSL-1.0
/// The job and the numbers of devices of a measurement.
#pragma once

#include <cstdint>
#include <vector>

#include <ration/sim/diagnostic.hpp>

#include "config/config.hpp"
#include "measure/options.hpp"

namespace ration::program {

/// The index of the job that `--job` names, or of the only job whose number of devices can change. Errors: there is no
/// such job, or several have such a range.
[[nodiscard]] result<std::size_t, diagnostic> choose_job(run_config const& config, std::string const& name);

/// The keys of the file on the devices of a job. Pre: `choose_job` has chosen the job.
[[nodiscard]] elastic_config const& elastic_of(job_config const& job) noexcept;

/// The file with this job alone, as it is measured. The job starts at once, and has no tenant, no hooks, no folder of
/// checkpoints and no end at its Objective. The policy is `fifo` for a job with devices, and `equal_share` for one
/// without.
[[nodiscard]] run_config measured_config(run_config config, std::size_t job);

/// 1, 2, 4 and so on, with `least` and `most`.
[[nodiscard]] std::vector<std::int64_t> default_sizes(std::int64_t least, std::int64_t most);

/// The sizes of `--devices` in ascending order. Errors: one is outside of the job's bounds, or there are fewer than
/// two.
[[nodiscard]] result<std::vector<std::int64_t>, diagnostic> chosen_sizes(scaling_options const& options,
                                                                         job_config const& job);

}  // namespace ration::program
