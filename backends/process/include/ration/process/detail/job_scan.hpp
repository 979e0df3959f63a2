// SPDX-License-Identifier: BSL-1.0
/// Scans of all processes of the machine for all jobs at once, and when the next one is due.
#pragma once

#include <algorithm>
#include <vector>

#include <ration/host/no_memory.hpp>
#include <ration/process/detail/guard.hpp>
#include <ration/process/detail/job.hpp>
#include <ration/process/proc.hpp>
#include <ration/result.hpp>
#include <ration/units.hpp>

namespace ration::process::detail {

/// A scan takes milliseconds on a machine with many processes. Scans for which no caller waits take at most 1 % of the
/// time.
class job_scan {
    process_table table_;
    std::vector<char> claimed_;  ///< rows that belong to a job by descent or session
    nanoseconds last_{}, next_{};

public:
    /// The first scan, without jobs. Error: not_found (/proc).
    [[nodiscard]] result<void> open() { return table_.scan(); }

    /// Where memory runs out, or /proc is gone, what is known stays known.
    void run(std::vector<controlled_job>& jobs, guard const& keeper, nanoseconds time) noexcept {
        nanoseconds const spent = spent_here();
        auto const seen = or_no_memory("list processes", "/proc", [&]() -> result<void> {
            if (auto const scanned = table_.scan(); !scanned) return scanned;
            claimed_.assign(table_.rows().size(), 0);
            for (controlled_job& job : jobs) job.find_kin(table_, claimed_);
            for (controlled_job& job : jobs) job.complete(table_, claimed_, keeper);
            return {};
        });
        if (!seen) return;
        last_ = time;
        next_ = time + std::max(scan_interval, nanoseconds{(spent_here() - spent).count * 100});
    }

    [[nodiscard]] bool is_due(nanoseconds time) const noexcept { return time >= next_; }
    /// Whether the last scan is that long ago.
    [[nodiscard]] bool is_older(nanoseconds age, nanoseconds time) const noexcept { return time >= last_ + age; }
};

}  // namespace ration::process::detail
