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
    column<std::int64_t> request, batch;
    column<double> attained, nominal_steps_per_second, total_steps, speedup, goodput, goodput_fixed;
    column<std::uint32_t> restarts, node_type;
    std::size_t counts = 0;  ///< entries of one scaling vector: 0 to the most devices that a job accepts
    std::size_t types = 1;

    [[nodiscard]] resource_columns const& of(resource_id r) const noexcept {
        return standard.resources[static_cast<std::size_t>(r)];
    }

    /// Errors: those of `snapshot_store::declare`.
    [[nodiscard]] static result<sim_columns> declare(snapshot_store& store, workload const& jobs,
                                                     cluster const& machines) noexcept {
        sim_columns c;
        auto standard = standard_columns::declare(store, standard_resources);
        if (!standard) return standard.failure();
        c.standard = *standard;
        for (auto const& job : jobs.jobs)
            if (static_cast<std::size_t>(job.most) >= c.counts) c.counts = static_cast<std::size_t>(job.most) + 1;
        c.types = machines.types.size();
        error first;
        bool ok = true;
        auto const add = [&]<class T>(column<T>& handle, std::string_view name, std::size_t width = 1) {
            auto declared = store.declare<T>(name, static_cast<std::uint32_t>(width));
            if (declared) handle = *declared;
            if (!declared && ok) {
                first = declared.failure();
                ok = false;
            }
        };
        add(c.request, "jobs/request.gpu");
        add(c.attained, "jobs/attained");
        add(c.nominal_steps_per_second, "jobs/nominal_steps_per_second");
        add(c.total_steps, "jobs/total_steps");
        add(c.restarts, "jobs/restarts");
        add(c.node_type, "nodes/type");
        add(c.speedup, "jobs/speedup", c.counts);
        add(c.batch, "jobs/batch", c.counts);
        add(c.goodput, "jobs/goodput", c.counts * c.types);
        add(c.goodput_fixed, "jobs/goodput.fixed", c.counts * c.types);
        if (!ok) return first;
        return c;
    }
};

/// Writes what a job's trace says of it into a new row.
inline void write_description(snapshot_store& store, sim_columns const& c, std::size_t row, std::uint64_t id,
                              job_description const& job, std::uint32_t tiers) noexcept {
    auto const& s = c.standard;
    store.at(s.id, row) = id;
    store.at(s.tenant, row) = job.tenant;
    store.at(s.weight, row) = job.weight;
    store.at(s.submitted, row) = job.submitted.count;
    store.at(s.started, row) = -1;
    store.at(s.remaining, row) = store.at(c.total_steps, row) = job.length;
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
                   {vector(c.goodput, group.type), vector(c.goodput_fixed, group.type), vector(c.batch, 0)});
    auto const goodput = vector(c.goodput, 0);
    auto const speedup = vector(c.speedup, 0);
    double one = 0;
    for (std::size_t k = 0; k < c.counts; ++k) {
        if (one == 0 && goodput[k] > 0) one = goodput[k] / static_cast<double>(k);
        speedup[k] = one > 0 ? goodput[k] / one : 0;
    }
    auto const fixed = vector(c.goodput_fixed, 0);
    auto const asked = static_cast<std::size_t>(job.request);
    store.at(c.nominal_steps_per_second, row) = asked < fixed.size() ? fixed[asked] : 0;
}

}  // namespace ration::sim
