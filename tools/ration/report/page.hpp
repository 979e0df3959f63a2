// SPDX-License-Identifier: BSL-1.0
/// The page of a report: one HTML file that loads nothing from elsewhere.
#pragma once

#include <string>
#include <string_view>

#include "report/input.hpp"

namespace ration::program {

/// `text` for HTML, in elements and in attributes.
[[nodiscard]] std::string escaped(std::string_view text);

/// JSON for a script element: nothing in it can end the element.
[[nodiscard]] std::string for_script(std::string_view json);

/// The whole page. Its data are one JSON object in the script element `data`; what was measured while simulating is
/// apart, in `measured`, since it is not the same twice.
[[nodiscard]] std::string report_page(report_input input);

/// Whether this ration was built with the library that draws charts.
[[nodiscard]] bool has_charts() noexcept;
/// The sentence to show, once, where it was not.
inline constexpr std::string_view how_to_get_charts =
    "this ration was built without Chart.js, so the page has tables and no charts; install the package libjs-chart.js, or name the file by "
    "-D RATION_CHART_JS=chart.min.js, and build ration again";

/// False, and a sentence on standard error that begins with `option`, when the file cannot be written.
[[nodiscard]] bool write_page(std::string const& page, std::string const& path, std::string_view option);

}  // namespace ration::program
