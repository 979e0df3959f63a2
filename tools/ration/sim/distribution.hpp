// SPDX-License-Identifier: BSL-1.0
/// Many times in few numbers: quantiles, and a histogram whose bins are the same in every report.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include <ration/sim/time_distribution.hpp>

#include "events/json_writer.hpp"

namespace ration::program {

/// Bins of a histogram in each power of ten: bin k holds 10^(k/8) <= x < 10^((k+1)/8) seconds, from a microsecond on.
inline constexpr int bins_per_decade = 8, first_bin = -6 * bins_per_decade, last_bin = 12 * bins_per_decade;

/// The bin of a time; a time below or above all bins is in the first or the last. Precondition: no NaN.
[[nodiscard]] int bin_of(double seconds) noexcept;

/// Writes the member `name`: `of` jobs in all, `reached` of them with a time, `mean`, the quantiles from 0 to 100 % in
/// steps of 1 % (docs/sim.md defines them), and the `bins` with their `counts` from bin `first` on. `seconds` in
/// any order. Numbers have six digits. O(n log n).
void write_distribution(json_writer& json, std::string_view name, std::vector<double> seconds, std::size_t of);
/// The same of times that were not kept.
void write_distribution(json_writer& json, std::string_view name, sim::time_distribution const& times, std::size_t of);

/// The value with six significant digits: more would fill a page and say nothing.
[[nodiscard]] double six_digits(double value);

/// Writes an array; NaN becomes null, and infinity becomes "unlimited".
void write_numbers(json_writer& json, std::string_view name, std::vector<double> const& values);

}  // namespace ration::program
