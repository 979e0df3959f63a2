// SPDX-License-Identifier: BSL-1.0
// Long waits where jobs are packed and where they are spread; counted in a replay of Microsoft's Philly cluster, as
// FfDL's authors replay a cluster of theirs. Source: as ffdl.hpp; trace: msr-fiddle/philly-traces, in the format of
// Pollux' artifact.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <ration/policies/gang.hpp>
#include <ration/sim/trace/read.hpp>

#include "scene.hpp"

namespace published::ffdl {

/// How many jobs of each size wait for more than 15 minutes.
struct long_waits {
    std::size_t all = 0, large = 0;
};

template <Policy P>
[[nodiscard]] long_waits waits_under(sim::workload const& w, std::size_t nodes, P const& rule) {
    auto const run = simulate(w, nodes_of(nodes, 4), rule);
    long_waits found;
    for (std::size_t j = 0; j < w.jobs.size(); ++j) {
        bool const is_long =
            run.jobs[j].started.count < 0 || run.jobs[j].started - run.jobs[j].submitted > seconds(900);
        found.all += is_long;
        found.large += is_long && w.jobs[j].request >= 4;
    }
    return found;
}

inline constexpr std::size_t placed_nodes = 100;

/// Long waits under both placements, one value for each run.
struct placed {
    std::vector<double> spread, pack, ratio;
    bool are_equal = true;

    void add(long_waits const& wide, long_waits const& narrow) {
        spread.push_back(static_cast<double>(wide.all));
        pack.push_back(static_cast<double>(narrow.all));
        ratio.push_back(static_cast<double>(wide.all) / static_cast<double>(std::max<std::size_t>(narrow.all, 1)));
        are_equal = are_equal && wide.all == narrow.all;
    }
};

/// The jobs that were submitted in one of `of` stretches of equal length.
[[nodiscard]] inline sim::workload segment_of(sim::workload const& all, std::size_t which, std::size_t of) {
    double const begin = to_seconds(all.jobs.front().submitted),
                 length = (to_seconds(all.jobs.back().submitted) - begin) / static_cast<double>(of);
    double const from = begin + length * static_cast<double>(which), to = which + 1 == of ? 1e18 : from + length;
    sim::workload w;
    w.models = all.models;
    w.model_names = all.model_names;
    w.tenants = all.tenants;
    for (auto job : all.jobs) {
        if (to_seconds(job.submitted) < from || to_seconds(job.submitted) >= to) continue;
        job.submitted = job.submitted - seconds(from);
        w.jobs.push_back(job);
    }
    return w;
}

/// Five stretches of the trace on 400 devices at its own times. Jobs of several learners are gangs under both
/// placements. In FfDL's queue a job that does not fit holds back all later ones; the other queue lets them pass.
inline void replay_philly(char const* path, findings& found) {
    constexpr std::size_t segments = 5;
    auto const all = sim::trace::read_file(path, {});
    RATION_ASSERT(all, "the trace of Philly cannot be read");
    double const days = to_seconds(all->jobs.back().submitted - all->jobs.front().submitted) / 86400 / segments;
    for (bool const passes : {false, true}) {
        found.print(
            "\n| stretch of %.1f days of Philly, %s | jobs | load | spread (of these 4 devices and more) | pack | ratio |\n|---|---|---|---|---|---|\n",
            days, passes ? "later jobs pass" : "FfDL's queue");
        placed sums;
        for (std::size_t n = 0; n < segments; ++n) {
            auto const w = segment_of(*all, n, segments);
            double work = 0;
            for (auto const& job : w.jobs) work += job.length * static_cast<double>(job.request);
            auto const wide =
                waits_under(w, placed_nodes,
                            policies::gang({.placement = policies::learner_placement::spread, .backfill = passes}));
            auto const narrow = waits_under(w, placed_nodes, policies::gang({.backfill = passes}));
            sums.add(wide, narrow);
            found.print("| %zu | %zu | %.0f %% | %zu (%zu) | %zu (%zu) | %.2f |\n", n + 1, w.jobs.size(),
                        100 * work / (400 * 86400 * days), wide.all, wide.large, narrow.all, narrow.large,
                        sums.ratio.back());
            found.expect(
                wide.large >= narrow.large,
                "Philly: no more long waits of large jobs where jobs are packed, in stretch " + std::to_string(n + 1));
            if (!passes)
                found.expect(wide.all >= narrow.all,
                             "Philly, FfDL's queue: no more long waits where jobs are packed, in stretch " +
                                 std::to_string(n + 1));
        }
        found.print("| median (least to most) | | | %s | %s | %s |\n", over_seeds(sums.spread).text(0).c_str(),
                    over_seeds(sums.pack).text(0).c_str(), over_seeds(sums.ratio).text(2).c_str());
    }
}

}  // namespace published::ffdl
