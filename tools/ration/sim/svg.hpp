// SPDX-License-Identifier: BSL-1.0
/// Charts as SVG text: bars with a bound, and lines over a common axis.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ration::program {

/// `text` for HTML, in elements and in attributes.
[[nodiscard]] std::string escaped(std::string_view text);

/// One bar. A value that is no number has none.
struct bar {
    std::string label, text;      ///< beside it
    double value = 0, half = 0;   ///< half of a confidence interval; NaN for none
    std::size_t colour = 0;
};

/// Horizontal bars from 0 on, one below the other, and a line across all of them at `bound` unless that is no number.
[[nodiscard]] std::string bar_chart(std::vector<bar> const& bars, double bound, std::string_view bound_text);

/// One curve. Points in the units of the axes, x ascending.
struct curve {
    std::string label;
    std::size_t colour = 0;
    std::vector<std::pair<double, double>> points;
    bool steps = false;  ///< a value holds until the next point
    bool filled = false;
};

struct axis {
    std::string label;
    double least = 0, most = 1;
    bool logarithmic = false;  ///< least must be above 0
    bool percent = false;      ///< 1 is 100 %
};

/// Curves in one frame of this height. `name` is what the page's script knows the chart by.
[[nodiscard]] std::string line_chart(std::string_view name, std::vector<curve> const& curves, axis const& x, axis const& y, int height = 300);

/// Ends of an axis and marks on it: the marks are round numbers.
[[nodiscard]] std::vector<double> marks_of(axis const& a, int wanted);

}  // namespace ration::program
