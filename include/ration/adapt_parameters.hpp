// SPDX-License-Identifier: BSL-1.0
/// A policy's parameters by Boost.Hana. Name the members once, `BOOST_HANA_ADAPT_STRUCT(my_parameters, alpha, scenario);`, and the struct
/// is read, checked, described and has a JSON schema.
/// Members are double, std::int64_t, bool, or an enum with `words_of(value)`, found by its namespace, which gives a span of names.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>

#include <boost/hana/accessors.hpp>
#include <boost/hana/adapt_struct.hpp>
#include <boost/hana/concept/struct.hpp>
#include <boost/hana/first.hpp>
#include <boost/hana/for_each.hpp>
#include <boost/hana/second.hpp>
#include <boost/hana/string.hpp>
#include <boost/hana/unpack.hpp>

#include <ration/flat_json.hpp>
#include <ration/parameter.hpp>
#include <ration/text.hpp>

namespace ration {
namespace detail {

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

template <class Parameters>
[[nodiscard]] constexpr parameter_note note_of(std::string_view name) noexcept {
    if constexpr (requires { Parameters::notes; })
        for (auto const& note : Parameters::notes)
            if (note.name == name) return note;
    return {.name = name, .meaning = {}};
}

/// Not constexpr, so that a schema with such a number does not compile, and its name is in the message.
inline void a_number_is_too_large_for_the_schema() noexcept {}

/// A number as JSON: up to nine digits behind the point. constexpr, which std::to_chars is not in C++20.
template <class Writer>
constexpr void write_number(Writer& out, double value) {
    if (value < 0) out << "-", value = -value;
    if (!(value < 9e15)) a_number_is_too_large_for_the_schema();
    auto const whole = static_cast<std::uint64_t>(value);
    // NOLINTNEXTLINE(bugprone-incorrect-roundings): never negative, and lround is not constexpr
    auto fraction = static_cast<std::uint64_t>((value - static_cast<double>(whole)) * 1e9 + 0.5);
    char digits[20] = {};
    std::size_t at = sizeof digits;
    for (std::uint64_t rest = whole; rest != 0 || at == sizeof digits; rest /= 10) digits[--at] = static_cast<char>('0' + rest % 10);
    out << std::string_view(digits + at, sizeof digits - at);
    if (fraction == 0 || fraction >= 1'000'000'000) return;
    out << ".";
    for (std::uint64_t place = 100'000'000; fraction != 0; fraction %= place, place /= 10) {
        char const digit = static_cast<char>('0' + fraction / place);
        out << std::string_view(&digit, 1);
    }
}

/// A value as JSON.
template <class Writer, class T>
constexpr void write_value(Writer& out, T const& value) {
    if constexpr (std::is_enum_v<T>)
        out << "\"" << words_of(value)[static_cast<std::size_t>(value)] << "\"";
    else if constexpr (std::is_same_v<T, bool>)
        out << (value ? "true" : "false");
    else
        write_number(out, static_cast<double>(value));
}

template <class Writer, class T>
constexpr void write_type(Writer& out, T const& value) {
    if constexpr (std::is_enum_v<T>) {
        out << "\"enum\":[";
        bool first = true;
        for (auto const word : words_of(value)) out << (first ? "\"" : ",\"") << word << "\"", first = false;
        out << "]";
    } else {
        out << (std::is_same_v<T, bool> ? "\"type\":\"boolean\"" : std::is_same_v<T, double> ? "\"type\":\"number\"" : "\"type\":\"integer\"");
    }
}

template <class T>
[[nodiscard]] bool read_number(std::string_view text, T& value) noexcept {
    T read{};
    auto const [end, failed] = std::from_chars(text.data(), text.data() + text.size(), read);
    if (failed != std::errc{} || end != text.data() + text.size() || !(read - read == 0)) return false;  // not finite
    value = read;
    return true;
}

/// What a value may be, said when it is something else; nullptr when it was taken.
template <class T>
[[nodiscard]] char const* read_value(json_member const& given, T& value) noexcept {
    if constexpr (std::is_enum_v<T>) {
        auto const words = words_of(value);
        for (std::size_t i = 0; i < words.size(); ++i)
            if (given.kind == json_kind::word && given.value == words[i]) return value = static_cast<T>(i), nullptr;
        return "one of";
    } else if constexpr (std::is_same_v<T, bool>) {
        if (given.kind != json_kind::truth) return "true or false";
        return value = given.value == "true", nullptr;
    } else {
        bool const taken = given.kind == json_kind::number && read_number(given.value, value);
        return taken ? nullptr : std::is_same_v<T, double> ? "a number" : "a whole number";
    }
}

template <std::size_t N, class T>
void say_expected(text<N>& wrong, std::string_view name, char const* expected, T const& value) noexcept {
    wrong.append(name).append(" must be ").append(expected);
    if constexpr (std::is_enum_v<T>)
        for (bool first = true; auto const word : words_of(value)) wrong.append(first ? " \"" : ", \"").append(word).append("\""), first = false;
}

template <std::size_t N, class T>
[[nodiscard]] bool take(text<N>& wrong, parameter_note const& note, json_member const& given, T& value) noexcept {
    if (char const* const expected = read_value(given, value)) return say_expected(wrong, note.name, expected, value), false;
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
        if (static_cast<double>(value) < note.least || static_cast<double>(value) > note.most) {
            wrong.append(note.name).append(" is out of its range: ").append(note.meaning);
            return false;
        }
    return true;
}

}  // namespace detail

/// For every struct that Hana knows.
template <class Parameters>
    requires boost::hana::Struct<Parameters>::value
struct parameter_access<Parameters> {
    /// Calls `action(note, member)` for each member of `parameters`, in order.
    template <class P, class Action>
    static constexpr void for_each(P& parameters, Action action) {
        detail::for_each_parameter(parameters, [&](std::string_view name, auto& member) {
            static_assert(detail::is_parameter<std::remove_const_t<std::remove_reference_t<decltype(member)>>>,
                          "ration: a parameter is a double, std::int64_t, bool, or an enum with words_of()");
            action(detail::note_of<Parameters>(name), member);
        });
    }

    /// The JSON schema (draft 2020-12) of the config text.
    template <class Writer>
    static constexpr void write_schema(Writer out) {
        out << "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{";
        bool first = true;
        Parameters const defaults{};
        for_each(defaults, [&](parameter_note const& note, auto const& value) {
            out << (first ? "\"" : ",\"") << note.name << "\":{", first = false;
            detail::write_type(out, value);
            out << ",\"default\":";
            detail::write_value(out, value);
            if (!note.meaning.empty()) out << ",\"description\":\"" << note.meaning << "\"";
            if (note.least > -std::numeric_limits<double>::infinity()) out << ",\"minimum\":", detail::write_number(out, note.least);
            if (note.most < std::numeric_limits<double>::infinity()) out << ",\"maximum\":", detail::write_number(out, note.most);
            out << "}";
        });
        out << "}}";
    }

    /// Reads what a flat JSON object names; the rest stays as it is. False with a sentence in `wrong`; then `given` may be half read.
    template <std::size_t N>
    [[nodiscard]] static bool read(std::string_view json, Parameters& given, text<N>& wrong) noexcept {
        flat_json members(json);
        for (json_member member; members.next(member);)
            if (!set(member, given, wrong)) return false;
        if (members.wrong() != nullptr) wrong.append(members.wrong());
        return members.wrong() == nullptr;
    }

    [[nodiscard]] static bool knows(std::string_view name) noexcept {
        bool known = false;
        Parameters const defaults{};
        for_each(defaults, [&](parameter_note const& note, auto const&) { known |= note.name == name; });
        return known;
    }

    /// Sets one member. False with a sentence in `wrong` when there is none of this name, or the value is not for it.
    template <std::size_t N>
    [[nodiscard]] static bool set(json_member const& member, Parameters& given, text<N>& wrong) noexcept {
        bool known = false, taken = false;
        for_each(given, [&](parameter_note const& note, auto& value) {
            if (note.name == member.name) known = true, taken = detail::take(wrong, note, member, value);
        });
        if (!known) wrong.append("there is no parameter '").append(member.name).append("'");
        return taken;
    }
};

}  // namespace ration
