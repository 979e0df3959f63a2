// SPDX-License-Identifier: BSL-1.0
#include "cli/commands.hpp"

#include "cli/bench_command.hpp"
#include "cli/check_command.hpp"
#include "cli/clean_command.hpp"
#include "cli/decide_command.hpp"
#include "cli/doctor_command.hpp"
#include "cli/drain_command.hpp"
#include "cli/jobs_commands.hpp"
#include "cli/list_command.hpp"
#include "cli/logs_command.hpp"
#include "cli/measure_command.hpp"
#include "cli/new_command.hpp"
#include "cli/node_command.hpp"
#include "cli/policies_command.hpp"
#include "cli/policy_command.hpp"
#include "cli/replay_command.hpp"
#include "cli/report_command.hpp"
#include "cli/run_command.hpp"
#include "cli/runs_command.hpp"
#include "cli/serve_command.hpp"
#include "cli/sim_command.hpp"
#include "cli/status_command.hpp"
#include "cli/submit_command.hpp"
#include "cli/top_command.hpp"
#include "cli/try_log_command.hpp"
#include "cli/twin_command.hpp"
#include "cli/wait_command.hpp"

namespace ration::program {

namespace {

template <class Options, exit_code (*Perform)(Options const&)>
[[nodiscard]] std::unique_ptr<command> make() {
    return std::make_unique<command_with<Options>>(Perform);
}

constexpr subcommand all[] = {
    {"run", "Run the jobs of a file under a policy", make<run_options, run_file>},
    {"node", "Run the jobs of one node for the controller of 'ration run --nodes'", make<node_options, serve_node>},
    {"serve", "Run the jobs that are submitted to this service", make<serve_options, serve>},
    {"submit", "Give a job to the service", make<submit_options, submit_job>},
    {"status", "Show the jobs of the service, also while it is down", make<status_options, show_status>},
    {"cancel", "Stop jobs of the service", make<cancel_options, cancel_jobs>},
    {"pause", "Let jobs of the service save, stop and wait", make<pause_options, pause_jobs>},
    {"resume", "Let paused jobs of the service start again", make<resume_options, resume_jobs>},
    {"drain", "Let the service launch no further job", make<drain_options, drain_service>},
    {"policy", "Change the policy of the service while its jobs run", make<policy_options, set_policy>},
    {"top", "Show the running jobs of the service and its queue, once a second", make<top_options, show_top>},
    {"wait", "Wait for a job of the service, and end with its exit code", make<wait_options, wait_for_job>},
    {"list", "List the present runs, and their jobs", make<list_options, list_runs>},
    {"logs", "Print the output of a job, or follow it", make<logs_options, print_log>},
    {"runs", "List the past and present runs of a folder", make<runs_options, list_past_runs>},
    {"doctor", "Show the limits that ration can set on this machine, and why not the others",
     make<doctor_options, doctor>},
    {"policies", "List the policies and their parameters", make<policies_options, list_policies>},
    {"try-log", "Show what 'log' of a job reads from its output", make<try_log_options, try_log>},
    {"clean", "End the jobs of killed runs, and remove their records and groups", make<clean_options, clean>},
    {"check", "Check that a plugin keeps the rules of the plugin ABI", make<check_options, check>},
    {"decide", "Answer the requests of another scheduler with the grants of a policy", make<decide_options, decide>},
    {"sim", "Run a trace of jobs on a simulated cluster under several policies", make<simulation_options, simulate>},
    {"measure", "Measure jobs of a jobs file alone on this machine", nullptr},
    {"measure scaling", "Measure the speed of a job by its number of devices, for its key 'speedup'",
     make<scaling_options, measure_scaling>},
    {"measure tune", "Search the launch parameters with which a job is fastest, for its key 'parameters'",
     make<tune_options, measure_tune>},
    {"measure serve", "Measure the rate of requests that servers sustain, alone and two of them together",
     make<serve_measure_options, measure_serve>},
    {"measure phases", "Learn the phases of jobs from the logs of earlier runs, for policy phase_limits",
     make<phases_options, measure_phases>},
    {"replay", "Show the answers of other policies in a recorded run", make<replay_options, replay>},
    {"twin", "Compare a recorded run with its simulation, also under other policies", make<twin_options, show_twin>},
    {"report", "Make a page with charts of recorded runs, or of a simulation", make<report_options, report>},
    {"bench", "Measure the cost of decisions of policies, and their distance from the best ones",
     make<bench_options, bench>},
    {"new", "Make a folder with a policy that builds, and has tests", make<new_options, make_project>},
};

}  // namespace

std::span<subcommand const> subcommands() { return all; }

}  // namespace ration::program
