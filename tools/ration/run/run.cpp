// SPDX-License-Identifier: BSL-1.0
// `ration run`: one policy, or several one after another on the same jobs.
#include "run/run.hpp"

#include <algorithm>
#include <cstdio>
#include <fmt/ranges.h>
#include <memory>
#include <optional>
#include <unistd.h>

#include "common/diagnostics.hpp"
#include "common/error_text.hpp"
#include "common/exit_code.hpp"
#include "common/printable.hpp"
#include "comparison/output.hpp"
#include "policies/plugin_policy.hpp"
#include "policies/policy_registry.hpp"
#include "run/descriptors.hpp"
#include "run/dry_run.hpp"
#include "run/job_table.hpp"
#include "run/lost_jobs.hpp"
#include "run/memory_lock.hpp"
#include "run/one_run.hpp"
#include "run/orphan_cleaner.hpp"
#include "run/phase_models.hpp"
#include "run/run_cpus.hpp"
#include "run/run_order.hpp"
#include "run/run_output.hpp"

namespace ration::program {

namespace {

/// One policy from start to end.
[[nodiscard]] result<run_summary> run_policy(run_session const& s, planned_run const& planned) {
    run_config const config = with_parameters(s.config, planned.choice);
    run_policies policies(config, planned.choice.policy);
    auto const folder = open_output_folder(planned, s.reattached != nullptr ? &s.reattached->record.output : nullptr);
    auto opened = open_resources(s, folder);
    if (!opened) {
        ::rmdir(folder.c_str());  // a run that does not start leaves no folder
        return opened.failure();
    }
    run_output output({.config = config,
                       .planned = planned,
                       .run = opened->name,
                       .log = s.options.log,
                       .folder = folder,
                       .private_folder = opened->directory.folder(),
                       .is_new = s.reattached == nullptr},
                      s.out);
    file_jobs source;
    return run_one(s, *opened, {config, planned, policies, source, output.folder()},
                   [&](run_summary const& summary) { output.end(summary); });
}

[[nodiscard]] exit_code code_of(std::vector<run_summary> const& runs) {
    bool failed = false;
    for (auto const& run : runs) {
        if (run.interrupted) return exit_code::interrupted;
        for (auto const& job : run.jobs) failed |= job.how == condition::failed || job.how == condition::diverged;
    }
    return failed ? exit_code::job_failed : exit_code::ok;
}

[[nodiscard]] bool report_problems(diagnostics const& problems) {
    print_to_stderr(problems);
    return !problems.empty();
}

/// Made once before anything starts. Its messages then matter only after an error; else it repeats them in its
/// run.
void try_out(run_config const& config, std::string const& policy, diagnostics& problems) {
    auto& log = policy_log::for_good();
    if (make_policy(config, policy, log, problems) == nullptr) print_to_stderr(log, policy);
}

/// Of the policy for the files that jobs read. A fault without a place in the file is one of `--set`.
void try_item_policy(run_config const& config, diagnostics& in_the_file, diagnostics& in_the_options) {
    diagnostics found(config.file);
    static_cast<void>(item_parameters(config, found));
    for (auto const& one : found)
        one.line > 0 ? in_the_file.add(one) : in_the_options.add({.file = "--set", .text = one.text});
}

/// The same for all policies of the command. A fault of a parameter without a place in the file is one of the command
/// line.
[[nodiscard]] bool try_policies(run_options const& options, run_config const& config) {
    diagnostics in_the_file(config.file), in_the_options;
    try_item_policy(config, in_the_file, in_the_options);
    auto choices = options.policies;
    std::string const fallback(config.fallback_name());
    if (std::ranges::find(choices, fallback, &policy_choice::policy) == choices.end())
        choices.push_back({.policy = fallback});
    for (auto const& choice : choices) {
        diagnostics found(config.file);
        try_out(with_parameters(config, choice), choice.policy, found);
        for (auto const& one : found) {
            bool const has_place = one.line > 0 || (choice.parameters.empty() && options.settings.empty());
            if (has_place)
                in_the_file.add(one);
            else
                in_the_options.add({.file = choice.parameters.empty() ? "--set" : "--compare", .text = one.text});
        }
    }
    static_cast<void>(open_estimators(config, policy_log::for_good(), in_the_file));
    print_to_stderr(in_the_options, "ration: ");
    return !report_problems(in_the_file) && in_the_options.empty();
}

/// The columns of a run with these devices, without what the machine supplies.
[[nodiscard]] job_table board_of(run_config const& config, host_devices const& devices) {
    host_supply supply{.cpu = {}, .memory = {}, .devices = static_cast<std::int64_t>(devices.names().size())};
    if (auto phases = phase_models_of(config)) supply.phases = std::move(phases).value();
    return {config.jobs, supply};
}

/// "fifo, las": those that the jobs of this file can have.
[[nodiscard]] std::string policies_for(run_config const& config, host_devices const& devices) {
    job_table const board = board_of(config, devices);
    return fmt::format("{}", fmt::join(policies_for_devices(board.store().schema()), ", "));
}

/// The quotas of tenants, and the memory for files.
void check_amounts(run_config const& config, millicores cpu, host_devices const& devices, diagnostics& problems) {
    check_quotas(config.tenants, cpu, std::ssize(devices.names()), problems);
    check_cache(config, problems);
}

/// Whether the jobs can have the devices that they need, and the policies share them out and find the columns that they
/// read.
[[nodiscard]] exit_code check_devices(run_options const& options, run_config const& config,
                                      host_devices const& devices) {
    auto const cpu = usable_cpu(config.cpus);
    if (report_problems(missing_devices(config, devices, cpu))) return exit_code::no_backend;
    diagnostics problems(config.file);
    check_amounts(config, cpu, devices, problems);
    job_table const board = board_of(config, devices);
    auto const needy = std::ranges::find_if(config.jobs, [](job_config const& job) { return job.elastic.has_value(); });
    std::optional<elastic_config> const wants = needy != config.jobs.end() ? needy->elastic : std::nullopt;
    auto choices = options.policies;
    if (!config.fallback.empty()) choices.push_back({.policy = config.fallback});
    for (auto const& choice : choices) {
        auto const& policy = choice.policy;
        auto const any_policy = make_policy(with_parameters(config, choice), policy, policy_log::for_good(), problems);
        std::size_t const before = problems.size();
        bool const shares = any_policy != nullptr && any_policy->reads(devices_to_share);
        if (shares && !config.shares_devices())
            problems.add(
                config.policy_at,
                fmt::format(
                    "policy {} shares out devices, and no job asks for any; add bounds = {{ gpu = {{ min = 1, max = 4 }} }} to the jobs that need some",
                    program::quoted(policy)));
        if (!shares && any_policy != nullptr && wants)
            problems.add(
                wants->at,
                fmt::format("job {} waits for devices, and policy {} gives none; choose one that does: {}",
                            program::quoted(needy->name), program::quoted(policy), policies_for(config, devices)));
        if (options.compare && wants && !wants->checkpoint.empty())
            problems.add(
                wants->checkpoint_at,
                "with --compare every policy starts from the beginning, and this folder would hand on checkpoints; leave 'checkpoint' out");
        if (problems.size() > before || any_policy == nullptr) continue;
        if (auto const bound = any_policy->bind(board.store().schema(), {.jobs = config.jobs.size(), .nodes = 1});
            !bound)
            problems.add(config.policy == policy ? config.policy_at : position{},
                         fmt::format("policy {}: {}", program::quoted(policy), to_text(bound.failure())));
    }
    return report_problems(problems) ? exit_code::no_backend : exit_code::ok;
}

[[nodiscard]] job_config const* find_job(run_config const& config, std::string_view name) {
    auto const found = std::ranges::find(config.jobs, name, &job_config::name);
    return found == config.jobs.end() ? nullptr : &*found;
}

/// Jobs that still run and are not in the file: after a takeover they would have no owner.
[[nodiscard]] std::string strangers(orphaned_run const& left, run_config const& config) {
    std::string names;
    for (auto const& one : left.alive)
        if (find_job(config, one.job) == nullptr) names += (names.empty() ? "" : ", ") + one.reply;
    return names;
}

/// A job that has ended is not run again, also if it ended while ration was down.
[[nodiscard]] bool has_jobs_of(run_config const& config, run_record const& record) {
    return std::ranges::any_of(record.jobs,
                               [&](recorded_job const& job) { return find_job(config, job.name) != nullptr; });
}

/// The first key of which the two do not say the same; empty: they are the same job.
[[nodiscard]] std::string changed_key(std::vector<std::string> const& then, std::vector<std::string> const& now) {
    for (auto const& [these, those] : {std::pair(&then, &now), std::pair(&now, &then)})
        for (auto const& line : *these)
            if (std::ranges::find(*those, line) == those->end()) return line.substr(1, line.find('"', 1) - 1);
    return {};
}

/// Jobs whose definition has changed since the run began: the processes of the run still have the old one.
[[nodiscard]] diagnostics changed_jobs(run_config const& config, run_record const& record) {
    diagnostics problems(config.file);
    for (auto const& recorded : record.jobs) {
        auto const* const job = find_job(config, recorded.name);
        auto const key = job != nullptr ? changed_key(recorded.definition, job->definition) : "";
        if (!key.empty())
            problems.add(
                job->where,
                fmt::format(
                    "job {} has another {} here than in the run that is to be taken over; put it back, or end that run with ration clean",
                    program::quoted(job->name), program::quoted(key)));
    }
    return problems;
}

/// Ends and removes dead runs, and prints why a record cannot be read. Returns the runs with live jobs, and with
/// `--reattach` those that this file continues.
[[nodiscard]] std::vector<orphaned_run> remove_dead_runs(std::vector<orphaned_run> found, run_options const& options,
                                                         run_config const& config) {
    std::vector<orphaned_run> left;
    for (auto& run : found) {
        if (auto const sentence = sentence_of_damage(run); !sentence.empty())
            std::fprintf(stderr, "ration: %s\n", printable(sentence).c_str());
        if (!run.alive.empty() ||
            (options.reattach && run.damage.empty() && !run.out_of_sight && has_jobs_of(config, run.record)))
            left.push_back(std::move(run));
        else
            static_cast<void>(orphan_cleaner(false).remove(std::move(run)));
    }
    remove_empty_groups();
    return left;
}

[[nodiscard]] bool is_in_doubt(orphaned_run const& run) {
    return std::ranges::any_of(run.traces, &job_traces::doubtful);
}

/// A second launch beside a living job would be one too many.
[[nodiscard]] result<std::optional<orphaned_run>> refuse_lost_jobs(run_config const& config) {
    auto const lost = find_lost_jobs(config);
    if (!lost) return lost.failure();
    if (lost->empty()) return std::optional<orphaned_run>();
    return error{
        .code = errc::busy,
        .operation = "find jobs of an earlier run that are still going",
        .subject = std::string_view(*lost),
        .remedy = "end these processes: the record of their run was removed, so that no run can take them over"};
}

/// Runs that were killed come first: their jobs still hold what this run would share out. Returns the run to reattach,
/// if any.
[[nodiscard]] result<std::optional<orphaned_run>> settle_orphaned_runs(run_options const& options,
                                                                       run_config const& config) {
    auto found = find_orphaned_runs();
    if (!found) return found.failure();
    if (auto const hidden = std::ranges::find_if(
            *found, [&](orphaned_run const& l) { return l.out_of_sight && has_jobs_of(config, l.record); });
        options.reattach && hidden != found->end())
        return error{.code = errc::busy,
                     .operation = "take over the run",
                     .subject = std::string_view(hidden->record.run),
                     .remedy = "its jobs may run in another PID namespace: take it over there, or end them there"};
    auto left = remove_dead_runs(std::move(found).value(), options, config);
    if (left.empty()) return refuse_lost_jobs(config);
    if (std::ranges::any_of(left, [](orphaned_run const& l) { return !l.damage.empty(); }))
        return error_of_alive(left, "end them by ration clean: without their record no run can take them over");
    bool const has_service = std::ranges::any_of(
        left, [](orphaned_run const& l) { return !l.alive.empty() && state_folder_of(l.record.file); });
    if (!options.reattach || has_service)
        return error_of_alive(left, "ration run --reattach takes them over, ration clean ends them");
    if (std::ranges::any_of(left, is_in_doubt))
        return error_of_alive(
            left,
            "a process lacks its job's token, so that it may be another program: end it yourself, or forget it with ration clean");
    std::ranges::partition(left, [](orphaned_run const& l) { return !l.alive.empty(); });
    if (auto const names = strangers(left.front(), config); !names.empty())
        return error{
            .code = errc::not_found,
            .operation = "find in this file the jobs of the earlier run",
            .subject = std::string_view(names),
            .remedy = "reattach them with the file that they were started from, or end them with ration clean"};
    return std::optional(std::move(left.front()));
}

void print_result(reporter& out, run_options const& options, std::vector<run_summary> const& runs) {
    out.close();
    auto const all = compare(runs);
    if (options.json) {
        if (options.compare) std::puts(comparison_json(all).c_str());
    } else {
        std::fputs(comparison_text(all).c_str(), stdout);
    }
}

}  // namespace

exit_code run(run_options const& options, run_config const& config) {
    if (!try_policies(options, config)) return exit_code::bad_input;
    if (auto const phases = phase_models_of(config); !phases) {
        diagnostics problems;
        problems.add(phases.failure());
        print_to_stderr(problems);
        return exit_code::bad_input;
    }
    auto const devices = host_devices::find(config);
    if (auto const code = check_devices(options, config, devices); code != exit_code::ok) return code;
    auto const topology = topology_for(devices);
    if (options.dry_run) return dry_run(options, config, devices, topology);
    auto const open_files = raise_open_files();
    auto signals = stop_signals::open();
    if (!signals) return fail(exit_code::internal, to_text(signals.failure()));
    auto left = settle_orphaned_runs(options, config);
    if (!left) return fail(exit_code::no_backend, to_text(left.failure()));
    auto& reattached = left.value();
    if (reattached && report_problems(changed_jobs(config, reattached->record))) return exit_code::no_backend;
    auto out = reporter::open(options);
    if (!out) return fail(exit_code::bad_input, to_text(out.failure()));
    run_session s{options, config, *out, *signals, devices, topology, open_files, config.jobs.size()};
    if (reattached) s.reattached = &*reattached;
    if (options.reattach && !reattached)
        out->print("no earlier run to reattach was found: all jobs start from the beginning");
    std::vector<run_summary> runs;
    for (auto const& planned : order_runs(options.policies, options.repeat)) {
        auto one = run_policy(s, planned);
        if (!one) return fail(exit_code::no_backend, to_text(one.failure()));
        runs.push_back(std::move(one).value());
        if (s.reattached != nullptr)
            remove_empty_groups(&s.reattached->record.memberships);  // those that its jobs have left
        s.reattached = nullptr;
        if (runs.back().interrupted) break;
    }
    print_result(*out, options, runs);
    return code_of(runs);
}

}  // namespace ration::program
