// SPDX-License-Identifier: BSL-1.0
#include "nodes/cluster.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <utility>

#include "common/diagnostics.hpp"
#include "common/error_text.hpp"
#include "common/printable.hpp"
#include "comparison/comparison.hpp"
#include "comparison/output.hpp"
#include "nodes/cluster_start.hpp"
#include "nodes/ending_time.hpp"
#include "nodes/node_orphans.hpp"
#include "nodes/slurm_allocation.hpp"
#include "policies/plugin_policy.hpp"
#include "policies/policy_registry.hpp"
#include "run/checkpoint_locks.hpp"
#include "run/descriptors.hpp"
#include "run/host_devices.hpp"
#include "run/one_run.hpp"
#include "run/run_directory.hpp"
#include "run/run_output.hpp"

namespace ration::program {
namespace {

/// `lost_margin`: for the guard of a lease, which ends the jobs of an agent that did not.
constexpr nanoseconds wire_beat = seconds(1), lost_margin = seconds(30), stop_margin = seconds(20);

[[nodiscard]] bool print_problems(diagnostics const& problems, char const* prefix = "") {
    print_to_stderr(problems, prefix);
    return !problems.empty();
}

/// Jobs without devices, and policies that share out none.
[[nodiscard]] diagnostics unsuitable(run_options const& options, run_config const& config) {
    diagnostics problems(config.file);
    if (config.cache)
        problems.add(config.cache_at,
                     "'cache' is the memory of one machine, and --nodes names several; leave 'cache' out");
    if (auto const* const phases = config.parameters_of("phases"); phases != nullptr)
        problems.add(phases->at,
                     "nodes do not report the CPU and the memory that jobs use, from which ration estimates "
                     "phases; leave 'phases' out, or run without --nodes");
    for (auto const& job : config.jobs)
        if (!job.elastic)
            problems.add(job.where,
                         fmt::format("job {} uses no devices, which --nodes shares out; add bounds = {{ gpu = "
                                     "{{ min = 1, max = 4 }} }}, or run it without --nodes",
                                     program::quoted(job.name)));
    auto const& choice = options.policies.front();
    auto const chosen = with_parameters(config, choice);
    for (auto const& name : {choice.policy, std::string(config.fallback_name())}) {
        auto const made = make_policy(chosen, name, policy_log::for_good(), problems);
        if (made != nullptr && name == choice.policy && !made->reads(devices_to_share))
            problems.add(config.policy_at, fmt::format("policy {} grants no devices, which --nodes shares out; choose "
                                                       "another one: ration policies lists them",
                                                       program::quoted(name)));
    }
    static_cast<void>(open_estimators(chosen, policy_log::for_good(), problems));
    return problems;
}

[[nodiscard]] std::vector<std::string> gpus_of(run_config const& config) {
    if (config.devices.of_cpu()) return {};
    auto const here = host_devices::find(config);
    return {here.names().begin(), here.names().end()};
}

/// A job that no node can hold would wait without end.
[[nodiscard]] diagnostics too_large(run_config const& config, cluster_nodes const& nodes) {
    diagnostics problems(config.file);
    auto const largest = devices_of_largest(nodes);
    for (auto const& job : config.jobs) {
        auto const most = reachable_devices(largest, job);
        if (!job.elastic || job.elastic->devices.minimum <= most) continue;
        auto const& [least, count] = std::pair(job.elastic->devices.minimum, job.elastic->most_nodes);
        auto const sentence =
            count == 1
                ? fmt::format("job {} needs {} devices on one node, and the largest node has {}; lower its 'min'",
                              program::quoted(job.name), least, most)
                : fmt::format(
                      "job {} needs {} devices on at most {} nodes, and the largest ones have {}; lower "
                      "its 'min', or raise its 'nodes'",
                      program::quoted(job.name), least, count, most);
        problems.add(job.elastic->at, sentence);
    }
    return problems;
}

/// Parts of the command that the run shares.
struct cluster_command {
    run_options const& options;
    run_config const& config;  ///< with the parameters of the run
    planned_run const& planned;
    run_policies& policies;
    reporter& out;
    stop_signals& signals;
    std::vector<earlier_run> const& ended;  ///< runs of these jobs whose agents have to end
    earlier_run const* reattached;          ///< the run that this one continues; null: a new one
};

struct run_place {
    std::string run, folder;
};

/// Until no agent of another run whose controller was killed is left: its jobs write to the same folders, or are the
/// same. False: the user interrupted it.
[[nodiscard]] bool await_earlier_agents(agent_claims const& claims, cluster_command const& c) {
    if (claims.take()) return true;
    c.out.print("agents of a killed run still train these jobs; they save and stop them, then the jobs continue");
    return await_agents(claims, c.signals);
}

/// The same for all earlier runs, whose records are then removed. A run that is reattached keeps its own agents.
[[nodiscard]] bool end_earlier_runs(agent_claims const& claims, std::string const& run, cluster_command const& c) {
    agent_claims others({}, run);
    for (auto const& other : c.ended) others.add_run_folder(other.folder);
    bool const are_own = c.reattached != nullptr && !claims.are_requested();
    if (!await_earlier_agents(others, c) || !(are_own || await_earlier_agents(claims, c))) return false;
    others.remove();
    for (auto const& other : c.ended) forget_run(other.folder);
    return true;
}

[[nodiscard]] cluster_task task_of(cluster_command const& c, std::string const& run, std::string const& output) {
    return {.hello = {.run = run,
                      .node = {},
                      .lease = c.options.lease,
                      .beat = wire_beat,
                      .directory = std::filesystem::current_path().string(),
                      .output = std::filesystem::absolute(output).string(),
                      .marker = "jobs.toml"},
            .backend = c.options.backend,
            .file = c.config.source};
}

[[nodiscard]] cluster_record head_of(cluster_command const& c, std::string const& run, run_clock clock) {
    return {.run = run, .file = absolute_file(c.config.file), .began = start_of(clock), .lease = c.options.lease};
}

[[nodiscard]] result<run_summary, exit_code> run_jobs_on(cluster_command const& c, cluster_nodes& nodes,
                                                         run_clock clock, event_sink& events, run_place const& place) {
    auto const* const earlier = c.reattached != nullptr ? &c.reattached->record : nullptr;
    if (earlier != nullptr) expect_jobs(*earlier, c.config, nodes, clock.now());
    auto early =
        await_nodes(nodes, c.signals, clock, earlier != nullptr, [&] { return too_large(c.config, nodes).empty(); });
    if (!early) return exit_code::interrupted;
    if (!any_up(nodes)) return fail(exit_code::no_backend, "no node is up; test the command of --nodes by hand");
    replaceable_policy policy(c.policies.policy, *c.policies.fallback);
    cluster_jobs jobs(c.config, nodes, policy, c.policies.estimators, earlier != nullptr ? earlier->devices : 0);
    if (earlier == nullptr && print_problems(too_large(c.config, nodes))) return exit_code::no_backend;
    if (auto const bound = jobs.bind(); !bound) return fail(exit_code::no_backend, to_text(bound.failure()));
    if (earlier != nullptr) restore_jobs(*earlier, jobs, clock.now());
    cluster_record_writer record(place.folder, head_of(c, place.run, clock), nodes, jobs, events);
    cluster_loop loop(c.config, c.planned, c.options.node_wait, clock, c.out, c.signals, events, nodes, jobs,
                      *c.policies.policy, policy, c.policies.log, record);
    return loop.run(std::move(*early));
}

[[nodiscard]] exit_code code_of(run_summary const& run) {
    if (run.interrupted) return exit_code::interrupted;
    bool const failed = std::ranges::any_of(run.jobs, [](job_summary const& job) {
        return job.how == condition::failed || job.how == condition::diverged;
    });
    return failed ? exit_code::job_failed : exit_code::ok;
}

[[nodiscard]] result<slurm_allocation, diagnostic> find_nodes(run_options const& options, run_config const& config) {
    std::error_code failure;
    auto const program = std::filesystem::read_symlink("/proc/self/exe", failure).string();
    if (options.nodes == slurm_nodes && options.hosts.empty()) return read_slurm_allocation(program);
    if (options.nodes == slurm_nodes)
        return diagnostic{.file = "--hosts", .text = "the hosts are those of the allocation; leave it out"};
    auto specs = read_nodes(options.nodes, options.hosts, config, gpus_of(config), program);
    if (!specs) return specs.failure();
    return slurm_allocation{.nodes = std::move(*specs)};
}

/// The jobs are saved and stopped before the allocation ends.
void set_stop(cluster_command const& c, stop_timer& timer, std::int64_t end) {
    auto const left = std::max<std::int64_t>(0, end - std::time(nullptr));
    auto const before =
        to_seconds(time_to_save(ending_time(c.config.jobs) + stop_margin, seconds(static_cast<double>(left))));
    auto const set = timer.set(end - static_cast<std::int64_t>(before));
    c.out.print(
        set ? fmt::format("Slurm ends this allocation in {} s; the jobs are saved {:.0f} s before", left, before)
            : to_text(set.failure()));
}

/// An agent that is out of reach keeps its jobs until its lease is over; the next run waits for it.
void forget(agent_claims const& claims, std::string const& folder, bool has_ended) {
    if (!claims.take()) return;
    claims.remove();
    if (has_ended) forget_run(folder);
}

/// In the folder of the run that this one continues, or in a new one.
[[nodiscard]] run_output open_output(cluster_command const& c, std::string const& run,
                                     std::string const& private_folder) {
    return run_output(
        {.config = c.config,
         .planned = c.planned,
         .run = run,
         .log = c.options.log,
         .folder = open_output_folder(c.planned, c.reattached != nullptr ? &c.reattached->folder : nullptr),
         .private_folder = private_folder,
         .is_new = c.reattached == nullptr},
        c.out);
}

[[nodiscard]] exit_code run_cluster(cluster_command const& c, slurm_allocation allocation) {
    auto const fresh = new_run_name();
    if (!fresh) return fail(exit_code::no_backend, to_text(fresh.failure()));
    auto directory = run_directory::create(*fresh, {});
    if (!directory) return fail(exit_code::no_backend, to_text(directory.failure()));
    auto const locks = lock_checkpoints(c.config);
    if (!locks) return fail(exit_code::no_backend, to_text(locks.failure()));
    auto const& run = c.reattached != nullptr ? c.reattached->record.run : *fresh;
    agent_claims claims(c.config.jobs, run);
    if (!end_earlier_runs(claims, run, c)) return exit_code::interrupted;
    if (c.reattached != nullptr || !c.ended.empty()) remove_folders_of_dead_runs();
    run_output output = open_output(c, run, directory->folder());
    auto const lock = c.reattached == nullptr ? lock_controller(output.folder()) : process::descriptor{};
    claims.add_run_folder(output.folder());
    if (c.reattached != nullptr) claims.withdraw_requests();
    auto const clock = c.reattached != nullptr ? clock_of(c.reattached->record) : run_clock{process::now()};
    event_sink events(c.out);
    stop_timer timer;
    if (allocation.end) set_stop(c, timer, *allocation.end);
    auto const ending = ending_time(c.config.jobs) + lost_margin;
    cluster_nodes nodes(std::move(allocation.nodes), c.config.jobs.size(), {.lease = c.options.lease, .ending = ending},
                        task_of(c, run, output.folder()), events);
    auto const ended = run_jobs_on(c, nodes, clock, events, {run, output.folder()});
    // Otherwise a later --reattach can still find the jobs: agents keep them until their leases are over
    if (ended || c.reattached == nullptr || ended.failure() == exit_code::interrupted) end_nodes(nodes, clock);
    forget(claims, output.folder(), ended || c.reattached == nullptr);
    directory->remove_at_end();
    c.out.close();
    if (!ended) return ended.failure();
    output.end(*ended);
    if (!c.options.json) std::fputs(comparison_text(compare({*ended})).c_str(), stdout);
    return code_of(*ended);
}

}  // namespace

exit_code run_on_nodes(run_options const& asked, run_config const& config) {
    auto options = asked;
    if (print_problems(unsuitable(options, config))) return exit_code::bad_input;
    auto allocation = find_nodes(options, config);
    if (!allocation) return fail(exit_code::bad_input, to_text(allocation.failure()));
    auto signals = stop_signals::open();
    if (!signals) return fail(exit_code::internal, to_text(signals.failure()));
    auto out = reporter::open(options);
    if (!out) return fail(exit_code::bad_input, to_text(out.failure()));
    static_cast<void>(raise_open_files());
    auto earlier = find_earlier_runs(config.file);
    if (auto const living = std::ranges::find_if(earlier, [](auto const& run) { return !run.lock; });
        options.reattach && living != earlier.end())
        return fail(exit_code::no_backend,
                    fmt::format("{}: its ration lives, or its lock cannot be taken; end that one first, or wait until "
                                "the file system has dropped the lock",
                                printable(living->folder)));
    std::erase_if(earlier, [](auto const& run) { return !run.lock; });
    auto const reattached = choose_run(options, config, allocation->nodes, earlier);
    if (!reattached) return fail(exit_code::no_backend, to_text(reattached.failure()));
    auto const& continued = *reattached;
    if (continued) options.lease = continued->record.lease;
    if (options.reattach && !continued)
        out->print("no earlier run to reattach was found: all jobs start from the beginning");
    auto const planned = order_runs(options.policies, 1).front();
    auto const chosen = with_parameters(config, planned.choice);
    run_policies policies(chosen, planned.choice.policy);
    return run_cluster({options, chosen, planned, policies, *out, *signals, earlier, continued ? &*continued : nullptr},
                       std::move(*allocation));
}

}  // namespace ration::program
