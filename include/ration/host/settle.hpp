// SPDX-License-Identifier: BSL-1.0
/// Settle: which of the grants that passed are worth acting upon now. In the engine, so that no policy has to do it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <ration/host/checked_grant.hpp>
#include <ration/target.hpp>

namespace ration {

/// Why a grant was not acted upon now.
enum class deferral : std::uint8_t {
    none = 0,
    unchanged,       ///< in force already
    dead_band,       ///< too close to what is in force
    dwell,           ///< the last change of it is too recent
    grace,           ///< the job (re)started too recently to be judged
    restart_cost,    ///< restarting the job costs more than it gains
    group_deferred,  ///< another grant of its group was deferred
    no_room,         ///< what it needs is still held by a grant that was deferred
};

[[nodiscard]] constexpr std::string_view name_of(deferral why) noexcept {
    switch (why) {
        case deferral::none: return "none";
        case deferral::unchanged: return "in force already";
        case deferral::dead_band: return "too close to what is in force";
        case deferral::dwell: return "changed too recently";
        case deferral::grace: return "the job started too recently";
        case deferral::restart_cost: return "a restart costs more than it gains";
        case deferral::group_deferred: return "another grant of its group waits";
        case deferral::no_room: return "what it needs is not free yet";
    }
    return "unknown";
}

/// The hysteresis of an engine: how large, how old and how useful a change must be.
struct settle_rules {
    double dead_band = 0.01;         ///< of the node's capacity; smaller changes wait for a larger one
    nanoseconds dwell = seconds(1);  ///< least time between two changes of one holding
    nanoseconds grace = seconds(2);  ///< time after a (re)start in which a holding does not change
};

/// The facts about a job that settle needs beyond the ledger. `speedup` is throughput at the amount held and at the
/// amount granted over throughput at one device; a job that resizes live has a restart cost of 0.
struct job_estimate {
    nanoseconds started;
    double remaining_seconds = 0;  ///< at what it holds now; NaN = unknown
    double speedup_held = 1, speedup_granted = 1;
    double restart_cost = 0;  ///< seconds
};

/// Seconds that a change saves up to the job's next tier, its restart paid; negative when it is not worth it. NaN =
/// unknown.
[[nodiscard]] constexpr double gain_of(job_estimate const& job) noexcept {
    return job.remaining_seconds * (1 - job.speedup_held / job.speedup_granted) - job.restart_cost;
}

/// Why this one grant should wait; `none` when it should not. A release, and the first grant of its kind, never
/// waits.
[[nodiscard]] constexpr deferral reason_to_wait(settle_rules const& rules, checked_grant const& g, holding const* held,
                                                std::int64_t capacity, job_estimate const& job,
                                                nanoseconds now) noexcept {
    if (g.amount() == g.held) return deferral::unchanged;
    if (g.amount() == 0 || held == nullptr) return deferral::none;
    bool const is_setting = capacity == unlimited, both_limited = g.amount() != unlimited && g.held != unlimited;
    double const change = both_limited ? static_cast<double>(g.amount() - g.held) : static_cast<double>(capacity);
    if (!is_setting && (change < 0 ? -change : change) < rules.dead_band * static_cast<double>(capacity))
        return deferral::dead_band;
    if (now - held->since < rules.dwell) return deferral::dwell;
    if (now - job.started < rules.grace) return deferral::grace;
    if (job.restart_cost > 0 && g.growth() > 0 && gain_of(job) < 0) return deferral::restart_cost;
    return deferral::none;
}

/// A grant that the engine did not carry out in this tick, and the reason.
struct deferred_grant {
    checked_grant grant;
    deferral why = deferral::none;
};

/// Sorts what passed the check into what is to be done now and what waits. Groups go all or none. A deferred grant
/// keeps what it holds, so that the rest may no longer fit; only then the capacities are computed again
/// (docs/adr/0022).
class settler {
    capacity_fit fit_;

public:
    void prepare(std::size_t nodes, std::size_t resources, std::size_t rows) { fit_.prepare(nodes, resources, rows); }

    /// `outlook(grant)` gives the job_outlook, `capacity(node, resource)` the node's. `grants` keeps what is to be done
    /// now; grants that change nothing are dropped from both lists. Precondition: all `grants` together fit, as the
    /// checker leaves them. `tenants` as in `checker::check`. O(grants).
    template <class Outlook, class Capacity>
    void settle(settle_rules const& rules, ledger const& held, nanoseconds now, buffer<checked_grant>& grants,
                buffer<deferred_grant>& deferred, Outlook estimate, Capacity capacity,
                detail::tenant_sums const* tenants = nullptr) noexcept {
        deferred.clear();
        std::size_t kept = 0;
        for (std::size_t first = 0, last = 0; first < grants.size(); first = last) {
            last = end_of_group(grants.view(), first);
            bool whole = true;
            for (std::size_t i = first; i < last; ++i)
                whole &= may_go(wait_of(rules, held, now, grants[i], estimate, capacity));
            for (std::size_t i = first; i < last; ++i) {
                deferral const why = wait_of(rules, held, now, grants[i], estimate, capacity);
                if (why == deferral::unchanged) continue;
                if (whole)
                    grants[kept++] = grants[i];
                else
                    deferred.push_back({grants[i], why == deferral::none ? deferral::group_deferred : why});
            }
        }
        grants.resize(kept);
        if (deferred.empty()) return;
        fit_.fit(held, tenants, grants, capacity,
                 [&](checked_grant const& g, check_rule) { deferred.push_back({g, deferral::no_room}); });
    }

private:
    [[nodiscard]] static bool may_go(deferral why) noexcept {
        return why == deferral::none || why == deferral::unchanged;
    }

    template <class Outlook, class Capacity>
    [[nodiscard]] static deferral wait_of(settle_rules const& rules, ledger const& held, nanoseconds now,
                                          checked_grant const& g, Outlook& estimate, Capacity& capacity) noexcept {
        if (g.amount() == g.held) return deferral::unchanged;  // most are, and need no search
        if (g.amount() == 0 || g.held == 0) return deferral::none;
        return reason_to_wait(rules, g, held.find(g.job, g.node(), g.resource()), capacity(g.node(), g.resource()),
                              estimate(g), now);
    }
};

}  // namespace ration
