// SPDX-License-Identifier: BSL-1.0
#include "run/leftovers.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include <fmt/core.h>

#include <ration/cgroup/kernel_io.hpp>
#include <ration/cgroup/orphans.hpp>
#include <ration/process/child.hpp>
#include <ration/process/environment.hpp>
#include <ration/process/tree.hpp>

#include "error_text.hpp"
#include "problem.hpp"
#include "run/gpu_shares.hpp"
#include "run.hpp"

namespace ration::program {
namespace {

/// Groups of dead runs that started where this process is, or in the groups that a record names. None where cgroups cannot be used.
template <class Action>
void for_each_orphan(std::string const* memberships, Action action) {
    cgroup::kernel_io machine;
    auto const where = memberships != nullptr ? cgroup::tree::discover(machine, *memberships) : cgroup::tree::discover(machine);
    if (!where) return;
    auto const orphans = cgroup::find_orphans(machine, *where);
    if (!orphans) return;
    for (auto const& orphan : *orphans) action(*where, orphan);
}

[[nodiscard]] std::string clean_group(cgroup::tree const& where, cgroup::orphan const& orphan, bool only_say) {
    std::string const what = fmt::format("group {} with {} live process{}", orphan.group, orphan.pids.size(),
                                         orphan.pids.size() == 1 ? "" : "es");
    if (only_say) return "would end and remove " + what;
    auto const cleaned = cgroup::clean(where, orphan);
    return cleaned ? "ended and removed " + what : fmt::format("could not remove {}: {}", what, to_text(cleaned.failure()));
}

[[nodiscard]] std::string end_job(recorded_job const& job, bool only_say) {
    auto found = process::tree::of({.pid = job.pid, .start_time = job.start_time, .mark = process::mark_of(job.token)});
    if (only_say) return fmt::format("would end {} (process {})", job.name, job.pid);
    auto const ended = found ? process::terminate(*found, seconds(5)) : result<void>(found.failure());
    return ended ? fmt::format("ended {} (process {})", job.name, job.pid)
                 : fmt::format("could not end {} (process {}): {}", job.name, job.pid, to_text(ended.failure()));
}

[[nodiscard]] bool is_alive(recorded_job const& job) { return process::same_process(job.pid, job.start_time); }

/// What every job of this run has in its environment: where to report.
[[nodiscard]] std::string mark_of_run(run_record const& record) {
    return "RATION_PROGRESS=unix:" + run_directory::socket_of(record.run);
}

/// All that is alive of it, oldest first.
[[nodiscard]] std::vector<process::process_info> processes_of(run_record const& record) {
    auto found = process::find_marked(mark_of_run(record));
    if (!found) return {};
    std::ranges::sort(*found, {}, &process::process_info::start_time);
    return std::move(*found);
}

/// Of a run whose record cannot be read, so that nobody knows which job is which.
[[nodiscard]] std::vector<std::string> end_processes(run_record const& record, bool only_say) {
    auto const all = processes_of(record);
    if (all.empty()) return {};
    std::string const what = fmt::format("{} process{} of the run {}", all.size(), all.size() == 1 ? "" : "es", printable(record.run));
    if (only_say) return {"would end " + what};
    auto family = process::tree::of({.pid = all.front().pid, .start_time = all.front().start_time, .mark = mark_of_run(record)});
    auto const ended = family ? process::terminate(*family, seconds(5)) : result<void>(family.failure());
    return {ended ? "ended " + what : fmt::format("could not end {}: {}", what, to_text(ended.failure()))};
}

/// It has no process now, and whoever adopts the run launches it again.
[[nodiscard]] bool goes_on(recorded_job const& job) { return !job.phase.empty() && job.phase != "over"; }

}  // namespace

std::vector<leftover> find_leftovers() {
    std::vector<leftover> all;
    for (auto& run : abandoned_runs()) {
        auto& one = all.emplace_back(leftover{std::move(run.record), std::move(run.damage), {}});
        if (!one.damage.empty())
            for (auto const& process : processes_of(one.record)) one.alive.push_back({{}, fmt::format("process {}", process.pid)});
        for (auto const& job : one.record.jobs)
            if (is_alive(job))
                one.alive.push_back({job.name, fmt::format("{} (process {})", job.name, job.pid)});
            else if (goes_on(job))
                one.alive.push_back({job.name, job.name + " (between two launches)"});
    }
    return all;
}

std::string sentence_of_damage(leftover const& what) {
    return what.damage.empty() ? "" : fmt::format("the record of the run {} cannot be read: {}", printable(what.record.run), what.damage);
}

std::vector<std::string> remove_leftover(leftover const& what, bool only_say) {
    auto done = what.damage.empty() ? std::vector<std::string>{} : end_processes(what.record, only_say);
    for (auto const& job : what.record.jobs)
        if (is_alive(job)) done.push_back(end_job(job, only_say));
    for_each_orphan(&what.record.memberships,
                    [&](auto const& where, auto const& orphan) { done.push_back(clean_group(where, orphan, only_say)); });
    if (only_say) return done;
    auto const folder = run_directory::take_over(what.record.run);  // removes it as it goes
    gpu_shares::clean(folder.folder());
    return done;
}

std::vector<std::string> remove_orphaned_groups(bool only_say) {
    std::vector<std::string> done;
    for_each_orphan(nullptr, [&](auto const& where, auto const& orphan) { done.push_back(clean_group(where, orphan, only_say)); });
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
    bool clean = true;
    for (auto const& left : find_leftovers()) {
        if (auto const sentence = sentence_of_damage(left); !sentence.empty()) std::puts(sentence.c_str()), clean = false;
        for (auto const& sentence : remove_leftover(left, options.dry_run)) std::puts(sentence.c_str()), clean = false;
    }
    for (auto const& sentence : remove_orphaned_groups(options.dry_run)) std::puts(sentence.c_str()), clean = false;
    if (!options.dry_run) remove_empty_groups();
    if (clean) std::puts("nothing was left behind");
    return exit_code::ok;
}

}  // namespace ration::program
