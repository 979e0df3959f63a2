// SPDX-License-Identifier: BSL-1.0
/// Fields of JSON objects that an earlier ration wrote, with their types and ranges checked. nlohmann's own conversions
/// cut numbers to size and accept a boolean as a number.
#pragma once

#include <concepts>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "events/events.hpp"
#include "run/resize_phase.hpp"

namespace ration::program {

/// Copies a value if it has the type of `into`; returns false otherwise. Numbers are finite and not negative. An empty
/// word is not a value of an enumeration.
[[nodiscard]] bool take(nlohmann::json const& value, std::string& into);
[[nodiscard]] bool take(nlohmann::json const& value, bool& into);
[[nodiscard]] bool take(nlohmann::json const& value, double& into);
[[nodiscard]] bool take(nlohmann::json const& value, std::optional<resize_phase>& into);
[[nodiscard]] bool take(nlohmann::json const& value, std::optional<condition>& into);
[[nodiscard]] bool take(nlohmann::json const& value, std::vector<std::string>& into);
template <std::integral Number>
[[nodiscard]] bool take(nlohmann::json const& value, Number& into) {
    if (!value.is_number_integer() || (!value.is_number_unsigned() && value.get<std::int64_t>() < 0)) return false;
    auto const number = value.get<std::uint64_t>();
    if (!std::in_range<Number>(number)) return false;
    into = static_cast<Number>(number);
    return true;
}

/// Takes the fields of one object; `wrong` is the name of the first one that is missing or has another type.
struct field_reader {
    nlohmann::json const& from;
    std::string wrong{};

    template <class T>
    void operator()(char const* name, T& into) {
        auto const found = from.find(name);
        if (wrong.empty() && (found == from.end() || !take(*found, into))) wrong = name;
    }
};

}  // namespace ration::program
