// SPDX-License-Identifier: BSL-1.0
// A busy machine with so many jobs, and what asks a policy about it.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <ration/decider.hpp>
#include <ration/job.hpp>
#include <ration/standard_columns.hpp>

namespace plugin_bench {

using namespace ration;

template <class T>
T need(result<T> r) {
    if (!r) std::fprintf(stderr, "%s: %s\n", r.failure().subject.c_str(), r.failure().remedy), std::exit(1);
    return std::move(r).value();
}
inline void need(result<void> const& r) {
    if (!r) std::fprintf(stderr, "%s: %s\n", r.failure().subject.c_str(), r.failure().remedy), std::exit(1);
}

/// Half of the jobs have reached Acceptable; together they use all of the CPU, and there are two GPUs for each.
struct scene {
    snapshot_store store;
    standard_columns columns;
    std::vector<grant> space;
    std::uint64_t ticks = 0;
    bool in_force = true;  ///< what was granted is held at the next tick; for a policy that does not look at that it would only take time

    explicit scene(std::size_t jobs, column_memory* memory = nullptr) : store(memory), columns(need(standard_columns::declare(store, standard_resources))), space(jobs) {
        need(store.resize(table_id::nodes, 1));
        need(store.resize(table_id::jobs, jobs));
        auto const& cpu = columns.resources[0];
        auto const& gpu = columns.resources[static_cast<std::size_t>(resource_id::gpu)];
        store.at(cpu.capacity, 0) = static_cast<std::int64_t>(jobs) * 1000;
        store.at(gpu.capacity, 0) = static_cast<std::int64_t>(jobs) * 2;
        for (std::size_t row = 0; row < jobs; ++row) {
            store.at(columns.id, row) = row + 1;
            store.at(columns.state, row) = static_cast<std::uint32_t>(job_state::running);
            store.at(columns.tier, row) = row % 2;
            store.at(cpu.used, row) = 1000;
            store.at(cpu.maximum, row) = unlimited;
            store.at(gpu.maximum, row) = 8;
        }
    }

    [[nodiscard]] limits most() const { return {.jobs = store.rows(table_id::jobs), .nodes = 1}; }

    /// One tick; so many rows are the answer. It is in `space`, but for that of a worker.
    template <class Policy>
    std::size_t ask(Policy& policy) {
        grants out(space);
        out.read_by_rows();
        ++ticks;
        auto const said = policy.decide({.number = ticks, .seed = ticks, .now = {static_cast<std::int64_t>(ticks)}, .budget = milliseconds(100), .data = store.view()}, out);
        if (said != status::ok) {
            if constexpr (requires { policy.last_fault(); }) std::fprintf(stderr, "%s ", policy.last_fault().what.c_str());
            std::fprintf(stderr, "status %d the policy refused a tick\n", static_cast<int>(said)), std::exit(1);
        }
        if (in_force)
            for (auto const& g : out.rows()) store.at(columns.resources[g.resource].held, g.job) = g.amount;
        return out.rows().size();
    }
};

}  // namespace plugin_bench
