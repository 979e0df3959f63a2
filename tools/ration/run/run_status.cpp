// SPDX-License-Identifier: BSL-1.0
#include "run/run_status.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "run/job_views.hpp"

namespace ration::program {

run_status::run_status(run_parts const& parts, job_table const& jobs, progress_monitor const& progress,
                       usage_meter const& usage, elastic_jobs const& elastic, scheduler const& scheduler,
                       job_stopper const& stopper)
    : policy_name_(parts.planned.choice.policy), label_(parts.planned.choice.label), shown_name_(label_),
      node_(parts.node), jobs_(jobs), progress_(progress), usage_(usage), elastic_(elastic), scheduler_(scheduler),
      stopper_(stopper), state_(parts.directory), out_(parts.out) {
    auto const& planned = parts.planned;
    if (planned.rounds > 1) shown_name_ += fmt::format(", round {} of {}", planned.round, planned.rounds);
}

void run_status::rename_policy(policy_choice const& choice) {
    policy_name_ = choice.policy;
    label_ = shown_name_ = choice.label;
}

void run_status::show(std::string const& notice, nanoseconds now) {
    auto const state = view(notice, now);
    out_.show(state, now);
    state_.write(state, now);
    out_.flush(now);
    if (auto* const metrics = out_.metrics())
        metrics->serve({.board = jobs_,
                        .progress = progress_.all(),
                        .usage = usage_.jobs(),
                        .messages = progress_.counts(),
                        .lost_events = out_.lost(),
                        .cordoned_devices = elastic_.table().devices().cordoned()});
}

void run_status::show_end(std::string const& notice, nanoseconds now) { out_.end_of_run(view(notice, now), now); }

view_model run_status::view(std::string const& notice, nanoseconds now) const {
    view_model model{.policy = shown_name_,
                     .backend = node_.jobs().name(),
                     .elapsed = now,
                     .cpus = static_cast<std::uint32_t>(node_.jobs().capacity().count / 1000),
                     .used = usage_.used_cores(),
                     .devices = static_cast<std::int64_t>(elastic_.table().devices().size()),
                     .devices_held = elastic_.table().held(),
                     .cordoned_devices = elastic_.table().devices().cordoned(),
                     .jobs = {},
                     .notice = notice};
    for (auto const& job : jobs_.jobs())
        if (!job.forgotten) model.jobs.push_back(view_with_resources(job, now));
    return model;
}

job_view run_status::view_with_resources(live_job const& job, nanoseconds now) const {
    auto v = view_of(job, progress_.of(job), now);
    if (job.devices != nullptr && !job.over()) {
        v.devices = job.devices->state().devices.size();
        v.going_to = job.devices->state().devices.wanted();
    }
    if (auto const held = jobs_.held_cpu(job); job.alive() && held != 0) v.held = millicores{held};
    if (job.alive()) v.used = jobs_.used_cores(job);
    return v;
}

std::optional<double> run_status::available_cpu(double used) const {
    auto const spare = scheduler_.spare().mean_cores();
    auto const capacity = static_cast<double>(node_.jobs().capacity().count) / 1000;
    return spare ? std::optional(std::min(capacity, used + *spare)) : std::nullopt;
}

run_summary run_status::summary(bool interrupted, nanoseconds now) const {
    run_summary total{.policy = policy_name_,
                      .label = label_,
                      .jobs = {},
                      .makespan = {},
                      .approximate = node_.jobs().approximations(),
                      .interrupted = interrupted,
                      .lost_events = out_.lost()};
    for (auto const& job : jobs_.jobs()) {
        auto ended = summary_of(job, progress_.of(job));
        ended.device_seconds = jobs_.device_seconds(job);
        ended.released = job.over() && stopper_.reason(job) == stop_reason::objective_reached;
        total.jobs.push_back(std::move(ended));
        total.makespan = std::max(total.makespan, job.ended_at.value_or(now));
    }
    total.mean_cpu = total.makespan.count > 0 ? to_seconds(usage_.total()) / to_seconds(total.makespan) : 0;
    total.available_cpu = available_cpu(total.mean_cpu);
    return total;
}

}  // namespace ration::program
