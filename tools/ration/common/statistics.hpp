// SPDX-License-Identifier: BSL-1.0
/// Figures of samples: the mean with its confidence interval, and the median.
#pragma once

#include <limits>
#include <span>
#include <vector>

namespace ration::program {

struct interval_figure {
    double mean = std::numeric_limits<double>::quiet_NaN();
    double half = std::numeric_limits<double>::quiet_NaN();  ///< of the 95 % confidence interval of the mean
};

/// Mean and Student's t interval, mean +- t(0.975, n - 1) s / sqrt(n), of values that are independent and roughly
/// normal; of paired differences it is the interval of the paired t test. One value has no interval, no value no mean.
/// Source: NIST/SEMATECH e-Handbook of Statistical Methods, sections 1.3.5.2 and 7.3.1.1, table in 1.3.6.7.2.
[[nodiscard]] interval_figure interval_of(std::span<double const> values) noexcept;

/// The middle value, or the mean of the two middle ones; NaN without values. O(n log n).
[[nodiscard]] double median_of(std::vector<double> values) noexcept;

}  // namespace ration::program
