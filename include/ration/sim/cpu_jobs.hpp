// SPDX-License-Identifier: BSL-1.0
/// The jobs that run on the processors of one machine instead of on devices.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ration/sim/cpu_sharing.hpp>
#include <ration/sim/job_paces.hpp>
#include <ration/sim/live_jobs.hpp>
#include <ration/sim/outcome.hpp>

namespace ration::sim {

/// They run from when they come, as on one box: a policy limits them, and does not start them. What they get of the first node's cores is shared anew
/// whenever one comes or goes or a limit changes, once for all that happens at one time.
class cpu_jobs {
    snapshot_store& store_;
    sim_columns const& columns_;
    live_jobs& live_;
    ledger const& holdings_;
    job_paces& paces_;
    run_observer* observer_;
    buffer<cpu_claim> claims_;
    bool changed_ = false;  // who shares the processors, or within which limits

public:
    /// All of them outlive it; `observer` may be nullptr.
    cpu_jobs(snapshot_store& store, sim_columns const& columns, live_jobs& live, ledger const& holdings, job_paces& paces, run_observer* observer) noexcept
        : store_(store), columns_(columns), live_(live), holdings_(holdings), paces_(paces), observer_(observer) {}

    void begin(std::size_t row, nanoseconds now) noexcept {
        store_.at(columns_.standard.started, row) = now.count;
        store_.at(columns_.standard.state, row) = static_cast<std::uint32_t>(job_state::running);
        live_[row].since = live_[row].began = now;
        changed_ = true;
    }

    /// The cores have to be shared anew.
    void note_change() noexcept { changed_ = true; }

    /// Whoever has reached its last tier and is taken its CPU away has served its purpose.
    [[nodiscard]] bool is_released(std::size_t row) const noexcept {
        auto const all = holdings_.of({live_.id(row)});
        std::uint32_t const tiers = store_.at(columns_.standard.tiers, row);
        return cores() > 0 && all.first == all.last && tiers > 0 && store_.at(columns_.standard.tier, row) == tiers;
    }

    /// Gives each its part, if anything has changed. O(n log n) then.
    void share(nanoseconds now) noexcept {
        if (!changed_) return;
        changed_ = false;
        claim();
        share_fairly(claims_.edit(), cores());
        for (auto const& claim : claims_) {
            if (live_[claim.row].cores == claim.given) continue;
            paces_.bring_up(claim.row, now);
            live_[claim.row].cores = claim.given;
            store_.at(columns_.of(resource_id::cpu).used, claim.row) = claim.given * 1000;
            if (observer_ != nullptr) observer_->uses(now, live_.id(claim.row), claim.given);
            paces_.set(claim.row, now);
        }
    }

private:
    [[nodiscard]] double cores() const noexcept { return static_cast<double>(store_.at(columns_.of(resource_id::cpu).capacity, 0)) / 1000; }

    /// Who runs here, and how much of it each may use.
    void claim() noexcept {
        claims_.clear();
        for (std::size_t row = 0; row < live_.rows(); ++row) {
            double const useful = live_.is_active(row) ? live_.cores(row) : 0;
            if (useful > 0) claims_.push_back({.row = static_cast<std::uint32_t>(row), .most = limit_of(holdings_.of({live_.id(row)}), useful)});
        }
    }
};

}  // namespace ration::sim
