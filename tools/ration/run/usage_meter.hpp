// SPDX-License-Identifier: BSL-1.0
/// The usage of the processes of the jobs.
#pragma once

#include <cstddef>
#include <span>

#include <ration/host/backend.hpp>
#include <ration/host/meter.hpp>

#include "run/per_job.hpp"

namespace ration::program {

struct job_usage {
    nanoseconds cpu_time{};          ///< of its present incarnation, kept after its end
    nanoseconds earlier_cpu_time{};  ///< of the incarnations before
    bytes memory{};                  ///< resident at the last tick
};

class usage_meter {
    per_job<job_usage> jobs_;
    nanoseconds forgotten_{};  // of jobs whose slots are free again
    rate_meter all_;           // the rates of single jobs lag behind an arrival, and so does their sum

public:
    explicit usage_meter(std::size_t jobs) : jobs_(jobs) {}

    void take(live_job const& job, observation const& seen) noexcept;
    /// At the end of a process. `cpu_time`: as the kernel or the backend counted it.
    void take_final(live_job const& job, nanoseconds cpu_time) noexcept;
    void start_incarnation(live_job const& job) noexcept;
    /// The job leaves the run, and its CPU time stays in `total`.
    void forget(live_job const& job);
    /// Updates `used_cores`.
    void read(nanoseconds now) noexcept { all_.read(now, total().count); }

    /// By all jobs together, at the last `read`.
    [[nodiscard]] double used_cores() const noexcept { return all_.per_second() * 1e-9; }
    /// CPU time of all incarnations of all jobs. O(jobs).
    [[nodiscard]] nanoseconds total() const noexcept;
    /// By slot of the job table.
    [[nodiscard]] std::span<job_usage const> jobs() const noexcept { return jobs_.values(); }
};

}  // namespace ration::program
