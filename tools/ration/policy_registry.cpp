// SPDX-License-Identifier: BSL-1.0
#include "policy_registry.hpp"

#include <fmt/core.h>

#include <boost/hana/accessors.hpp>
#include <boost/hana/adapt_struct.hpp>
#include <boost/hana/for_each.hpp>
#include <boost/hana/keys.hpp>
#include <boost/hana/members.hpp>
#include <boost/hana/second.hpp>
#include <boost/hana/string.hpp>

#include <type_traits>

#include <ration/policies/equal_share.hpp>
#include <ration/policies/none.hpp>
#include <ration/policies/tradl.hpp>

#include "run.hpp"

BOOST_HANA_ADAPT_STRUCT(ration::policies::tradl_parameters, alpha, dead_band, scenario);

namespace ration::program {
namespace {

namespace hana = boost::hana;

struct no_parameters {
    [[nodiscard]] static constexpr std::string_view problem() noexcept { return {}; }
};

}  // namespace
}  // namespace ration::program

BOOST_HANA_ADAPT_STRUCT(ration::program::no_parameters);

namespace ration::program {
namespace {

[[nodiscard]] constexpr std::span<std::string_view const> words_of(policies::tradl_scenario) noexcept {
    return policies::tradl_scenario_names;
}

template <class T>
[[nodiscard]] std::string as_text(T const& value) {
    if constexpr (std::is_enum_v<T>)
        return fmt::format("\"{}\"", words_of(value)[static_cast<std::size_t>(value)]);
    else
        return fmt::format("{}", value);
}

/// Each `read` returns an empty text, or what is expected instead.
[[nodiscard]] std::string read(parameter const& from, double& to) {
    if (auto const* const real = std::get_if<double>(&from.value)) return to = *real, std::string{};
    if (auto const* const whole = std::get_if<std::int64_t>(&from.value)) return to = static_cast<double>(*whole), std::string{};
    return "a number";
}

template <class E>
    requires std::is_enum_v<E>
[[nodiscard]] std::string read(parameter const& from, E& to) {
    std::string expected = "one of";
    auto const* const word = std::get_if<std::string>(&from.value);
    auto const words = words_of(to);
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (word != nullptr && *word == words[i]) return to = static_cast<E>(i), std::string{};
        expected += fmt::format("{} \"{}\"", i == 0 ? "" : ",", words[i]);
    }
    return expected;
}

template <class Parameters>
[[nodiscard]] std::vector<parameter_help> help_of() {
    std::vector<parameter_help> help;
    hana::for_each(hana::accessors<Parameters>(), [&](auto const& pair) {
        help.push_back({hana::first(pair).c_str(), as_text(hana::second(pair)(Parameters{}))});
    });
    return help;
}

template <class Parameters>
[[nodiscard]] std::vector<std::string_view> names_of() {
    std::vector<std::string_view> names;
    hana::for_each(hana::accessors<Parameters>(), [&](auto const& pair) { names.push_back(hana::first(pair).c_str()); });
    return names;
}

/// Sets one member; false when there is none of this name.
template <class Parameters>
[[nodiscard]] bool set(Parameters& parameters, parameter const& given, std::vector<problem>& problems) {
    bool known = false;
    hana::for_each(hana::accessors<Parameters>(), [&](auto const& pair) {
        if (given.name != hana::first(pair).c_str()) return;
        known = true;
        auto const expected = read(given, hana::second(pair)(parameters));
        if (!expected.empty()) problems.push_back({given.value_at, fmt::format("{} must be {}", given.name, expected)});
    });
    return known;
}

template <class Parameters>
[[nodiscard]] Parameters read_parameters(policy_parameters const* given, std::vector<problem>& problems) {
    Parameters parameters;
    if (given == nullptr) return parameters;
    std::size_t const before = problems.size();
    for (auto const& p : given->parameters)
        if (!set(parameters, p, problems))
            problems.push_back({p.name_at, fmt::format("{} has no parameter {}{}", given->policy, quoted(p.name),
                                                       suggestion(p.name, names_of<Parameters>()))});
    if (problems.size() == before && !parameters.problem().empty())
        problems.push_back({given->at, std::string(parameters.problem())});
    return parameters;
}

template <class P, class Parameters>
[[nodiscard]] std::unique_ptr<decider> make(policy_parameters const* given, std::vector<problem>& problems) {
    std::size_t const before = problems.size();
    auto const parameters = read_parameters<Parameters>(given, problems);
    if (problems.size() != before) return nullptr;
    if constexpr (std::is_constructible_v<P, Parameters const&>)
        return std::make_unique<bound_policy<P>>(P(parameters));
    else
        return std::make_unique<bound_policy<P>>();
}

template <class P, class Parameters = no_parameters>
[[nodiscard]] known_policy entry(std::string_view name) {
    return {name, P::about, help_of<Parameters>(), &make<P, Parameters>};
}

}  // namespace

std::span<known_policy const> known_policies() {
    static std::vector<known_policy> const all{
        entry<policies::none>("none"),
        entry<policies::equal_share>("equal_share"),
        entry<policies::tradl, policies::tradl_parameters>("tradl"),
    };
    return all;
}

std::unique_ptr<decider> make_policy(run_config const& config, std::string_view name, std::vector<problem>& problems) {
    std::vector<std::string_view> names;
    for (auto const& known : known_policies()) {
        if (known.name == name) return known.make(config.parameters_of(name), problems);
        names.push_back(known.name);
    }
    problems.push_back({config.policy == name ? config.policy_at : position{},
                        fmt::format("there is no policy {}{}", quoted(name), suggestion(name, names))});
    return nullptr;
}

std::vector<std::string> policy_names() {
    std::vector<std::string> names;
    for (auto const& known : known_policies()) names.emplace_back(known.name);
    return names;
}

}  // namespace ration::program
