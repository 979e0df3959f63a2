// SPDX-License-Identifier: BSL-1.0
/// Detects that a run cannot go further: jobs wait, and none of them will start.
///
/// Part of simulation.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ration/sim/needs.hpp>
#include <ration/sim/workload.hpp>

namespace ration::sim {

/// Counts ticks without progress, and jobs that need more devices than there are. Such jobs do not lengthen a run.
class starvation {
    static constexpr std::uint64_t most_idle_rounds = 10'000;  // a week of minutes

    std::int64_t devices_;
    nanoseconds interval_;
    nanoseconds last_change_{0};
    std::uint64_t idle_rounds_ = 0;
    std::size_t stuck_ = 0;

public:
    /// `interval`: as in `sim_options`.
    starvation(cluster const& machines, nanoseconds interval) noexcept
        : devices_(devices_of(machines)), interval_(interval) {}

    /// A job has arrived. O(1).
    void arrive(job_description const& job, nanoseconds now) noexcept {
        if (job.least > devices_)
            ++stuck_;
        else
            last_change_ = now;
    }
    /// Something has happened that can let a job start, or a grant was applied.
    void note_change(nanoseconds now) noexcept { last_change_ = now; }
    /// The last time at which something changed: the end of a run that has starved.
    [[nodiscard]] nanoseconds last_change() const noexcept { return last_change_; }

    /// True if none of the active jobs can ever start.
    [[nodiscard]] bool is_final(std::size_t active) const noexcept { return active > 0 && active == stuck_; }
    /// Counts a tick. `idle`: no job makes progress, and none will arrive. True if the policy had time enough to start
    /// one.
    [[nodiscard]] bool takes_too_long(bool idle) noexcept {
        idle_rounds_ = idle ? idle_rounds_ + 1 : 0;
        return idle && (interval_.count <= 0 || idle_rounds_ > most_idle_rounds);
    }
};

}  // namespace ration::sim
