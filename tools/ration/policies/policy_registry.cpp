// SPDX-License-Identifier: BSL-1.0
#include "policies/policy_registry.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <type_traits>

#include <ration/plugin/manifest_of.hpp>
#include <ration/policies/equal_share.hpp>
#include <ration/policies/none.hpp>

#include "common/diagnostics.hpp"
#include "common/printable.hpp"
#include "common/suggestion.hpp"
#include "policies/plugin_policy.hpp"
#include "shipped_policies.hpp"

namespace ration::program {
namespace {

/// Lets a schema be written into a string.
struct text_writer {
    std::string& text;
    text_writer& operator<<(std::string_view more) {
        text += more;
        return *this;
    }
};

template <class Parameters>
[[nodiscard]] std::vector<parameter_help> help_of() {
    std::vector<parameter_help> help;
    Parameters const defaults{};
    parameter_access<Parameters>::for_each(defaults, [&](parameter_note const& note, auto const& value) {
        auto& one = help.emplace_back(parameter_help{std::string(note.name), {}, std::string(note.meaning)});
        text_writer out{one.default_value};
        ration::detail::write_value(out, value);
    });
    return help;
}

/// As the reader of plugins' parameters takes it, so that a policy means the same compiled in and loaded.
[[nodiscard]] json_member as_member(parameter const& given, std::string& text) {
    json_member member{.name = given.name, .value = {}};
    std::visit(
        [&]<class T>(T const& value) {
            text = fmt::format("{}", value);
            member.kind = std::is_same_v<T, bool>          ? json_kind::truth
                          : std::is_same_v<T, std::string> ? json_kind::word
                                                           : json_kind::number;
        },
        given.value);
    member.value = text;
    return member;
}

template <class Parameters>
[[nodiscard]] std::string unknown_parameter(policy_parameters const& given, parameter const& p) {
    std::vector<std::string> known;
    for (auto& help : help_of<Parameters>()) known.push_back(std::move(help.name));
    return fmt::format("{} has no parameter {}{}", given.policy, quoted(p.name),
                       suggestion(p.name, {known.begin(), known.end()}));
}

template <class Parameters>
[[nodiscard]] Parameters read_parameters(policy_parameters const* given, diagnostics& problems) {
    Parameters parameters{};
    if (given == nullptr) return parameters;
    std::size_t const before = problems.size();
    for (auto const& p : given->parameters) {
        std::string text;
        ration::text<255> wrong;
        auto const member = as_member(p, text);
        if (!parameter_access<Parameters>::knows(p.name))
            problems.add(p.name_at, unknown_parameter<Parameters>(*given, p));
        else if (!parameter_access<Parameters>::set(member, parameters, wrong))
            problems.add(p.value_at, wrong.c_str());
    }
    if (problems.size() == before && !parameters.problem().empty())
        problems.add(given->at, std::string(parameters.problem()));
    return parameters;
}

template <class P>
[[nodiscard]] std::unique_ptr<any_policy> make(policy_parameters const* given, diagnostics& problems) {
    std::size_t const before = problems.size();
    if constexpr (has_parameters<P>) {
        auto const parameters = read_parameters<typename P::parameters>(given, problems);
        return problems.size() == before ? std::make_unique<policy_adapter<P>>(P(parameters)) : nullptr;
    } else {
        if (given != nullptr)
            for (auto const& p : given->parameters)
                problems.add(p.name_at, fmt::format("{} has no parameter {}", given->policy, quoted(p.name)));
        return problems.size() == before ? std::make_unique<policy_adapter<P>>() : nullptr;
    }
}

template <class P>
[[nodiscard]] known_policy entry(std::string_view name) {
    static constexpr ration_manifest manifest = plugin::manifest_of<P>();
    known_policy known{name, P::about, {}, {}, P::inputs::descriptions, &manifest, &make<P>};
    if constexpr (has_parameters<P>) {
        known.parameters = help_of<typename P::parameters>();
        parameter_access<typename P::parameters>::write_schema(text_writer{known.schema});
    }
    return known;
}

[[nodiscard]] std::vector<known_policy> list_policies() {
    std::vector<known_policy> all{entry<policies::none>("none"), entry<policies::equal_share>("equal_share")};
    for_each_shipped_policy([&]<class P>(std::string_view name) { all.push_back(entry<P>(name)); });
    return all;
}

[[nodiscard]] known_policy const* policy_called(std::string_view name) {
    auto const found = std::ranges::find(known_policies(), name, &known_policy::name);
    return found == known_policies().end() ? nullptr : &*found;
}

/// Of a worker's start and of an answer. A policy of this program may hang by mistake alone, whereas a busy machine
/// delays a worker often, and a late answer counts as a fault.
constexpr nanoseconds compiled_in_deadline = seconds(10);

}  // namespace

std::span<known_policy const> known_policies() {
    static std::vector<known_policy> const all = list_policies();
    return all;
}

std::unique_ptr<any_policy> make_policy(run_config const& config, std::string_view name, policy_log& log,
                                        diagnostics& problems) {
    position const at = config.policy == name ? config.policy_at : position{};
    auto const* const isolation = config.isolation_of(name);
    plugin_use use{.path = name,
                   .at = at,
                   .parameters = config.parameters_of(name),
                   .isolation = isolation,
                   .may_start_later = config.for_service};
    if (is_plugin_path(name)) return open_plugin(use, log, problems);
    auto const* const known = policy_called(name);
    if (known == nullptr) {
        auto const names = policy_names();
        problems.add(at,
                     fmt::format("unknown policy {}{}", quoted(name), suggestion(name, {names.begin(), names.end()})));
        return nullptr;
    }
    auto made = known->make(use.parameters, problems);  // at first here, where problems have a place
    bool const has_worker = isolation == nullptr ? config.for_service : isolation->where == policy_location::worker;
    if (made == nullptr || !has_worker) return made;
    use.deadline = compiled_in_deadline;
    return open_compiled_in(*known->manifest, use, log, problems);
}

int policy_worker(std::string_view name) {
    auto const* const known = policy_called(name);
    return known == nullptr ? 2 : compiled_in_worker(name, known->make);
}

std::optional<policies::shared_cache_parameters> item_parameters(run_config const& config, diagnostics& problems) {
    std::size_t const before = problems.size();
    auto const read = read_parameters<policies::shared_cache_parameters>(config.parameters_of(item_policy), problems);
    return problems.size() == before ? std::optional(read) : std::nullopt;
}

std::vector<std::string_view> policies_for_devices(std::span<column_info const> schema) {
    std::vector<std::string_view> names;
    diagnostics none;
    for (auto const& known : known_policies())
        if (auto const policy = known.make(nullptr, none);
            policy->reads(devices_to_share) && policy->bind(schema, {.jobs = 1, .nodes = 1}))
            names.push_back(known.name);
    return names;
}

std::vector<std::string> policy_names() {
    std::vector<std::string> names;
    for (auto const& known : known_policies()) names.emplace_back(known.name);
    return names;
}

}  // namespace ration::program
