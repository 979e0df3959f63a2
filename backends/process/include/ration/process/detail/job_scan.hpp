// SPDX-License-Identifier: BSL-1.0
/// Scans for the processes of all jobs at once, and when the next one is due.
#pragma once

#include <algorithm>
#include <cstddef>
#include <sys/types.h>
#include <unistd.h>
#include <vector>

#include <ration/host/no_memory.hpp>
#include <ration/process/detail/guard.hpp>
#include <ration/process/detail/job.hpp>
#include <ration/process/proc.hpp>
#include <ration/result.hpp>
#include <ration/units.hpp>

namespace ration::process::detail {

/// The shortest interval of the scans of all processes for which no caller waits.
inline constexpr nanoseconds whole_scan_interval = seconds(2);

/// Most scans read only this process, the known processes of the jobs, and the descendants of both. The orphans of jobs
/// that this process started are among them, since it is their subreaper. A scan of all processes takes milliseconds on
/// a machine with many. It also finds processes of other parents, by their session or environment. Scans for which no
/// caller waits take at most 1 % of the time, regular ones of all processes 0.05 %.
class job_scan {
    process_table table_;
    std::vector<pid_t> known_;   ///< processes of the jobs, ordered
    std::vector<char> claimed_;  ///< rows that belong to a job by descent or session
    nanoseconds last_{}, next_{}, next_whole_{};
    bool lists_children_ = false;
    std::size_t processes_ = 0;  ///< at the last scan of all

public:
    /// The first scan, without jobs. Error: not_found (/proc).
    [[nodiscard]] result<void> open() {
        lists_children_ = lists_children();
        return table_.scan();
    }

    /// Scans all processes. Where memory runs out, or /proc is gone, what is known stays known.
    void run(std::vector<controlled_job>& jobs, guard const& keeper, nanoseconds time) noexcept {
        nanoseconds const spent = spent_here();
        if (!refresh(jobs, keeper, [this] { return table_.scan(); })) return;
        nanoseconds const cost = spent_here() - spent;
        last_ = time;
        processes_ = table_.rows().size();
        next_ = time + std::max(scan_interval, nanoseconds{cost.count * 100});
        next_whole_ = time + std::max(whole_scan_interval, nanoseconds{cost.count * 1000});
    }

    /// Scans the descendants, and all processes if that is due, or if the descendants may not be all that can be found.
    void run_below(std::vector<controlled_job>& jobs, guard const& keeper, nanoseconds time) noexcept {
        if (!lists_children_ || time >= next_whole_ || !costs_less_below(jobs)) return run(jobs, keeper, time);
        nanoseconds const spent = spent_here();
        bool const seen = refresh(jobs, keeper, [&]() -> result<void> {
            list_known(jobs);
            return table_.scan_below(known_, ::getpid());
        });
        if (!seen) return;
        if (std::ranges::any_of(jobs, [](auto const& job) { return job.processes().may_have_strays(); }))
            return run(jobs, keeper, time);
        last_ = time;
        next_ = time + std::max(scan_interval, nanoseconds{(spent_here() - spent).count * 100});
    }

    [[nodiscard]] bool is_due(nanoseconds time) const noexcept { return time >= next_; }
    /// Whether the last scan is that long ago.
    [[nodiscard]] bool is_older(nanoseconds age, nanoseconds time) const noexcept { return time >= last_ + age; }

private:
    /// False if memory runs out, or if processes cannot be read.
    template <class Scan>
    [[nodiscard]] bool refresh(std::vector<controlled_job>& jobs, guard const& keeper, Scan&& scan) noexcept {
        return static_cast<bool>(or_no_memory("list processes", "/proc", [&]() -> result<void> {
            if (auto const scanned = scan(); !scanned) return scanned;
            claimed_.assign(table_.rows().size(), 0);
            for (controlled_job& job : jobs) job.find_kin(table_, claimed_);
            for (controlled_job& job : jobs) job.complete(table_, claimed_, keeper);
            return {};
        }));
    }

    /// By the numbers of system calls, see `process_table`.
    [[nodiscard]] bool costs_less_below(std::vector<controlled_job> const& jobs) const noexcept {
        std::size_t known = 0;
        for (controlled_job const& job : jobs) known += job.processes().members().size();
        return 7 * known < 3 * processes_;
    }

    void list_known(std::vector<controlled_job> const& jobs) {
        known_.clear();
        for (controlled_job const& job : jobs)
            for (tree::member const& m : job.processes().members()) known_.push_back(m.info.pid);
        std::ranges::sort(known_);
    }
};

}  // namespace ration::process::detail
