// SPDX-License-Identifier: BSL-1.0
/// Parameters of a policy through Boost.Hana. Name the members once, and the struct can be read,
/// validated and described, and has a JSON schema:
///
///     BOOST_HANA_ADAPT_STRUCT(my_parameters, alpha, scenario);
///
/// Members are double, std::int64_t, bool, or an enum with a function `words_of(value)` in its
/// namespace, which returns a span of names. Used by plugins (plugin/export.hpp) and by the program
/// for built-in policies.
#pragma once

#include <boost/hana/accessors.hpp>
#include <boost/hana/adapt_struct.hpp>
#include <boost/hana/concept/struct.hpp>
#include <boost/hana/first.hpp>
#include <boost/hana/for_each.hpp>
#include <boost/hana/second.hpp>
#include <boost/hana/string.hpp>
#include <boost/hana/unpack.hpp>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include <ration/adapt/flat_json.hpp>
#include <ration/parameter.hpp>
#include <ration/text.hpp>

namespace ration {
namespace detail {

/// True for the types of parameters.
template <class T>
inline constexpr bool is_parameter =
    std::is_same_v<T, double> || std::is_same_v<T, std::int64_t> || std::is_same_v<T, bool> || std::is_enum_v<T>;

/// Calls `action(name, reference)` for each member of an adapted struct, in order.
template <class Parameters, class Action>
constexpr void for_each_parameter(Parameters& parameters, Action action) {
    boost::hana::unpack(boost::hana::accessors<std::remove_const_t<Parameters>>(), [&](auto... members) {
        (action(std::string_view(boost::hana::first(members).c_str()), boost::hana::second(members)(parameters)), ...);
    });
}

/// The note about a member; without limits if there is none.
template <class Parameters>
[[nodiscard]] constexpr parameter_note note_of(std::string_view name) noexcept {
    if constexpr (requires { Parameters::notes; })
        for (auto const& note : Parameters::notes)
            if (note.name == name) return note;
    return {.name = name, .meaning = {}};
}

/// False if a note names no member, so that its interval would never be checked.
template <class Parameters>
[[nodiscard]] consteval bool notes_are_of_members() {
    bool all = true;
    if constexpr (requires { Parameters::notes; }) {
        Parameters const defaults{};
        for (auto const& note : Parameters::notes) {
            bool known = false;
            for_each_parameter(defaults, [&](std::string_view name, auto const&) { known |= name == note.name; });
            all = all && known;
        }
    }
    return all;
}

/// Not constexpr: a schema with such a number does not compile, and the compiler's message shows
/// this name.
inline void a_number_is_too_large_for_the_schema() noexcept {}

/// Writes a whole number.
template <class Writer>
constexpr void write_digits(Writer& out, std::uint64_t whole) {
    char digits[20] = {};
    std::size_t at = sizeof digits;
    for (; whole != 0 || at == sizeof digits; whole /= 10) digits[--at] = static_cast<char>('0' + whole % 10);
    out << std::string_view(digits + at, sizeof digits - at);
}

/// Writes a number as JSON, with up to nine decimals. constexpr, which std::to_chars is not in
/// C++20.
template <class Writer>
constexpr void write_number(Writer& out, double value) {
    if (value < 0) {
        out << "-";
        value = -value;
    }
    if (!(value < 9e15)) a_number_is_too_large_for_the_schema();
    std::uint64_t tenths = 0;  // decimal exponent, so that a small number is not written as 0
    double scale = 1;
    if (value != 0 && value < 1e-4)
        for (; value * scale < 1; scale *= 10) ++tenths;
    value *= scale;
    auto whole = static_cast<std::uint64_t>(value);
    // NOLINTNEXTLINE(bugprone-incorrect-roundings): never negative, and lround is not constexpr
    auto fraction = static_cast<std::uint64_t>((value - static_cast<double>(whole)) * 1e9 + 0.5);
    if (fraction == 1'000'000'000) {
        ++whole;
        fraction = 0;
    }
    write_digits(out, whole);
    if (fraction != 0) out << ".";
    for (std::uint64_t place = 100'000'000; fraction != 0; fraction %= place, place /= 10)
        write_digits(out, fraction / place);
    if (tenths != 0) {
        out << "e-";
        write_digits(out, tenths);
    }
}

/// Writes a text as JSON.
template <class Writer>
constexpr void write_text(Writer& out, std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdef";
    out << "\"";
    for (std::size_t i = 0; i < text.size(); ++i) {
        auto const c = static_cast<unsigned char>(text[i]);
        if (c < 0x20) {
            out << "\\u00" << digits.substr(c / 16, 1) << digits.substr(c % 16, 1);
            continue;
        }
        if (c == '"' || c == '\\') out << "\\";
        out << text.substr(i, 1);
    }
    out << "\"";
}

/// Writes a value as JSON.
template <class Writer, class T>
constexpr void write_value(Writer& out, T const& value) {
    if constexpr (std::is_enum_v<T>)
        write_text(out, words_of(value)[static_cast<std::size_t>(value)]);
    else if constexpr (std::is_same_v<T, bool>)
        out << (value ? "true" : "false");
    else
        write_number(out, static_cast<double>(value));
}

/// Writes the type of a value as in a JSON schema.
template <class Writer, class T>
constexpr void write_type(Writer& out, T const& value) {
    if constexpr (std::is_enum_v<T>) {
        out << "\"enum\":[";
        bool first = true;
        for (auto const word : words_of(value)) {
            if (!std::exchange(first, false)) out << ",";
            write_text(out, word);
        }
        out << "]";
    } else {
        out << (std::is_same_v<T, bool>     ? "\"type\":\"boolean\""
                : std::is_same_v<T, double> ? "\"type\":\"number\""
                                            : "\"type\":\"integer\"");
    }
}

/// Parses a finite number; the whole text has to be one.
template <class T>
[[nodiscard]] bool read_number(std::string_view text, T& value) noexcept {
    T read{};
    auto const [end, failed] = std::from_chars(text.data(), text.data() + text.size(), read);
    if (failed != std::errc{} || end != text.data() + text.size() || !(read - read == 0)) return false;  // not finite
    value = read;
    return true;
}

/// Parses a value. Returns nullptr, or the expected kind of value for the message.
template <class T>
[[nodiscard]] char const* read_value(json_member const& given, T& value) noexcept {
    if constexpr (std::is_enum_v<T>) {
        auto const words = words_of(value);
        for (std::size_t i = 0; i < words.size(); ++i)
            if (given.kind == json_kind::word && given.value == words[i]) {
                value = static_cast<T>(i);
                return nullptr;
            }
        return "one of";
    } else if constexpr (std::is_same_v<T, bool>) {
        if (given.kind != json_kind::truth) return "true or false";
        value = given.value == "true";
        return nullptr;
    } else {
        bool const taken = given.kind == json_kind::number && read_number(given.value, value);
        return taken ? nullptr : std::is_same_v<T, double> ? "a number" : "a whole number";
    }
}

/// Writes "NAME must be EXPECTED", with the words of an enum.
template <std::size_t N, class T>
void report_expected(text<N>& wrong, std::string_view name, char const* expected, T const& value) noexcept {
    wrong.append(name).append(" must be ").append(expected);
    if constexpr (std::is_enum_v<T>)
        for (bool first = true; auto const word : words_of(value)) {
            wrong.append(first ? " \"" : ", \"").append(word).append("\"");
            first = false;
        }
}

/// Writes a bound as people write it: whole numbers without decimals.
template <std::size_t N>
void report_number(text<N>& wrong, double value) noexcept {
    char digits[32];
    // Beyond this, a double does not hold every whole number.
    bool const whole = value > -1e15 && value < 1e15 && value == static_cast<double>(static_cast<std::int64_t>(value));
    auto const [end, failed] = whole ? std::to_chars(digits, digits + sizeof digits, static_cast<std::int64_t>(value))
                                     : std::to_chars(digits, digits + sizeof digits, value);
    wrong.append(std::string_view(digits, static_cast<std::size_t>(end - digits)));
}

/// Writes the valid interval and the meaning of a parameter.
template <std::size_t N>
void report_range(text<N>& wrong, parameter_note const& note) noexcept {
    constexpr double none = std::numeric_limits<double>::infinity();
    wrong.append(note.name)
        .append(" must be ")
        .append(note.least == -none ? "at most "
                : note.most == none ? "at least "
                                    : "from ");
    if (note.least != -none) report_number(wrong, note.least);
    if (note.least != -none && note.most != none) wrong.append(" to ");
    if (note.most != none) report_number(wrong, note.most);
    if (!note.meaning.empty()) wrong.append(": ").append(note.meaning);
}

/// Parses and validates one value. Returns false with a message.
template <std::size_t N, class T>
[[nodiscard]] bool take(text<N>& wrong, parameter_note const& note, json_member const& given, T& value) noexcept {
    if (char const* const expected = read_value(given, value)) {
        report_expected(wrong, note.name, expected, value);
        return false;
    }
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
        // The message contains the interval and the meaning of the parameter.
        if (static_cast<double>(value) < note.least || static_cast<double>(value) > note.most) {
            report_range(wrong, note);
            return false;
        }
    return true;
}

}  // namespace detail

/// The access to each struct that is adapted for Hana; see parameter.hpp.
template <class Parameters>
    requires boost::hana::Struct<Parameters>::value
struct parameter_access<Parameters> {
    /// Calls `action(note, member)` for each member of `parameters`, in order.
    template <class P, class Action>
    static constexpr void for_each(P& parameters, Action action) {
        static_assert(detail::notes_are_of_members<Parameters>(),
                      "ration: a note of these parameters has the name of no member: spell it as the member");
        detail::for_each_parameter(parameters, [&](std::string_view name, auto& member) {
            static_assert(detail::is_parameter<std::remove_const_t<std::remove_reference_t<decltype(member)>>>,
                          "ration: a parameter is a double, std::int64_t, bool, or an enum with words_of()");
            action(detail::note_of<Parameters>(name), member);
        });
    }

    /// Writes the JSON schema (draft 2020-12) of the configuration.
    template <class Writer>
    static constexpr void write_schema(Writer out) {
        out << "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{";
        bool first = true;
        Parameters const defaults{};
        for_each(defaults, [&](parameter_note const& note, auto const& value) {
            out << (first ? "\"" : ",\"") << note.name << "\":{";
            first = false;
            detail::write_type(out, value);
            out << ",\"default\":";
            detail::write_value(out, value);
            if (!note.meaning.empty()) {
                out << ",\"description\":";
                detail::write_text(out, note.meaning);
            }
            if (note.least > -std::numeric_limits<double>::infinity()) {
                out << ",\"minimum\":";
                detail::write_number(out, note.least);
            }
            if (note.most < std::numeric_limits<double>::infinity()) {
                out << ",\"maximum\":";
                detail::write_number(out, note.most);
            }
            out << "}";
        });
        out << "}}";
    }

    /// Reads the members that a flat JSON object names; others keep their values. Returns false
    /// with a message in `wrong`; some members may have changed then.
    template <std::size_t N>
    [[nodiscard]] static bool read(std::string_view json, Parameters& given, text<N>& wrong) noexcept {
        flat_json members(json);
        for (json_member member; members.next(member);)
            if (!set(member, given, wrong)) return false;
        if (members.wrong() != nullptr) wrong.append(members.wrong());
        return members.wrong() == nullptr;
    }

    /// True if there is a member of this name.
    [[nodiscard]] static bool knows(std::string_view name) noexcept {
        bool known = false;
        Parameters const defaults{};
        for_each(defaults, [&](parameter_note const& note, auto const&) { known |= note.name == name; });
        return known;
    }

    /// Sets one member. Returns false with a message in `wrong` if the member does not exist, or
    /// the value is invalid for it.
    template <std::size_t N>
    [[nodiscard]] static bool set(json_member const& member, Parameters& given, text<N>& wrong) noexcept {
        bool known = false, taken = false;
        for_each(given, [&](parameter_note const& note, auto& value) {
            if (note.name == member.name) {
                known = true;
                taken = detail::take(wrong, note, member, value);
            }
        });
        if (!known) wrong.append("unknown parameter '").append(member.name).append("'");
        return taken;
    }
};

}  // namespace ration
