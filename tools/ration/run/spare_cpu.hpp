// SPDX-License-Identifier: BSL-1.0
/// What this machine's CPUs have left, whoever uses the rest.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <ration/process/cpus.hpp>
#include <ration/units.hpp>

namespace ration::program {

/// Follows the spare time of some CPUs in /proc/stat. A shared machine cannot give its jobs what others use at their
/// priority: the share of the whole that a policy divides is what the jobs use plus what is spare. Time of niced tasks
/// is spare unless ration, and so its jobs, is niced itself. A job that lowers its own priority counts twice.
class spare_cpu {
    process::cpu_set cpus_;
    bool niced_;  // whether time of niced tasks is spare
    std::optional<nanoseconds> at_;
    std::int64_t spare_ticks_ = 0;
    std::optional<nanoseconds> first_at_;  // the first reading
    std::int64_t first_ticks_ = 0;
    double spare_ = 0;  // millicores, smoothed
    bool known_ = false;
    std::optional<double> answer_;  // in twentieths

public:
    static constexpr nanoseconds least_interval = milliseconds(200);  // /proc/stat counts hundredths of a second

    explicit spare_cpu(process::cpu_set const& cpus) noexcept;

    /// Takes a reading, unless the last one is too recent.
    void read(nanoseconds now);

    /// What jobs that use `used` millicores can have in all, of at most `most`, in twentieths of `most`. Stays where it
    /// was until it is off by more than three quarters of one, so that noise does not move every limit. `most` until
    /// the first two readings.
    [[nodiscard]] millicores available(double used, millicores most) noexcept;
    /// Spare cores between the first and the last reading, on average. None before the second one, and where /proc/stat
    /// has never counted any spare time, as in some containers.
    [[nodiscard]] std::optional<double> mean_cores() const noexcept;
};

/// The time, in clock ticks, that the CPUs of a text like /proc/stat were idle, with iowait. With `niced`, also the
/// field nice: the kernel adds there the user time of tasks with a nice value above 0, in any scheduling class. Such
/// tasks give way to a job of normal priority. Their system time, and tasks of SCHED_IDLE with the nice value 0, count
/// as used: the kernel does not show them apart.
[[nodiscard]] std::int64_t spare_ticks(std::string_view proc_stat, process::cpu_set const& cpus, bool niced) noexcept;

}  // namespace ration::program
