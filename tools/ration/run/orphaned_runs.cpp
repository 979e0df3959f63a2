// SPDX-License-Identifier: BSL-1.0
#include "run/orphaned_runs.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fmt/ranges.h>
#include <iterator>
#include <optional>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <ration/cgroup/kernel_io.hpp>
#include <ration/cgroup/orphans.hpp>
#include <ration/process/child.hpp>
#include <ration/process/environment.hpp>
#include <ration/process/marked.hpp>
#include <ration/process/tree.hpp>

#include "common/error_text.hpp"
#include "common/exit_code.hpp"
#include "common/printable.hpp"
#include "run/cgroup_jobs.hpp"
#include "run/gpu_shares.hpp"
#include "run/lost_jobs.hpp"

namespace ration::program {
namespace {

namespace fs = std::filesystem;

/// Groups of dead runs that started where this process is, or in the groups that a record names. None where cgroups
/// cannot be used.
template <class Action>
void for_each_orphan(std::string const* memberships, Action action) {
    cgroup::kernel_io machine;
    auto const where =
        memberships != nullptr ? cgroup::tree::discover(machine, *memberships) : cgroup::tree::discover(machine);
    if (!where) return;
    auto const orphans = cgroup::find_orphans(machine, *where);
    if (!orphans) return;
    for (auto const& orphan : *orphans) action(*where, orphan);
}

[[nodiscard]] std::string clean_group(cgroup::tree const& where, cgroup::orphan const& orphan, bool only_report) {
    std::string const what = fmt::format("group {} with {} live process{}", orphan.group, orphan.pids.size(),
                                         orphan.pids.size() == 1 ? "" : "es");
    if (only_report) return "would end and remove " + what;
    auto const cleaned = cgroup::clean(where, orphan);
    return cleaned ? "ended and removed " + what
                   : fmt::format("could not remove {}: {}", what, to_text(cleaned.failure()));
}

struct service_job {
    std::string state, label;
    int pid;
};

/// A service gives each job the folder STATE/jobs/LABEL.checkpoint; none: this is not such a folder.
[[nodiscard]] std::optional<service_job> service_job_of(std::string const& checkpoint, int pid) {
    fs::path const path(checkpoint);
    auto const state = path.parent_path().parent_path().string();
    std::error_code failure;
    bool const of_service = path.extension() == ".checkpoint" && path.parent_path().filename() == "jobs" &&
                            fs::exists(state + std::string(job_list_of_service), failure);
    return of_service ? std::optional(service_job{state, path.stem().string(), pid}) : std::nullopt;
}

/// The jobs of services among the processes of a group, by the environment of these. Another user of the machine, or
/// this one with another XDG_RUNTIME_DIR, has the record.
[[nodiscard]] std::vector<service_job> jobs_of_services(std::vector<int> const& pids) {
    std::vector<service_job> found;
    auto const marked = process::find_with_entry("RATION_CHECKPOINT");
    if (!marked) return found;
    for (auto const& one : *marked) {
        if (std::ranges::find(pids, one.info.pid) == pids.end()) continue;
        auto job = service_job_of(one.value, one.info.pid);
        if (job && std::ranges::find(found, job->label, &service_job::label) == found.end())
            found.push_back(std::move(*job));
    }
    return found;
}

/// `job`: with its process.
[[nodiscard]] std::string sentence_of_kept(std::string const& job, std::string const& state, bool only_report) {
    return printable(
        fmt::format("{} {} alone: it belongs to the service in {}, which is down; continue or cancel it by "
                    "ration serve --state {}, or end the process yourself",
                    only_report ? "would leave" : "left", job, state, state));
}

/// The group of a run, in each hierarchy.
[[nodiscard]] std::string group_of(run_record const& record) {
    return cgroup::group_name_of(
        {cgroup_jobs::group_name, {record.owner, record.owner_start_time, record.pid_namespace}});
}

/// Ends a process with all that belongs to it: what descends from it, and what has the mark.
[[nodiscard]] result<void> end_family(process::process_info const& oldest, std::string mark, nanoseconds grace) {
    auto family = process::tree::of({.pid = oldest.pid, .start_time = oldest.start_time, .mark = std::move(mark)});
    if (!family) return family.failure().code == errc::gone ? result<void>() : family.failure();
    return process::terminate(*family, grace);
}

[[nodiscard]] std::string text_of(recorded_job const& job, job_traces const& traces) {
    if (traces.has_first) return fmt::format("{} (process {})", job.name, job.pid);
    return fmt::format("{} ({})", job.name, program::text_of(traces));
}

[[nodiscard]] std::string end_job(recorded_job const& job, job_traces const& traces, bool only_report,
                                  nanoseconds grace) {
    if (traces.doubtful)
        return fmt::format(
            "left {} (process {}) alone: its environment lacks the job's token, so it may be another program; end it yourself if it is the job",
            job.name, job.pid);
    auto const what = text_of(job, traces);
    if (only_report) return "would end " + what;
    auto const ended = end_family(traces.processes.front(), process::mark_of(job.token), grace);
    return ended ? "ended " + what : fmt::format("could not end {}: {}", what, to_text(ended.failure()));
}

constexpr std::string_view place_to_report = "RATION_PROGRESS", token_of_job = "RATION_TOKEN";

/// Whether each job of this run has such an address in its environment, wherever its folder for sockets was.
[[nodiscard]] bool is_address_in(run_record const& record, std::string_view address) {
    return address.starts_with("unix:/") && address.ends_with(fmt::format("/{}/progress", record.run));
}

/// The entry of the environment that all processes of the run of this one have.
[[nodiscard]] std::string mark_of_run(process::process_info const& one) {
    auto const address = process::detail::value_in(process::detail::read_environment(one.pid), place_to_report);
    return fmt::format("{}={}", place_to_report, address.value_or("unknown"));
}

/// Of a run whose record cannot be read, so that it is unknown which job is which.
[[nodiscard]] std::vector<std::string> end_processes(orphaned_run const& run, bool only_report, nanoseconds grace) {
    auto const& all = run.traces.front().processes;
    if (all.empty()) return {};
    std::string const what =
        fmt::format("{} process{} of the run {}", all.size(), all.size() == 1 ? "" : "es", printable(run.record.run));
    if (only_report) return {"would end " + what};
    auto const ended = end_family(all.front(), mark_of_run(all.front()), grace);
    return {ended ? "ended " + what : fmt::format("could not end {}: {}", what, to_text(ended.failure()))};
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
                   .processes = {processes.begin(), processes.end()}};
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

void find_jobs(orphaned_run& run, std::set<std::string> const& launches,
               std::span<process::marked_process const> marked) {
    std::string const group = group_of(run.record);
    auto const members =
        run.record.owner > 0 ? members_of_groups(run.record, group) : std::vector<process::process_info>{};
    cgroup::kernel_io machine;
    for (auto& job : run.record.jobs) {
        std::vector<process::process_info> its;
        for (auto const& one : marked)
            if (!job.token.empty() && one.value == job.token) its.push_back(one.info);
        for (auto const& one : members)
            if (std::ranges::find(its, one.pid, &process::process_info::pid) == its.end() &&
                is_in_group(machine, one.pid, fmt::format("/{}/{}", group, job.name)))
                its.push_back(one);
        run.traces.push_back(traces_of(job, its, launches.contains(job.token)));
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

[[nodiscard]] result<orphaned_run> examine(abandoned_run found, std::span<process::marked_process const> marked) {
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
    find_jobs(run, found.launches, same_boot ? marked : std::span<process::marked_process const>());
    bool const seen =
        std::ranges::any_of(run.traces, [](job_traces const& traces) { return !traces.processes.empty(); });
    bool const elsewhere = same_boot && run.record.pid_namespace != this_pid_namespace();
    run.out_of_sight = elsewhere && !seen && !sees_all_processes() && has_open_output(run.record);
    run.restarted = !same_boot || (elsewhere && !seen && !run.out_of_sight);
    if (!run.out_of_sight) add_orphans(run);
    return run;
}

}  // namespace

std::string text_of(job_traces const& traces) {
    std::vector<int> pids;
    std::ranges::transform(traces.processes, std::back_inserter(pids), &process::process_info::pid);
    return fmt::format("process{} {}, which its first process left", pids.size() == 1 ? "" : "es",
                       fmt::join(pids, ", "));
}

result<std::vector<orphaned_run>> find_orphaned_runs(std::span<std::string const> parents) {
    std::vector<orphaned_run> all;
    auto found = abandoned_runs(parents);
    if (found.empty()) return all;
    auto const marked = process::find_with_entry(token_of_job);
    if (!marked) return marked.failure();
    for (auto& run : found) {
        auto one = examine(std::move(run), *marked);
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

/// They keep their record and their group.
std::vector<std::string> orphan_cleaner::keep(orphaned_run const& what, std::string const& state) {
    std::vector<std::string> left;
    for (std::size_t i = 0; i < what.record.jobs.size(); ++i)
        if (!what.traces[i].processes.empty())
            left.push_back(sentence_of_kept(text_of(what.record.jobs[i], what.traces[i]), state, only_report_));
    kept_groups_.push_back(group_of(what.record));
    return left;
}

std::vector<std::string> orphan_cleaner::remove(orphaned_run what) {
    if (what.out_of_sight) return {};
    bool const has_process =
        std::ranges::any_of(what.traces, [](job_traces const& traces) { return !traces.processes.empty(); });
    if (auto const state = state_folder_of(what.record.file); state && has_process) return keep(what, *state);
    auto done = what.damage.empty() ? std::vector<std::string>{} : end_processes(what, only_report_, grace_);
    for (std::size_t i = 0; i < what.record.jobs.size(); ++i)
        if (auto const& traces = what.traces[i]; traces.doubtful || !traces.processes.empty())
            done.push_back(end_job(what.record.jobs[i], traces, only_report_, grace_));
    std::ranges::move(remove_groups(&what.record.memberships), std::back_inserter(done));
    if (only_report_) return done;
    run_directory folder(std::move(what.folder));
    folder.remove_at_end();
    gpu_shares::clean(folder.folder());
    return done;
}

std::vector<std::string> orphan_cleaner::remove_groups(std::string const* memberships) {
    std::vector<std::string> done;
    for_each_orphan(memberships, [&](auto const& where, auto const& orphan) {
        if (std::ranges::find(kept_groups_, orphan.group) != kept_groups_.end()) return;
        auto const jobs = jobs_of_services(orphan.pids);
        if (jobs.empty()) return done.push_back(clean_group(where, orphan, only_report_));
        kept_groups_.push_back(orphan.group);
        for (auto const& job : jobs)
            done.push_back(
                sentence_of_kept(fmt::format("{} (process {})", job.label, job.pid), job.state, only_report_));
    });
    return done;
}

void remove_empty_groups(std::string const* memberships) {
    for_each_orphan(memberships, [](auto const& where, auto const& orphan) {
        if (orphan.pids.empty()) static_cast<void>(cgroup::clean(where, orphan));
    });
    cgroup::kernel_io machine;
    cgroup::clean_device_guards(machine);
}

exit_code clean(clean_options const& options) {
    auto left = find_orphaned_runs();
    if (!left) {
        std::fprintf(stderr, "ration: %s\n", to_text(left.failure()).c_str());
        return exit_code::no_backend;
    }
    orphan_cleaner cleaner(options.dry_run);
    std::vector<std::string> sentences;
    for (auto& run : *left) {
        if (auto sentence = sentence_of_damage(run); !sentence.empty()) sentences.push_back(std::move(sentence));
        bool const is_removed = !run.out_of_sight;
        auto const file = run.record.file;
        auto done = cleaner.remove(std::move(run));
        if (done.empty() && is_removed && !file.empty())
            done.push_back(fmt::format("{} the record of a run of {}, which has ended",
                                       options.dry_run ? "would remove" : "removed", printable(file)));
        std::ranges::move(done, std::back_inserter(sentences));
    }
    std::ranges::move(cleaner.remove_groups(), std::back_inserter(sentences));
    if (!options.dry_run) remove_empty_groups();
    if (sentences.empty()) sentences.emplace_back("nothing was left behind");
    for (auto const& sentence : sentences) std::puts(sentence.c_str());
    return exit_code::ok;
}

}  // namespace ration::program
