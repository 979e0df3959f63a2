// SPDX-License-Identifier: BSL-1.0
/// The backend without privileges: whole cores by CPU affinity, fractions by stopping and continuing the processes
/// of a job. Used where cgroups are not available. Sources: signal(7), sched_setaffinity(2),
/// clock_getcpuclockid(3).
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include <ration/host/backend.hpp>
#include <ration/host/no_memory.hpp>
#include <ration/host/plan.hpp>
#include <ration/process/cpus.hpp>
#include <ration/process/detail/approximations.hpp>
#include <ration/process/detail/controlled_jobs.hpp>
#include <ration/process/detail/guard.hpp>
#include <ration/process/detail/job_scan.hpp>
#include <ration/process/detail/operation.hpp>
#include <ration/process/tree.hpp>
#include <ration/resource.hpp>
#include <ration/result.hpp>

namespace ration::process {

/// The evidence that a process belongs to a job: any, or only descent and session. A process can be started with
/// any environment.
enum class evidence : std::uint8_t { any, kinship };

/// Limits jobs by their first process. For one thread; the host calls `run_due` from its loop:
///     poll(..., until next_wakeup()); b.run_due(now());
/// Amounts of `cpu`: 0 stops the job, `unlimited` lets it run, whole cores bind it to as many CPUs (the least claimed
/// ones), anything else is a budget per 100 ms that is kept by SIGSTOP and SIGCONT. Never leaves a job stopped: the
/// destructor and `remove` continue it. Where memory runs out, functions that need some return `errc::no_memory`
/// (docs/adr/0021); a look at all processes is then repeated at the next call, and what is known stays known.
class backend {
public:
    /// Declares the class as a backend.
    using backend_concept = backend_tag;

    /// One change of a job.
    using operation = process::operation;

private:
    detail::controlled_jobs jobs_;

    explicit backend(detail::controlled_jobs jobs) noexcept : jobs_(std::move(jobs)) {}

public:
    /// Runs jobs within `cpus`; by default within the CPUs that this process may use. Makes this process the parent
    /// of the jobs' orphans. Errors: `errc::not_found` without /proc, `errc::empty_set` if none of the CPUs may be
    /// used.
    [[nodiscard]] static result<backend> open(cpu_set const& cpus = cpu_set::of_thread(0)) noexcept {
        cpu_set const usable = cpus & cpu_set::of_thread(0);
        if (usable.empty()) {
            return error{.code = errc::empty_set,
                         .operation = "choose CPUs",
                         .subject = cpus.list().view(),
                         .remedy = "name CPUs that this process may use: taskset -pc $$"};
        }
        if (auto const reattached = become_subreaper(); !reattached) return reattached.failure();
        auto keeper = guard::start();
        if (!keeper) return keeper.failure();
        detail::job_scan scan;
        if (auto const scanned = scan.open(); !scanned) return scanned.failure();
        return backend(detail::controlled_jobs(std::move(*keeper), usable, std::move(scan)));
    }

    /// Only `cpu` can be limited.
    [[nodiscard]] std::span<resource_id const> resources() const noexcept {
        static constexpr std::array limited{resource_id::cpu};
        return limited;
    }
    /// The amount that jobs share: 1000 for each CPU of the set.
    [[nodiscard]] millicores capacity() const noexcept { return jobs_.capacity(); }
    /// The CPUs on which jobs run.
    [[nodiscard]] cpu_set const& cpus() const noexcept { return jobs_.cpus(); }

    /// Sentences about the inaccuracies of this backend, for reports.
    [[nodiscard]] static std::span<std::string_view const> approximations() noexcept { return detail::approximations; }

    // --- jobs
    // ------------------------------------------------------------------------------------------------------------------

    /// Adds a job, which is unlimited at first. Called from `launch_spec::place`, it binds all processes from the
    /// start. Errors: already_exists, gone.
    [[nodiscard]] result<void> add(job_id job, tree_root root) noexcept {
        if (jobs_.find(job) != nullptr)
            return error{.code = errc::already_exists, .operation = "add a job", .subject = detail::job_text(job)};
        return jobs_.add(job, std::move(root));
    }

    /// Binds a job to some of the CPUs; later amounts are chosen among these. Errors: not_found, empty_set.
    [[nodiscard]] result<void> confine(job_id job, cpu_set const& cpus) noexcept {
        auto* const found = jobs_.find(job);
        cpu_set const home = cpus & jobs_.cpus();
        if (found == nullptr || home.empty()) {
            return found == nullptr
                       ? detail::unknown("bind a job", job)
                       : error{.code = errc::empty_set, .operation = "bind a job", .subject = cpus.list().view()};
        }
        found->set_home(home);
        return jobs_.bind(*found, home);
    }

    /// Removes a job; its processes continue without a limit.
    [[nodiscard]] result<void> remove(job_id job) noexcept {
        auto* const found = jobs_.find(job);
        if (found == nullptr) return detail::unknown("remove a job", job);
        jobs_.remove(*found);
        return {};
    }

    /// Stops every process of the job until `thaw`, independently of its limit.
    [[nodiscard]] result<void> freeze(job_id job) noexcept { return set_frozen(job, true); }
    /// Ends a freeze; the limit applies again.
    [[nodiscard]] result<void> thaw(job_id job) noexcept { return set_frozen(job, false); }

    /// Sends a signal to every process of the job. A stopped process handles it when it continues; SIGKILL at once.
    [[nodiscard]] result<void> signal(job_id job, int number) noexcept {
        auto* const found = jobs_.find(job);
        if (found == nullptr) return detail::unknown("signal a job", job);
        jobs_.scan_machine(now());
        found->processes().signal(number);
        return {};
    }

    /// Sends SIGTERM, and lifts freeze and limit so that the job can end.
    [[nodiscard]] result<void> ask_to_end(job_id job) noexcept {
        if (auto const sent = signal(job, SIGTERM); !sent) return sent;
        auto& found = *jobs_.find(job);
        jobs_.set_frozen(found, false);
        jobs_.set_amount(found, unlimited);
        return {};
    }

    /// Kills every process of the job; returns when none is left. Errors: those of `terminate`.
    [[nodiscard]] result<void> kill(job_id job) noexcept {
        auto* const found = jobs_.find(job);
        return found != nullptr ? terminate(found->processes(), nanoseconds{}) : detail::unknown("kill a job", job);
    }

    /// True if a process belongs to the job now. O(1) system calls for a known process.
    [[nodiscard]] bool contains(job_id job, pid_t pid, evidence by = evidence::any) noexcept {
        auto const* const found = jobs_.find(job);
        if (found == nullptr) return false;
        auto const known = [&]() -> tree::member const* {
            auto const* const member = found->processes().find(pid);
            return member != nullptr && (member->kin || by == evidence::any) ? member : nullptr;
        };
        if (auto const* const member = known(); member != nullptr) {
            auto const row = read_process(pid);
            if (row && row->start_time == member->info.start_time) return true;
        }
        jobs_.scan(now());
        if (known() == nullptr) jobs_.scan_machine(now());
        return known() != nullptr;
    }

    /// The number of living processes of the job; 0 also for an unknown job.
    [[nodiscard]] std::size_t alive(job_id job) noexcept {
        auto* const found = jobs_.find(job);
        if (found == nullptr) return 0;
        jobs_.scan_machine(now());
        return found->processes().alive();
    }

    // --- time
    // ------------------------------------------------------------------------------------------------------------------

    /// The time of the next `run_due`, on the clock of `process::now`; the far future if no job is limited.
    [[nodiscard]] nanoseconds next_wakeup() const noexcept { return jobs_.next_wakeup(); }

    /// Stops and continues the jobs that are due. A late call only costs precision within the period.
    void run_due(nanoseconds time) noexcept { jobs_.run_due(time); }

    // --- Backend
    // ---------------------------------------------------------------------------------------------------------------

    /// Measures CPU time, throttled time, memory and processes. Error: not_found.
    [[nodiscard]] result<observation> observe(job_id job) noexcept {
        auto* const found = jobs_.find(job);
        if (found == nullptr) return detail::unknown("observe a job", job);
        nanoseconds const time = now();
        jobs_.scan_if_due(time);
        observation out;
        out.cpu_time = found->processes().cpu_time();
        out.throttled = found->throttled(time);
        for (tree::member const& m : found->processes().members()) {
            out.memory.count += m.info.zombie() ? 0 : detail::resident_bytes(m.info.pid);
            out.processes += m.info.zombie() ? 0 : 1;
        }
        return out;
    }

    /// Plans the operations of a setting. Errors: not_supported, invalid_value, not_found.
    [[nodiscard]] result<void> plan(setting const& wanted, ration::plan<operation>& out) noexcept {
        if (wanted.resource != resource_id::cpu) {
            return error{.code = errc::not_supported,
                         .operation = "limit a job",
                         .subject = detail::job_text(wanted.job),
                         .remedy = "without cgroups only cpu can be limited; see ration doctor"};
        }
        if (wanted.amount < 0 || (wanted.amount > max_amount && wanted.amount != unlimited)) {
            return error{.code = errc::invalid_value,
                         .operation = "limit a job",
                         .subject = detail::job_text(wanted.job),
                         .remedy = "an amount is 0, a number of millicores, or unlimited"};
        }
        auto const* const job = jobs_.find(wanted.job);
        if (job == nullptr) return detail::unknown("limit a job", wanted.job);
        return or_no_memory("limit a job", detail::job_text(wanted.job), [&]() -> result<void> {
            cpu_set const cpus = jobs_.choose_cpus(*job, wanted.amount, out);
            if (cpus != job->cpus())
                out.push_back({.job = wanted.job, .what = attribute::cpus, .old_cpus = job->cpus(), .new_cpus = cpus});
            if (wanted.amount != job->amount()) {
                out.push_back({.job = wanted.job,
                               .what = attribute::limit,
                               .old_amount = job->amount(),
                               .new_amount = wanted.amount});
            }
            return {};
        });
    }

    /// Applies an operation. Errors: gone, those of sched_setaffinity(2).
    [[nodiscard]] result<void> apply(operation const& op) noexcept {
        return put(op.job, op.what, op.new_cpus, op.new_amount);
    }
    /// Sets the old value again.
    [[nodiscard]] result<void> undo(operation const& op) noexcept {
        return put(op.job, op.what, op.old_cpus, op.old_amount);
    }

    /// Reads back the CPUs of every thread, or, for a stopped job, waits at most 1 s until its processes have
    /// stopped.
    [[nodiscard]] result<void> verify(operation const& op) noexcept {
        auto* const job = jobs_.find(op.job);
        if (job == nullptr) return detail::unknown("verify", op.job);
        auto const differs = [&](char const* remedy) {
            return error{
                .code = errc::unverified, .operation = "verify", .subject = detail::job_text(op.job), .remedy = remedy};
        };
        if (op.what == attribute::cpus) {
            bool const inside = std::ranges::all_of(job->processes().members(), [&](tree::member const& m) {
                return m.info.zombie() || detail::within(m.info.pid, op.new_cpus);
            });
            return inside ? result<void>{} : differs("the job, or something else, changes its CPU affinity as well");
        }
        if (job->amount() != op.new_amount) return differs("another limit was set in between");
        return op.new_amount != 0 || jobs_.stands_still(*job)
                   ? result<void>{}
                   : differs("a process has not stopped yet; the machine is very busy");
    }

    /// The operation for the event log.
    [[nodiscard]] operation_text describe(operation const& op) const noexcept { return detail::describe(op); }

private:
    [[nodiscard]] result<void> put(job_id job, attribute what, cpu_set const& cpus, std::int64_t amount) noexcept {
        auto* const found = jobs_.find(job);
        if (found == nullptr) return detail::unknown("limit a job", job);
        jobs_.scan_if_older(milliseconds(10), now());  // once for all operations of a plan
        if (found->processes().alive() == 0) {
            return error{.code = errc::gone,
                         .operation = "limit a job",
                         .subject = detail::job_text(job),
                         .system = ESRCH,
                         .remedy = "all its processes have ended; remove it"};
        }
        if (what == attribute::cpus) return jobs_.bind(*found, cpus);
        jobs_.set_amount(*found, amount);
        return {};
    }

    [[nodiscard]] result<void> set_frozen(job_id job, bool frozen) noexcept {
        auto* const found = jobs_.find(job);
        if (found == nullptr) return detail::unknown(frozen ? "freeze a job" : "thaw a job", job);
        jobs_.scan_machine(now());
        jobs_.set_frozen(*found, frozen);
        if (frozen && !jobs_.stands_still(*found)) {
            return error{.code = errc::busy,
                         .operation = "freeze a job",
                         .subject = detail::job_text(job),
                         .system = EBUSY,
                         .remedy = "a process has not stopped yet: the machine is very busy; ask again"};
        }
        return {};
    }
};

static_assert(Backend<backend>);

}  // namespace ration::process
