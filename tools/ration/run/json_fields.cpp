// SPDX-License-Identifier: BSL-1.0
#include "run/json_fields.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "events/bytes_member.hpp"

namespace ration::program {

bool take(nlohmann::json const& value, std::string& into) {
    auto bytes = bytes_in(value);
    if (bytes) into = std::move(*bytes);
    return bytes.has_value();
}

bool take(nlohmann::json const& value, bool& into) {
    if (value.is_boolean()) into = value.get<bool>();
    return value.is_boolean();
}

bool take(nlohmann::json const& value, double& into) {
    if (value.is_number()) into = value.get<double>();
    return value.is_number() && std::isfinite(into) && into >= 0;
}

bool take(nlohmann::json const& value, std::optional<resize_phase>& into) {
    std::string word;
    if (!take(value, word)) return false;
    into = phase_named(word);
    return into || word.empty();
}

bool take(nlohmann::json const& value, std::optional<condition>& into) {
    std::string word;
    if (!take(value, word)) return false;
    for (int c = 0; c <= static_cast<int>(condition::stopped); ++c)
        if (name_of(static_cast<condition>(c)) == word) into = static_cast<condition>(c);
    return into || word.empty();
}

bool take(nlohmann::json const& value, std::vector<std::string>& into) {
    if (!value.is_array()) return false;
    return std::ranges::all_of(value, [&](nlohmann::json const& one) { return take(one, into.emplace_back()); });
}

}  // namespace ration::program
