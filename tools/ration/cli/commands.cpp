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
#include "cli/run_anywhere_command.hpp"
#include "cli/runs_command.hpp"
#include "cli/serve_command.hpp"
#include "cli/sim_command.hpp"
#include "cli/status_command.hpp"
#include "cli/submit_command.hpp"
#include "cli/top_command.hpp"
#include "cli/try_log_command.hpp"
#include "cli/twin_command.hpp"
#include "cli/wait_command.hpp"
#include "command_line/run_command.hpp"

namespace ration::program {

namespace {

constexpr auto help_of_ration = R"(Examples:
  ration run jobs.toml                          share this machine among the jobs of a file
  ration run jobs.toml --compare none           the same jobs without and with the policy, and a table
  ration run jobs.toml --dry-run                the planned changes, without starting anything
  ration list                                   the present runs, and the state of their jobs
  ration logs vae -f                            the output of a job of the newest run, until it ends
  ration replay latest --policy equal_share     the answers of another policy in a recorded run
  ration sim --trace jobs.csv --cluster 16x4 --policy fifo,las   policies on a simulated cluster, and a table
  ration report latest                          a recorded run, or several beside each other, as one page with charts
  ration bench --policies ./libmine.so,tradl    the cost of a decision, and its distance from the best one
  ration measure scaling jobs.toml --write      the speed of an elastic job by its number of devices, into the jobs file
  ration doctor                                 the limits that ration can set on this machine, and how to get more
  ration check ./libmine.so                     whether a plugin keeps the rules
  ration new my-policy                          a folder with a policy of your own, ready to build

Exit codes: 0 all went well; 1 a job or a probe failed; 2 wrong command line or file; 3 this machine cannot do it;
4 interrupted, the jobs were stopped; 5 an error in ration.)";

constexpr subcommand all[] = {
    {"run", help_of_run, make_command<run_anywhere_options, run_anywhere>},
    {"node", "Run the jobs of one node for the controller of 'ration run --nodes'",
     make_command<node_options, serve_node>},
    {"serve", "Run the jobs that are submitted to this service", make_command<serve_options, serve>},
    {"submit", "Give a job to the service", make_command<submit_options, submit_job>},
    {"status", "Show the jobs of the service, also while it is down", make_command<status_options, show_status>},
    {"cancel", "Stop jobs of the service", make_command<cancel_options, cancel_jobs>},
    {"pause", "Let jobs of the service save, stop and wait", make_command<pause_options, pause_jobs>},
    {"resume", "Let paused jobs of the service start again", make_command<resume_options, resume_jobs>},
    {"drain", "Let the service launch no further job", make_command<drain_options, drain_service>},
    {"policy", "Change the policy of the service while its jobs run", make_command<policy_options, set_policy>},
    {"top", "Show the running jobs of the service and its queue, once a second", make_command<top_options, show_top>},
    {"wait", "Wait for a job of the service, and end with its exit code", make_command<wait_options, wait_for_job>},
    {"list", "List the present runs, and their jobs", make_command<list_options, list_runs>},
    {"logs", "Print the output of a job, or follow it", make_command<logs_options, print_log>},
    {"runs", "List the past and present runs of a folder", make_command<runs_options, list_past_runs>},
    {"doctor", "Show the limits that ration can set on this machine, and why not the others",
     make_command<doctor_options, doctor>},
    {"policies", "List the policies and their parameters", make_command<policies_options, list_policies>},
    {"try-log", "Show what 'log' of a job reads from its output", make_command<try_log_options, try_log>},
    {"clean", "End the jobs of killed runs, and remove their records and groups", make_command<clean_options, clean>},
    {"check", "Check that a plugin keeps the rules of the plugin ABI", make_command<check_options, check>},
    {"decide", "Answer the requests of another scheduler with the grants of a policy",
     make_command<decide_options, decide>},
    {"sim", "Run a trace of jobs on a simulated cluster under several policies",
     make_command<simulation_options, simulate>},
    {"measure", "Measure jobs of a jobs file alone on this machine", nullptr},
    {"measure scaling", "Measure the speed of a job by its number of devices, for its key 'speedup'",
     make_command<scaling_options, measure_scaling>},
    {"measure tune", "Search the launch parameters with which a job is fastest, for its key 'parameters'",
     make_command<tune_options, measure_tune>},
    {"measure serve", "Measure the rate of requests that servers sustain, alone and two of them together",
     make_command<serve_measure_options, measure_serve>},
    {"measure phases", "Learn the phases of jobs from the logs of earlier runs, for policy phase_limits",
     make_command<phases_options, measure_phases>},
    {"replay", "Show the answers of other policies in a recorded run", make_command<replay_options, replay>},
    {"twin", "Compare a recorded run with its simulation, also under other policies",
     make_command<twin_options, show_twin>},
    {"report", "Make a page with charts of recorded runs, or of a simulation", make_command<report_options, report>},
    {"bench", "Measure the cost of decisions of policies, and their distance from the best ones",
     make_command<bench_options, bench>},
    {"new", "Make a folder with a policy that builds, and has tests", make_command<new_options, make_project>},
};

}  // namespace

command_table all_commands() { return {.commands = all, .notes = help_of_ration}; }

}  // namespace ration::program
