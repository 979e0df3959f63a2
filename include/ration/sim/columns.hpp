// SPDX-License-Identifier: BSL-1.0
/// The columns that a simulation offers besides the standard ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <ration/host/standard_columns.hpp>
#include <ration/sim/workload.hpp>

namespace ration::sim {

/// Handles of all columns of a simulation's store.
struct sim_columns {
    standard_columns standard;
    column<std::int64_t> request;
    std::size_t counts = 0;  ///< entries of one scaling vector: 0 to the most devices that a job accepts
    std::size_t types = 1;

    [[nodiscard]] resource_columns const& of(resource_id r) const noexcept {
        return standard.resources[static_cast<std::size_t>(r)];
    }

    template <fixed_string Name>
    [[nodiscard]] auto get() const noexcept {
        return standard.get<Name>();
    }

    /// `scales`: a policy reads how jobs scale; otherwise those columns have one entry a row, which stays 0. Errors:
    /// those of `snapshot_store::declare`.
    [[nodiscard]] static result<sim_columns> declare(snapshot_store& store, workload const& jobs,
                                                     cluster const& machines, bool scales) noexcept {
        sim_columns c;
        auto standard = standard_columns::declare(store, standard_resources);
        if (!standard) return standard.failure();
        c.standard = *standard;
        c.counts = c.types = 1;
        for (auto const& job : jobs.jobs)
            if (scales && static_cast<std::size_t>(job.most) >= c.counts)
                c.counts = static_cast<std::size_t>(job.most) + 1;
        if (scales) c.types = machines.types.size();
        auto const request = store.declare<std::int64_t>("jobs/request.gpu");
        if (!request) return request.failure();
        c.request = *request;
        result<void> done;
        auto const add = [&](std::string_view name, std::size_t width = 1) {
            if (done) done = c.standard.add(store, name, width);
        };
        add("jobs/attained");
        add("jobs/nominal_steps_per_second");
        add("jobs/total_steps");
        add("jobs/restarts");
        add("nodes/type");
        add("jobs/speedup", c.counts);
        add("jobs/batch", c.counts);
        add("jobs/goodput", c.counts * c.types);
        add("jobs/goodput.fixed", c.counts * c.types);
        if (!done) return done.failure();
        return c;
    }
};

/// Writes what a job's trace says of it into a new row.
inline void write_description(snapshot_store& store, sim_columns const& c, std::size_t row, std::uint64_t id,
                              job_description const& job, std::uint32_t tiers) noexcept {
    auto const& s = c.standard;
    store.at(s.id, row) = id;
    store.at(s.get<"jobs/tenant">(), row) = job.tenant;
    store.at(s.get<"jobs/weight">(), row) = job.weight;
    store.at(s.get<"jobs/priority">(), row) = job.priority;
    store.at(s.get<"jobs/submitted">(), row) = job.submitted.count;
    store.at(s.started, row) = -1;
    store.at(s.remaining, row) = store.at(c.get<"jobs/total_steps">(), row) = job.length;
    store.at(s.restart_cost, row) = job.restart_cost;
    store.at(c.request, row) = job.request;
    for (auto const& r : s.resources) store.at(r.maximum, row) = unlimited;
    store.at(c.of(resource_id::gpu).minimum, row) = job.least;
    store.at(c.of(resource_id::gpu).maximum, row) = job.most;
    store.at(s.tiers, row) = tiers;
}

/// How the job scales from `step` on, for each type of node.
inline void write_scaling(snapshot_store& store, sim_columns const& c, std::size_t row, workload const& jobs,
                          job_description const& job, double step, std::span<node_group const> groups) noexcept {
    auto const vector = [&]<class T>(column<T> of, std::size_t type) {
        return std::span<T>(&store.at(of, row) + type * c.counts, c.counts);
    };
    auto const& model = *jobs.models[job.model];
    for (auto const& group : groups)
        model.show(job, step, group.type, group.devices,
                   {vector(c.get<"jobs/goodput">(), group.type), vector(c.get<"jobs/goodput.fixed">(), group.type),
                    vector(c.get<"jobs/batch">(), 0)});
    auto const goodput = vector(c.get<"jobs/goodput">(), 0);
    auto const speedup = vector(c.get<"jobs/speedup">(), 0);
    double one = 0;
    for (std::size_t k = 0; k < c.counts; ++k) {
        if (one == 0 && goodput[k] > 0) one = goodput[k] / static_cast<double>(k);
        speedup[k] = one > 0 ? goodput[k] / one : 0;
    }
    auto const fixed = vector(c.get<"jobs/goodput.fixed">(), 0);
    auto const asked = static_cast<std::size_t>(job.request);
    store.at(c.get<"jobs/nominal_steps_per_second">(), row) = asked < fixed.size() ? fixed[asked] : 0;
}

}  // namespace ration::sim
