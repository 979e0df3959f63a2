// SPDX-License-Identifier: BSL-1.0
#include "run/orphaned_runs.hpp"

#include <algorithm>
#include <csignal>
#include <fmt/ranges.h>
#include <iterator>
#include <unistd.h>
#include <utility>

#include <ration/process/child.hpp>
#include <ration/process/marked.hpp>

#include "common/printable.hpp"
#include "run/lost_jobs.hpp"
#include "run/orphan_groups.hpp"

namespace ration::program {
namespace {

constexpr std::string_view token_of_job = "RATION_TOKEN";

[[nodiscard]] std::string text_of(std::vector<process::process_info> const& processes) {
    std::vector<int> pids;
    std::ranges::transform(processes, std::back_inserter(pids), &process::process_info::pid);
    return fmt::format("process{} {}", pids.size() == 1 ? "" : "es", fmt::join(pids, ", "));
}

/// Whether each job of this run has such an address in its environment, wherever its folder for sockets was.
[[nodiscard]] bool is_address_in(run_record const& record, std::string_view address) {
    return address.starts_with("unix:/") && address.ends_with(fmt::format("/{}/progress", record.run));
}

/// It has no process now, and the run that reattaches it launches it again.
[[nodiscard]] bool is_between_launches(recorded_job const& job) { return job.phase && !job.is_over(); }

/// Whether a process is in the job's own group, in any hierarchy.
[[nodiscard]] bool is_in_group(cgroup::kernel_io& machine, int pid, std::string const& group) {
    std::string text;
    if (machine.read_system(fmt::format("/proc/{}/cgroup", pid).c_str(), text) != 0) return false;
    for (auto at = text.find(group); at != text.npos; at = text.find(group, at + 1))
        if (auto const end = at + group.size(); end == text.size() || text[end] == '/' || text[end] == '\n')
            return true;
    return false;
}

/// The living processes in the groups of a dead run.
[[nodiscard]] std::vector<process::process_info> members_of_groups(run_record const& record, std::string const& group) {
    std::vector<process::process_info> found;
    for_each_orphan(&record.memberships, [&](auto const&, auto const& orphan) {
        for (int const pid : orphan.group == group ? orphan.pids : std::vector<int>{})
            if (auto const row = process::read_process(pid); row && !row->zombie()) found.push_back(*row);
    });
    return found;
}

/// Whether the recorded process lives. One that is about to end has no environment any more, and for some moments it
/// still looks alive.
[[nodiscard]] bool is_alive(recorded_job const& job) {
    for (auto const last = process::now() + seconds(1); process::same_process(job.pid, job.start_time); ::usleep(2'000))
        if (process::now() > last || !process::detail::read_environment(job.pid).empty()) return true;
    return false;
}

/// Finds the processes of one job. A recorded process without its token is the job's if it leads a session with a
/// process that has it.
[[nodiscard]] job_traces traces_of(recorded_job& job, std::span<process::process_info const> processes, bool launched) {
    job_traces out{.launched = job.launching ? launched : job.pid != 0,
                   .processes = {processes.begin(), processes.end()},
                   .strays = {}};
    std::ranges::sort(out.processes, {}, [](auto const& one) { return std::pair(one.start_time, one.pid); });
    if (job.pid != 0 && is_alive(job)) {
        out.has_first = std::ranges::any_of(
            out.processes, [&](auto const& one) { return one.pid == job.pid || one.session == job.pid; });
        out.doubtful = !out.has_first && out.processes.empty();
        // Killed before it could write the process down
    } else if (job.pid == 0 && out.launched && !out.processes.empty()) {
        job.pid = out.processes.front().pid;
        job.start_time = out.processes.front().start_time;
        out.has_first = true;
    }
    return out;
}

void add_orphans(orphaned_run& run) {
    for (std::size_t i = 0; i < run.record.jobs.size(); ++i) {
        auto const& job = run.record.jobs[i];
        auto const& traces = run.traces[i];
        if (!traces.processes.empty())
            run.alive.push_back({job.name, text_of(job, traces)});
        else if (traces.doubtful)
            run.alive.push_back(
                {job.name, fmt::format("{} (process {}, unless that is another program)", job.name, job.pid)});
        else if (is_between_launches(job))
            run.alive.push_back({job.name, job.name + " (between two launches)"});
    }
}

/// By two entries of the environments of all processes.
struct environments {
    std::vector<process::marked_process> tokens, outputs;
};

/// A hook of the job has its output and no token.
[[nodiscard]] std::vector<process::process_info> strays_of(recorded_job const& job, std::string const& output,
                                                           environments const& all) {
    std::vector<process::process_info> found;
    for (auto const& one : all.outputs) {
        auto const same = [&](auto const& other) { return other.info.pid == one.info.pid; };
        auto const token = std::ranges::find_if(all.tokens, same);
        if (one.value == output && token != all.tokens.end() && token->value != job.token) found.push_back(one.info);
    }
    return found;
}

void find_jobs(orphaned_run& run, std::set<std::string> const& launches, environments const& all) {
    std::string const group = group_of(run.record);
    auto const members =
        run.record.owner > 0 ? members_of_groups(run.record, group) : std::vector<process::process_info>{};
    cgroup::kernel_io machine;
    for (auto& job : run.record.jobs) {
        std::vector<process::process_info> its;
        for (auto const& one : all.tokens)
            if (!job.token.empty() && one.value == job.token) its.push_back(one.info);
        for (auto const& one : members)
            if (std::ranges::find(its, one.pid, &process::process_info::pid) == its.end() &&
                is_in_group(machine, one.pid, fmt::format("/{}/{}", group, job.name)))
                its.push_back(one);
        run.traces.push_back(traces_of(job, its, launches.contains(job.token)));
        run.traces.back().strays = strays_of(job, fmt::format("{}/{}.log", run.record.output, job.name), all);
    }
}

/// Of a run without a readable record: its processes as those of one job without a name.
[[nodiscard]] result<void> find_processes(orphaned_run& run) {
    auto const marked = process::find_with_entry(place_to_report);
    if (!marked) return marked.failure();
    auto& all = run.traces.emplace_back().processes;
    for (auto const& one : *marked)
        if (is_address_in(run.record, one.value)) all.push_back(one.info);
    for (auto const& one : all) run.alive.push_back({{}, fmt::format("process {}", one.pid)});
    return {};
}

[[nodiscard]] std::string names_of(std::vector<orphan_process> const& all) {
    std::string names;
    for (auto const& one : all) names += (names.empty() ? "" : ", ") + one.reply;
    return names;
}

/// The folder comes first, since a long subject is cut.
[[nodiscard]] error error_of_service(orphaned_run const& run) {
    auto const subject =
        fmt::format("{}, which is down: {}", state_folder_of(run.record.file).value_or(""), names_of(run.alive));
    return {.code = errc::busy,
            .operation = "find live jobs of the service in",
            .subject = std::string_view(subject),
            .remedy = "start it again, by ration serve --state FOLDER"};
}

[[nodiscard]] result<orphaned_run> examine(abandoned_run found, environments const& all) {
    orphaned_run run{.record = std::move(found.record),
                     .traces = {},
                     .damage = std::move(found.damage),
                     .alive = {},
                     .folder = std::move(found.folder)};
    if (!run.damage.empty()) {
        auto const looked = find_processes(run);
        if (!looked) return looked.failure();
        if (found.unwritten && run.alive.empty()) run.damage.clear();  // killed before there was anything to write down
        return run;
    }
    bool const same_boot = run.record.boot == this_boot();  // else nothing of it can be alive
    find_jobs(run, found.launches, same_boot ? all : environments());
    bool const seen =
        std::ranges::any_of(run.traces, [](job_traces const& traces) { return !traces.processes.empty(); });
    bool const elsewhere = same_boot && run.record.pid_namespace != this_pid_namespace();
    run.out_of_sight = elsewhere && !seen && !sees_all_processes() && has_open_output(run.record);
    run.restarted = !same_boot || (elsewhere && !seen && !run.out_of_sight);
    if (!run.out_of_sight) add_orphans(run);
    return run;
}

}  // namespace

std::string text_of(job_traces const& traces) { return text_of(traces.processes) + ", which its first process left"; }

std::string end_strays(job_traces const& traces, bool only_report) {
    if (traces.strays.empty()) return {};
    for (auto const& one : only_report ? std::vector<process::process_info>() : traces.strays)
        if (auto held = process::attach(one.pid, one.start_time); held) static_cast<void>(held->signal(SIGKILL));
    return text_of(traces.strays) + ", which its modules of 'preload' or an earlier launch left";
}

std::string text_of(recorded_job const& job, job_traces const& traces) {
    if (traces.has_first) return fmt::format("{} (process {})", job.name, job.pid);
    return fmt::format("{} ({})", job.name, text_of(traces));
}

result<std::vector<orphaned_run>> find_orphaned_runs(std::span<std::string const> parents) {
    std::vector<orphaned_run> all;
    auto found = abandoned_runs(parents);
    if (found.empty()) return all;
    auto tokens = process::find_with_entry(token_of_job), outputs = process::find_with_entry("RATION_OUTPUT");
    if (!tokens || !outputs) return tokens ? outputs.failure() : tokens.failure();
    environments const processes{std::move(tokens).value(), std::move(outputs).value()};
    for (auto& run : found) {
        auto one = examine(std::move(run), processes);
        if (!one) return one.failure();
        all.push_back(std::move(one).value());
    }
    return all;
}

error error_of_alive(std::span<orphaned_run const> runs, char const* remedy) {
    auto const of_service = std::ranges::find_if(
        runs, [](orphaned_run const& run) { return !run.alive.empty() && state_folder_of(run.record.file); });
    if (of_service != runs.end()) return error_of_service(*of_service);
    std::string names;
    for (auto const& run : runs) names += (names.empty() || run.alive.empty() ? "" : ", ") + names_of(run.alive);
    return {.code = errc::busy,
            .operation = "find jobs of an earlier run that are still going",
            .subject = std::string_view(names),
            .remedy = remedy};
}

std::string sentence_of_damage(orphaned_run const& what) {
    if (what.out_of_sight)
        return fmt::format(
            "the run {} belongs to another PID namespace, whose processes cannot be seen from this one; run ration clean there, or outside of all namespaces",
            printable(what.record.run));
    return what.damage.empty()
               ? ""
               : fmt::format("the record of the run {} cannot be read: {}", printable(what.record.run), what.damage);
}

}  // namespace ration::program
