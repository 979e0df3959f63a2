// SPDX-License-Identifier: BSL-1.0
/// What this machine's CPUs have left, whoever uses the rest.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <ration/process/cpus.hpp>
#include <ration/units.hpp>

namespace ration::program {

/// Follows the idle time of some CPUs in /proc/stat. A shared machine cannot give its jobs what others use: the share
/// of the whole that a policy divides is what the jobs use plus what is idle.
class spare_cpu {
    process::cpu_set cpus_;
    std::optional<nanoseconds> at_;
    std::int64_t idle_ticks_ = 0;
    double idle_ = 0;  // millicores, smoothed
    bool known_ = false;
    std::optional<double> answer_;  // in twentieths

public:
    static constexpr nanoseconds least_interval = milliseconds(200);  // /proc/stat counts hundredths of a second

    explicit spare_cpu(process::cpu_set const& cpus) noexcept : cpus_(cpus) {}

    /// Takes a reading, unless the last one is too recent.
    void read(nanoseconds now);

    /// What jobs that use `used` millicores can have in all, of at most `most`, in twentieths of `most`. Stays where it
    /// was until it is off by more than three quarters of one, so that noise does not move every limit. `most` until
    /// the first two readings.
    [[nodiscard]] millicores available(double used, millicores most) noexcept;
};

/// The idle time, in clock ticks, of the CPUs of a text like /proc/stat. Iowait counts as idle.
[[nodiscard]] std::int64_t idle_ticks(std::string_view proc_stat, process::cpu_set const& cpus) noexcept;

}  // namespace ration::program
