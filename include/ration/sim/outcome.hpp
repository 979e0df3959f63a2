// SPDX-License-Identifier: BSL-1.0
/// The results of a workload under a policy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include <ration/host/check.hpp>
#include <ration/host/tick_report.hpp>
#include <ration/sim/model.hpp>
#include <ration/units.hpp>

namespace ration::sim {

/// An amount that a job uses, and the amount that its limit reserves.
struct reserved_amount {
    double used = 0, reserved = 0;
};
/// Both over time: their present values, and their integrals up to the last change.
struct reserved_use {
    reserved_amount now, sum;

    void advance(double seconds) noexcept {
        sum.used += now.used * seconds;
        sum.reserved += now.reserved * seconds;
    }
};
/// The use of a job with phases. A job without a limit reserves its own largest demand.
struct job_use {
    nanoseconds since{0};  ///< the last change
    reserved_use cpu{}, memory{};

    /// Sums up to a time. Call it before a change.
    void advance(nanoseconds to) noexcept {
        double const passed = to_seconds(to - since);
        cpu.advance(passed);
        memory.advance(passed);
        since = to;
    }
};

/// The results of one simulated job. A time of -1 means never.
struct job_outcome {
    /// Time of its arrival.
    nanoseconds submitted{0};
    nanoseconds started{-1};   ///< when it first held devices or cores; -1 = never
    nanoseconds finished{-1};  ///< -1 = never
    /// When the first and the second tier of its loss were reached; -1 = never
    nanoseconds acceptable{-1}, objective{-1};
    double device_seconds = 0;  ///< held, with or without progress
    /// Changes of its devices after the first start.
    std::uint32_t restarts = 0;
    bool released = false;            ///< its policy ended it at the last tier of its loss, before its own end
    std::uint32_t stops = 0;          ///< number of stops by faults
    std::uint32_t kills = 0;          ///< and by its own memory limit
    std::uint32_t kills_in_vain = 0;  ///< of them those since `furthest`
    double furthest = -1;             ///< the most steps of the job at one of them
    request_gap requests{};           ///< of a service, from its submission on
    job_use use{};                    ///< of a job with phases
    double lost_steps = 0, lost_device_seconds = 0;  ///< work since the last checkpoint before each of them

    /// Counts a kill after this number of steps. True if kills hold the job back forever.
    [[nodiscard]] bool note_kill(double steps) noexcept {
        constexpr std::uint32_t most_in_vain = 1000;
        ++kills;
        kills_in_vain = steps > furthest ? 0 : kills_in_vain + 1;
        furthest = steps > furthest ? steps : furthest;
        return kills_in_vain >= most_in_vain;
    }

    /// Keeps the first time of each reached tier.
    void note_tier(std::uint32_t reached, nanoseconds now) noexcept {
        if (reached > 0 && acceptable.count < 0) acceptable = now;
        if (reached > 1 && objective.count < 0) objective = now;
    }
};

/// What the jobs of one tenant have read, of those that read a data set.
struct tenant_reads {
    double bytes = 0, cached = 0;           ///< cached: of them from the cache
    double running = 0, at_full_speed = 0;  ///< seconds of their steps, and what these take with all data cached
};

/// The first grant of a run that was rejected.
struct bad_grant {
    /// The number of the tick.
    std::uint64_t tick = 0;
    /// Its simulated time.
    nanoseconds at{0};
    /// The grant.
    grant row;
    std::uint64_t job = 0;  ///< id of the job, its index in the workload plus 1; 0 = the grant names no job
    /// The rule that it breaks.
    check_rule rule = check_rule::passed;
};

/// Receives the changes of jobs during a run. Ids are indices in the workload plus 1; times never
/// decrease. The run does not own it.
class run_observer {
public:
    /// The job has arrived.
    virtual void submitted(nanoseconds now, std::uint64_t job) noexcept = 0;
    /// The job holds this number of devices from now on; 0 also when it has ended, or lost them.
    virtual void holds(nanoseconds now, std::uint64_t job, std::int64_t devices) noexcept = 0;
    /// The same for a job on processors: its number of cores.
    virtual void uses(nanoseconds, std::uint64_t, double) noexcept {}
    /// The job on processors runs on this node from now on: at its first cores, and at each change
    /// of its node.
    virtual void runs_on(nanoseconds, std::uint64_t, std::uint32_t) noexcept {}
    /// The job has ended.
    virtual void finished(nanoseconds now, std::uint64_t job) noexcept = 0;
    /// The whole outcome of a job: when it ends, and at the end of the run for each job that has arrived and not ended.
    virtual void outcome_of(std::uint64_t, job_description const&, job_outcome const&) noexcept {}

protected:
    run_observer() = default;
    run_observer(run_observer const&) = default;
    run_observer& operator=(run_observer const&) = default;
    ~run_observer() = default;
};

/// The reason for the end of a run.
enum class ending : std::uint8_t {
    /// Every job has ended.
    all_done,
    starved,    ///< jobs wait, no job runs, and the policy starts none
    bad_grant,  ///< the policy made an invalid grant, and the run had to stop then
    /// The simulated time has reached the limit.
    time_limit,
    out_of_memory,  ///< a memory limit kills a job again and again, and it makes no progress
};

/// The reason as a sentence for the report.
[[nodiscard]] constexpr std::string_view name_of(ending how) noexcept {
    switch (how) {
        case ending::all_done: return "all jobs are done";
        case ending::starved: return "jobs wait, nothing runs, and the policy starts none of them";
        case ending::bad_grant: return "the policy made a grant that the rules do not allow";
        case ending::time_limit: return "the time limit was reached";
        case ending::out_of_memory: return "a memory limit kills a job again and again before it makes progress";
    }
    return "unknown";
}

/// The result of a simulated run: one outcome for each job, and totals.
struct run_outcome {
    /// The reason for its end.
    ending how = ending::all_done;
    nanoseconds end{0};             ///< simulated time of the end
    std::vector<job_outcome> jobs;  ///< in the order of the workload; empty for a stream
    /// Ticks, events, applied changes, rejected grants, and ticks in which the fallback answered.
    std::uint64_t ticks = 0, events = 0, changes = 0, rejected = 0, refused_ticks = 0;
    /// The first rejected grant, if there was one.
    std::optional<bad_grant> first_bad;
    std::uint64_t faults = 0;           ///< up to `end`; returns of nodes do not count
    double capacity_seconds = 0;        ///< device-seconds that were available up to `end`
    std::vector<tenant_reads> reads{};  ///< by tenant; empty without a cache
    /// The price of all device-hours that jobs held; NaN without prices
    double cost = std::numeric_limits<double>::quiet_NaN();

    /// Counts the rejected grants of a tick, and keeps the first one, which is of this job.
    void note_rejections(tick_report const& report, std::uint64_t job) {
        rejected += report.rejected.size();
        auto const& first = report.rejected[0];
        if (!first_bad) first_bad = bad_grant{report.number, report.now, report.grants[first.row], job, first.rule};
    }
};

}  // namespace ration::sim
