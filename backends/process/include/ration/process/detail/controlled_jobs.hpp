// SPDX-License-Identifier: BSL-1.0
/// All jobs of the process backend, the CPUs that they share, and the guard that continues them after the backend.
#pragma once

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <span>
#include <unistd.h>
#include <utility>
#include <vector>

#include <ration/host/no_memory.hpp>
#include <ration/process/cpus.hpp>
#include <ration/process/detail/guard.hpp>
#include <ration/process/detail/job.hpp>
#include <ration/process/detail/job_scan.hpp>
#include <ration/process/detail/operation.hpp>
#include <ration/process/tree.hpp>
#include <ration/resource.hpp>
#include <ration/result.hpp>

namespace ration::process::detail {

/// The error of a call for a job that was not added.
[[nodiscard]] inline error unknown(char const* operation, job_id job) noexcept {
    return {.code = errc::not_found, .operation = operation, .subject = job_text(job), .remedy = "add the job first"};
}

/// Never leaves a job stopped: the destructor and `remove` continue it.
class controlled_jobs {
    guard guard_;
    cpu_set cpus_;
    std::vector<controlled_job> all_;
    job_scan scan_;

public:
    controlled_jobs(guard keeper, cpu_set const& cpus, job_scan scan) noexcept
        : guard_(std::move(keeper)), cpus_(cpus), scan_(std::move(scan)) {}
    controlled_jobs(controlled_jobs&&) noexcept = default;
    controlled_jobs& operator=(controlled_jobs&&) = delete;
    ~controlled_jobs() noexcept {
        for (controlled_job& job : all_) job.resume(now());
    }

    [[nodiscard]] cpu_set const& cpus() const noexcept { return cpus_; }
    [[nodiscard]] millicores capacity() const noexcept { return {std::int64_t{1000} * cpus_.size()}; }

    /// nullptr for an unknown job. O(jobs).
    [[nodiscard]] controlled_job* find(job_id job) noexcept {
        auto const at = std::ranges::find(all_, job, &controlled_job::id);
        return at != all_.end() ? &*at : nullptr;
    }

    /// Binds a job and continues it. Precondition: the job is unknown. Errors: gone, no_memory.
    [[nodiscard]] result<void> add(job_id job, tree_root root) noexcept {
        auto const room = or_no_memory("add a job", job_text(job), [this]() -> result<void> {
            all_.reserve(all_.size() + 1);  // first: a job that was bound must not be forgotten
            return {};
        });
        if (!room) return room;
        auto followed = tree::of(std::move(root));
        if (!followed) return followed.failure();
        // The former controller of a reattached job may have bound or stopped it.
        cpu_set const has = cpu_set::of_thread(followed->root().pid), common = has & cpus_;
        controlled_job added(job, std::move(*followed), has, cpus_, capacity().count);
        if (auto const bound = added.bind(has, common.empty() ? cpus_ : common); !bound) return bound;
        added.processes().signal(SIGCONT);
        all_.push_back(std::move(added));
        return {};
    }

    void remove(controlled_job& job) noexcept {
        job.resume(now());
        if (pid_t const session = job.processes().session(); session != 0) guard_.forget_group(session);
        if (&job != &all_.back()) job = std::move(all_.back());
        all_.pop_back();
    }

    /// Looks for new processes of all jobs: among the descendants, and among all processes of the machine.
    void scan(nanoseconds time) noexcept { scan_.run_below(all_, guard_, time); }
    void scan_machine(nanoseconds time) noexcept { scan_.run(all_, guard_, time); }
    void scan_if_due(nanoseconds time) noexcept {
        if (scan_.is_due(time)) scan(time);
    }
    void scan_if_older(nanoseconds age, nanoseconds time) noexcept {
        if (scan_.is_older(age, time)) scan(time);
    }

    /// The time of the next `run_due`.
    [[nodiscard]] nanoseconds next_wakeup() const noexcept {
        nanoseconds soonest = never;
        for (controlled_job const& job : all_) soonest = std::min(soonest, job.due());
        return soonest;
    }

    /// Stops and continues the jobs that are due.
    void run_due(nanoseconds time) noexcept {
        bool const any = std::ranges::any_of(all_, [time](controlled_job const& job) { return job.due() <= time; });
        // Limits are exact for known processes; new ones are found at the next scan.
        if (any) scan_if_due(time);
        for (controlled_job& job : all_)
            if (job.due() <= time) job.step(time, guard_);
    }

    void set_amount(controlled_job& job, std::int64_t amount) noexcept { job.set_amount(amount, now(), guard_); }
    void set_frozen(controlled_job& job, bool frozen) noexcept { job.set_frozen(frozen, now(), guard_); }

    /// Binds twice, with a scan between: the parent of a new process may not have been bound in the first pass.
    [[nodiscard]] result<void> bind(controlled_job& job, cpu_set const& cpus) noexcept {
        cpu_set const before = job.cpus();
        auto const first = job.bind(before, cpus);
        if (!first) return first;
        scan(now());
        return job.bind(before, cpus);
    }

    /// The CPUs for an amount; `planned` are operations that come first. A job that already has the amount keeps its
    /// CPUs.
    [[nodiscard]] cpu_set choose_cpus(controlled_job const& job, std::int64_t amount,
                                      std::span<operation const> planned) const noexcept {
        // Only whole cores bind a job; all other amounts use the whole set.
        if (amount <= 0 || amount >= std::int64_t{1000} * job.home().size() || amount % 1000 != 0) return job.home();
        auto const count = static_cast<unsigned>(amount / 1000);
        if (job.amount() == amount && job.cpus().size() == count) return job.cpus();
        cpu_claims claims{};
        for (controlled_job const& other : all_) {
            cpu_set const* cpus = &other.cpus();
            for (operation const& op : planned)
                cpus = op.job == other.id() && op.what == attribute::cpus ? &op.new_cpus : cpus;
            if (other.id() != job.id() && *cpus != cpus_) cpus->for_each([&claims](unsigned cpu) { ++claims[cpu]; });
        }
        return least_claimed(job.home(), count, claims, job.cpus());
    }

    /// Waits at most 1 s until no process of the job moves.
    [[nodiscard]] bool stands_still(controlled_job const& job) noexcept {
        for (nanoseconds const last = now() + seconds(1);; ::usleep(500)) {
            scan(now());
            if (std::ranges::none_of(job.processes().members(), moving)) return true;
            if (now() > last) return false;
        }
    }
};

}  // namespace ration::process::detail
