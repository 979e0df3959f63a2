// SPDX-License-Identifier: BSL-1.0
#include "config/parameters_json.hpp"

#include <nlohmann/json.hpp>
#include <utility>

namespace ration::program {

std::string as_json(policy_parameters const* given) {
    if (given == nullptr) return {};
    auto json = nlohmann::ordered_json::object();
    for (auto const& p : given->parameters) std::visit([&](auto const& value) { json[p.name] = value; }, p.value);
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::vector<parameter> parameters_in(nlohmann::json const& object) {
    std::vector<parameter> all;
    if (!object.is_object()) return all;
    for (auto const& [name, value] : object.items()) {
        parameter one{.name = name, .value = {}, .name_at = {}, .value_at = {}};
        if (value.is_boolean())
            one.value = value.get<bool>();
        else if (value.is_number_integer())
            one.value = value.get<std::int64_t>();
        else if (value.is_number())
            one.value = value.get<double>();
        else if (value.is_string())
            one.value = value.get<std::string>();
        else
            continue;
        all.push_back(std::move(one));
    }
    return all;
}

}  // namespace ration::program
