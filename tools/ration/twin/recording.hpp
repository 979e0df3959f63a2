// SPDX-License-Identifier: BSL-1.0
/// A recorded run with the measurements that models are fitted to.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <ration/result.hpp>
#include <ration/sim/diagnostic.hpp>
#include <ration/units.hpp>

#include "config/config.hpp"
#include "report/run_history.hpp"

namespace ration::program {

/// A job at a decision.
struct job_sample {
    std::size_t decision = 0;  ///< index in `recording::decisions`
    double step = 0;
    double used_cores = 0;  ///< since the decision before
    bool has_limit = false;
    bool runs = false;         ///< it is not queued and does not restart
    std::int64_t devices = 0;  ///< that it holds, also before it runs on them
};

struct recorded_decision {
    nanoseconds at{};
    double cores = 0;          ///< that the policy saw as the capacity of the machine
    std::int64_t devices = 0;  ///< likewise
};

struct job_measurements {
    std::vector<job_sample> samples;  ///< of a job on processors only those while it runs
    std::vector<nanoseconds> launches;
    double total_steps = std::numeric_limits<double>::quiet_NaN();  ///< as the job reported them
    std::array<std::optional<double>, 2> tier_steps;                ///< at which Acceptable and Objective were reached
};

struct recording {
    run_history history;
    run_config settings;                 ///< the jobs file, with the parameters of the run's policy
    std::vector<job_measurements> jobs;  ///< in the order of `history.jobs`
    std::vector<recorded_decision> decisions;
};

/// The complete runs of a log. Errors: those of the reader of a log, and a run without an end. `policies`: names that
/// the command line gives, which may be paths.
[[nodiscard]] result<std::vector<recording>, diagnostic> read_recordings(std::string const& path,
                                                                         std::vector<std::string> const& policies);

}  // namespace ration::program
