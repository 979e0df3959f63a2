// SPDX-License-Identifier: BSL-1.0
/// The files that a page is made of, as text in the program.
#pragma once

#include <string_view>

namespace ration::program {

struct page_files {
    std::string_view style, script;  ///< tools/ration/report/*.css and *.js
    /// Chart.js as it was found when ration was built, and its licence; empty without it
    std::string_view chart_library, licence;
};
[[nodiscard]] page_files const& page_assets() noexcept;

}  // namespace ration::program
