// SPDX-License-Identifier: BSL-1.0
/// Parses and validates the fields of a row of a trace, and keeps the first error.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <ration/sim/diagnostic.hpp>
#include <ration/sim/trace/layout.hpp>
#include <ration/sim/trace/quoted.hpp>
#include <ration/sim/trace/scanner.hpp>

namespace ration::sim::trace {

/// One job of a trace: the text of each field; empty if the trace has no value.
struct row {
    std::array<std::string_view, fields> text{};
    /// Line in the file, for messages; from 1.
    std::uint64_t line = 0;

    /// The text of a field.
    [[nodiscard]] std::string_view& operator[](field f) noexcept { return text[static_cast<std::size_t>(f)]; }
    /// The text of a field, read-only.
    [[nodiscard]] std::string_view operator[](field f) const noexcept { return text[static_cast<std::size_t>(f)]; }
};

/// The valid numbers of a field, and their description for messages.
struct domain {
    double least, most;
    bool whole;
    char const* words;
};

/// Parses fields of one format. Functions that return false have recorded an error.
class field_parser {
    layout layout_;
    diagnostic failure_;

public:
    /// The domain of times.
    static constexpr domain time{0, 9e9, false, "seconds, from 0 to 9000000000"};
    /// The most bytes of a name.
    static constexpr std::size_t longest_word = 256;

    explicit field_parser(layout const& of) noexcept : layout_(of) {}

    /// The format.
    [[nodiscard]] layout const& format() const noexcept { return layout_; }
    /// The first error.
    [[nodiscard]] diagnostic const& failure() const noexcept { return failure_; }

    /// True if the format has a column for the field.
    [[nodiscard]] bool has(field f) const noexcept {
        return std::any_of(layout_.columns.begin(), layout_.columns.end(), [f](column const& c) { return c.to == f; });
    }
    /// The title of a field's column, for messages.
    [[nodiscard]] std::string title(field f) const {
        for (auto const& c : layout_.columns)
            if (c.to == f) return std::string(c.title);
        return "a column";
    }

    /// Records an error in a whole row.
    bool refuse(std::uint64_t line, std::string sentence) {
        failure_ = {.line = line, .text = std::move(sentence)};
        return false;
    }
    /// Records an error in a field: what it is, and what to write.
    bool refuse(row const& r, field f, std::string_view what) {
        std::string const shown = r[f].empty() ? " is empty" : " is " + quoted(r[f]);
        return refuse(r.line, title(f) + shown + "; write " + std::string(what));
    }

    /// True if the field is empty or not above 0.
    [[nodiscard]] static bool is_nothing(row const& r, field f) noexcept {
        double value = 0;
        return r[f].empty() || (to_number(r[f], value) && value <= 0);
    }

    /// Parses a length of time: `seconds` is the number in the unit of the format, which has to be within a domain of
    /// seconds.
    [[nodiscard]] bool duration(row const& r, field f, domain const& in, double& seconds) {
        if (!to_number(r[f], seconds)) return refuse(r, f, in.words);
        seconds *= layout_.unit;
        if (seconds > in.most) return refuse(r, f, std::string(in.words) + ", or name another unit with --time-unit");
        return seconds >= in.least || refuse(r, f, in.words);
    }
    /// The same; leaves `seconds` unchanged if the field is empty.
    [[nodiscard]] bool duration_if_any(row const& r, field f, domain const& in, double& seconds) {
        return r[f].empty() || duration(r, f, in, seconds);
    }

    /// Parses a number within a domain.
    [[nodiscard]] bool number(row const& r, field f, domain const& in, double& value) {
        if (to_number(r[f], value) && value >= in.least && value <= in.most &&
            (!in.whole || value == std::floor(value)))
            return true;
        return refuse(r, f, in.words);
    }
    /// The same; leaves `value` unchanged if the field is empty.
    template <class T>
    [[nodiscard]] bool number_if_any(row const& r, field f, domain const& in, T& value) {
        double read = 0;
        if (r[f].empty()) return true;
        if (!number(r, f, in, read)) return false;
        value = static_cast<T>(read);
        return true;
    }

    /// Parses a point in time: seconds, or in traces of real clusters a timestamp.
    [[nodiscard]] bool point(row const& r, field f, double& seconds) {
        if (layout_.real && to_timestamp(r[f], seconds))
            return seconds <= time.most || refuse(r, f, "a time before the year 2255");
        double ignored = 0;
        if (!layout_.real || to_number(r[f], ignored)) return duration(r, f, time, seconds);
        return refuse(r, f, "a time like 2017-10-09 07:01:55, or seconds from 0 to 9000000000");
    }

    /// Validates a name: names are printed to terminals.
    [[nodiscard]] bool is_word(row const& r, field f) {
        std::string_view const word = r[f];
        bool const plain = std::none_of(word.begin(), word.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; });
        if (plain && !word.empty() && word.size() <= longest_word) return true;
        return refuse(r, f, "a word of 1 to 256 bytes without control characters");
    }
};

}  // namespace ration::sim::trace
