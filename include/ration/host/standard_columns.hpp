// SPDX-License-Identifier: BSL-1.0
/// The columns that every host offers, declared in one call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <ration/host/snapshot_store.hpp>
#include <ration/resource.hpp>
#include <ration/units.hpp>

namespace ration {

/// The columns kept for each resource; index = `resource_id`.
struct resource_columns {
    column<double> used;
    column<std::int64_t> held, minimum, maximum, capacity, free;
};

/// Handles of the standard columns of one store.
struct standard_columns {
    column<std::uint64_t> id, step;
    column<std::uint32_t> tenant, state, tier, tiers;
    column<std::int64_t> submitted, started;
    column<double> weight, loss, best_loss, measured_steps_per_second, remaining, restart_cost;
    column<std::uint64_t> held_job;
    column<std::uint32_t> held_node, held_resource;
    column<std::int64_t> held_amount;
    buffer<resource_columns> resources;

    /// Errors: `conflict` when the store already has one of the names with another type; `invalid_value` when a
    /// resource has a name too long for a column.
    [[nodiscard]] static result<standard_columns> declare(snapshot_store& store,
                                                          std::span<resource_info const> resources) noexcept {
        standard_columns c;
        error first;
        bool ok = true;
        auto const add = [&]<class T>(column<T>& handle, std::string_view name) {
            auto declared = store.declare<T>(name);
            if (declared) handle = *declared;
            if (!declared && ok) {
                ok = false;
                first = declared.failure();
            }
        };
        add(c.id, "jobs/id");
        add(c.tenant, "jobs/tenant");
        add(c.weight, "jobs/weight");
        add(c.submitted, "jobs/submitted");
        add(c.started, "jobs/started");
        add(c.state, "jobs/state");
        add(c.step, "jobs/step");
        add(c.loss, "jobs/loss");
        add(c.best_loss, "jobs/loss.best");
        add(c.tier, "jobs/tier");
        add(c.tiers, "jobs/tiers");
        add(c.measured_steps_per_second, "jobs/measured_steps_per_second");
        add(c.remaining, "jobs/remaining");
        add(c.restart_cost, "jobs/restart_cost");
        add(c.held_job, "held/job");
        add(c.held_node, "held/node");
        add(c.held_resource, "held/resource");
        add(c.held_amount, "held/amount");
        for (auto const& r : resources) {
            resource_columns of;
            add(of.used, named("jobs/used.", r));
            add(of.held, named("jobs/held.", r));
            add(of.minimum, named("jobs/min.", r));
            add(of.maximum, named("jobs/max.", r));
            add(of.capacity, named("nodes/capacity.", r));
            add(of.free, named("nodes/free.", r));
            c.resources.push_back(of);
        }
        if (!ok) return first;
        return c;
    }

private:
    [[nodiscard]] static text<2 * longest_column_name> named(std::string_view family, resource_info const& r) noexcept {
        return text<2 * longest_column_name>(family).append(r.name);
    }
};

/// The row of the job; the number of rows when it has none. O(log rows).
[[nodiscard]] inline std::size_t row_of(snapshot_store const& store, standard_columns const& columns,
                                        job_id job) noexcept {
    std::uint64_t const* const ids = store.data(columns.id);
    std::size_t const rows = store.rows(table_id::jobs);
    std::size_t low = 0, high = rows;
    while (low < high) {
        std::size_t const middle = low + (high - low) / 2;
        if (ids[middle] < job.value)
            low = middle + 1;
        else
            high = middle;
    }
    return low < rows && ids[low] == job.value ? low : rows;
}

}  // namespace ration
