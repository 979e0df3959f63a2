// SPDX-License-Identifier: BSL-1.0
/// One job of the process backend: its processes, its limit, and whether they run now.
#pragma once

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <ration/process/cpus.hpp>
#include <ration/process/detail/budget.hpp>
#include <ration/process/detail/guard.hpp>
#include <ration/process/detail/operation.hpp>
#include <ration/process/tree.hpp>
#include <ration/resource.hpp>
#include <ration/result.hpp>
#include <ration/units.hpp>

namespace ration::process::detail {

/// A time that never comes.
inline constexpr nanoseconds never{std::numeric_limits<std::int64_t>::max()};
/// The interval at which the processes of a job are searched.
inline constexpr nanoseconds scan_interval = milliseconds(200);

/// True for a process that has not stopped. A process that waits inside the kernel (D) executes
/// nothing before it stops; a parent in vfork(2) whose child is stopped stays in that state.
[[nodiscard]] inline bool moving(tree::member const& m) noexcept {
    return !m.info.zombie() && m.info.state != 'T' && m.info.state != 't' && m.info.state != 'D';
}

/// A controlled job. It is not copied, and not destroyed while stopped: the backend calls `resume`
/// before.
class controlled_job {
    job_id id_;
    tree processes_;
    cpu_set cpus_;
    cpu_set home_;           ///< from which its CPUs are chosen
    std::int64_t capacity_;  ///< of the backend, millicores
    std::int64_t amount_ = unlimited;
    bool frozen_ = false;   ///< by the host
    bool stopped_ = false;  ///< last signal to the processes
    budget meter_;
    nanoseconds due_ = never, stopped_since_{}, throttled_{};

public:
    /// A job that runs without a limit on `cpus`.
    controlled_job(job_id id, tree processes, cpu_set const& cpus, cpu_set const& home, std::int64_t capacity) noexcept
        : id_(id), processes_(std::move(processes)), cpus_(cpus), home_(home), capacity_(capacity) {}

    /// The id of the job.
    [[nodiscard]] job_id id() const noexcept { return id_; }
    /// Its processes.
    [[nodiscard]] tree& processes() noexcept { return processes_; }
    [[nodiscard]] tree const& processes() const noexcept { return processes_; }
    /// The CPUs to which it is bound.
    [[nodiscard]] cpu_set const& cpus() const noexcept { return cpus_; }
    /// The CPUs from which its own are chosen.
    [[nodiscard]] cpu_set const& home() const noexcept { return home_; }
    /// Restricts the choice.
    void set_home(cpu_set const& home) noexcept { home_ = home; }
    /// Its limit in millicores.
    [[nodiscard]] std::int64_t amount() const noexcept { return amount_; }
    /// The time of the next `step`; `never` without a limit.
    [[nodiscard]] nanoseconds due() const noexcept { return due_; }

    /// The time for which the limit, and not the host, has kept the job stopped.
    [[nodiscard]] nanoseconds throttled(nanoseconds time) noexcept {
        account(time);
        return throttled_;
    }

    /// True for a limit that is enforced by stopping and continuing instead of affinity.
    [[nodiscard]] bool budgeted(std::int64_t amount) const noexcept {
        return amount > 0 && amount < capacity_ && amount % 1000 != 0;
    }

    /// Moves all threads from the set `before` to `wanted`.
    [[nodiscard]] result<void> bind(cpu_set const& before, cpu_set const& wanted) noexcept {
        cpus_ = wanted;
        for (tree::member const& m : processes_.members()) {
            int const problem = m.info.zombie() ? 0 : bind_process(m.info.pid, before, wanted);
            if (problem != 0) {
                error failed =
                    system_error("set CPU affinity", job_text(id_), problem,
                                 problem == EPERM ? "the job runs as another user" : "the machine's CPUs have changed");
                failed.code = problem == EINVAL ? errc::empty_set : failed.code;
                return failed;
            }
        }
        return {};
    }

    /// Sets the limit, in millicores. A budget that changes keeps its debt.
    void set_amount(std::int64_t amount, nanoseconds time, guard const& keeper) noexcept {
        account(time);
        if (budgeted(amount) && budgeted(amount_))
            meter_.change(millicores{amount});
        else if (budgeted(amount))
            meter_ = budget(millicores{amount}, time, processes_.cpu_time());
        amount_ = amount;
        step(time, keeper);
    }

    /// Freezes the job, or thaws it.
    void set_frozen(bool frozen, nanoseconds time, guard const& keeper) noexcept {
        account(time);
        frozen_ = frozen;
        step(time, keeper);
    }

    /// Decides whether the job runs, signals its processes after a change, and sets the time of the
    /// next call.
    void step(nanoseconds time, guard const& keeper) noexcept {
        bool run = !frozen_ && amount_ != 0;
        due_ = run ? never : time + scan_interval;
        if (budgeted(amount_)) {
            budget::verdict const verdict = meter_.step(time, processes_.cpu_time());
            run = run && verdict.run;
            due_ = verdict.next;
        }
        if (run) {
            resume(time);
        } else if (!stopped_) {
            account(time);
            stopped_ = true;
            stopped_since_ = time;
            stop(keeper);
        }
    }

    /// Continues the processes if they were stopped.
    void resume(nanoseconds time) noexcept {
        if (stopped_) {
            account(time);
            stopped_ = false;
            processes_.signal(SIGCONT);
        }
    }

    /// The two halves of a refresh, see `tree`. New processes may have a parent that is not bound
    /// yet, so they are bound. In a stopped job, processes that run are stopped.
    void find_kin(process_table const& table, std::vector<char>& claimed) { processes_.find_kin(table, claimed); }
    void complete(process_table const& table, std::vector<char> const& claimed, guard const& keeper) {
        processes_.complete(table, claimed);
        processes_.reap_orphans();
        for (tree::member const& m : processes_.members())
            if (m.fresh && !m.info.zombie())
                static_cast<void>(bind_process(m.info.pid, cpus_, cpus_));  // `verify` reports a failure
        if (stopped_ && std::ranges::any_of(processes_.members(), moving)) stop(keeper);
    }

private:
    /// Stops the processes. The guard is informed first, since this process can be killed between
    /// the two steps.
    void stop(guard const& keeper) const noexcept {
        if (processes_.session() != 0) keeper.watch_group(processes_.session());
        for (tree::member const& m : processes_.members())
            if (!m.info.zombie() && m.info.group != processes_.session()) keeper.watch_process(m.info);
        processes_.signal(SIGSTOP);
    }

    /// Adds the time since the last call to the throttled time, if the limit has stopped the job.
    void account(nanoseconds time) noexcept {
        if (stopped_) {
            throttled_ = throttled_ + (frozen_ ? nanoseconds{} : time - stopped_since_);
            stopped_since_ = time;
        }
    }
};

}  // namespace ration::process::detail
