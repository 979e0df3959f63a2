// SPDX-License-Identifier: BSL-1.0
/// One job under the process backend: its processes, its limit, and whether they run at this moment.
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

inline constexpr nanoseconds never{std::numeric_limits<std::int64_t>::max()};
/// How often the processes of a job are looked for anew.
inline constexpr nanoseconds scan_interval = milliseconds(200);

/// A process that has not stopped, or not yet. One that waits inside the kernel (D) runs no instruction before it
/// stops; a parent in vfork(2) whose child has been stopped stays like that.
[[nodiscard]] inline bool moving(tree::member const& m) noexcept {
    return !m.info.zombie() && m.info.state != 'T' && m.info.state != 't' && m.info.state != 'D';
}

/// Not copied, not destroyed in a stopped state: its backend calls `resume` first.
class controlled_job {
    job_id id_;
    tree processes_;
    cpu_set cpus_;
    cpu_set home_;           ///< that its CPUs are chosen from
    std::int64_t capacity_;  ///< of the backend, millicores
    std::int64_t amount_ = unlimited;
    bool frozen_ = false;   ///< by the host
    bool stopped_ = false;  ///< what the processes were last told
    budget meter_;
    nanoseconds due_ = never, stopped_since_{}, throttled_{};

public:
    controlled_job(job_id id, tree processes, cpu_set const& cpus, cpu_set const& home, std::int64_t capacity) noexcept
        : id_(id), processes_(std::move(processes)), cpus_(cpus), home_(home), capacity_(capacity) {}

    [[nodiscard]] job_id id() const noexcept { return id_; }
    [[nodiscard]] tree& processes() noexcept { return processes_; }
    [[nodiscard]] tree const& processes() const noexcept { return processes_; }
    [[nodiscard]] cpu_set const& cpus() const noexcept { return cpus_; }
    [[nodiscard]] cpu_set const& home() const noexcept { return home_; }
    void set_home(cpu_set const& home) noexcept { home_ = home; }
    [[nodiscard]] std::int64_t amount() const noexcept { return amount_; }
    [[nodiscard]] nanoseconds due() const noexcept { return due_; }

    /// Time during which the limit, not the host, kept the job stopped.
    [[nodiscard]] nanoseconds throttled(nanoseconds time) noexcept {
        account(time);
        return throttled_;
    }

    /// A limit that is kept by stopping and continuing, not by affinity.
    [[nodiscard]] bool budgeted(std::int64_t amount) const noexcept {
        return amount > 0 && amount < capacity_ && amount % 1000 != 0;
    }

    /// Takes all threads from the set `before` to `wanted`.
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

    void set_amount(std::int64_t amount, nanoseconds time, guard const& keeper) noexcept {
        account(time);
        if (budgeted(amount) && budgeted(amount_))
            meter_.change(millicores{amount});
        else if (budgeted(amount))
            meter_ = budget(millicores{amount}, time, processes_.cpu_time());
        amount_ = amount;
        step(time, keeper);
    }

    void set_frozen(bool frozen, nanoseconds time, guard const& keeper) noexcept {
        account(time);
        frozen_ = frozen;
        step(time, keeper);
    }

    /// Decides whether the job runs, tells its processes when that is news, and sets the next look.
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

    void resume(nanoseconds time) noexcept {
        if (stopped_) {
            account(time);
            stopped_ = false;
            processes_.signal(SIGCONT);
        }
    }

    /// The two halves of a refresh, see `tree`. Those that joined between two looks may come from a parent not yet
    /// bound; those that joined a stopped job, or were continued by somebody else, are stopped.
    void find_kin(process_table const& table, std::vector<char>& claimed) { processes_.find_kin(table, claimed); }
    void complete(process_table const& table, std::vector<char> const& claimed, guard const& keeper) {
        processes_.complete(table, claimed);
        processes_.reap_orphans();
        for (tree::member const& m : processes_.members())
            if (m.fresh && !m.info.zombie())
                static_cast<void>(bind_process(m.info.pid, cpus_, cpus_));  // `verify` is where a failure is told
        if (stopped_ && std::ranges::any_of(processes_.members(), moving)) stop(keeper);
    }

private:
    /// The guard hears of it first: between the two we may be killed.
    void stop(guard const& keeper) const noexcept {
        if (processes_.session() != 0) keeper.watch_group(processes_.session());
        for (tree::member const& m : processes_.members())
            if (!m.info.zombie() && m.info.group != processes_.session()) keeper.watch_process(m.info);
        processes_.signal(SIGSTOP);
    }

    void account(nanoseconds time) noexcept {
        if (stopped_) {
            throttled_ = throttled_ + (frozen_ ? nanoseconds{} : time - stopped_since_);
            stopped_since_ = time;
        }
    }
};

}  // namespace ration::process::detail
