// SPDX-License-Identifier: BSL-1.0
/// Rows of separated values, read in place; and parsers for their fields.
#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace ration::sim::trace {

/// The text without blanks and tabs at its ends.
[[nodiscard]] constexpr std::string_view trimmed(std::string_view text) noexcept {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    return text;
}

/// Parses a finite number; the whole text has to be one. Whole numbers of up to 15 digits, which are most numbers of
/// traces, take a short exact path.
[[nodiscard]] inline bool to_number(std::string_view text, double& value) noexcept {
    std::int64_t whole = 0;
    bool digits = !text.empty() && text.size() <= 15;
    for (std::size_t i = 0; digits && i < text.size(); ++i) {
        unsigned const digit = static_cast<unsigned char>(text[i]) - unsigned{'0'};
        digits = digit <= 9;
        whole = whole * 10 + digit;
    }
    if (digits) {
        value = static_cast<double>(whole);
        return true;
    }
    auto const [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    return failed == std::errc{} && end == text.data() + text.size() && std::isfinite(value);
}

/// Days from 1970-01-01 to a date of the proleptic Gregorian calendar. (Years are counted from March, so that leap
/// days are last.)
[[nodiscard]] constexpr std::int64_t days_since_1970(std::int64_t year, std::int64_t month, std::int64_t day) noexcept {
    year -= month <= 2 ? 1 : 0;
    std::int64_t const day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return year * 365 + year / 4 - year / 100 + year / 400 + day_of_year - 719'468;
}

/// Parses "+08:00" or "-07:00": seconds before UTC.
[[nodiscard]] constexpr bool to_offset(std::string_view text, std::int64_t& seconds) noexcept {
    if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':') return false;
    std::int64_t part[2] = {};
    for (std::size_t i = 0; i < 4; ++i) {
        unsigned const digit = static_cast<unsigned char>(text[i < 2 ? i + 1 : i + 2]) - unsigned{'0'};
        if (digit > 9) return false;
        part[i / 2] = part[i / 2] * 10 + digit;
    }
    seconds = (part[0] * 60 + part[1]) * (text[0] == '+' ? 60 : -60);
    return part[0] <= 14 && part[1] <= 59;
}

/// Parses "2017-10-09 07:01:55", optionally with 'T' for the space and a final 'Z' or "+08:00": seconds since 1970 in
/// UTC. A time without an offset counts as UTC.
[[nodiscard]] inline bool to_timestamp(std::string_view text, double& seconds) noexcept {
    std::int64_t ahead = 0;
    if (text.size() == 20 && text.back() == 'Z') text.remove_suffix(1);
    if (text.size() == 25) {
        if (!to_offset(text.substr(19), ahead)) return false;
        text.remove_suffix(6);
    }
    constexpr std::string_view shape = "dddd-dd-dd dd:dd:dd";
    if (text.size() != shape.size()) return false;
    std::int64_t part[6] = {};
    std::size_t filled = 0;
    for (std::size_t i = 0; i < shape.size(); ++i) {
        unsigned const digit = static_cast<unsigned char>(text[i]) - unsigned{'0'};
        if (shape[i] == 'd' ? digit > 9 : text[i] != shape[i] && !(i == 10 && text[i] == 'T')) return false;
        if (shape[i] == 'd')
            part[filled] = part[filled] * 10 + digit;
        else
            ++filled;
    }
    if (part[0] < 1970 || part[1] < 1 || part[1] > 12 || part[2] < 1 || part[2] > 31 || part[3] > 23 || part[4] > 59 ||
        part[5] > 60)
        return false;
    std::int64_t const days = days_since_1970(part[0], part[1], part[2]);
    seconds = static_cast<double>(((days * 24 + part[3]) * 60 + part[4]) * 60 + part[5] - ahead);
    return seconds >= 0;
}

/// Reads a text row by row. Fields are views into the text where possible, and valid until the next row. It handles a
/// byte order mark, CR LF, empty lines, and fields in double quotes with doubled quotes inside. O(text) in total.
class row_scanner {
    static constexpr std::size_t most_fields = 64;

    char const* at_;
    char const* end_;
    char separator_;
    std::uint64_t line_ = 0;
    std::size_t count_ = 0;
    std::array<std::string_view, most_fields> fields_{};
    std::vector<std::string> unquoted_;  ///< one for each field, allocated at the first use
    char const* wrong_ = nullptr;

public:
    /// `text` has to outlive the scanner.
    row_scanner(std::string_view text, char separator) noexcept
        : at_(text.data()), end_(at_ + text.size()), separator_(separator) {
        if (text.starts_with("\xef\xbb\xbf")) at_ += 3;
    }

    /// Continues with the next lines of the same file, after the end of a text. `text` has to outlive the scanner, or
    /// the next call.
    void continue_with(std::string_view text) noexcept {
        at_ = text.data();
        end_ = at_ + text.size();
    }

    /// Reads the next row. Returns false at the end of the text, and after an error.
    [[nodiscard]] bool next() {
        do {
            if (at_ == end_ || wrong_ != nullptr) return false;
            ++line_;
            read_row();
        } while (count_ == 1 && fields_[0].empty() && wrong_ == nullptr);
        return wrong_ == nullptr;
    }

    /// The fields of the row.
    [[nodiscard]] std::span<std::string_view const> fields() const noexcept { return {fields_.data(), count_}; }
    /// The line of the row, from 1.
    [[nodiscard]] std::uint64_t line() const noexcept { return line_; }
    /// The error, or nullptr.
    [[nodiscard]] char const* wrong() const noexcept { return wrong_; }
    /// The bytes that are not read yet, to estimate the number of rows.
    [[nodiscard]] std::size_t bytes_left() const noexcept { return static_cast<std::size_t>(end_ - at_); }

private:
    /// Reads the fields of one line.
    void read_row() {
        count_ = 0;
        do {
            if (count_ == most_fields) {
                wrong_ = "this line has more than 64 columns; is this a table of jobs?";
                return;
            }
            fields_[count_] = at_ != end_ && *at_ == '"' ? quoted_field() : plain_field();
            ++count_;
        } while (wrong_ == nullptr && more_on_this_line());
    }

    /// A field without quotes, up to the separator.
    [[nodiscard]] std::string_view plain_field() noexcept {
        char const* const begin = at_;
        while (at_ != end_ && *at_ != separator_ && *at_ != '\n') ++at_;
        char const* last = at_;
        if (last != begin && last[-1] == '\r' && (at_ == end_ || *at_ == '\n')) --last;
        return {begin, static_cast<std::size_t>(last - begin)};
    }

    /// A field in quotes.
    [[nodiscard]] std::string_view quoted_field() {
        char const* const begin = ++at_;
        bool doubled = false;
        for (; at_ != end_ && *at_ != '\n'; ++at_) {
            if (*at_ != '"') continue;
            if (at_ + 1 == end_ || at_[1] != '"') break;
            doubled = true;
            ++at_;
        }
        if (at_ == end_ || *at_ != '"') {
            wrong_ = "a double quote is never closed; close it in the same line";
            return {};
        }
        std::string_view const inside(begin, static_cast<std::size_t>(at_++ - begin));
        return doubled ? without_doubled_quotes(inside) : inside;
    }

    /// Copies a field with doubled quotes, since the text cannot be changed.
    [[nodiscard]] std::string_view without_doubled_quotes(std::string_view inside) {
        unquoted_.resize(most_fields);
        std::string& text = unquoted_[count_];
        text.clear();
        for (std::size_t i = 0; i < inside.size(); ++i) {
            text += inside[i];
            if (inside[i] == '"') ++i;
        }
        return text;
    }

    /// Reads the separator; false at the end of the line.
    [[nodiscard]] bool more_on_this_line() noexcept {
        if (at_ != end_ && *at_ == '\r') ++at_;  // after a closing quote; a plain field has already dropped it
        if (at_ == end_) return false;
        char const c = *at_++;
        if (c == '\n') return false;
        if (c != separator_)
            wrong_ =
                "there is text between a closing double quote and the end of its column; remove it, or double the quote";
        return wrong_ == nullptr;
    }
};

}  // namespace ration::sim::trace
