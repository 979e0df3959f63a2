// SPDX-License-Identifier: BSL-1.0
#include "cli/twin_command.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/core.h>

#include "command_line/option_checks.hpp"
#include "common/diagnostics.hpp"
#include "comparison/output.hpp"
#include "report/run_json.hpp"
#include "run/run_folder.hpp"
#include "twin/output.hpp"

namespace ration::program {
namespace {

constexpr auto notes_of_twin = R"(Examples:
  ration run jobs.toml && ration twin latest --policy tradl,equal_share
  ration run jobs.toml --compare none,tradl --log both.jsonl && ration twin both.jsonl --against both.jsonl
  ration twin none.jsonl --against tradl.jsonl
  ration twin none.jsonl --policy tradl --set tradl.alpha=0.8 --json | jq .mean_error

The models are fitted to the first run of LOG. Without --against, the simulation is compared with this run; the models have seen it, so that
the error is only a lower bound. docs/twin.md describes the models. Exit codes: 0 the figures are there; 1 a policy granted what the rules do
not allow, or gave no answer; 2 wrong command line or log.)";

[[nodiscard]] result<std::vector<recording>, diagnostic> runs_of(std::string const& word, twin_options const& options) {
    auto const log = event_log_named(word);
    if (!log) return log.failure();
    return read_recordings(*log, options.policies);
}

/// The first run of another policy than the fitted one, else the first run.
[[nodiscard]] recording const& run_to_predict(std::vector<recording> const& runs, recording const& fitted) {
    auto const other = std::ranges::find_if(
        runs, [&](recording const& run) { return side_label(run.history) != side_label(fitted.history); });
    return other == runs.end() ? runs.front() : *other;
}

}  // namespace

void add_options(CLI::App& to, twin_options& into, option_context& context) {
    to.footer(notes_of_twin);
    to.add_option("LOG", into.log, "A run of 'ration runs', 'latest', or an event log that 'ration run --log' wrote")
        ->required()
        ->type_name("");
    to.add_option("--against", into.against,
                  "Another log of the same jobs: predict its first run of another policy, and compare with it")
        ->type_name("LOG");
    auto* const policy = to.add_option("--policy", into.policies,
                                       "Simulate these policies too; 'ration policies' lists them, or paths of a .so");
    context.offers[policy] = {.words = context.policies, .plugins = true};
    policy->delimiter(',')
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->expected(1)
        ->type_name("A,B")
        ->check(policy_check(context));
    add_setting_option(to, into.settings,
                       "A parameter of a policy, as in tradl.alpha=0.8, instead of that of the recorded run");
    to.add_flag("--json", into.json, "As JSON: the errors and models in one line, the comparison in another");
}

exit_code show_twin(twin_options const& options) {
    auto const runs = runs_of(options.log, options);
    if (!runs) return fail(exit_code::bad_input, to_text(runs.failure()));
    auto const others = options.against.empty() ? result<std::vector<recording>, diagnostic>(std::vector<recording>())
                                                : runs_of(options.against, options);
    if (!others) return fail(exit_code::bad_input, to_text(others.failure()));
    auto const& fitted = runs->front();
    diagnostics problems;
    auto const twin = make_twin(fitted, others->empty() ? fitted : run_to_predict(*others, fitted), options, problems);
    if (!problems.empty()) {
        print_to_stderr(problems, "ration: ");
        return exit_code::bad_input;
    }
    if (options.json)
        fmt::print("{}\n{}\n", twin_json(twin), comparison_json(twin.sides));
    else
        fmt::print("{}", twin_text(twin));
    return twin.policies_answered ? exit_code::ok : exit_code::policy_failed;
}

}  // namespace ration::program
