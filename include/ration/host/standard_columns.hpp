// SPDX-License-Identifier: BSL-1.0
/// The columns that every host offers, declared in one call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <ration/host/snapshot_store.hpp>
#include <ration/resource.hpp>
#include <ration/units.hpp>

namespace ration {

/// Columns of the table `tenants` for one resource.
struct tenant_resource_columns {
    column<std::int64_t> quota, limit, lend, held, demand;
    column<double> usage;
};

/// The columns kept for each resource; index = `resource_id`.
struct resource_columns {
    column<double> used;
    column<std::int64_t> held, minimum, maximum, requested, capacity, free;
    tenant_resource_columns of_tenants;
    bool is_setting = false;  ///< `divisibility::setting`: no node has a capacity of it

    /// The most that the grants of a node may reserve together, of a resource with this capacity.
    [[nodiscard]] constexpr std::int64_t most_reserved(std::int64_t of_node) const noexcept {
        return is_setting ? unlimited : of_node;
    }
};

/// Columns of the table `tenants` that the engine reads or writes.
struct tenant_columns {
    column<std::uint32_t> parent, waiting, running;
};

/// Handles of the standard columns of one store. The members are the columns that the engine reads or writes itself,
/// and those of resources; `get` has every other standard column.
struct standard_columns {
    column<std::uint64_t> id, step;
    column<std::uint32_t> state, tier, tiers;
    column<std::int64_t> started;
    column<double> loss, measured_steps_per_second, remaining, restart_cost;
    column<std::uint64_t> held_job;
    column<std::uint32_t> held_node, held_resource;
    column<std::int64_t> held_amount;
    column<std::uint32_t> tenant;
    tenant_columns tenants;
    buffer<resource_columns> resources;

    /// Declares the columns that every host offers. Errors: `conflict` when the store already has one of the names with
    /// another type; `invalid_value` when a resource has a name too long for a column.
    [[nodiscard]] static result<standard_columns> declare(snapshot_store& store,
                                                          std::span<resource_info const> resources) noexcept {
        standard_columns c;
        for (auto const& known : catalogue) {
            if (known.offer != column_offer::by_every_host || is_family(known.name)) continue;
            if (auto const added = c.add(store, known.name); !added) return added.failure();
        }
        for (auto const& r : resources)
            if (auto const added = c.add(store, r); !added) return added.failure();
        c.set_members();
        return c;
    }

    /// Declares one that only some hosts offer; `width` is the number of values in a row. Errors: `not_found` when no
    /// standard column has the name, or it is that of a resource; those of `snapshot_store::declare`.
    [[nodiscard]] result<void> add(snapshot_store& store, std::string_view name, std::size_t width = 1) noexcept {
        std::size_t const index = index_in_catalogue(name);
        if (index == catalogue_size || is_family(catalogue[index].name))
            return error{.code = errc::not_found, .operation = "declare standard column", .subject = name};
        auto const made = store.declare(name, catalogue[index].type, static_cast<std::uint32_t>(width));
        if (!made) return made.failure();
        handles_[index] = {made->slot, made->width};
        return {};
    }

    /// The handle of the standard column `Name`, with its type of the catalogue. Precondition: it is declared.
    template <fixed_string Name>
    [[nodiscard]] auto get() const noexcept {
        constexpr std::size_t index = index_in_catalogue(Name.view());
        static_assert(index < catalogue_size,
                      "ration: no standard column has this name: see ration::catalogue in ration/column.hpp");
        static_assert(!is_family(catalogue[index].name),
                      "ration: a column of a resource: see standard_columns::resources");
        handle const& declared = handles_[index];
        RATION_ASSERT(declared.slot != undeclared, "this host has not declared the standard column");
        return column<typename detail::value_of_type<catalogue[index].type>::type>{
            static_cast<table_id>(table_index_of(Name.view())), declared.slot, declared.width};
    }

private:
    static constexpr std::uint32_t undeclared = 0xFFFF'FFFF;
    struct handle {
        std::uint32_t slot = undeclared, width = 0;
    };
    std::array<handle, catalogue_size> handles_{};

    void set_members() noexcept {
        id = get<"jobs/id">();
        step = get<"jobs/step">();
        state = get<"jobs/state">();
        tier = get<"jobs/tier">();
        tiers = get<"jobs/tiers">();
        started = get<"jobs/started">();
        loss = get<"jobs/loss">();
        measured_steps_per_second = get<"jobs/measured_steps_per_second">();
        remaining = get<"jobs/remaining">();
        restart_cost = get<"jobs/restart_cost">();
        held_job = get<"held/job">();
        held_node = get<"held/node">();
        held_resource = get<"held/resource">();
        held_amount = get<"held/amount">();
        tenant = get<"jobs/tenant">();
        tenants = {get<"tenants/parent">(), get<"tenants/waiting">(), get<"tenants/running">()};
    }

    [[nodiscard]] result<void> add(snapshot_store& store, resource_info const& r) noexcept {
        resource_columns of;
        of.is_setting = r.granularity == divisibility::setting;
        result<void> done;
        auto const declare = [&]<class T>(column<T>& handle, std::string_view family) {
            if (!done) return;
            auto const made = store.declare<T>(text<2 * longest_column_name>(family).append(r.name).view());
            if (made)
                handle = *made;
            else
                done = made.failure();
        };
        declare(of.used, "jobs/used.");
        declare(of.held, "jobs/held.");
        declare(of.minimum, "jobs/min.");
        declare(of.maximum, "jobs/max.");
        declare(of.requested, "jobs/requested.");
        declare(of.capacity, "nodes/capacity.");
        declare(of.free, "nodes/free.");
        declare(of.of_tenants.quota, "tenants/quota.");
        declare(of.of_tenants.limit, "tenants/limit.");
        declare(of.of_tenants.lend, "tenants/lend.");
        declare(of.of_tenants.held, "tenants/held.");
        declare(of.of_tenants.demand, "tenants/demand.");
        declare(of.of_tenants.usage, "tenants/usage.");
        resources.push_back(of);
        return done;
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
