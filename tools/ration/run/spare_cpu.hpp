// SPDX-License-Identifier: BSL-1.0
/// The part of this machine's CPUs that jobs can have beside other programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <ration/process/cpus.hpp>
#include <ration/units.hpp>

namespace ration::program {

/// The counters of one moment; each grows.
struct cpu_reading {
    nanoseconds at, used_by_jobs;
    std::int64_t spare_ticks;  ///< of `spare_ticks()`
};

/// Follows the CPU time that jobs use together with the spare time of their CPUs in /proc/stat. A shared machine cannot
/// give its jobs what others use at their priority. Time of niced tasks is spare unless ration, and so its jobs, is
/// niced itself. A job that lowers its own priority counts twice.
///
/// Each change of the answer changes every limit that is a share of it. The answer therefore moves only after a
/// deviation that lasts: by a twentieth of the whole for 10 s, or by ten of them for 1 s. Noise ends
/// before.
class spare_cpu {
    process::cpu_set cpus_;
    millicores most_;
    bool niced_;  // whether time of niced tasks is spare
    std::optional<cpu_reading> first_, last_;
    std::optional<double> smoothed_, answer_;  // in twentieths of `most_`
    double deviated_ = 0;                      // the deviation from the answer, times the seconds that it lasts

public:
    static constexpr nanoseconds least_interval = milliseconds(200);  // /proc/stat counts hundredths of a second

    /// `most`: what the jobs can have on an idle machine, above 0.
    spare_cpu(process::cpu_set const& cpus, millicores most) noexcept;

    /// Reads /proc/stat, unless the last reading is too recent. `used_by_jobs`: all their CPU time up to now.
    void read(nanoseconds now, nanoseconds used_by_jobs);
    /// Takes a reading that is later than the last one.
    void take(cpu_reading const& now) noexcept;

    /// In twentieths of the whole, and at least one of them. The whole until the first two readings.
    [[nodiscard]] millicores available() const noexcept;
    /// Spare cores between the first and the last reading, on average. None before the second one, and where /proc/stat
    /// has never counted any spare time, as in some containers.
    [[nodiscard]] std::optional<double> mean_cores() const noexcept;

private:
    void follow(double twentieths, double elapsed_seconds) noexcept;
};

/// The time, in clock ticks, that the CPUs of a text like /proc/stat were idle, with iowait. With `niced`, also the
/// field nice: the kernel adds there the user time of tasks with a nice value above 0, in any scheduling class. Such
/// tasks give way to a job of normal priority. Their system time, and tasks of SCHED_IDLE with the nice value 0, count
/// as used: the kernel does not show them apart.
[[nodiscard]] std::int64_t spare_ticks(std::string_view proc_stat, process::cpu_set const& cpus, bool niced) noexcept;

}  // namespace ration::program
