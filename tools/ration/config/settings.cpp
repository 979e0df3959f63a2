// SPDX-License-Identifier: BSL-1.0
#include "config/settings.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <map>

#include "common/printable.hpp"
#include "common/suggestion.hpp"

namespace ration::program {
namespace {

using parameter_value = decltype(parameter::value);

/// Reads all of `text`; false also where the number does not fit into the type.
template <class Number>
[[nodiscard]] bool is_number(std::string_view text, Number& into) noexcept {
    auto const* const end = text.data() + text.size();
    auto const read = std::from_chars(text.data(), end, into);
    return read.ec == std::errc{} && read.ptr == end;
}

[[nodiscard]] parameter_value as_value(std::string_view text) {
    if (text == "true" || text == "false") return text == "true";
    std::int64_t whole = 0;
    double number = 0;
    if (is_number(text, whole)) return whole;
    if (is_number(text, number)) return number;
    return std::string(text);
}

/// Adds NAME=VALUE, which belongs to the policy `owner`.
[[nodiscard]] result<void, diagnostic> add_parameter(std::string_view text, std::string_view owner,
                                                     std::vector<parameter>& into) {
    std::size_t const equals = text.find('=');
    std::string_view const name = text.substr(0, equals);
    if (name.empty())
        return diagnostic{.text = program::quoted(text) + " has no name before '=': write NAME=VALUE, as in alpha=0.9"};
    if (std::ranges::find(into, name, &parameter::name) != into.end())
        return diagnostic{.text = fmt::format("{}.{} is set twice: leave one out", owner, name)};
    into.push_back(
        {.name = std::string(name), .value = as_value(text.substr(equals + 1)), .name_at = {}, .value_at = {}});
    return {};
}

[[nodiscard]] std::map<std::string, parameter_value> parameters_of(policy_choice const& choice,
                                                                   run_config const& config) {
    std::map<std::string, parameter_value> all;
    run_config const own = with_parameters(config, choice);
    if (auto const* const given = own.parameters_of(choice.policy))
        for (auto const& p : given->parameters) all.insert_or_assign(p.name, p.value);
    return all;
}

}  // namespace

result<void, diagnostic> add_setting(std::string_view text, run_config& into) {
    std::size_t const dot = text.find('.'), equals = text.find('=');
    if (equals == text.npos || dot >= equals || dot == 0 || dot + 1 == equals)
        return diagnostic{.text = program::quoted(text) +
                                  " is not a parameter: write POLICY.PARAMETER=VALUE, as in las.promote=0"};
    std::string const policy(text.substr(0, dot));
    auto found = std::ranges::find(into.parameters, policy, &policy_parameters::policy);
    if (found == into.parameters.end())
        found = into.parameters.insert(found, {.policy = policy, .at = {}, .parameters = {}});
    return add_parameter(text.substr(dot + 1), policy, found->parameters);
}

void add_settings(std::vector<std::string> const& words, std::vector<std::string> const& policies,
                  std::string_view used, run_config& into, diagnostics& problems) {
    std::vector<std::string_view> stems;
    stems.reserve(policies.size());
    for (auto const& policy : policies) stems.push_back(policy_stem(policy));
    for (auto const& word : words)
        if (auto const added = add_setting(word, into); !added) problems.add(in_file("--set", added.failure()));
    for (auto const& set : into.parameters)
        if (std::ranges::find(stems, set.policy) == stems.end())
            problems.add({.file = "--set",
                          .text = fmt::format("{} is not one of the policies that are {}{}",
                                              program::quoted(set.policy), used, suggestion(set.policy, stems))});
}

void override_parameters(policy_parameters const& given, run_config& into) {
    auto const same = std::ranges::find(into.parameters, given.policy, &policy_parameters::policy);
    if (same == into.parameters.end()) {
        into.parameters.push_back(given);
        return;
    }
    for (auto const& p : given.parameters) {
        std::erase_if(same->parameters, [&](parameter const& former) { return former.name == p.name; });
        same->parameters.push_back(p);
    }
}

std::optional<std::string_view> policy_of_word(std::string_view word) noexcept {
    std::size_t const equals = word.find('=');
    if (equals == word.npos) return word;
    std::size_t const colon = word.substr(0, equals).rfind(':');
    return colon == word.npos ? std::nullopt : std::optional(word.substr(0, colon));
}

result<std::vector<policy_choice>, diagnostic> read_choices(std::vector<std::string> const& words) {
    std::vector<policy_choice> choices;
    for (std::string_view const word : words) {
        auto const policy = policy_of_word(word);
        if (policy)
            choices.push_back({.policy = std::string(*policy), .label = std::string(word)});
        else if (choices.empty())
            return diagnostic{.text = program::quoted(word) +
                                      " has no policy before it: write POLICY:NAME=VALUE, as in tradl:alpha=0.9"};
        else
            choices.back().label.append(",").append(word);
        if (policy == word) continue;
        auto& choice = choices.back();
        auto const parameter = policy ? word.substr(policy->size() + 1) : word;
        if (auto const added = add_parameter(parameter, choice.policy, choice.parameters); !added)
            return added.failure();
    }
    return choices;
}

run_config with_parameters(run_config config, policy_choice const& choice) {
    if (choice.parameters.empty()) return config;
    override_parameters({.policy = std::string(policy_stem(choice.policy)), .at = {}, .parameters = choice.parameters},
                        config);
    return config;
}

std::string repeated_choice(std::vector<policy_choice> const& choices, run_config const& config) {
    for (auto second = choices.begin(); second != choices.end(); ++second)
        for (auto first = choices.begin(); first != second; ++first)
            if (first->policy == second->policy && parameters_of(*first, config) == parameters_of(*second, config))
                return fmt::format("{} runs with the same parameters as {}; leave one out",
                                   program::quoted(second->label), program::quoted(first->label));
    return {};
}

}  // namespace ration::program
