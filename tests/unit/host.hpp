// SPDX-License-Identifier: BSL-1.0
// A host for tests: the standard columns of some jobs on some nodes, and who holds what.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include <ration/host/holdings.hpp>
#include <ration/host/standard_columns.hpp>
#include <ration/job.hpp>

namespace unit {

using ration::column;
using ration::job_id;
using ration::job_state;
using ration::resource_id;
using ration::table_id;

/// Takes a value out of a result that must be one.
template <class T>
T must(ration::result<T> r) {
    RATION_ASSERT(r, "a test's premise does not hold");
    return std::move(r).value();
}
inline void must(ration::result<void> const& r) { RATION_ASSERT(r, "a test's premise does not hold"); }

struct host {
    ration::snapshot_store store;
    ration::standard_columns columns;
    ration::ledger held;

    /// Jobs 1, 2, ... all running; `nodes` nodes of 1000 of everything.
    explicit host(std::size_t jobs, std::size_t nodes = 1, ration::column_memory* memory = nullptr) : store(memory) {
        columns = must(ration::standard_columns::declare(store, ration::standard_resources));
        must(store.resize(table_id::nodes, nodes));
        must(store.resize(table_id::jobs, jobs));
        for (auto const& r : columns.resources)
            for (auto& c : store[r.capacity]) c = 1000;
        for (std::size_t row = 0; row < jobs; ++row) {
            store[columns.id][row] = row + 1;
            set_state(row, job_state::running);
            for (auto const& r : columns.resources) store[r.maximum][row] = ration::unlimited;
        }
        held.reset(nodes, columns.resources.size(), jobs * nodes * columns.resources.size());
    }

    [[nodiscard]] ration::resource_columns const& of(resource_id r) const {
        return columns.resources[static_cast<std::size_t>(r)];
    }
    void set_state(std::size_t row, job_state s) { store[columns.state][row] = static_cast<std::uint32_t>(s); }
    [[nodiscard]] job_id id(std::size_t row) const { return {store[columns.id][row]}; }
    void set_capacity(resource_id r, std::int64_t amount, std::size_t node = 0) {
        store[of(r).capacity][node] = amount;
    }
    [[nodiscard]] std::int64_t capacity(std::uint32_t node, resource_id r) const { return store[of(r).capacity][node]; }
    void set_bounds(std::size_t row, resource_id r, std::int64_t minimum, std::int64_t maximum) {
        store[of(r).minimum][row] = minimum;
        store[of(r).maximum][row] = maximum;
    }
    /// Job `row` holds the amount from time 0 on.
    void hold(std::size_t row, resource_id r, std::int64_t amount, std::uint32_t node = 0) {
        held.set({id(row), node, r, amount}, {});
    }
};

}  // namespace unit
