// SPDX-License-Identifier: BSL-1.0
#include "run/orphan_cleaner.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fmt/core.h>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

#include <ration/process/environment.hpp>
#include <ration/process/marked.hpp>
#include <ration/process/tree.hpp>

#include "common/error_text.hpp"
#include "common/printable.hpp"
#include "run/gpu_shares.hpp"
#include "run/lost_jobs.hpp"
#include "run/orphan_groups.hpp"

namespace ration::program {
namespace {

namespace fs = std::filesystem;

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

/// A service gives each job the file STATE/jobs/LABEL.log, or STATE/users/UID/LABEL.log; none: this is not such a file.
[[nodiscard]] std::optional<service_job> service_job_of(std::string const& output, int pid) {
    fs::path const path(output);
    auto folder = path.parent_path();
    if (folder.parent_path().filename() == "users") folder = folder.parent_path();
    auto const state = folder.parent_path().string();
    std::error_code failure;
    bool const of_service = path.extension() == ".log" &&
                            (folder.filename() == "jobs" || folder.filename() == "users") &&
                            fs::exists(state + std::string(job_list_of_service), failure);
    return of_service ? std::optional(service_job{state, path.stem().string(), pid}) : std::nullopt;
}

/// The jobs of services among the processes of a group, by the environment of these. Another user of the machine, or
/// this one with another XDG_RUNTIME_DIR, has the record.
[[nodiscard]] std::vector<service_job> jobs_of_services(std::vector<int> const& pids) {
    std::vector<service_job> found;
    auto const marked = process::find_with_entry("RATION_OUTPUT");
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

/// Ends a process with all that belongs to it: what descends from it, and what has the mark.
[[nodiscard]] result<void> end_family(process::process_info const& oldest, std::string mark, nanoseconds grace) {
    auto family = process::tree::of({.pid = oldest.pid, .start_time = oldest.start_time, .mark = std::move(mark)});
    if (!family) return family.failure().code == errc::gone ? result<void>() : family.failure();
    return process::terminate(*family, grace);
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

}  // namespace

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
    for (std::size_t i = 0; i < what.record.jobs.size(); ++i) {
        auto const& job = what.record.jobs[i];
        auto const& traces = what.traces[i];
        if (traces.doubtful || !traces.processes.empty()) done.push_back(end_job(job, traces, only_report_, grace_));
        if (auto const strays = end_strays(traces, only_report_); !strays.empty())
            done.push_back(fmt::format("{} of {}: {}", only_report_ ? "would end" : "ended", job.name, strays));
    }
    std::ranges::move(remove_group_of(what.record), std::back_inserter(done));
    if (only_report_) return done;
    remove_empty_groups(&what.record.memberships);  // which its jobs left at a takeover
    run_directory folder(std::move(what.folder));
    folder.remove_at_end();
    gpu_shares::clean(folder.folder());
    return done;
}

/// The jobs of another dead run wait to be taken over.
std::vector<std::string> orphan_cleaner::remove_group_of(run_record const& record) {
    std::vector<std::string> done;
    for_each_orphan(&record.memberships, [&, group = group_of(record)](auto const& where, auto const& orphan) {
        if (orphan.group == group) done.push_back(clean_group(where, orphan, only_report_));
    });
    return done;
}

std::vector<std::string> orphan_cleaner::remove_groups() {
    std::vector<std::string> done;
    for_each_orphan(nullptr, [&](auto const& where, auto const& orphan) {
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
