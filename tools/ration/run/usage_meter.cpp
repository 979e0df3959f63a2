// SPDX-License-Identifier: BSL-1.0
#include "run/usage_meter.hpp"

#include <algorithm>

namespace ration::program {

void usage_meter::take(live_job const& job, observation const& seen) noexcept {
    take_final(job, seen.cpu_time);
    jobs_[job].memory = seen.memory;
}

void usage_meter::take_final(live_job const& job, nanoseconds cpu_time) noexcept {
    jobs_[job].cpu_time = std::max(jobs_[job].cpu_time, cpu_time);
}

void usage_meter::start_incarnation(live_job const& job) noexcept {
    auto& usage = jobs_[job];
    usage.earlier_cpu_time = usage.earlier_cpu_time + usage.cpu_time;
    usage.cpu_time = {};
}

void usage_meter::forget(live_job const& job) {
    forgotten_ = forgotten_ + jobs_[job].earlier_cpu_time + jobs_[job].cpu_time;
    jobs_[job] = {};
}

nanoseconds usage_meter::total() const noexcept {
    nanoseconds sum = forgotten_;
    for (auto const& usage : jobs_.values()) sum = sum + usage.earlier_cpu_time + usage.cpu_time;
    return sum;
}

}  // namespace ration::program
