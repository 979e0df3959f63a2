// SPDX-License-Identifier: BSL-1.0
#include "run/live_job.hpp"

#include <utility>

#include "run/event_sink.hpp"

namespace ration::program {

void set_condition(live_job& job, condition state, std::string why, nanoseconds at, event_sink& events) {
    if (job.now == state) return;
    bool const starts = job.now == condition::waiting && !is_over(state);  // which has its own event
    job.now = state;
    job.why = std::move(why);
    if (!starts) events.emit(condition_changed{.job = job.config->name, .now = state, .why = job.why}, at);
}

}  // namespace ration::program
