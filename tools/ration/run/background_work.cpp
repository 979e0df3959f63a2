// SPDX-License-Identifier: BSL-1.0
#include "run/background_work.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "common/quantity.hpp"

namespace ration::program {
namespace {

/// Workers of a program often end just after it, by themselves.
constexpr nanoseconds time_to_follow = milliseconds(500);

constexpr nanoseconds shortest_interval = milliseconds(20), longest_interval = seconds(1);

[[nodiscard]] std::string count_of(std::size_t processes) {
    return fmt::format("{} other process{}", processes, processes == 1 ? "" : "es");
}

}  // namespace

bool background_work::is_ending(live_job& job, nanoseconds now) {
    auto& state = states_[job];
    if (!state.since) state.since = now;
    if (now < state.next_look) return true;
    auto const quarter = nanoseconds{(now - *state.since).count / 4};
    state.next_look = now + std::clamp(quarter, shortest_interval, longest_interval);
    auto const left = node_.jobs().alive(job.id);
    if (left == 0) return false;
    if (state.until) return now < *state.until;
    if (auto const kill = stopper_.kill_time(job)) {  // all of the job were asked to end
        state.until = kill;
    } else if (now >= *state.since + time_to_follow) {
        state.count = left;
        state.until = stopper_.end_rest(job, now);
        events_.warn_once(job.config->name,
                          fmt::format("its first process has ended and left {}: SIGTERM, then SIGKILL after {}; let "
                                      "the command wait for its background processes",
                                      count_of(left), duration_text(job.config->grace)),
                          now);
    }
    return true;
}

std::string background_work::sentence(live_job const& job) const {
    auto const count = states_[job].count;
    return count == 0 ? "" : fmt::format("its first process had left {}, which ration ended", count_of(count));
}

}  // namespace ration::program
