// SPDX-License-Identifier: BSL-1.0
// Common parts of the programs and the tests of published results: a table, and the claims that it must meet.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace published {

/// A claim on measured values is open if their noise hides whether it holds.
enum class verdict : unsigned char { fails, open, holds };

/// The median of measured values, and the narrowest pair of them that holds it with 93 %, whatever their distribution;
/// below five values that is their range. A claim holds if all of the interval does, and fails if none of it does.
struct measured_median {
    double median = 0, low = 0, high = 0;

    explicit measured_median(std::vector<double> values) {
        std::sort(values.begin(), values.end());
        std::size_t const n = values.size();
        // The probability that the median is not between the values behind the cut: 2 (C(n, 0) + ... + C(n, cut)) / 2^n
        double outside = 0, term = std::ldexp(2.0, -static_cast<int>(n));
        std::size_t cut = 0;
        for (std::size_t k = 0; 2 * (k + 1) < n; ++k) {
            outside += term;
            if (outside > 1 - 0.93) break;
            cut = k;
            term *= static_cast<double>(n - k) / static_cast<double>(k + 1);
        }
        median = (values[(n - 1) / 2] + values[n / 2]) / 2;
        low = values[cut];
        high = values[n - 1 - cut];
    }
    [[nodiscard]] verdict at_least(double limit) const noexcept {
        return low >= limit ? verdict::holds : high >= limit ? verdict::open : verdict::fails;
    }
    [[nodiscard]] verdict at_most(double limit) const noexcept {
        return high <= limit ? verdict::holds : low <= limit ? verdict::open : verdict::fails;
    }
    /// "1.50 (1.21 to 1.93)"
    [[nodiscard]] std::string text() const {
        char all[100];
        std::snprintf(all, sizeof all, "%.2f (%.2f to %.2f)", median, low, high);
        return all;
    }
};

/// One statement about a run, and whether it came out.
struct claim {
    std::string what;
    bool holds = false;    ///< or is open
    bool is_open = false;  ///< the noise of a measurement hides whether it holds
};

/// The table of one published result and what is claimed of it.
class findings {
    std::string table_;
    std::vector<claim> claims_;

public:
    [[nodiscard]] std::string const& table() const noexcept { return table_; }
    [[nodiscard]] std::vector<claim> const& claims() const noexcept { return claims_; }

    void expect(bool holds, std::string what) { claims_.push_back({std::move(what), holds}); }
    void expect(verdict is, std::string what) {
        claims_.push_back({std::move(what), is != verdict::fails, is == verdict::open});
    }

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

/// Prints all; the exit code: 0 when no claim is false.
[[nodiscard]] inline int conclude(findings const& found) {
    std::printf("%s\n", found.table().c_str());
    bool all = true;
    for (auto const& c : found.claims()) {
        std::printf("%-5s %s\n", c.is_open ? "open" : c.holds ? "ok" : "FALSE", c.what.c_str());
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
