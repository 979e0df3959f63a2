// SPDX-License-Identifier: BSL-1.0
/// What the command line asks for, and who does it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.hpp"

namespace ration::program {

/// Exit codes of the program: part of its interface, documented in docs/run.md.
enum class exit_code : int {
    ok = 0,
    job_failed = 1,    ///< at least one job failed or diverged
    probe_failed = 1,  ///< of `ration check`: the plugin broke a rule
    /// Of `ration sim` and `ration bench`: a policy broke a rule, gave no answer, or left jobs waiting for ever
    policy_failed = 1,
    bad_input = 2,    ///< command line or jobs.toml
    no_backend = 3,   ///< this machine cannot do what was asked
    interrupted = 4,  ///< by the user; the jobs were stopped
    internal = 5,     ///< a bug in ration
};

/// Prints the `printable` sentence on standard error. Returns `code`.
[[nodiscard]] exit_code fail(exit_code code, std::string_view sentence);

enum class backend_choice : std::uint8_t { automatic, cgroup, process };

struct run_options {
    std::string file;
    /// Names or paths of a .so, in the order in which they run; several for a comparison
    std::vector<std::string> policies;
    std::string policy;  ///< of --policy; empty: the file's
    bool compare = false;
    bool dry_run = false;   ///< print the plan of the first tick with every job running, start nothing
    bool explain = false;   ///< say for each job why it holds what it holds
    bool json = false;      ///< events on standard output instead of a view
    bool reattach = false;  ///< take over the jobs that a ration which is gone left running
    bool quiet = false;     ///< no view, no plain lines; warnings and the table at the end remain
    std::string log;        ///< path; empty: no event log
    std::string metrics;    ///< as `parse_endpoint` takes it; empty: none
    backend_choice backend = backend_choice::automatic;
    std::optional<std::uint32_t> cpus;  ///< instead of the file's; `run` finds it in the config
};

struct doctor_options {
    bool json = false;
};

struct policies_options {
    bool json = false;
    std::string show;                ///< the one to describe, with its parameters
    std::vector<std::string> paths;  ///< files and folders with plugins to list as well
};

struct clean_options {
    bool dry_run = false;
};

struct check_options {
    std::string file;        ///< a plugin
    std::string config;      ///< what its policy is created with
    std::uint64_t seed = 1;  ///< of the synthetic clusters
    bool json = false;
};

struct new_options {
    std::string name;              ///< of the policy and its folder
    std::string language = "c++";  ///< one of `template_languages`
};

struct simulation_options {
    std::vector<std::string> traces;  ///< files
    std::string format;               ///< of all of them; empty: what their first lines say
    /// Of what traces name: folders with measured profiles, files with measured rates or fitted losses
    std::vector<std::string> models;
    /// A workload made up instead of traces, as `parse_generator` takes it; empty: none
    std::string generate;
    double interference = 0;               ///< `sim::profile::interference`
    std::string cluster;                   ///< as `parse_cluster` takes it
    std::vector<std::string> faults;       ///< as `add_fault_kind` takes them
    nanoseconds checkpoint{0};             ///< jobs save their state every so often; 0 = at all times
    nanoseconds save{0};                   ///< each of these saves
    std::vector<std::string> policies;     ///< names or paths of a .so
    std::vector<std::string> settings;     ///< as `add_setting` takes them
    nanoseconds interval = seconds(60);    ///< a tick at every multiple of it, besides those at events
    std::uint32_t seeds = 1, threads = 0;  ///< of what is made up: jobs, faults; 0 threads: one for each core
    std::optional<nanoseconds> until;      ///< of the simulated time
    bool stop_at_bad_grant = false;
    std::string report;  ///< path of the HTML report; empty: none
    bool json = false, quiet = false;
};

struct bench_options {
    std::vector<std::string> policies;                ///< names or paths of a .so
    std::vector<std::uint32_t> jobs{1, 100, 10'000};  ///< one cluster for each of these
    std::vector<std::uint32_t> devices{64, 1024};     ///< and each of these
    std::vector<std::string> settings;                ///< as `add_setting` takes them
    std::uint64_t seed = 1;
    bool in_process = false;  ///< a .so is asked without a worker
    bool json = false;
};

struct replay_options {
    std::string log;                    ///< an event log
    std::vector<std::string> policies;  ///< names or paths of a .so
    std::vector<std::string> settings;  ///< as `add_setting` takes them; besides what the log's jobs file says
    bool json = false;
};

struct report_options {
    std::vector<std::string> logs;  ///< event logs, or what `ration sim --json` printed; at least one
    std::string out;                ///< path of the page; empty: beside the first log, with .html at its end
};

/// `config` has no problems left but those that only the policy or the machine can see; what the command line sets
/// instead of the file is in it.
[[nodiscard]] exit_code run(run_options const& options, run_config const& config);
[[nodiscard]] exit_code doctor(doctor_options const& options);
[[nodiscard]] exit_code policies(policies_options const& options);
[[nodiscard]] exit_code clean(clean_options const& options);
[[nodiscard]] exit_code check(check_options const& options);
[[nodiscard]] exit_code bench(bench_options const& options);
[[nodiscard]] exit_code simulate(simulation_options const& options);
[[nodiscard]] exit_code replay(replay_options const& options);
[[nodiscard]] exit_code report(report_options const& options);
[[nodiscard]] exit_code make_project(new_options const& options);

/// The names of the policies that are built in.
[[nodiscard]] std::vector<std::string> policy_names();
/// The languages in which `ration new` can write a policy.
[[nodiscard]] std::vector<std::string_view> template_languages();

}  // namespace ration::program
