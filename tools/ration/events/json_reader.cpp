// SPDX-License-Identifier: BSL-1.0
#include "events/json_reader.hpp"

namespace ration::program {

bool is_nested_deeper(std::string_view json, std::size_t most) noexcept {
    std::size_t depth = 0;
    bool in_string = false;
    for (std::size_t i = 0; i < json.size(); ++i) {
        char const c = json[i];
        if (in_string && c == '\\')
            ++i;
        else if (c == '"')
            in_string = !in_string;
        else if (!in_string && (c == '[' || c == '{') && ++depth > most)
            return true;
        else if (!in_string && (c == ']' || c == '}') && depth > 0)
            --depth;
    }
    return false;
}

template <class Json>
Json parse_json(std::string_view text) {
    if (is_nested_deeper(text, most_json_depth)) return Json(Json::value_t::discarded);
    return Json::parse(text, nullptr, false);
}

template nlohmann::json parse_json(std::string_view text);
template nlohmann::ordered_json parse_json(std::string_view text);

}  // namespace ration::program
