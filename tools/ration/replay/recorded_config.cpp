// SPDX-License-Identifier: BSL-1.0
#include "replay/recorded_config.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "config/settings.hpp"

namespace ration::program {
namespace {

/// The parameters that a run gave to its policy: those of its jobs file, unless the command line had others.
[[nodiscard]] policy_parameters recorded_parameters(nlohmann::json const& run) {
    policy_parameters all{
        .policy = std::string(policy_stem(run.value("policy", std::string("?")))), .at = {}, .parameters = {}};
    auto const given = run.find("parameters");
    if (given == run.end() || !given->is_object()) return all;
    for (auto const& [name, value] : given->items()) {
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
        all.parameters.push_back(std::move(one));
    }
    return all;
}

}  // namespace

parsed_config recorded_config(nlohmann::json const& run, config_rules const& rules) {
    auto parsed = parse_config(run.value("source", std::string()), run.value("file", std::string("jobs.toml")), rules);
    override_parameters(recorded_parameters(run), parsed.config);
    return parsed;
}

}  // namespace ration::program
