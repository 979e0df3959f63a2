// SPDX-License-Identifier: BSL-1.0
#include "cli/run_anywhere_command.hpp"

#include <CLI/CLI.hpp>

#include "command_line/option_checks.hpp"
#include "command_line/run_command.hpp"
#include "common/printable.hpp"
#include "common/quantity.hpp"
#include "nodes/cluster.hpp"
#include "nodes/cluster_spec.hpp"
#include "run/run.hpp"

namespace ration::program {

namespace {

constexpr auto notes_of_nodes = R"(

On several nodes:
  ration run jobs.toml --nodes local:2
  ration run jobs.toml --nodes 'ssh {host} ration node' --hosts n1,n2
  salloc -N2 --exclusive --no-kill ration run jobs.toml --nodes slurm)";

[[nodiscard]] result<nanoseconds, diagnostic> parse_lease(std::string_view word) {
    auto const time = parse_duration(word);
    if (time && *time >= seconds(2)) return *time;
    return diagnostic{.text = program::quoted(word) + " is not a time of at least two seconds; write 5min or 30s"};
}

[[nodiscard]] result<nanoseconds, diagnostic> parse_wait(std::string_view word) {
    if (auto const time = parse_duration(word)) return *time;
    return diagnostic{.text = program::quoted(word) + " is not a time; write 10min or 30s"};
}

/// The machines on which the jobs run, if it is not this one alone.
void add_nodes_options(CLI::App& to, run_options& into) {
    auto* const nodes =
        to.add_option("--nodes", into.nodes,
                      "Run the jobs on several nodes: local:N for parts of this machine, slurm for those of "
                      "this allocation, or a command with {host} that starts 'ration node' on a host");
    nodes->type_name("NODES")->check(checked_by(check_nodes));
    to.add_option("--hosts", into.hosts, "The hosts of the command")->delimiter(',')->type_name("A,B")->needs(nodes);
    to.add_option_function<std::string>(
          "--node-lease", [&into](std::string const& word) { into.lease = *parse_lease(word); },
          "How long the jobs of a node run on without the controller; default 5min")
        ->type_name("TIME")
        ->check(checked_by(parse_lease))
        ->needs(nodes);
    to.add_option_function<std::string>(
          "--node-wait", [&into](std::string const& word) { into.node_wait = *parse_wait(word); },
          "How long the jobs wait for any node once all are lost; default 10min")
        ->type_name("TIME")
        ->check(checked_by(parse_wait))
        ->needs(nodes);
    for (auto const* const other : {"--compare", "--dry-run", "--metrics", "--cpus"})
        nodes->excludes(to.get_option(other));
}

[[nodiscard]] exit_code start_anywhere(run_options const& options, run_config const& config) {
    return options.nodes.empty() ? run(options, config) : run_on_nodes(options, config);
}

}  // namespace

void add_options(CLI::App& to, run_anywhere_options& into, option_context& context) {
    run_options& here = into;
    add_options(to, here, context);
    add_nodes_options(to, here);
    to.footer(to.get_footer() + notes_of_nodes);
}

exit_code run_anywhere(run_anywhere_options const& options) { return run_file(options, start_anywhere); }

}  // namespace ration::program
