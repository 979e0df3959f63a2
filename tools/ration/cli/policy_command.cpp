// SPDX-License-Identifier: BSL-1.0
#include "cli/policy_command.hpp"

#include <CLI/CLI.hpp>

#include "cli/state_option.hpp"
#include "command_line/option_checks.hpp"

namespace ration::program {
namespace {

constexpr auto notes_of_policy = R"(Examples:
  ration policy set las
  ration policy set tradl --set tradl.alpha=0.8

Running jobs keep their limits until the first answer of the new policy. The event log continues with another run. The policy stays
until the next change, or the next start of the service with --policy.
Exit codes: 0; 2 unknown policy or parameter, or it reads columns that the service does not have; 3 the service cannot be reached.)";

}  // namespace

void add_options(CLI::App& to, policy_options& into, option_context& context) {
    to.footer(notes_of_policy);
    add_state_option(to, into.folder);
    auto* const action = to.add_option("ACTION", into.action, "set");
    action->required()->type_name("")->check(CLI::IsMember(std::vector<std::string>{"set"}));
    context.offers[action].words = {"set"};
    auto* const policy = to.add_option("NAME", into.policy, "A policy's name or the path of its .so");
    policy->required()->type_name("")->check(policy_check(context));
    context.offers[policy] = {.words = context.policies, .plugins = true};
    add_setting_option(to, into.settings, "A parameter of the policy, as in tradl.alpha=0.8");
    to.add_flag("--json", into.json, "The service as one JSON line");
}

}  // namespace ration::program
