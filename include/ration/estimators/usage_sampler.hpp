// SPDX-License-Identifier: BSL-1.0
/// Joins the measurements of a job into samples of one period, and keeps the newest ones.
///
/// For the estimator `phases`, and for programs that read the same measurements from a log.
#pragma once

#include <cstdint>
#include <tuple>

#include <ration/estimators/phase_model.hpp>
#include <ration/target.hpp>
#include <ration/units.hpp>

namespace ration::estimators {

/// What a host measured of a job at one time.
struct usage_measurement {
    nanoseconds now{0};
    double cpu = 0;        ///< millicores
    double memory = 0;     ///< bytes
    double throttled = 0;  ///< part of the time during which a limit held the job back
};

/// Makes samples of measurements. A measurement that equals the last one is ignored: it may be the same tick, asked
/// again. A measurement that makes a sum infinite is ignored, too.
class usage_sampler {
    /// A sample is throttled if a limit held the job back for a larger part of its time.
    static constexpr double most_throttled = 0.05;

    nanoseconds since_{0};
    double last_cpu_ = -1, last_memory_ = -1;
    double cpu_ = 0, throttled_ = 0, memory_ = 0;  // sums, and the largest
    std::uint64_t measurements_ = 0;

public:
    /// Takes a measurement. Returns true, and writes the sample, if it ends a period of that many seconds.
    [[nodiscard]] bool take(usage_measurement const& m, double period, usage_sample& sample) noexcept {
        double const cpu = cpu_ + m.cpu, throttled = throttled_ + (m.throttled > 0 ? m.throttled : 0);
        if (!is_finite(cpu) || !is_finite(m.memory) || !is_finite(throttled)) return false;
        if (m.cpu == last_cpu_ && m.memory == last_memory_) return false;
        if (last_cpu_ < 0) since_ = m.now;
        last_cpu_ = m.cpu;
        last_memory_ = m.memory;
        cpu_ = cpu;
        throttled_ = throttled;
        if (m.memory > memory_) memory_ = m.memory;
        ++measurements_;
        if (to_seconds(m.now - since_) < period) return false;
        auto const n = static_cast<double>(measurements_);
        sample = {.at = to_seconds(m.now),
                  .cpu = cpu_ / n,
                  .memory = memory_,
                  .is_throttled = throttled_ / n > most_throttled};
        since_ = m.now;
        cpu_ = throttled_ = memory_ = 0;
        measurements_ = 0;
        return true;
    }

    /// For saved state.
    static auto fields(auto& self) noexcept {
        return std::tie(self.since_, self.last_cpu_, self.last_memory_, self.cpu_, self.throttled_, self.memory_,
                        self.measurements_);
    }
    [[nodiscard]] bool sane() const noexcept {
        return is_finite(last_cpu_) && is_finite(last_memory_) && is_finite(cpu_) && is_finite(throttled_) &&
               is_finite(memory_);
    }
};

}  // namespace ration::estimators
