// SPDX-License-Identifier: BSL-1.0
#include "cli/serve_command.hpp"

#include <CLI/CLI.hpp>

#include "cli/state_option.hpp"
#include "command_line/option_checks.hpp"
#include "run/job_backends.hpp"
#include "serve/access.hpp"

namespace ration::program {
namespace {

constexpr auto notes_of_serve = R"(Examples:
  ration serve
  ration serve --state /data/queue --policy tradl --max-running 8 --cpus 6
  ration serve --config service.toml --metrics 127.0.0.1:9555

The service runs submitted jobs under one policy until it is ended. Ctrl-C, SIGTERM and SIGKILL end it alike: its jobs run on, and
the next start takes them over. 'ration submit' gives it a job. A service of root runs each job as the user who submitted it.
Exit codes: 0 after a signal; 2 wrong command line; 3 the service cannot start.)";

}  // namespace

void add_options(CLI::App& to, serve_options& into, option_context& context) {
    to.footer(notes_of_serve);
    add_state_option(to, into.folder);
    to.add_option("--config", into.config,
                  "A jobs file without jobs: policy and its parameters, fallback, [[tenant]], devices, tick, cpus, "
                  "on_end and admin_group")
        ->type_name("FILE");
    auto* const policy = to.add_option("--policy", into.policy,
                                       "A policy's name or the path of its .so; without it the one "
                                       "that 'ration policy set' or the file names, or else equal_share");
    policy->type_name("NAME")->check(policy_check(context));
    context.offers[policy] = {.words = context.policies, .plugins = true};
    add_setting_option(to, into.settings, "A parameter of the policy, as in tradl.alpha=0.8");
    to.add_option("--max-running", into.max_running, "Jobs that run at once; others wait in the queue (default 16)")
        ->type_name("N")
        ->check(CLI::Range(1, 512));
    to.add_option("--cpus", into.cpus, "How many cores the jobs share (default: the file's number, or all)")
        ->type_name("N")
        ->check(CLI::Range(1, 4096));
    auto const backends = job_backend_names();
    auto* const backend =
        to.add_option("--backend", into.backend, "How limits are applied (default auto: as well as this machine can)");
    backend->type_name("NAME")->check(CLI::IsMember(std::vector<std::string>(backends.begin(), backends.end())));
    context.offers[backend].words.assign(backends.begin(), backends.end());
    add_metrics_option(to, into.metrics, context);
    to.add_flag("--replace", into.replace, "End the service that has the folder, as for an upgrade; its jobs run on");
    auto* const listen = to.add_option("--listen", into.listen, "Serve the API over TCP too, at a loopback address");
    listen->type_name("ADDRESS:PORT")->check(checked_by(parse_listen_address));
    auto* const token = to.add_option("--token-file", into.token_file, "The secret of clients over TCP; mode 0600");
    token->type_name("FILE")->needs(listen);
    listen->needs(token);
}

}  // namespace ration::program
