// SPDX-License-Identifier: BSL-1.0
/// The figures of `ration measure scaling` as a table and as JSON.
#pragma once

#include <string>
#include <vector>

#include "measure/scaling_result.hpp"

namespace ration::program {

/// "1 device", "2 devices".
[[nodiscard]] std::string devices_text(std::int64_t count);

/// Sentences on sizes without a measurement, and on assumptions behind the list.
[[nodiscard]] std::vector<std::string> remarks_on(scaling_result const& all);

/// The table, the line for the jobs file, and the remarks.
[[nodiscard]] std::string scaling_text(scaling_result const& all);

/// One line, without its end.
[[nodiscard]] std::string scaling_json(scaling_result const& all);

}  // namespace ration::program
