// SPDX-License-Identifier: BSL-1.0
/// The columns that a simulation offers besides the standard ones.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>

#include <ration/host/any_policy.hpp>
#include <ration/host/estimator_stage.hpp>
#include <ration/host/standard_columns.hpp>
#include <ration/setting.hpp>
#include <ration/sim/workload.hpp>

namespace ration::sim {

/// Which columns are read: by a policy, by an estimator, or by the engine for the sums of tenants.
struct read_columns {
    any_policy const &policy, &fallback;
    estimator_stage const* estimators;  ///< nullptr = none
    bool has_tenants = false;           ///< the tenants have limits or quotas

    [[nodiscard]] bool operator()(std::string_view name) const noexcept {
        if (policy.reads(name) || fallback.reads(name) ||
            (estimators != nullptr && estimators->uses(name, policy, fallback)))
            return true;
        if (!has_tenants && !policy.reads("jobs/tenant")) return false;
        // Nodes have devices and cores only, and jobs request devices.
        return name == "jobs/tenant" || name == "jobs/request.gpu" || name == "jobs/held.gpu" ||
               name == "jobs/held.cpu";
    }
};

/// The resources that a simulation can have: the standard ones and `save_interval`, by their numbers.
inline constexpr auto all_resources = [] {
    std::array<resource_info, std::size(standard_resources) + 1> all{};
    std::copy(std::begin(standard_resources), std::end(standard_resources), all.begin());
    all.back() = info_of<save_interval>();
    return all;
}();

/// Those of one simulation: `save_interval` is among them if a policy reads it.
template <class IsRead>
[[nodiscard]] constexpr std::span<resource_info const> resources_of(IsRead const& is_read) noexcept {
    bool const saves = is_read("jobs/held.save.interval");
    return std::span(all_resources).first(saves ? all_resources.size() : std::size(standard_resources));
}

/// Handles of all columns of a simulation's store.
struct sim_columns {
    standard_columns standard;
    column<std::int64_t> request;
    std::size_t counts = 0;  ///< entries of one scaling vector: 0 to the most devices that a job accepts
    std::size_t types = 1;
    bool shows_phases = false;  ///< jobs have phases, and `phase_columns` are declared
    bool shows_saves = false;   ///< a policy reads the cost of saves
    bool shows_hazard = false;  ///< and the hazard of nodes

    [[nodiscard]] resource_columns const& of(resource_id r) const noexcept {
        return standard.resources[static_cast<std::size_t>(r)];
    }

    template <fixed_string Name>
    [[nodiscard]] auto get() const noexcept {
        return standard.get<Name>();
    }

    /// Declares all columns. Those of jobs that no policy reads have one row for all jobs (`snapshot_store::omit`), as
    /// far as the simulation and the engine do without: they would be most of the memory of a job. `is_read(name)`: a
    /// policy reads the column. `scales`: a policy reads how jobs scale; otherwise those columns have one entry a row,
    /// which stays 0. Errors: those of `snapshot_store::declare`.
    template <class IsRead>
    [[nodiscard]] static result<sim_columns> declare(snapshot_store& store, workload_shape const& jobs,
                                                     cluster const& machines, bool scales,
                                                     IsRead const& is_read) noexcept {
        sim_columns c;
        c.counts = scales && jobs.most_devices > 0 ? static_cast<std::size_t>(jobs.most_devices) + 1 : 1;
        c.types = scales ? machines.types.size() : 1;
        if (auto omitted = c.omit_unread(store, jobs, is_read); !omitted) return omitted.failure();
        auto standard = standard_columns::declare(store, resources_of(is_read));
        if (!standard) return standard.failure();
        c.standard = *standard;
        auto const request = store.declare<std::int64_t>("jobs/request.gpu");
        if (!request) return request.failure();
        c.request = *request;
        result<void> done;
        for (auto const name : own_columns)
            if (done) done = c.standard.add(store, name, c.width_of(name));
        c.shows_phases = jobs.has_phases;
        for (auto const name : phase_columns)
            if (done && jobs.has_phases) done = c.standard.add(store, name);
        c.shows_saves = is_read("jobs/save_cost");
        c.shows_hazard = is_read("nodes/hazard");
        if (done && c.shows_saves) done = c.standard.add(store, "jobs/save_cost");
        if (done && c.shows_hazard) done = c.standard.add(store, "nodes/hazard");
        // Of estimators; no trace has such a profile, and no simulated job reports its steps. Both stay 0.
        auto const declare = [&](std::string_view name, std::size_t width) {
            if (!done || !is_read(name)) return;
            if (auto made = store.declare<double>(name, static_cast<std::uint32_t>(width)); !made)
                done = made.failure();
        };
        declare("jobs/speedup.given", c.counts);
        declare("jobs/total_steps.reported", 1);
        if (!done) return done.failure();
        return c;
    }

    /// Columns of workloads whose jobs have phases.
    static constexpr std::string_view phase_columns[] = {"jobs/class", "jobs/throttled.cpu", "jobs/phase",
                                                         "jobs/expected.cpu", "jobs/expected.memory"};

private:
    /// Columns that not every host offers.
    static constexpr std::string_view own_columns[] = {
        "jobs/loss.target", "jobs/attained", "jobs/deadline",     "jobs/nominal_steps_per_second",
        "jobs/total_steps", "jobs/restarts", "nodes/type",        "jobs/speedup",
        "jobs/batch",       "jobs/goodput",  "jobs/goodput.fixed"};
    /// Columns that the simulation only writes.
    static constexpr std::string_view only_written[] = {
        "jobs/tenant",   "jobs/weight",      "jobs/priority",    "jobs/submitted",     "jobs/deadline",
        "jobs/step",     "jobs/loss",        "jobs/loss.target", "jobs/attained",      "jobs/nominal_steps_per_second",
        "jobs/restarts", "jobs/total_steps", "jobs/batch",       "jobs/goodput.fixed", "jobs/slo.met",
        "jobs/slo.slack"};

    [[nodiscard]] std::size_t width_of(std::string_view name) const noexcept {
        bool const by_type = name == "jobs/goodput" || name == "jobs/goodput.fixed";
        return by_type ? counts * types : name == "jobs/speedup" || name == "jobs/batch" ? counts : 1;
    }

    template <class IsRead>
    [[nodiscard]] result<void> omit_unread(snapshot_store& store, workload_shape const& jobs,
                                           IsRead const& is_read) const noexcept {
        result<void> done;
        auto const omit = [&](std::string_view name) {
            if (done && !is_read(name))
                done = store.omit(name, catalogue[index_in_catalogue(name)].type,
                                  static_cast<std::uint32_t>(width_of(name)));
        };
        for (auto const name : only_written) omit(name);
        omit("jobs/request.gpu");
        omit("jobs/goodput");  // `write_scaling` reads the row that it has just written
        if (!is_read("jobs/loss")) omit("jobs/loss.best");
        // The engine compares the gain of more devices with the cost of a restart.
        if (!jobs.has_restart_costs)
            for (std::string_view const name :
                 {"jobs/speedup", "jobs/remaining", "jobs/measured_steps_per_second", "jobs/restart_cost"})
                omit(name);
        for (auto const& r : resources_of(is_read)) {
            using column_name = text<2 * longest_column_name>;
            for (std::string_view const family : {"jobs/used.", "jobs/held.", "jobs/requested."})
                omit(column_name(family).append(r.name).view());
            column_name const least = column_name("jobs/min.").append(r.name),
                              most = column_name("jobs/max.").append(r.name);
            // Jobs differ in the bounds of their devices only.
            if (r.name == gpu::name || is_read(least.view()) || is_read(most.view())) continue;
            omit(least.view());
            omit(most.view());
        }
        return done;
    }
};

/// Writes the data of a job's trace into a new row.
inline void write_description(snapshot_store& store, sim_columns const& c, std::size_t row, std::uint64_t id,
                              job_description const& job, std::uint32_t tiers) noexcept {
    auto const& s = c.standard;
    store.at(s.id, row) = id;
    store.at(s.get<"jobs/tenant">(), row) = job.tenant;
    store.at(s.get<"jobs/weight">(), row) = job.weight;
    store.at(s.get<"jobs/priority">(), row) = job.priority;
    store.at(s.get<"jobs/submitted">(), row) = job.submitted.count;
    store.at(s.get<"jobs/deadline">(), row) = job.deadline.count;
    store.at(s.started, row) = -1;
    store.at(s.remaining, row) = store.at(c.get<"jobs/total_steps">(), row) = job.length;
    store.at(s.restart_cost, row) = job.restart_cost;
    store.at(c.request, row) = job.request;
    for (auto const& r : s.resources) store.at(r.maximum, row) = unlimited;
    store.at(c.of(resource_id::gpu).minimum, row) = job.least;
    store.at(c.of(resource_id::gpu).maximum, row) = job.most;
    store.at(s.tiers, row) = tiers;
}

/// Multiplies all values of a column in a row. A column that no policy reads has none.
inline void multiply(snapshot_store& store, column<double> of, std::size_t row, double factor) noexcept {
    if (factor == 1) return;
    for (double& value : std::span<double>(&store.at(of, row), of.width)) value *= factor;
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
