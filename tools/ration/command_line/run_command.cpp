// SPDX-License-Identifier: BSL-1.0
#include "command_line/run_command.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/ranges.h>
#include <iterator>

#include "command_line/option_checks.hpp"
#include "common/diagnostics.hpp"
#include "common/printable.hpp"
#include "common/suggestion.hpp"
#include "config/settings.hpp"
#include "policies/policy_registry.hpp"
#include "run/job_backends.hpp"
#include "run/run.hpp"

namespace ration::program {

namespace {

constexpr int most_cpus = 4096;

constexpr auto notes_of_run = R"(Examples:
  ration run jobs.toml
  ration run jobs.toml --compare none,equal_share --log run.jsonl
  ration run jobs.toml --compare none,tradl:scenario=AO,tradl:scenario=FT,alpha=0.9 --repeat 5
  ration run jobs.toml --policy ./libmine.so --cpus 2
  ration run jobs.toml --json | jq -c 'select(.event == "tier_reached")'

The output of a job is in ration-output/latest/JOB.log. Ctrl-C stops all jobs and ends the run; a second one kills them.)";

[[nodiscard]] result<void, diagnostic> check_backend(std::string_view word) {
    auto const names = job_backend_names();
    if (std::ranges::find(names, word) != names.end()) return {};
    return diagnostic{.text = "unknown backend " + program::quoted(word) + suggestion(word, names)};
}

/// Puts the parameters of --set in the place of those of the file. Pre: the policies are chosen.
void set_parameters(run_options const& options, run_config& config, diagnostics& problems) {
    std::vector<std::string> names{std::string(config.fallback_name())};
    for (auto const& choice : options.policies) names.push_back(choice.policy);
    if (config.cache) names.emplace_back(item_policy);
    run_config given;
    add_settings(options.settings, names, "run", given, problems);
    for (auto const& parameters : given.parameters) override_parameters(parameters, config);
    if (auto sentence = repeated_choice(options.policies, config); !sentence.empty())
        problems.add({.file = "--compare", .text = std::move(sentence)});
}

/// Declares what runs with which parameters. Returns `--compare`.
CLI::Option* add_run_policies(CLI::App& to, run_options& into, option_context& context) {
    auto* const policy =
        to.add_option("--policy", into.policy, "A policy's name or the path of its .so, instead of the file's");
    policy->type_name("NAME");
    auto* const compare =
        to.add_option("--compare", into.compared,
                      "Run the jobs once under each of these policies, one after another, then under the "
                      "file's, and print a table. NAME=VALUE after a ':' or a ',' is a parameter of the policy before");
    compare->delimiter(',')
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->expected(1)
        ->type_name("A,B[:NAME=VALUE,...]");
    policy->check(policy_check(context));
    compare->check(choice_check(context));
    for (auto* const option : {policy, compare}) context.offers[option] = {.words = context.policies, .plugins = true};
    to.add_option("--repeat", into.repeat,
                  "Repeat the comparison N times, in turns and in changing order, and give 95 % confidence intervals")
        ->type_name("N")
        ->check(number_check(most_rounds, "rounds"))
        ->needs(compare);
    add_setting_option(to, into.settings,
                       "A parameter of a policy, as in tradl.alpha=0.8, instead of that of the jobs file");
    return compare;
}

}  // namespace

void add_options(CLI::App& to, run_options& into, option_context& context) {
    to.footer(notes_of_run);
    to.add_option("FILE", into.file, "The jobs file; docs/run.md describes its keys")->required()->type_name("");
    auto* const compare = add_run_policies(to, into, context);
    auto* const dry_run = to.add_flag("--dry-run", into.dry_run, "Print the planned changes, and start nothing");
    to.add_flag("--explain", into.explain, "Print the reason for the grants of each job");
    to.add_flag("--json", into.json, "Events as JSON lines on standard output; docs/event-log.md has the schema");
    to.add_option("--log", into.log,
                  "Write the events to this file, which is overwritten, instead of the folder of the run")
        ->type_name("FILE");
    auto const backends = job_backend_names();
    auto* const backend = to.add_option(
        "--backend", into.backend,
        fmt::format("{} or {}", fmt::join(backends.begin(), std::prev(backends.end()), ", "), backends.back()));
    backend->type_name("NAME")->check(checked_by(check_backend));
    context.offers[backend].words.assign(backends.begin(), backends.end());
    to.add_option("--cpus", into.cpus, "How many cores the jobs share, instead of the file's number")
        ->type_name("N")
        ->check(number_check(most_cpus, "cores"));
    auto* const reattach =
        to.add_flag("--reattach", into.reattach, "Continue the jobs of this file that a killed run has left");
    to.add_flag("--quiet", into.quiet,
                "No view and no lines on what happens; warnings and the table at the end remain");
    add_metrics_option(to, into.metrics, context)->excludes(dry_run);
    compare->excludes(dry_run)->excludes(reattach);
    to.callback([&into] { into.compare = !into.compared.empty(); });
}

result<void, diagnostic> choose_policies(run_options& options, run_config const& config) {
    auto choices = read_choices(options.compared);
    if (!choices) return in_file("--compare", choices.failure());
    options.policies = std::move(choices).value();
    auto const& one = options.policy.empty() ? config.policy : options.policy;
    if (!one.empty() && std::ranges::find(options.policies, one, &policy_choice::policy) == options.policies.end())
        options.policies.push_back({.policy = one, .label = one});
    return {};
}

exit_code run_file(run_options const& asked, exit_code (&start)(run_options const&, run_config const&)) {
    auto options = asked;
    std::vector<std::string> named;
    for (auto const& word : options.compared)
        if (auto const policy = policy_of_word(word)) named.emplace_back(*policy);
    if (!options.policy.empty()) named.push_back(options.policy);
    auto read = load_config(options.file, {.policies = policy_names(), .policy_given = !named.empty(), .named = named});
    if (read.problems.empty()) read.problems = missing_files(read.config);
    print_to_stderr(read.problems);
    if (!read.problems.empty()) return exit_code::bad_input;
    diagnostics problems;
    if (auto const chosen = choose_policies(options, read.config); !chosen) problems.add(chosen.failure());
    set_parameters(options, read.config, problems);
    print_to_stderr(problems, "ration: ");
    if (!problems.empty()) return exit_code::bad_input;
    if (options.cpus) read.config.cpus = options.cpus;
    return start(options, read.config);
}

exit_code run_here(run_options const& options) { return run_file(options, run); }

}  // namespace ration::program
