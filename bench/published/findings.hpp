// SPDX-License-Identifier: BSL-1.0
// Common parts of the programs and the tests of published results: a table, and the claims that it must meet.
#pragma once

#include <algorithm>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace published {

/// One statement about a run, and whether it came out.
struct claim {
    std::string what;
    bool holds = false;
};

/// The table of one published result and what is claimed of it.
class findings {
    std::string table_;
    std::vector<claim> claims_;

public:
    [[nodiscard]] std::string const& table() const noexcept { return table_; }
    [[nodiscard]] std::vector<claim> const& claims() const noexcept { return claims_; }

    void expect(bool holds, std::string what) { claims_.push_back({std::move(what), holds}); }

    /// Adds to the table, as printf would.
    [[gnu::format(printf, 2, 3)]] void print(char const* format, ...) {
        char line[512];
        std::va_list values;
        va_start(values, format);
        std::vsnprintf(line, sizeof line, format, values);
        va_end(values);
        table_ += line;
    }
};

/// Prints all; the exit code: 0 when every claim holds.
[[nodiscard]] inline int conclude(findings const& found) {
    std::printf("%s\n", found.table().c_str());
    bool all = true;
    for (auto const& c : found.claims()) {
        std::printf("%-5s %s\n", c.holds ? "ok" : "FALSE", c.what.c_str());
        all = all && c.holds;
    }
    return all ? 0 : 1;
}

/// A figure of several seeds. The range of five holds the median of all seeds with 94 %, that of twenty with more
/// than 99.99 %.
struct over_seeds {
    double median = 0, least = 0, most = 0;

    explicit over_seeds(std::vector<double> values) {
        std::sort(values.begin(), values.end());
        std::size_t const half = values.size() / 2;
        median = values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
        least = values.front();
        most = values.back();
    }
    /// "1.5 (1.2 to 1.9)"
    [[nodiscard]] std::string text(int digits) const {
        char all[100];
        std::snprintf(all, sizeof all, "%.*f (%.*f to %.*f)", digits, median, digits, least, digits, most);
        return all;
    }
};

}  // namespace published
