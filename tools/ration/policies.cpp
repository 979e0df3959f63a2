// SPDX-License-Identifier: BSL-1.0
// `ration policies`: what can be named in `policy = "..."`.
#include <cstdio>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "policy_registry.hpp"
#include "run.hpp"

namespace ration::program {
namespace {

[[nodiscard]] nlohmann::ordered_json as_json(known_policy const& p) {
    nlohmann::ordered_json parameters = nlohmann::ordered_json::object();
    for (auto const& parameter : p.parameters) parameters[parameter.name] = parameter.default_value;
    return {{"name", p.name}, {"id", p.about.id}, {"version", p.about.version}, {"summary", p.about.summary}, {"parameters", parameters}};
}

[[nodiscard]] std::string as_text(known_policy const& p) {
    std::string text = fmt::format("{:<12} {:<8} {}\n", p.name, p.about.version, p.about.summary);
    std::string parameters;
    for (auto const& parameter : p.parameters)
        parameters += fmt::format("{}{} = {}", parameters.empty() ? "" : ", ", parameter.name, parameter.default_value);
    if (!parameters.empty()) text += fmt::format("{:<21} {} = {{ {} }}\n", "", p.name, parameters);
    return text;
}

}  // namespace

exit_code policies(policies_options const& options) {
    if (options.json) {
        nlohmann::ordered_json all = nlohmann::ordered_json::array();
        for (auto const& p : known_policies()) all.push_back(as_json(p));
        std::puts(all.dump().c_str());
        return exit_code::ok;
    }
    for (auto const& p : known_policies()) std::fputs(as_text(p).c_str(), stdout);
    return exit_code::ok;
}

}  // namespace ration::program
