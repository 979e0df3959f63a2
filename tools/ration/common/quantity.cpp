// SPDX-License-Identifier: BSL-1.0
#include "common/quantity.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <fmt/format.h>

#include <ration/resource.hpp>

namespace ration::program {

namespace {

struct unit {
    std::string_view name;
    double factor;
};

/// Digits, optionally a point and more digits, then one of the units; multiplied out.
template <std::size_t N>
[[nodiscard]] std::optional<double> parse_quantity(std::string_view text, std::array<unit, N> const& units) noexcept {
    std::size_t const digits = text.find_first_not_of("0123456789.");
    if (digits == 0 || digits == std::string_view::npos || text.front() == '.' || text[digits - 1] == '.')
        return std::nullopt;
    double number = 0;
    auto const [end, failed] = std::from_chars(text.data(), text.data() + digits, number, std::chars_format::fixed);
    if (failed != std::errc{} || end != text.data() + digits) return std::nullopt;
    for (auto const& u : units)
        if (text.substr(digits) == u.name) return number * u.factor;
    return std::nullopt;
}

constexpr double kibi = 1024;

}  // namespace

std::optional<nanoseconds> parse_duration(std::string_view text) noexcept {
    static constexpr std::array<unit, 4> units{{{"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}}};
    constexpr double longest = 365.0 * 24 * 3600e9;
    auto const count = parse_quantity(text, units);
    if (!count || *count > longest) return std::nullopt;
    return nanoseconds{static_cast<std::int64_t>(std::llround(*count))};
}

std::optional<bytes> parse_size(std::string_view text) noexcept {
    static constexpr std::array<unit, 9> units{{{"B", 1},
                                                {"KiB", kibi},
                                                {"MiB", kibi * kibi},
                                                {"GiB", kibi * kibi * kibi},
                                                {"TiB", kibi * kibi * kibi * kibi},
                                                {"kB", 1e3},
                                                {"MB", 1e6},
                                                {"GB", 1e9},
                                                {"TB", 1e12}}};
    auto const count = parse_quantity(text, units);
    if (!count || *count > static_cast<double>(max_amount)) return std::nullopt;
    return bytes{static_cast<std::int64_t>(*count)};
}

std::optional<std::int64_t> parse_count(std::string_view text, std::int64_t most) noexcept {
    std::int64_t number = 0;
    auto const [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failed != std::errc{} || end != text.data() + text.size() || number < 1 || number > most) return std::nullopt;
    return number;
}

std::string size_text(bytes size) {
    constexpr std::array<std::string_view, 5> units{"B", "KiB", "MiB", "GiB", "TiB"};
    auto number = static_cast<double>(size.count);
    std::size_t at = 0;
    while (number >= kibi && at + 1 < units.size()) {
        number /= kibi;
        ++at;
    }
    return fmt::format("{:.10g} {}", std::round(number * 10) / 10, units[at]);
}

std::string duration_text(nanoseconds t) {
    std::int64_t const tenths = (t.count + 50'000'000) / 100'000'000;
    if (tenths < 600) return fmt::format("{}.{} s", tenths / 10, tenths % 10);
    std::int64_t const s = tenths / 10;
    if (s < 3600) return fmt::format("{}:{:02}", s / 60, s % 60);
    return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

}  // namespace ration::program
