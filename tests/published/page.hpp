// SPDX-License-Identifier: BSL-1.0
// Compares a scenario with its claims, and bench/published/results.md with the tables that the scenario prints.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "published/csv.hpp"
#include "published/scene.hpp"
#include "support/catch.hpp"

namespace published_test {

inline void check_all(published::findings const& found) {
    REQUIRE_FALSE(found.claims().empty());
    INFO(found.table());
    for (auto const& c : found.claims()) {
        INFO(c.what);
        CHECK(c.holds);
    }
}

/// Lines of tables, in order.
[[nodiscard]] inline std::vector<std::string> table_lines(std::string const& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
        if (line.starts_with('|')) lines.push_back(line);
    return lines;
}

/// The text of results.md from a heading of the second level to the next one.
[[nodiscard]] inline std::string section(std::string const& heading) {
    auto const page = published::text_of(RATION_PUBLISHED_RESULTS);
    std::size_t const from = page.find("\n## " + heading);
    REQUIRE(from != std::string::npos);
    return page.substr(from, page.find("\n## ", from + 1) - from);
}

}  // namespace published_test
