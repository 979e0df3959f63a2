// SPDX-License-Identifier: BSL-1.0
/// The fields of one line of a log, each checked when it is asked for.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include <ration/sim/diagnostic.hpp>

namespace ration::program {

/// An object from outside. A field that is missing or of another type gives an empty value, and the first such field
/// is kept as a diagnostic.
class event_fields {
    nlohmann::json const& object_;
    result<void, diagnostic> status_;

public:
    /// `object` has to be one, and to outlive this.
    explicit event_fields(nlohmann::json const& object) noexcept : object_(object) {}

    /// Success as long as all that was asked for was there, else the first fault.
    [[nodiscard]] result<void, diagnostic> const& status() const noexcept { return status_; }

    [[nodiscard]] std::string text(char const* name);
    /// A text, or {"hex": "2fff"} as `write_bytes` writes it.
    [[nodiscard]] std::string bytes(char const* name);
    [[nodiscard]] bool boolean(char const* name);
    /// From 0 to 2^63 - 1: a time in nanoseconds, a number, a step.
    [[nodiscard]] std::int64_t whole(char const* name);
    /// The same, or null.
    [[nodiscard]] std::optional<std::int64_t> maybe_whole(char const* name);
    /// Also "nan", "inf" and "-inf".
    [[nodiscard]] double number(char const* name);
    /// The same, or null.
    [[nodiscard]] std::optional<double> maybe_number(char const* name);
    /// An amount of a resource; "unlimited" is infinite.
    [[nodiscard]] double amount(char const* name);
    [[nodiscard]] nlohmann::json const& array(char const* name);
    [[nodiscard]] nlohmann::json const& object(char const* name);

    /// The text of a field that may be missing.
    [[nodiscard]] std::string text_or(char const* name, std::string_view without) const;
    [[nodiscard]] bool has(char const* name) const { return object_.contains(name); }

private:
    [[nodiscard]] nlohmann::json const* found(char const* name);
    [[nodiscard]] double read(char const* name, std::optional<double> (*in)(nlohmann::json const&),
                              std::string_view wanted);
    void refuse(char const* name, std::string_view wanted);
};

/// A number, or one of the three words for values that JSON cannot write as numbers.
[[nodiscard]] std::optional<double> number_in(nlohmann::json const& value);
/// An amount, in a grant or a column: a whole number. "unlimited", and the number that means it in columns, are
/// infinite.
[[nodiscard]] std::optional<double> amount_in(nlohmann::json const& value);

/// Limits of the names and sentences of a log on a page, in bytes.
inline constexpr std::size_t longest_name = 80, longest_text = 300;

/// `text` with at most `most` bytes, cut between two characters and then ended by "...".
[[nodiscard]] std::string shortened(std::string_view text, std::size_t most);

}  // namespace ration::program
