// SPDX-License-Identifier: BSL-1.0
#include "run/device_columns.hpp"

#include <algorithm>
#include <string_view>

namespace ration::program {
namespace {

/// The entry of a list by number of devices; beyond its end the last one.
template <class T>
[[nodiscard]] T entry_of(std::vector<T> const& list, std::size_t devices) noexcept {
    return list[std::min(devices, list.size() - 1)];
}

}  // namespace

device_columns::device_columns(snapshot_store& store, standard_columns& columns, std::int64_t most, std::size_t slots)
    : store_(store), columns_(columns), width_(static_cast<std::size_t>(most) + 1), seconds_(slots) {
    auto const request = store_.declare<std::int64_t>("jobs/request.gpu");
    auto const given = store_.declare<double>("jobs/speedup.given", static_cast<std::uint32_t>(width_));
    RATION_ASSERT(request && given, "the store has none of these names");
    for (std::string_view const vector : {"jobs/speedup", "jobs/batch", "jobs/goodput", "jobs/goodput.fixed"})
        RATION_ASSERT(columns_.add(store_, vector, width_), "the store has none of these names");
    for (std::string_view const scalar :
         {"jobs/attained", "jobs/nominal_steps_per_second", "jobs/restarts", "nodes/type"})
        RATION_ASSERT(columns_.add(store_, scalar), "the store has none of these names");
    request_ = *request;
    given_ = *given;
}

void device_columns::describe(live_job const& job) noexcept {
    for (auto const r : {resource_id::gpu, resource_id::gpu_sm, resource_id::cache, resource_id::batch})
        store_[of(r).maximum][job.row] = 0;
    set_requested(job, 0);
    seconds_[job.slot] = 0;
    if (job.config->elastic) describe_sizes(job, *job.config->elastic);
}

void device_columns::describe_sizes(live_job const& job, elastic_config const& wants) noexcept {
    std::size_t const row = job.row;
    std::int64_t const all = std::min(wants.devices.maximum, store_[of(resource_id::gpu).capacity][0]);
    std::int64_t const most = job.devices != nullptr ? std::min(all, job.devices->state().devices.large_enough()) : all;
    store_[request_][row] = most;
    // A job whose best batches are unknown chooses its own
    bool const is_granted = !wants.batches.empty();
    store_[of(resource_id::batch).minimum][row] = is_granted ? wants.batch.minimum : 0;
    store_[of(resource_id::batch).maximum][row] = is_granted ? wants.batch.maximum : 0;
    for (std::size_t k = 0; k < width_; ++k) {
        double const given = wants.speedup.empty() ? 0 : entry_of(wants.speedup, k);
        (&store_.at(given_, row))[k] = given;
        // The engine compares gains by it for policies for which it is not estimated
        (&store_.at(columns_.get<"jobs/speedup">(), row))[k] = wants.speedup.empty() ? static_cast<double>(k) : given;
        // Not measured: the smallest that it accepts, which is right for a job that has one batch and harmless for the
        // others.
        std::int64_t const batch = wants.batches.empty() ? wants.batch.minimum : entry_of(wants.batches, k);
        (&store_.at(columns_.get<"jobs/batch">(), row))[k] = k == 0 ? 0 : batch;
    }
}

void device_columns::refresh(std::span<live_job const> jobs, nanoseconds now) noexcept {
    for (auto const& job : jobs)
        if (job.devices != nullptr && job.row < store_.rows(table_id::jobs)) refresh_job(job, now);
    refreshed_at_ = now;
}

/// A job whose size cannot change now accepts nothing else, so that a policy shares out the rest.
void device_columns::refresh_job(live_job const& job, nanoseconds now) noexcept {
    auto const& wants = job.elastic();
    auto const& state = job.devices->state();
    std::int64_t const most =
        std::min({wants.devices.maximum, static_cast<std::int64_t>(width_) - 1, state.devices.most()});
    bool const free = state.can_change(now) && most >= wants.devices.minimum;
    std::int64_t const here = state.devices.wanted();
    store_[of(resource_id::gpu).minimum][job.row] = free ? wants.devices.minimum : here;
    store_[of(resource_id::gpu).maximum][job.row] = free ? most : here;
    store_[columns_.restart_cost][job.row] = state.cost.seconds();
    store_[columns_.get<"jobs/restarts">()][job.row] = job.run.value > 1 ? job.run.value - 1 : 0;
    double const used = job.alive() ? static_cast<double>(state.devices.size()) : 0;
    seconds_[job.slot] += used * to_seconds(now - refreshed_at_);
    store_[columns_.get<"jobs/attained">()][job.row] = seconds_[job.slot];
    store_[of(resource_id::gpu).used][job.row] = used;
}

}  // namespace ration::program
