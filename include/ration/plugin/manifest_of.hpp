// SPDX-License-Identifier: BSL-1.0
/// The manifest of a policy or estimator class, computed by the compiler from the declarations of the class, so
/// that both always agree.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <ration/column.hpp>
#include <ration/estimator.hpp>
#include <ration/parameter.hpp>
#include <ration/plugin/abi.h>
#include <ration/policy.hpp>

namespace ration::plugin {

/// Not constexpr: a manifest with such a text does not compile, and the compiler's message shows
/// this name.
inline void a_text_is_too_long_for_the_manifest() noexcept {}

/// Appends to a zero-terminated field of fixed size. A text that does not fit is a compile error,
/// since the call is not constant then.
template <std::size_t N>
class field_writer {
    char (&field_)[N];
    std::size_t size_ = 0;

public:
    /// Writes into `field`, which is zero.
    explicit constexpr field_writer(char (&field)[N]) noexcept : field_(field) {}
    /// Appends a text.
    constexpr field_writer& operator<<(std::string_view text) {
        if (size_ + text.size() >= N) a_text_is_too_long_for_the_manifest();
        for (char const c : text) field_[size_++] = c;
        return *this;
    }
};

namespace detail {

/// True if the word is not empty and has no other letters.
[[nodiscard]] constexpr bool is_all_of(std::string_view word, std::string_view letters) noexcept {
    return !word.empty() && word.find_first_not_of(letters) == word.npos;
}
/// The letters of the parts of a version.
inline constexpr std::string_view digits = "0123456789",
                                  version_letters = "0123456789-ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// True for a number without leading zeros.
[[nodiscard]] constexpr bool is_version_number(std::string_view word) noexcept {
    return is_all_of(word, digits) && (word == "0" || word[0] != '0');
}

/// True if `good` holds for all parts between dots.
template <class Good>
[[nodiscard]] constexpr bool all_parts(std::string_view text, Good good) noexcept {
    for (std::size_t dot = text.find('.'); dot != text.npos; dot = text.find('.')) {
        if (!good(text.substr(0, dot))) return false;
        text.remove_prefix(dot + 1);
    }
    return good(text);
}

}  // namespace detail

/// True for versions such as "1.4.0" and "2.0.0-rc.1+build.7". Source: semver.org, version 2.0.0.
[[nodiscard]] constexpr bool is_semantic_version(std::string_view version) noexcept {
    auto const is_word = [](std::string_view part) { return detail::is_all_of(part, detail::version_letters); };
    auto const is_ordered = [&](std::string_view part) {
        return is_word(part) && (detail::is_version_number(part) || !detail::is_all_of(part, detail::digits));
    };
    std::size_t const build = version.find('+');
    if (build != version.npos && !detail::all_parts(version.substr(build + 1), is_word)) return false;
    version = version.substr(0, build);
    std::size_t const candidate = version.find('-');
    if (candidate != version.npos && !detail::all_parts(version.substr(candidate + 1), is_ordered)) return false;
    version = version.substr(0, candidate);
    return std::ranges::count(version, '.') == 2 && detail::all_parts(version, &detail::is_version_number);
}

/// The type as the manifest spells it, as in "jobs/speedup f64[]".
[[nodiscard]] constexpr std::string_view type_word(column_type type) noexcept {
    constexpr std::string_view words[] = {"u32", "i64", "u64", "f32", "f64"};
    return words[static_cast<std::size_t>(type) - 1];
}

/// Writes the last part of the id, spelt as in `policy = "..."`: "ration.equal-share" becomes
/// "equal_share".
template <std::size_t N>
constexpr void write_short_name(std::string_view id, char (&name)[N]) {
    field_writer out(name);
    for (char const c : id.substr(id.rfind('.') + 1))
        out << (c == '-' ? std::string_view("_") : std::string_view(&c, 1));
}

/// Writes a list of columns, one line each.
template <class Columns, std::size_t N>
constexpr void write_columns(char (&field)[N]) {
    field_writer lines(field);
    for (auto const& column : Columns::descriptions)
        lines << column.name << " " << type_word(column.type) << (column.shape == column_shape::vector ? "[]\n" : "\n");
}

/// Writes the columns that an estimator computes. A host has no width for a vector.
template <class E>
constexpr void write_outputs(ration_manifest& m) {
    constexpr bool all_scalar = std::ranges::all_of(
        E::outputs::descriptions, [](column_description const& c) { return c.shape == column_shape::scalar; });
    static_assert(all_scalar,
                  "ration: a plugin computes scalar columns only: declare its outputs with ration::out, or compile the "
                  "estimator into the host");
    write_columns<typename E::outputs>(m.computes);
}

/// Writes the JSON schema of the parameters.
template <class P>
constexpr void write_parameters(ration_manifest& m) {
    if constexpr (has_parameters<P>) {
        static_assert(
            adapted_parameters<typename P::parameters>,
            "ration: the plugin cannot read its parameters: include <ration/adapt/adapt.hpp> and name the members with "
            "BOOST_HANA_ADAPT_STRUCT");
        if constexpr (adapted_parameters<typename P::parameters>)
            parameter_access<typename P::parameters>::write_schema(field_writer(m.parameters));
    }
}

/// The flags of an exported class.
template <class P>
inline constexpr std::uint32_t flags_of =
    RATION_F_DETERMINISTIC | (has_followed_changes<P> ? RATION_F_FOLLOWS_CHANGES : 0);

/// The manifest of P. A text that is too long does not compile, nor does a version that is not a
/// semantic one.
template <class P>
[[nodiscard]] consteval ration_manifest manifest_of() {
    ration_manifest m{};
    field_writer(m.magic) << RATION_ABI_MAGIC;
    m.struct_size = sizeof m;
    m.abi_minor_needed = 0;
    m.layout = RATION_LAYOUT;
    m.flags = flags_of<P>;
    field_writer(m.id) << P::about.id;
    write_short_name(P::about.id, m.name);
    static_assert(is_semantic_version(P::about.version),
                  "ration: the version of a plugin is a semantic one: give ration::meta three numbers, as in 1.0.0");
    field_writer(m.version) << P::about.version;
    field_writer(m.vendor) << P::about.vendor;
    field_writer(m.license) << P::about.license;
    field_writer(m.summary) << P::about.summary;
    field_writer reasons(m.reasons);
    for (auto const reason : P::about.reasons) reasons << reason << "\n";
    write_columns<typename P::inputs>(m.needs);
    if constexpr (has_outputs<P>) write_outputs<P>(m);
    write_parameters<P>(m);
    return m;
}

}  // namespace ration::plugin
