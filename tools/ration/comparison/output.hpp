// SPDX-License-Identifier: BSL-1.0
/// A comparison as a table for people and as a line of JSON.
#pragma once

#include <string>

#include "comparison/comparison.hpp"

namespace ration::program {

/// A table as text, with lines ended by '\n': times of each job from its arrival, their means and medians, makespan and
/// CPU; then the remarks. Each side after the first has its changes in %; one side alone has a table without changes.
[[nodiscard]] std::string comparison_text(comparison const& all);

/// The same as one line of JSON without newline, as docs/run.md describes it.
[[nodiscard]] std::string comparison_json(comparison const& all);

}  // namespace ration::program
