// SPDX-License-Identifier: BSL-1.0
// A cluster in which jobs come and go, and nodes fail and return, at random: what holds for every policy at every tick.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ration/host/rng_sequence.hpp>

#include "cluster_host.hpp"
#include "support/allocations.hpp"

namespace unit {

/// Worlds that each policy lives through; one has 400 ticks.
inline constexpr std::uint64_t random_seeds = 5;

/// A job that scales less and less well, on some types better than on others.
[[nodiscard]] inline cluster_job random_job(ration::rng_sequence& rng, bool rigid, std::uint32_t types,
                                            std::int64_t widest) {
    cluster_job j;
    std::int64_t const sizes[] = {1, 1, 1, 2, 2, 4, 8, 12};
    j.request = sizes[rng.below(8)];
    if (!rigid) {
        j.least = 1 + static_cast<std::int64_t>(rng.below(2));
        j.most = j.request + 4;
    }
    if (j.least > j.request) j.least = j.request;
    j.length = static_cast<double>(1 + rng.below(2000));
    j.rate = static_cast<double>(1 + rng.below(3));
    j.tenant = static_cast<std::uint32_t>(rng.below(3));
    j.weight = static_cast<double>(1 + rng.below(3));
    j.deadline = j.request % 2 == 0 ? -1 : 500 + 60 * j.length * j.weight / 10;
    double const loss = 0.02 * static_cast<double>(rng.below(20));
    for (std::uint32_t type = 0; type < types; ++type) {
        double const one = j.rate * static_cast<double>(1 + rng.below(4));
        for (std::int64_t k = 0; k <= widest; ++k)
            j.goodput.push_back(k < (rigid ? j.request : 1) || k > (rigid ? j.request : j.most)
                                    ? 0
                                    : one * static_cast<double>(k) / (1 + loss * static_cast<double>(k - 1)));
    }
    return j;
}

/// The first rule that was broken in `ticks` ticks; empty when none was. `settles`: asked again at once, the policy
/// changes nothing.
template <class P>
[[nodiscard]] std::string trouble(std::uint64_t seed, P p, bool rigid, std::uint32_t types = 1, bool settles = true,
                                  int ticks = 400) {
    ration::rng_sequence rng(seed);
    std::vector<std::int64_t> capacities;
    std::vector<std::uint32_t> of_type;
    for (std::uint32_t n = 0; n < 6; ++n) {
        capacities.push_back(n % 3 == 2 ? 8 : 4);
        of_type.push_back(n % types);
    }
    cluster<P> c(capacities, p, of_type, 16);
    c.allocations = allocations;
    c.whole_requests = rigid;
    for (int tick = 0; tick < ticks && c.fault.empty(); ++tick) {
        c.pass(static_cast<double>(rng.below(120)));
        for (std::size_t row = c.jobs(); row-- > 0;)
            if (c.devices_of(c.id_of(row)) > 0 ? rng.below(12) == 0 : rng.below(60) == 0) c.end(c.id_of(row));
        for (std::uint64_t n = rng.below(3); n > 0; --n) c.submit(random_job(rng, rigid, types, 16));
        if (rng.below(20) == 0) {
            auto const node = rng.below(6);
            c.capacity(node) =
                c.capacity(node) == capacities[node] ? static_cast<std::int64_t>(rng.below(4)) : capacities[node];
        }
        c.decide();
        if (!settles || !c.fault.empty()) continue;
        c.decide();
        if (!c.answer.empty()) return "changes its mind, tick " + std::to_string(tick);
    }
    return c.fault;
}

}  // namespace unit
