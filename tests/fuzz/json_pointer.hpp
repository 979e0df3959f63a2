// SPDX-License-Identifier: BSL-1.0
/// One value inside of a JSON document, for inputs that change a sound document in a few places.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace fuzz {

/// The value at a JSON pointer such as "/jobs/0/pid" (RFC 6901), and the whole for ""; nullptr when there is none.
[[nodiscard]] inline nlohmann::json* value_at(nlohmann::json& whole, std::string_view pointer) {
    try {
        return &whole.at(nlohmann::json::json_pointer(std::string(pointer)));
    } catch (nlohmann::json::exception const&) {
        return nullptr;
    }
}

/// Whether two texts, truths or numbers are the same. nlohmann-json alone takes 2^63 and -2^63 for equal.
[[nodiscard]] inline bool is_same_value(nlohmann::json const& a, nlohmann::json const& b) {
    return a == b && (!a.is_number() || a.get<double>() == b.get<double>());
}

}  // namespace fuzz
