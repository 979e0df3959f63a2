// SPDX-License-Identifier: BSL-1.0
/// Jobs that run on the processors of nodes instead of on devices.
///
/// Part of simulation.hpp. cpu_sharing.hpp divides the cores of one node.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <ration/sim/cpu_sharing.hpp>
#include <ration/sim/job_speeds.hpp>
#include <ration/sim/live_jobs.hpp>
#include <ration/sim/outcome.hpp>
#include <ration/sim/phased_jobs.hpp>
#include <ration/sim/sim_options.hpp>

namespace ration::sim {

/// Runs jobs on processors. If only the first node has cores, jobs run there from their arrival; a
/// policy can limit them, and does not start them. If other nodes have cores as well
/// (`has_to_place`), a job runs on the node where it holds CPU, and waits while it holds none. The
/// cores of a node are divided again when a job comes or goes or a limit changes, once for all
/// changes at one time.
class cpu_jobs {
    snapshot_store& store_;
    sim_columns const& columns_;
    live_jobs& live_;
    ledger const& holdings_;
    job_speeds& speed_segments_;
    job_records& records_;
    phased_jobs& phased_;
    run_observer* observer_;
    buffer<cpu_claim> claims_;
    bool changed_ = false;  // the jobs on processors, or their limits, have changed
    bool placed_ = false;   // jobs run only where they hold CPU
    double most_used_;      // of the cores of a node

public:
    /// All arguments but `options` have to outlive the object.
    cpu_jobs(snapshot_store& store, sim_columns const& columns, live_jobs& live, ledger const& holdings,
             job_speeds& speed_segments, job_records& records, phased_jobs& phased, sim_options const& options) noexcept
        : store_(store), columns_(columns), live_(live), holdings_(holdings), speed_segments_(speed_segments),
          records_(records), phased_(phased), observer_(options.observer), most_used_(options.most_used_cores) {}

    /// Called once before the run.
    void prepare(cluster const& machines) noexcept { placed_ = has_to_place(machines); }

    /// Starts a job at its arrival. Policies see it as running from then on, since `ration run` has
    /// no queue for processors.
    void begin(std::size_t row, nanoseconds now) noexcept {
        store_.at(columns_.standard.state, row) = static_cast<std::uint32_t>(job_state::running);
        live_.mark(row, state_columns);
        live_[row].since = live_[row].began = now;
        changed_ = true;
    }

    /// Takes the cores of a job. Its restart begins when it has cores again, and until its end the job makes no steps.
    void restart(std::size_t row) noexcept {
        live_job& job = live_[row];
        job.cores = store_.at(columns_.of(resource_id::cpu).used, row) = 0;
        job.has_to_restart = true;
        changed_ = true;
    }

    /// The cores have to be divided again.
    void note_change() noexcept { changed_ = true; }

    /// True if the job runs on this node.
    [[nodiscard]] bool is_on(std::size_t row, std::uint32_t node) const noexcept {
        auto const held = holdings_.of({live_.id(row)});
        return !waits(held) && cpu_node_of(held) == node;
    }

    /// True if a job has reached its last tier and its policy has withdrawn its CPU: the job has
    /// reached its goal.
    [[nodiscard]] bool is_released(std::size_t row) const noexcept {
        auto const all = holdings_.of({live_.id(row)});
        std::uint32_t const tiers = store_.at(columns_.standard.tiers, row);
        return has_cores() && all.first == all.last && tiers > 0 && store_.at(columns_.standard.tier, row) == tiers;
    }

    /// Divides the cores, if anything has changed; false if nothing has. O(n log n).
    bool share(nanoseconds now) noexcept {
        if (!changed_) return false;
        changed_ = false;
        claim();
        for (std::size_t first = 0, last = 0; first < claims_.size(); first = last) {
            std::uint32_t const node = claims_[first].node;
            while (last < claims_.size() && claims_[last].node == node) ++last;
            share_fairly(claims_.edit().subspan(first, last - first), std::min(cores(node), most_used_));
        }
        for (auto const& claim : claims_) give(claim, now);
        return true;
    }

private:
    /// True if the job has to be placed and holds no CPU.
    [[nodiscard]] bool waits(holding_range held) const noexcept { return placed_ && held.first == held.last; }

    /// Sets the cores of a job, and records and reports the change.
    void give(cpu_claim const& claim, nanoseconds now) noexcept {
        phased_.follow(claim, now);
        live_job& job = live_[claim.row];
        bool const moves = claim.given > 0 && job.node != claim.node;
        if (job.cores == claim.given && !moves) return;
        std::uint64_t const id = live_.id(claim.row);
        job_outcome& outcome = records_.outcome(claim.row, id);
        speed_segments_.bring_up(claim.row, now);
        job.cores = claim.given;
        if (claim.given > 0 && std::exchange(job.has_to_restart, false))
            job.since = job.began = later_by(now, seconds(live_.description(claim.row).restart_cost));
        store_.at(columns_.of(resource_id::cpu).used, claim.row) = claim.given * 1000;
        if (claim.given > 0 && outcome.started.count < 0) {
            outcome.started = now;
            store_.at(columns_.standard.started, claim.row) = now.count;
            live_.mark(claim.row, state_columns);
        }
        if (moves) job.node = claim.node;
        if (moves && observer_ != nullptr) observer_->runs_on(now, id, claim.node);
        if (observer_ != nullptr) observer_->uses(now, id, claim.given);
        speed_segments_.set(claim.row, now);
    }

    /// The cores of a node; 0 while the node is lost.
    [[nodiscard]] double cores(std::uint32_t node) const noexcept {
        return static_cast<double>(store_.at(columns_.of(resource_id::cpu).capacity, node)) / 1000;
    }
    /// True if any node has cores now; without cores a job holds no CPU although it was not
    /// released.
    [[nodiscard]] bool has_cores() const noexcept {
        for (std::uint32_t node = 0; node < store_.rows(table_id::nodes); ++node)
            if (cores(node) > 0) return true;
        return false;
    }

    /// Lists the running jobs by node, with the cores that each may use.
    void claim() noexcept {
        claims_.clear();
        for (std::size_t row = 0; row < live_.rows(); ++row) {
            double const useful = live_.is_active(row) ? demand_of(live_, row).cores : 0;
            if (!(useful > 0)) continue;
            auto const held = holdings_.of({live_.id(row)});
            double const limit = limit_in_cores(held);
            claims_.push_back({.row = static_cast<std::uint32_t>(row),
                               .node = cpu_node_of(held),
                               .most = waits(held) ? 0 : std::min(limit, useful),
                               .useful = useful,
                               .limit = limit});
        }
        if (!placed_) return;
        ration::detail::sort(claims_.data(), claims_.size(), [](cpu_claim const& a, cpu_claim const& b) {
            return a.node != b.node ? a.node < b.node : a.row < b.row;
        });
    }
};

}  // namespace ration::sim
