// SPDX-License-Identifier: BSL-1.0
#include "common/statistics.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace ration::program {
namespace {

/// Of two-sided intervals with 95 %, by degrees of freedom from 1; beyond them the normal distribution's is within 2 %.
constexpr std::array student{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                             2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                             2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};

}  // namespace

interval_figure interval_of(std::span<double const> values) noexcept {
    interval_figure made;
    if (values.empty()) return made;
    double const n = static_cast<double>(values.size());
    double sum = 0, squares = 0;
    for (double const v : values) sum += v;
    made.mean = sum / n;
    if (values.size() == 1) return made;
    for (double const v : values) squares += (v - made.mean) * (v - made.mean);
    double const t = values.size() - 2 < student.size() ? student[values.size() - 2] : 1.96;
    made.half = t * std::sqrt(squares / (n - 1) / n);
    return made;
}

double median_of(std::vector<double> values) noexcept {
    if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
    std::ranges::sort(values);
    std::size_t const middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace ration::program
