// SPDX-License-Identifier: BSL-1.0
/// Validation of manifests, which are data from outside: whether this host can use the plugin, and
/// what the plugin needs.
///
/// The other direction, from a class to its manifest, is manifest_of.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ration/plugin/abi.h>
#include <ration/plugin/manifest_of.hpp>
#include <ration/policy.hpp>
#include <ration/result.hpp>
#include <ration/text.hpp>

namespace ration::plugin {

/// A column that a plugin reads.
struct needed_column {
    /// The full name, as in `jobs/loss`.
    std::string name;
    /// The type of its elements.
    column_type type = column_type::f64;
    /// Scalar or vector.
    column_shape shape = column_shape::scalar;
};

namespace detail {

/// A text field of a manifest.
template <std::size_t N>
[[nodiscard]] std::string_view text_in(char const (&field)[N]) noexcept {
    return {field, ::strnlen(field, N)};
}

/// The lines of a text, without line ends.
[[nodiscard]] inline std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        std::size_t const end = text.find('\n');
        lines.push_back(text.substr(0, end));
        text.remove_prefix(end == text.npos ? text.size() : end + 1);
    }
    return lines;
}

/// Parses one line of `needs`, such as `jobs/speedup f64[]`. Returns false if it is invalid.
[[nodiscard]] inline bool parse_need(std::string_view line, needed_column& column) {
    std::size_t const space = line.find(' ');
    if (space == line.npos || table_index_of(line.substr(0, space)) == table_count || space > longest_column_name)
        return false;
    std::string_view word = line.substr(space + 1);
    column.shape = word.ends_with("[]") ? column_shape::vector : column_shape::scalar;
    if (word.ends_with("[]")) word.remove_suffix(2);
    for (column_type const type :
         {column_type::u32, column_type::i64, column_type::u64, column_type::f32, column_type::f64})
        if (word == type_word(type)) {
            column.name = line.substr(0, space);
            column.type = type;
            return true;
        }
    return false;
}

/// True if the field has a zero byte.
[[nodiscard]] inline bool is_terminated(std::span<char const> field) noexcept {
    return std::memchr(field.data(), 0, field.size()) != nullptr;
}

/// True if all text fields have a zero byte; before this test no text may be read.
[[nodiscard]] inline bool all_terminated(ration_manifest const& m) noexcept {
    for (std::span<char const> const field : {std::span<char const>(m.id),
                                              {m.name},
                                              {m.version},
                                              {m.vendor},
                                              {m.license},
                                              {m.summary},
                                              {m.needs},
                                              {m.extensions},
                                              {m.reasons},
                                              {m.parameters},
                                              {m.computes}})
        if (!is_terminated(field)) return false;
    return true;
}

/// True if the single-line texts have no control characters, which would reach terminals and logs.
[[nodiscard]] inline bool all_plain(ration_manifest const& m) noexcept {
    for (auto const line : {text_in(m.id), text_in(m.name), text_in(m.version), text_in(m.vendor), text_in(m.license),
                            text_in(m.summary)})
        for (char const c : line)
            if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) return false;
    return true;
}

/// The first required extension, as in "extension org.example.dreams/1".
[[nodiscard]] inline text<120> first_extension(ration_manifest const& m) noexcept {
    auto const all = text_in(m.extensions);
    return text<120>("extension ").append(all.substr(0, all.find('\n')));
}

}  // namespace detail

/// Flags that this host understands.
inline constexpr std::uint32_t known_flags = RATION_F_DETERMINISTIC | RATION_F_OWN_THREADS | RATION_F_NO_UNLOAD |
                                             RATION_F_OUT_OF_PROCESS_ONLY | RATION_F_FOLLOWS_CHANGES;

/// The columns that the plugin reads. Error: invalid_value for an invalid line.
[[nodiscard]] inline result<std::vector<needed_column>> needs_of(ration_manifest const& m) {
    std::vector<needed_column> all;
    for (auto const line : detail::lines_of(detail::text_in(m.needs)))
        if (!detail::parse_need(line, all.emplace_back()))
            return error{.code = errc::invalid_value,
                         .operation = "read manifest: needs",
                         .subject = line,
                         .remedy = "each line is a column and its type, such as 'jobs/state u32'"};
    return all;
}

/// The columns that an estimator computes; none for a policy. Error: invalid_value for an invalid line.
[[nodiscard]] inline result<std::vector<needed_column>> computed_by(ration_manifest const& m) {
    std::vector<needed_column> all;
    for (auto const line : detail::lines_of(detail::text_in(m.computes)))
        if (!detail::parse_need(line, all.emplace_back()) || all.back().shape == column_shape::vector ||
            !all.back().name.starts_with("jobs/"))
            return error{.code = errc::invalid_value,
                         .operation = "read manifest: computes",
                         .subject = line,
                         .remedy = "each line is a column of jobs and its type, such as 'jobs/remaining f64'"};
    return all;
}

/// Validates a manifest. Errors: not_supported (other ABI, newer minor version, other layout,
/// unknown flag or extension), invalid_value (texts).
[[nodiscard]] inline result<void> acceptable(ration_manifest const& m) noexcept {
    auto const refuse = [&](errc code, text<120> const& subject, char const* remedy) {
        return error{.code = code, .operation = "read manifest:", .subject = subject, .remedy = remedy};
    };
    if (std::memcmp(m.magic, RATION_ABI_MAGIC, sizeof m.magic) != 0)
        return refuse(errc::not_supported, "ABI",
                      "the plugin was built for another major version: build it with this host's ration/plugin/abi.h");
    if (m.abi_minor_needed > RATION_ABI_MINOR)
        return refuse(errc::not_supported, "ABI minor",
                      "the plugin needs a newer host: upgrade the host, or build with its header");
    if (m.layout != RATION_LAYOUT)
        return refuse(
            errc::not_supported, "layout",
            "the plugin was built with an edited header, other packing or another pointer size: build it again");
    if (m.struct_size < offsetof(ration_manifest, parameters))
        return refuse(errc::invalid_value, "size", "the manifest is cut short: build the plugin again");
    if (!detail::all_terminated(m))
        return refuse(errc::invalid_value, "text", "a text lacks its zero byte: build the plugin again");
    if (!detail::all_plain(m))
        return refuse(errc::invalid_value, "text", "a text holds control characters: take them out");
    if (m.id[0] == '\0' || m.name[0] == '\0')
        return refuse(errc::invalid_value, "id and name", "both must be given: see ration::meta");
    if ((m.flags & ~known_flags) != 0)
        return refuse(errc::not_supported, "flags",
                      "the plugin requires a feature that this host lacks: upgrade the host");
    if (m.extensions[0] != '\0')
        return refuse(errc::not_supported, detail::first_extension(m),
                      "this host does not offer it: choose a plugin that does without, or a host that does");
    if (auto const needed = needs_of(m); !needed) return needed.failure();
    if (auto const computed = computed_by(m); !computed) return computed.failure();
    return {};
}

/// True for the manifest of an estimator.
[[nodiscard]] inline bool is_estimator_file(ration_manifest const& m) noexcept { return m.computes[0] != '\0'; }

/// True if the plugin reads this column.
[[nodiscard]] inline bool needs(ration_manifest const& m, std::string_view column) noexcept {
    std::string_view rest = detail::text_in(m.needs);
    while (!rest.empty()) {
        std::string_view const line = rest.substr(0, rest.find('\n'));
        if (line.substr(0, line.find(' ')) == column) return true;
        rest.remove_prefix(line.size() < rest.size() ? line.size() + 1 : rest.size());
    }
    return false;
}

/// Checks that a schema offers all columns that the plugin reads. Errors: those of `bind_column`
/// and of `needs_of`.
[[nodiscard]] inline result<void> offers(std::span<column_info const> schema, ration_manifest const& m) {
    auto const needed = needs_of(m);
    if (!needed) return needed.failure();
    for (auto const& column : *needed)
        if (auto const found = bind_column(schema, {column.name, column.type, column.shape}); !found)
            return found.failure();
    return {};
}

/// A manifest as `meta`. It owns the texts that `meta` refers to, so it cannot be copied.
class described_policy {
    ration_manifest manifest_;
    std::vector<std::string_view> reasons_;
    meta about_;

public:
    /// Copies the manifest. Precondition: `acceptable`.
    explicit described_policy(ration_manifest const& m)
        : manifest_(m), reasons_(detail::lines_of(detail::text_in(manifest_.reasons))) {
        about_ = {.id = detail::text_in(manifest_.id),
                  .version = detail::text_in(manifest_.version),
                  .summary = detail::text_in(manifest_.summary),
                  .reasons = reasons_,
                  .vendor = detail::text_in(manifest_.vendor),
                  .license = detail::text_in(manifest_.license)};
    }
    described_policy(described_policy const&) = delete;
    described_policy& operator=(described_policy const&) = delete;

    /// The manifest.
    [[nodiscard]] ration_manifest const& manifest() const noexcept { return manifest_; }
    /// The short name, as in `policy = "..."`.
    [[nodiscard]] std::string_view name() const noexcept { return detail::text_in(manifest_.name); }
    /// The identity.
    [[nodiscard]] meta const& about() const noexcept { return about_; }
};

}  // namespace ration::plugin
