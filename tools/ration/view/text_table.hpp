// SPDX-License-Identifier: BSL-1.0
/// Tables for people.
#pragma once

#include <string>
#include <vector>

namespace ration::program {

/// Lines of cells as text: the first column to the left, the others to the right. Lines end in '\n', none in blanks. A
/// line may have fewer cells than the first.
[[nodiscard]] std::string aligned(std::vector<std::vector<std::string>> const& lines);

/// The same with the last column, which has texts of any length, to the left. Each line has all cells.
[[nodiscard]] std::string aligned_with_texts(std::vector<std::vector<std::string>> lines);

}  // namespace ration::program
