// SPDX-License-Identifier: BSL-1.0
#include "sim/cost.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "common/quantity.hpp"

namespace ration::program {
namespace {

/// Measured with `gittins`, for each active job or node and tick.
constexpr double seconds_each = 5e-9;
/// Measured with `las`, for a tick with few changes.
constexpr double seconds_a_tick = 1e-6;
/// In seconds; shorter runs are not announced.
constexpr double long_time = 30;

/// Ticks, and the active jobs of all of them together.
struct expected_work {
    double ticks = 0, visits = 0;
};

/// By Little's law, jobs x mean JCT / makespan are active on average.
[[nodiscard]] expected_work work_of(sample const& s, simulation_options const& options) noexcept {
    double const jobs = static_cast<double>(s.bounds.jobs);
    if (!(s.bounds.makespan > 0)) return {};
    double const limit = options.until ? to_seconds(*options.until) : s.bounds.makespan;
    double const lasts = std::min(limit, s.bounds.makespan), interval = to_seconds(options.interval);
    double const ticks = 2 * jobs * lasts / s.bounds.makespan + (interval > 0 ? lasts / interval : 0);
    return {ticks, ticks * jobs * s.bounds.mean_jct / s.bounds.makespan};
}

}  // namespace

std::vector<std::string> long_runs(simulation_options const& options, simulation_input const& input,
                                   std::span<policy_text const> policies) {
    expected_work all;
    for (auto const& s : input.samples) {
        auto const more = work_of(s, options);
        all.ticks += more.ticks;
        all.visits += more.visits;
    }
    double const nodes = static_cast<double>(nodes_of(input.machines));
    std::vector<std::string> sentences;
    for (auto const& policy : policies) {
        double const visited = policy.follows_changes ? 0 : all.visits + all.ticks * nodes;
        double const takes = all.ticks * seconds_a_tick + visited * seconds_each;
        if (takes < long_time) continue;
        std::string const why =
            policy.follows_changes
                ? fmt::format("{} is asked {:.0f} times, which takes", policy.label, all.ticks)
                : fmt::format("{} reads all jobs and nodes at each tick: {:.0f} ticks with {:.0f} active jobs take",
                              policy.label, all.ticks, all.visits / all.ticks);
        sentences.push_back(fmt::format("{} about {}; set a longer --interval, an earlier --until or fewer jobs", why,
                                        duration_text(seconds(takes))));
    }
    return sentences;
}

}  // namespace ration::program
