// SPDX-License-Identifier: BSL-1.0
/// Models of the jobs and the machine of a recorded run.
#pragma once

#include <array>
#include <string>
#include <vector>

#include <ration/result.hpp>
#include <ration/sim/diagnostic.hpp>
#include <ration/sim/workload.hpp>

#include "twin/device_fit.hpp"
#include "twin/recording.hpp"

namespace ration::program {

/// The figures of a job's model, for people.
struct fitted_job {
    std::string name;
    double steps = 0;                         ///< of the whole job
    std::optional<device_speeds> on_devices;  ///< then the next three are 0
    double steps_per_core_second = 0;
    double start = 0;       ///< core-seconds before its first step
    double most_cores = 0;  ///< that it can use
    std::array<double, 2> tier_steps{};
    std::array<bool, 2> is_forecast{};  ///< the tier was not reached; its step follows from the fitted loss curve
};

struct fitted_run {
    sim::workload jobs;
    std::vector<std::size_t> places;  ///< for each job of the workload its index in `recording::jobs`
    std::vector<fitted_job> about;    ///< in the order of the workload
    std::vector<std::string> remarks;
};

/// Errors: a job of which the log shows no speed.
[[nodiscard]] result<fitted_run, diagnostic> fit(recording const& run);

/// A recorded machine.
struct fitted_machine {
    std::int64_t devices = 0;
    double cores = 0;      ///< mean capacity that policies saw while a job ran on processors; 0 without such jobs
    double most_used = 0;  ///< that jobs used together where they could have used more; at most `cores`
};
/// The most devices that its policy saw.
[[nodiscard]] std::int64_t devices_of(recording const& run) noexcept;
[[nodiscard]] fitted_machine machine_of(recording const& run);

}  // namespace ration::program
