// SPDX-License-Identifier: BSL-1.0
#include "serve/recovery.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>
#include <span>
#include <string>
#include <unistd.h>
#include <utility>

#include "run/lost_jobs.hpp"
#include "run/orphan_cleaner.hpp"
#include "serve/api.hpp"
#include "serve/exit_recorder.hpp"
#include "serve/old_ends.hpp"

namespace ration::program {
namespace {

[[nodiscard]] error still_running(std::string_view names, char const* remedy) {
    return {.code = errc::busy,
            .operation = "find jobs of an earlier run that still run",
            .subject = names,
            .remedy = remedy};
}

constexpr std::array begun{stage::pending, stage::deploying, stage::downloading, stage::processing, stage::storing};
constexpr char const* out_of_sight =
    "its jobs may run in another PID namespace: start the service there, or end them there";

/// Of a run with a doubtful job. `ration clean` keeps the record while another job of a service lives.
[[nodiscard]] char const* remedy_of(orphaned_run const& run) {
    bool const kept = std::ranges::any_of(run.traces, [](job_traces const& one) { return !one.processes.empty(); });
    return kept ? "a process lacks its job's token: end it yourself"
                : "a process lacks its job's token: end it yourself, or forget it with ration clean";
}

/// The run of this folder. Runs whose jobs have ended are left to `ration run` and `ration clean`.
[[nodiscard]] result<std::optional<orphaned_run>> find_run(service_folder const& folder) {
    auto found = find_orphaned_runs(std::span(&folder.path, 1));
    if (!found) return found.failure();
    std::optional<orphaned_run> own;
    for (auto& run : *found) {
        bool const ours = run.damage.empty() && run.record.file == folder.database() && !own;
        if (ours && run.out_of_sight) return still_running(run.record.run, out_of_sight);
        if (std::ranges::any_of(run.traces, &job_traces::doubtful))
            return still_running(run.record.run, remedy_of(run));
        if (ours)
            own = std::move(run);
        else if (!run.alive.empty())
            return error_of_alive(std::span(&run, 1), "ration run --reattach takes them over, ration clean ends them");
    }
    return own;
}

[[nodiscard]] bool has_job(orphaned_run const& run, stored_job const& job) {
    return std::ranges::find(run.record.jobs, label_of(job.what.name, job.id), &recorded_job::name) !=
           run.record.jobs.end();
}

/// The next stage of a job without a process.
class settlement {
    job_store& store_;
    service_folder const& folder_;
    std::optional<orphaned_run> const& run_;

public:
    settlement(job_store& store, service_folder const& folder, std::optional<orphaned_run> const& run)
        : store_(store), folder_(folder), run_(run) {}

    [[nodiscard]] result<void> settle(stored_job const& job) {
        if (job.now == stage::pending) return queue(job, "");
        auto const boot = store_.boot_of(job);
        if (!boot) return boot.failure();
        if (job.paused && !job.cancelled) return pause(job);
        bool const restarted = *boot != this_boot() || (run_ && run_->restarted);
        // The end of the machine or the container ends its jobs, too, which then note a signal or an exit code
        if (auto const end = recorded_end_of(job, folder_); end && (end->success() || !restarted))
            return note(job, *end);
        // The record is written before a launch, and at the start of a run
        if (job.now == stage::deploying && run_ && !has_job(*run_, job)) return queue_unlaunched(job);
        return launch_again(job, restarted ? "the machine or its container was restarted" : "its end was not noted");
    }

private:
    /// It was not its failure.
    [[nodiscard]] result<void> launch_again(stored_job const& job, std::string why) {
        if (has_checkpoint(job, folder_) || job.attempts() <= job.what.retries) return queue(job, std::move(why));
        return fail(job, why + ", and it has no checkpoint");
    }

    [[nodiscard]] result<void> note(stored_job const& job, process::exit_report const& end) {
        bool const killed = end.how == process::exit_report::kind::killed;
        auto change = change_to(job, end.success() ? stage::completed : job.cancelled ? stage::halted : stage::failed);
        change.end = process_end{};
        (killed ? change.end->signal : change.end->exit_code) = end.number;
        if (!end.success()) change.why = (killed ? "killed by signal " : "exit code ") + std::to_string(end.number);
        if (change.to == stage::failed && job.attempts() <= job.what.retries) change.to = stage::queued;
        return store_.advance(change);
    }

    [[nodiscard]] result<void> queue(stored_job const& job, std::string why) {
        auto change = change_to(job, job.cancelled ? stage::halted : stage::queued);
        change.why = std::move(why);
        return store_.advance(change);
    }

    /// It was noted, and not made: no retry is used.
    [[nodiscard]] result<void> queue_unlaunched(stored_job const& job) {
        auto change = change_to(job, job.cancelled ? stage::halted : stage::queued);
        change.uncounted = true;
        return store_.advance(change);
    }

    /// Its user has not resumed it, however it ended.
    [[nodiscard]] result<void> pause(stored_job const& job) {
        auto change = change_to(job, stage::queued);
        change.why = "paused";
        change.uncounted = true;
        return store_.advance(change);
    }

    [[nodiscard]] result<void> fail(stored_job const& job, std::string why) {
        auto change = change_to(job, job.cancelled ? stage::halted : stage::failed);
        change.why = std::move(why);
        return store_.advance(change);
    }
};

/// Processes of jobs that the record does not have: without them a second launch is the only one.
[[nodiscard]] result<void> end_unrecorded(job_store& store, service_folder const& folder,
                                          std::optional<orphaned_run> const& run) {
    auto const jobs = store.in_stages(begun);
    if (!jobs) return jobs.failure();
    for (auto const& job : *jobs) {
        if (!may_have_process(job.now) || (run && has_job(*run, job))) continue;
        auto const uid = job.what.uid;
        auto const label = label_of(job.what.name, job.id);
        auto const ended =
            end_lost_job(folder.log_of(uid, label), folder.is_other_user(uid) ? static_cast<uid_t>(uid) : ::geteuid());
        if (!ended) return ended.failure();
        if (!ended->empty())
            std::fprintf(stderr, "ration: warning: job %s: no record has its processes %s, which were ended\n",
                         label.c_str(), ended->c_str());
    }
    return {};
}

/// A job that lives runs, also if its row cannot be read.
[[nodiscard]] result<void> repair_living(job_store& store, std::optional<orphaned_run> const& run) {
    if (!run) return {};
    auto const unreadable = store.unreadable();
    if (!unreadable) return unreadable.failure();
    for (auto const& job : *unreadable)
        if (std::ranges::find(run->alive, label_of(job.name, job.id), &orphan_process::job) != run->alive.end())
            if (auto repaired = store.repair(job.id, stage::processing); !repaired) return repaired;
    return {};
}

/// A job that lives and that the list does not have, as when an older copy of the list was put in place.
[[nodiscard]] orphan_process const* stranger(recovered const& what) {
    if (!what.run || what.run->restarted) return nullptr;
    for (auto const& one : what.run->alive)
        if (std::ranges::find(what.launched, one.job, [](stored_job const& job) {
                return label_of(job.what.name, job.id);
            }) == what.launched.end())
            return &one;
    return nullptr;
}

}  // namespace

result<recovered> recover(job_store& store, service_folder const& folder) {
    auto run = find_run(folder);
    if (!run) return run.failure();
    if (auto const ended = end_unrecorded(store, folder, *run); !ended) return ended.failure();
    auto out = settle_jobs(store, folder, std::move(run).value());
    if (!out) return out;
    std::set<std::string> launched;
    for (auto const& job : out->launched) launched.insert(label_of(job.what.name, job.id));
    remove_old_ends(store, folder, launched);
    if (auto const& left = out->run) remove_empty_groups(&left->record.memberships);
    if (auto& left = out->run; left && left->restarted) {
        run_directory(std::move(left->folder)).remove_at_end();
        left.reset();
    }
    return out;
}

result<recovered> settle_jobs(job_store& store, service_folder const& folder, std::optional<orphaned_run> run) {
    recovered out{.run = std::move(run), .launched = {}};
    if (auto repaired = repair_living(store, out.run); !repaired) return repaired.failure();
    auto jobs = store.in_stages(begun);
    if (!jobs) return jobs.failure();
    settlement others(store, folder, out.run);
    for (auto& job : *jobs) {
        if (out.run && !out.run->restarted && may_have_process(job.now) && has_job(*out.run, job)) {
            out.launched.push_back(std::move(job));
            continue;
        }
        if (auto settled = others.settle(job); !settled) return settled.failure();
    }
    if (auto const* const unknown = stranger(out))
        return still_running(unknown->reply, "the list of jobs does not have it: end its process yourself");
    if (auto kept = store.commit(); !kept) return kept.failure();
    return out;
}

}  // namespace ration::program
