// SPDX-License-Identifier: BSL-1.0
/// Faults of a simulated cluster, generated from rates and a seed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include <ration/sim/rng.hpp>
#include <ration/sim/server_lifetimes.hpp>
#include <ration/sim/workload.hpp>

namespace ration::sim {

/// The kind of a fault.
enum class fault_kind : std::uint8_t {
    node_lost,  ///< jobs there stop
    /// The node is available again.
    node_back,
    job_crashes,  ///< the job that holds a device of the node stops; no effect on a free device
    node_slows,   ///< its devices and processors run at `speed` from then on
};

/// One fault of a simulated run: its time, its kind and its object.
struct fault {
    /// The simulated time.
    nanoseconds at{0};
    /// The kind of the event.
    fault_kind what = fault_kind::node_lost;
    /// Index of the node.
    std::uint32_t node = 0;
    std::uint32_t device =
        0;             ///< of `job_crashes`; devices of a node are counted in the order of the jobs that hold them
    double speed = 1;  ///< of `node_slows`: a share of the usual speed; 1 = normal again
};

/// True for a fault, false for its end.
[[nodiscard]] constexpr bool is_bad(fault const& f) noexcept {
    return f.what != fault_kind::node_back && !(f.what == fault_kind::node_slows && f.speed >= 1);
}

/// The rates of faults. Times are in seconds; 0 = never.
struct fault_rates {
    /// Of one node: mean times from its return to its next loss, and from a loss to the return;
    /// both exponential
    double loss_every = 0, repair = 3600;
    std::optional<server_lifetime> lifetime{};  ///< nodes are transient servers; each is replaced when it is revoked
    double startup = 0;                         ///< of the replacement; 0 = the measured time for its GPU
    double crash_every = 0;                     ///< of one device: mean time between two crashes, exponential
    /// Of one node: mean times at full speed and at reduced speed; both exponential
    double slow_every = 0, slow_lasts = 600;
    double slow_speed = 0.5;  ///< a share of the usual speed

    /// Losses per second to be expected of a node that has been up for `age` seconds.
    [[nodiscard]] constexpr double hazard(double age) const noexcept {
        return (loss_every > 0 ? 1 / loss_every : 0) + (lifetime ? lifetime->hazard(age) : 0);
    }
};

namespace detail {

/// Generates alternating good and bad times, until a bad one would begin after `horizon`; a bad
/// time that has begun ends. `good` and `bad` return the seconds of the n-th time; `report`
/// receives n, begin and end of each bad time.
template <class Good, class Bad, class Say>
void alternate(nanoseconds horizon, Good const& good, Bad const& bad, Say const& report) {
    // Two faults of one kind never affect one node at the same time, so their order is always
    // defined
    constexpr nanoseconds least{1};
    nanoseconds now{0};
    for (std::uint64_t turn = 0;; ++turn) {
        now = now + least + seconds(good(turn));
        if (horizon < now) return;
        nanoseconds const begin = now;
        now = now + least + seconds(bad(turn));
        report(turn, begin, now);
    }
}

/// A stream of random numbers for each kind of fault and each node, far from the streams of
/// workloads.
[[nodiscard]] inline rng rng_of(std::uint64_t seed, std::uint64_t kind, std::uint32_t node) noexcept {
    return rng(seed, (kind + 1) << 40 | node);
}

/// Appends all faults of one node.
inline void add_faults(fault_rates const& rates, std::uint32_t node, std::int64_t devices, std::uint64_t seed,
                       nanoseconds horizon, std::vector<fault>& to) {
    auto const outage = [&](std::uint64_t, nanoseconds from, nanoseconds until) {
        to.push_back({.at = from, .what = fault_kind::node_lost, .node = node});
        to.push_back({.at = until, .what = fault_kind::node_back, .node = node});
    };
    rng const loss = rng_of(seed, 0, node), life = rng_of(seed, 1, node), crash = rng_of(seed, 2, node),
              slow = rng_of(seed, 3, node);
    if (rates.loss_every > 0)
        alternate(
            horizon, [&](auto turn) { return rates.loss_every * loss.exponential(2 * turn); },
            [&](auto turn) { return rates.repair * loss.exponential(2 * turn + 1); }, outage);
    if (rates.lifetime) {
        double const startup = rates.startup > 0 ? rates.startup : measured_startup(rates.lifetime->gpu);
        alternate(
            horizon, [&](auto turn) { return rates.lifetime->at(life.uniform(turn)); }, [&](auto) { return startup; },
            outage);
    }
    if (rates.crash_every > 0 && devices > 0)
        alternate(
            horizon,
            [&](auto turn) { return rates.crash_every / static_cast<double>(devices) * crash.exponential(2 * turn); },
            [](auto) { return 0.0; },
            [&](std::uint64_t turn, nanoseconds at, nanoseconds) {
                auto const device = crash.below(static_cast<std::uint32_t>(devices), 2 * turn + 1);
                to.push_back({.at = at, .what = fault_kind::job_crashes, .node = node, .device = device});
            });
    if (rates.slow_every > 0)
        alternate(
            horizon, [&](auto turn) { return rates.slow_every * slow.exponential(2 * turn); },
            [&](auto turn) { return rates.slow_lasts * slow.exponential(2 * turn + 1); },
            [&](std::uint64_t, nanoseconds from, nanoseconds until) {
                to.push_back({.at = from, .what = fault_kind::node_slows, .node = node, .speed = rates.slow_speed});
                to.push_back({.at = until, .what = fault_kind::node_slows, .node = node});
            });
}

}  // namespace detail

/// All faults that begin from 0 to `horizon`, and their ends, in order of time. The result depends
/// on the arguments only, and is the same bits everywhere. Each kind and each node has its own
/// stream, so no other kind and no other node affects it. Preconditions: no time is negative or
/// above a year; `horizon` is at most a century; `slow_speed` is above 0. O(faults x log faults).
[[nodiscard]] inline std::vector<fault> make_faults(fault_rates const& rates, cluster const& machines,
                                                    std::uint64_t seed, nanoseconds horizon) {
    std::vector<fault> all;
    std::uint32_t node = 0;
    for (auto const& group : machines.groups)
        for (std::size_t n = 0; n < group.nodes; ++n, ++node)
            detail::add_faults(rates, node, group.devices, seed, horizon, all);
    std::sort(all.begin(), all.end(), [](fault const& a, fault const& b) {
        return std::tie(a.at.count, a.node, a.what) < std::tie(b.at.count, b.node, b.what);
    });
    return all;
}

}  // namespace ration::sim
