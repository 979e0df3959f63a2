// SPDX-License-Identifier: BSL-1.0
#include "serve/expected_end.hpp"

#include <algorithm>

namespace ration::program {
namespace {

[[nodiscard]] std::optional<double> seconds_of_steps(live_job const& job, training_progress const& progress,
                                                     job_table const& table) {
    if (progress.total_steps == 0 || !table.arrived(job)) return std::nullopt;
    double const speed = table.store()[table.columns().measured_steps_per_second][job.row];
    if (!(speed > 0)) return std::nullopt;
    auto const left = progress.total_steps - std::min(progress.step, progress.total_steps);
    return static_cast<double>(left) / speed;
}

[[nodiscard]] std::optional<double> seconds_of_limit(live_job const& job, stored_job const& stored, nanoseconds now) {
    if (stored.what.time_limit_ms == 0 || !job.launched_at) return std::nullopt;
    auto const end = *job.launched_at + milliseconds(stored.what.time_limit_ms);
    return std::max(0.0, to_seconds(end - now));
}

}  // namespace

std::optional<double> seconds_left(live_job const& job, training_progress const& progress, stored_job const& stored,
                                   job_table const& table, nanoseconds now) {
    if (!job.alive()) return std::nullopt;
    auto const steps = seconds_of_steps(job, progress, table), limit = seconds_of_limit(job, stored, now);
    return steps && limit ? std::min(*steps, *limit) : steps ? steps : limit;
}

}  // namespace ration::program
