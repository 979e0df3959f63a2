// SPDX-License-Identifier: BSL-1.0
/// The measurements as a table, for people and for machines.
#pragma once

#include <string>

#include "bench/runs.hpp"
#include "events/events.hpp"
#include "view/view.hpp"

namespace ration::bench {

/// Decision times beside the plain loop's, then the quality, then remarks. Lines end in '\n'.
[[nodiscard]] std::string table_text(results const& all, program::machine_facts const& machine,
                                     program::view_style style);

/// One JSON object without newline.
[[nodiscard]] std::string as_json(results const& all, program::machine_facts const& machine);

/// The median of some numbers in any order; NaN of none.
[[nodiscard]] double median_of(std::vector<double> all) noexcept;

/// Whether this program was compiled to be fast.
[[nodiscard]] bool is_optimised() noexcept;

}  // namespace ration::bench
