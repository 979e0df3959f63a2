// SPDX-License-Identifier: BSL-1.0
#include "cli/decide_command.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fcntl.h>
#include <fmt/format.h>
#include <memory>
#include <string_view>
#include <unistd.h>
#include <utility>

#include <ration/process/input_file.hpp>

#include "command_line/option_checks.hpp"
#include "common/diagnostics.hpp"
#include "config/settings.hpp"
#include "decide/request_lines.hpp"
#include "decide/session.hpp"
#include "policies/policy_registry.hpp"

namespace ration::program {
namespace {

constexpr auto notes_of_decide =
    R"(Each line of standard input is a request, each line of standard output its answer; docs/decide.md describes both.

Examples:
  echo '{"nodes":[{"id":"n1","capacity.cpu":4000}],"jobs":[{"id":"a","state":"running"},{"id":"b","state":"running"}]}' | ration decide equal_share
  ration decide ./libmine.so --set mine.gain=0.5 < requests.jsonl > answers.jsonl

Exit codes: 0 end of input; 2 wrong command line or policy; 3 standard input or output failed.)";

/// The policy with its parameters, or null after the problems are on standard error.
[[nodiscard]] std::unique_ptr<any_policy> open_policy(decide_options const& options) {
    diagnostics problems;
    run_config config;
    add_settings(options.settings, {options.policy}, "asked", config, problems);
    std::unique_ptr<any_policy> policy;
    if (problems.empty()) policy = make_policy(config, options.policy, policy_log::common_to(options.policy), problems);
    print_to_stderr(problems, "ration: ");
    return policy;
}

[[nodiscard]] bool print_line(std::string text) {
    text += '\n';
    return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
}

}  // namespace

void add_options(CLI::App& to, decide_options& into, option_context& context) {
    to.footer(notes_of_decide);
    auto* const policy = to.add_option("POLICY", into.policy,
                                       "The name of a policy, or the path of a .so; 'ration policies' lists them");
    policy->required()->type_name("")->check(policy_check(context));
    context.offers[policy] = {.words = context.policies, .plugins = true};
    add_setting_option(to, into.settings, "A parameter of the policy, as in tradl.alpha=0.8");
}

exit_code decide(decide_options const& options) {
    auto policy = open_policy(options);
    if (policy == nullptr) return exit_code::bad_input;
    decide_session session(std::move(policy));
    request_lines lines(process::descriptor(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)), most_request_bytes);
    for (std::string_view line;;) {
        auto const got = lines.next(line);
        if (!got)
            return fail(exit_code::no_backend, fmt::format("standard input: {}pass requests through a pipe or a file",
                                                           process::input_sentence(got.failure())));
        if (*got == request_lines::outcome::end) return exit_code::ok;
        bool const is_whole = *got == request_lines::outcome::line;
        auto text = is_whole ? session.answer(line) : session.refuse_long_line();
        print_to_stderr(policy_log::common_to(options.policy), options.policy);
        if (!print_line(std::move(text)))
            return fail(exit_code::no_backend, "standard output: cannot be written; read all answers");
    }
}

}  // namespace ration::program
