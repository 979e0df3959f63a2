// SPDX-License-Identifier: BSL-1.0
#include "replay/recorded_config.hpp"

#include <nlohmann/json.hpp>
#include <vector>

#include "config/parameters_json.hpp"
#include "config/settings.hpp"

namespace ration::program {
namespace {

/// The parameters that a run gave to its policy: those of its jobs file, unless the command line had others.
[[nodiscard]] policy_parameters recorded_parameters(nlohmann::json const& run) {
    auto const given = run.find("parameters");
    return {.policy = std::string(policy_stem(run.value("policy", std::string("?")))),
            .at = {},
            .parameters = given == run.end() ? std::vector<parameter>() : parameters_in(*given)};
}

}  // namespace

parsed_config recorded_config(nlohmann::json const& run, config_rules const& rules) {
    auto parsed = parse_config(run.value("source", std::string()), run.value("file", std::string("jobs.toml")), rules);
    override_parameters(recorded_parameters(run), parsed.config);
    return parsed;
}

}  // namespace ration::program
