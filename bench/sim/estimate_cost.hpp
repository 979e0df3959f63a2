// SPDX-License-Identifier: BSL-1.0
/// The price of not knowing for `good_enough`: its mean JCT when parts of the speeds, and the remaining steps, are
/// estimated. For `bench.sim estimates`, and a short form in tests/simulation.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <ration/estimators/remaining.hpp>
#include <ration/host/estimator_stage.hpp>
#include <ration/policies/fifo.hpp>
#include <ration/policies/good_enough.hpp>
#include <ration/sim/cpu_model.hpp>
#include <ration/sim/learning_model.hpp>
#include <ration/sim/model_library.hpp>
#include <ration/sim/simulation.hpp>

#include "sim/partly_exact_speed.hpp"

namespace ration::bench {

/// The estimates that `good_enough` has in a run.
struct knowledge {
    char const* name;
    bool exact_speeds = false;
    exact_part part = exact_part::none;  ///< of speeds that are not exact
};

/// The rows of the table, from everything to nothing.
inline constexpr knowledge kinds_of_knowledge[] = {
    {"all", true},
    {"the ratios, scaled by the newest measurement", false, exact_part::shape},
    {"the ratios at the start, scaled likewise", false, exact_part::first_shape},
    {"beyond the measured devices", false, exact_part::beyond},
    {"up to the most measured devices", false, exact_part::up_to_most},
    {"on the measured devices, as jobs progress", false, exact_part::measured},
    {"before the first measurement", false, exact_part::unmeasured},
    {"none", false, exact_part::none}};

/// The mean JCT in seconds, on nodes of one size. `estimates_remaining`: the jobs have losses, and the policy reads the
/// estimate of `remaining`. NaN if a job is not done.
[[nodiscard]] inline double mean_jct_of(sim::workload const& jobs, sim::cluster const& machines, knowledge const& known,
                                        bool estimates_remaining, std::uint64_t seed) {
    std::vector<std::string_view> unfilled;
    if (estimates_remaining) unfilled.emplace_back("jobs/remaining");
    if (!known.exact_speeds)
        for (auto const& column : partly_exact_speed::outputs::descriptions) unfilled.push_back(column.name);
    estimator_adapter<estimators::remaining> remaining{estimators::remaining({.uses_totals = false})};
    estimator_adapter<partly_exact_speed> speed{partly_exact_speed(jobs, machines.groups[0].devices, known.part)};
    std::array<any_estimator*, 2> const all{&remaining, &speed};
    estimator_stage stage({.available = all, .unfilled = unfilled});
    policy_adapter<policies::good_enough> policy;
    policy_adapter<policies::fifo> fallback;
    sim::simulation run(jobs, machines, policy, fallback,
                        {.interval = seconds(15), .seed = seed, .estimators = unfilled.empty() ? nullptr : &stage});
    auto const outcome = run.run();
    if (!outcome || outcome->how != sim::ending::all_done) return std::nan("");
    double sum = 0;
    for (auto const& job : outcome->jobs) sum += to_seconds(job.finished - job.submitted);
    return sum / static_cast<double>(outcome->jobs.size());
}

/// The curves of a library that jobs on devices can follow.
[[nodiscard]] inline std::vector<std::shared_ptr<sim::cpu_model const>> curves_to_follow(
    sim::model_library const& library) {
    std::vector<std::shared_ptr<sim::cpu_model const>> curves;
    for (auto const& one : library)
        if (auto curve = std::dynamic_pointer_cast<sim::cpu_model const>(one.model);
            curve != nullptr && sim::learning_model::can_follow(*curve))
            curves.push_back(std::move(curve));
    return curves;
}

/// A column of the table: workloads by seed.
struct estimate_column {
    char const* name;
    std::function<sim::workload(std::uint64_t)> make;
    bool estimates_remaining = false;
};

/// Prints the excess of the mean JCT over that with exact values in percent, with half of the 95 % confidence interval
/// of the mean of paired differences. Precondition: at least 20 seeds, for the interval.
inline void print_estimate_cost(std::vector<estimate_column> const& columns, sim::cluster const& machines,
                                std::uint64_t seeds) {
    constexpr double student = 2.09;  // 95 %, 19 degrees of freedom; less with more
    std::printf("\ngood_enough on 32 devices, %d seeds: mean JCT above that with exact values, %%\n%-46s",
                static_cast<int>(seeds), "exact speeds");
    for (auto const& c : columns) std::printf(" %22s", c.name);
    std::printf("\n");
    for (auto const& known : kinds_of_knowledge) {
        std::printf("%-46s", known.name);
        for (auto const& c : columns) {
            double base = 0, sum = 0, squares = 0;
            for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
                auto const jobs = c.make(seed);
                double const exact = mean_jct_of(jobs, machines, kinds_of_knowledge[0], false, seed),
                             more = mean_jct_of(jobs, machines, known, c.estimates_remaining, seed) - exact;
                base += exact;
                sum += more;
                squares += more * more;
            }
            auto const n = static_cast<double>(seeds);
            double const variance = (squares - sum * sum / n) / (n - 1);
            std::printf("          %+5.1f +- %4.1f", sum / base * 100,
                        student * std::sqrt(variance / n) / (base / n) * 100);
        }
        std::printf("\n");
        std::fflush(stdout);
    }
}

}  // namespace ration::bench
