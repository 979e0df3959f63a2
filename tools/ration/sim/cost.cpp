// SPDX-License-Identifier: BSL-1.0
#include "sim/cost.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "common/quantity.hpp"

namespace ration::program {
namespace {

/// Measured with `gittins`, for each active job and tick.
constexpr double seconds_each = 5e-9;

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
    constexpr double a_minute = 60;
    expected_work all;
    for (auto const& s : input.samples) {
        auto const more = work_of(s, options);
        all.ticks += more.ticks;
        all.visits += more.visits;
    }
    std::vector<std::string> sentences;
    if (all.visits * seconds_each < a_minute) return sentences;
    for (auto const& policy : policies)
        if (!policy.follows_changes)
            sentences.push_back(fmt::format(
                "{} reads all jobs at each tick: {:.0f} ticks with {:.0f} active jobs take about {}; set a longer --interval, "
                "an earlier --until or fewer jobs",
                policy.label, all.ticks, all.visits / all.ticks, duration_text(seconds(all.visits * seconds_each))));
    return sentences;
}

}  // namespace ration::program
