// SPDX-License-Identifier: BSL-1.0
/// What became of a workload under a policy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <ration/host/check.hpp>
#include <ration/units.hpp>

namespace ration::sim {

/// The times, restarts and device-seconds of one simulated job. A time of -1 means never.
struct job_outcome {
    nanoseconds submitted{0};
    nanoseconds started{-1};   ///< when it first held what it runs on; -1 = never
    nanoseconds finished{-1};  ///< -1 = never
    /// When the first and the second tier of its loss were reached; -1 = not
    nanoseconds acceptable{-1}, objective{-1};
    double device_seconds = 0;  ///< held, with or without progress
    std::uint32_t restarts = 0;
    bool released = false;    ///< its policy ended it at the last tier of its loss, before its own end
    std::uint32_t stops = 0;  ///< by faults
    double lost_steps = 0, lost_device_seconds = 0;  ///< since the last checkpoint before each of them
};

/// The first grant of a run that the check refused.
struct bad_grant {
    std::uint64_t tick = 0;
    nanoseconds at{0};
    grant row;
    std::uint64_t job = 0;  ///< its id, a place in the workload counted from 1; 0 = the grant names none
    check_rule rule = check_rule::passed;
};

/// Hears what happens to jobs while it happens. Ids are places in the workload, counted from 1; times do not go back.
class run_observer {
public:
    virtual void submitted(nanoseconds now, std::uint64_t job) noexcept = 0;
    /// From now on it holds so many devices; none as well when it is done, or lost them.
    virtual void holds(nanoseconds now, std::uint64_t job, std::int64_t devices) noexcept = 0;
    /// The same of a job that runs on processors: so many cores.
    virtual void uses(nanoseconds, std::uint64_t, double) noexcept {}
    /// The same job runs on this node from now on: when it gets its first cores, and when it gets some on another node.
    virtual void runs_on(nanoseconds, std::uint64_t, std::uint32_t) noexcept {}
    virtual void finished(nanoseconds now, std::uint64_t job) noexcept = 0;

protected:
    run_observer() = default;
    run_observer(run_observer const&) = default;
    run_observer& operator=(run_observer const&) = default;
    ~run_observer() = default;
};

/// How a run ended.
enum class ending : std::uint8_t {
    all_done,
    starved,    ///< jobs wait, nothing runs, and the policy starts none of them
    bad_grant,  ///< the policy granted what the rules do not allow, and the run was to stop then
    time_limit,
};

[[nodiscard]] constexpr std::string_view name_of(ending how) noexcept {
    switch (how) {
        case ending::all_done: return "all jobs are done";
        case ending::starved: return "jobs wait, nothing runs, and the policy starts none of them";
        case ending::bad_grant: return "the policy granted what the rules do not allow";
        case ending::time_limit: return "the time limit was reached";
    }
    return "unknown";
}

/// The result of a simulated run: one outcome for each job, and totals.
struct run_outcome {
    ending how = ending::all_done;
    nanoseconds end{0};             ///< of the simulated time
    std::vector<job_outcome> jobs;  ///< in the workload's order
    std::uint64_t ticks = 0, events = 0, changes = 0, rejected = 0, refused_ticks = 0;
    std::optional<bad_grant> first_bad;
    std::uint64_t faults = 0;     ///< until `end`; returns are none
    double capacity_seconds = 0;  ///< device-seconds that there were until `end`
};

}  // namespace ration::sim
