// SPDX-License-Identifier: BSL-1.0
// Reads the small tables of bench/data, which are part of the project.
#pragma once

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <ration/assert.hpp>

namespace published {

[[nodiscard]] inline std::string text_of(std::string const& path) {
    std::ifstream in(path);
    RATION_ASSERT(in, "a file of the project cannot be read");
    return {std::istreambuf_iterator<char>(in), {}};
}

/// The rows of comma-separated values below the line of names.
[[nodiscard]] inline std::vector<std::vector<std::string>> rows_of_csv(std::string const& path) {
    std::istringstream in(text_of(path));
    std::vector<std::vector<std::string>> rows;
    std::string line, cell;
    for (std::getline(in, line); std::getline(in, line);) {
        rows.emplace_back();
        for (std::istringstream cells(line); std::getline(cells, cell, ',');) rows.back().push_back(cell);
    }
    return rows;
}

}  // namespace published
