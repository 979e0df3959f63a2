// SPDX-License-Identifier: BSL-1.0
/// How the kernel reads numbers out of texts that are written to cgroup files: each kind of file in its own way. Part
/// of the model. Source: lib/kstrtox.c, lib/cmdline.c (memparse), lib/bitmap-str.c, kernel/sched/core.c (cpu.max), and
/// measurements.
#pragma once

#include <cerrno>
#include <cstdint>
#include <limits>
#include <string_view>

#include <ration/cgroup/detail/cpu_set.hpp>
#include <ration/resource.hpp>

namespace ration::cgroup::modelled {

[[nodiscard]] constexpr bool is_blank(char c) noexcept { return c == ' ' || (c >= '\t' && c <= '\r'); }

[[nodiscard]] constexpr std::string_view strip(std::string_view text) noexcept {
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return text;
}

[[nodiscard]] constexpr int digit_of(char c) noexcept {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : 99;
}

/// Removes a leading `0x`. Returns the base: 16 after that, 8 with a leading `0`, else 10.
[[nodiscard]] constexpr unsigned take_base(std::string_view& text) noexcept {
    if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X') && digit_of(text[2]) < 16) {
        text.remove_prefix(2);
        return 16;
    }
    return !text.empty() && text[0] == '0' ? 8 : 10;
}

/// The digits at the front, in that base. False when there are none or the number is too large.
[[nodiscard]] constexpr int take_digits(std::string_view& text, unsigned base, std::uint64_t& number) noexcept {
    number = 0;
    std::size_t taken = 0;
    for (; taken < text.size() && digit_of(text[taken]) < static_cast<int>(base); ++taken) {
        auto const digit = static_cast<std::uint64_t>(digit_of(text[taken]));
        if (number > (std::numeric_limits<std::uint64_t>::max() - digit) / base) return ERANGE;
        number = number * base + digit;
    }
    text.remove_prefix(taken);
    return taken == 0 ? EINVAL : 0;
}

/// Base 0 and nothing around it but one line end.
[[nodiscard]] constexpr int read_u64(std::string_view text, std::uint64_t& number) noexcept {
    if (text.starts_with('+')) text.remove_prefix(1);
    unsigned const base = take_base(text);
    if (int const failed = take_digits(text, base, number)) return failed;
    return text.empty() || text == "\n" ? 0 : EINVAL;
}

[[nodiscard]] constexpr int read_s64(std::string_view text, std::int64_t& number) noexcept {
    bool const negative = text.starts_with('-');
    std::uint64_t size = 0;
    if (int const failed =
            negative && text.starts_with("-+") ? EINVAL : read_u64(negative ? text.substr(1) : text, size)) {
        return failed;
    }
    if (size > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return ERANGE;
    number = negative ? -static_cast<std::int64_t>(size) : static_cast<std::int64_t>(size);
    return 0;
}

[[nodiscard]] constexpr int read_int(std::string_view text, int& number) noexcept {
    std::int64_t wide = 0;
    if (int const failed = read_s64(strip(text), wide)) return failed;
    if (wide < std::numeric_limits<int>::min() || wide > std::numeric_limits<int>::max()) return ERANGE;
    number = static_cast<int>(wide);
    return 0;
}

/// Bytes with a suffix K, M, G, T, P or E, in whole pages, rounded down; `word` means no limit. No digits at all count
/// as 0.
[[nodiscard]] constexpr int read_pages(std::string_view text, std::string_view word, std::int64_t& bytes) noexcept {
    constexpr std::uint64_t page = 4096, most = 0x7fff'ffff'ffff'f000;
    text = strip(text);
    if (text == word) {
        bytes = unlimited;
        return 0;
    }
    std::uint64_t number = 0;
    unsigned const base = take_base(text);
    static_cast<void>(take_digits(text, base, number));
    constexpr std::string_view suffixes = "KMGTPE";
    if (!text.empty()) {
        char const upper = text[0] >= 'a' && text[0] <= 'z' ? static_cast<char>(text[0] - 'a' + 'A') : text[0];
        if (auto const power = suffixes.find(upper); power != std::string_view::npos) {
            number <<= 10 * (power + 1);
            text.remove_prefix(1);
        }
    }
    if (!text.empty()) return EINVAL;
    number = number / page * page;
    bytes = number >= most ? unlimited : static_cast<std::int64_t>(number);
    return 0;
}

/// `MAX`, `N`, `MAX PERIOD` or `N PERIOD`, as sscanf takes it: blanks in front and junk behind are passed over. A
/// period that is not there leaves `period` alone.
[[nodiscard]] constexpr int read_bandwidth(std::string_view text, std::int64_t& quota, std::int64_t& period) noexcept {
    auto const word = [&text] {
        while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
        std::size_t length = 0;
        while (length < text.size() && length < 20 && !is_blank(text[length])) ++length;
        auto const found = text.substr(0, length);
        text.remove_prefix(length);
        return found;
    };
    auto first = word(), second = word();
    std::uint64_t number = 0;
    if (auto digits = first; take_digits(digits, 10, number) == 0)
        quota = static_cast<std::int64_t>(number);
    else if (first == "max")
        quota = -1;
    else
        return EINVAL;
    if (take_digits(second, 10, number) == 0) period = static_cast<std::int64_t>(number);
    return 0;
}

/// One region of a list: `n`, `n-m`, `n-m:used/group`.
[[nodiscard]] inline int read_region(std::string_view text, std::uint64_t count, cpu_set& set) noexcept {
    std::uint64_t first = 0, last = 0, used = 1, group = 1;
    if (take_digits(text, 10, first) != 0) return EINVAL;
    last = first;
    if (text.starts_with('-')) {
        text.remove_prefix(1);
        if (take_digits(text, 10, last) != 0) return EINVAL;
        if (text.starts_with(':')) {
            text.remove_prefix(1);
            bool const sound = take_digits(text, 10, used) == 0 && text.starts_with('/');
            text.remove_prefix(sound ? 1 : 0);
            if (!sound || take_digits(text, 10, group) != 0) return EINVAL;
        }
    }
    if (!text.empty() || first > last || group == 0 || used > group) return EINVAL;
    if (last >= count) return ERANGE;
    for (std::uint64_t i = first; i <= last; ++i)
        if ((i - first) % group < used) set.insert(static_cast<std::uint32_t>(i));
    return 0;
}

/// Regions between commas or blanks; numbers from `count` on are out of range.
[[nodiscard]] inline int read_list(std::string_view text, std::uint64_t count, cpu_set& set) noexcept {
    set = {};
    while (!text.empty()) {
        if (text.front() == ',' || is_blank(text.front())) {
            text.remove_prefix(1);
            continue;
        }
        std::size_t length = 0;
        while (length < text.size() && text[length] != ',' && !is_blank(text[length])) ++length;
        if (int const failed = read_region(text.substr(0, length), count, set)) return failed;
        text.remove_prefix(length);
    }
    return 0;
}

}  // namespace ration::cgroup::modelled
