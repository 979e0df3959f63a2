// SPDX-License-Identifier: BSL-1.0
// A busy machine with a given number of jobs, what changes on it, and what asks a policy about it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ration/host/any_policy.hpp>
#include <ration/host/standard_columns.hpp>
#include <ration/job.hpp>

namespace plugin_bench {

using namespace ration;

template <class T>
T need(result<T> r) {
    if (!r) {
        std::fprintf(stderr, "%s: %s\n", r.failure().subject.c_str(), r.failure().remedy);
        std::exit(1);
    }
    return std::move(r).value();
}
inline void need(result<void> const& r) {
    if (!r) {
        std::fprintf(stderr, "%s: %s\n", r.failure().subject.c_str(), r.failure().remedy);
        std::exit(1);
    }
}

/// The changes between two ticks: nothing; ten jobs report, and the bounds of some change; the machine does, so that
/// most grants are others.
enum class change : unsigned char { nothing, ten_jobs, all };

/// Half of the jobs have reached Acceptable; together they use all of the CPU, and there are two GPUs for each.
struct scene {
    snapshot_store store;
    standard_columns columns;
    std::vector<grant> space;
    std::span<grant const> reply{};  ///< the last answer
    std::uint64_t ticks = 0;
    /// Jobs hold their grants at the next tick; for a policy that does not look at that it would only take time
    bool in_effect = false;

    explicit scene(std::size_t jobs, column_memory* memory = nullptr)
        : store(memory), columns(need(standard_columns::declare(store, standard_resources))), space(jobs) {
        need(store.resize(table_id::nodes, 1));
        need(store.resize(table_id::jobs, jobs));
        give_the_node(1000, 2);
        for (std::size_t row = 0; row < jobs; ++row) {
            store.at(columns.id, row) = row + 1;
            store.at(columns.state, row) = static_cast<std::uint32_t>(job_state::running);
            store.at(columns.tier, row) = row % 2;
            store.at(columns.resources[0].used, row) = 1000;
            store.at(columns.resources[0].maximum, row) = unlimited;
            store.at(columns.resources[static_cast<std::size_t>(resource_id::gpu)].maximum, row) = 8;
        }
    }

    /// These milli-cores and GPUs for each job.
    void give_the_node(std::int64_t cpu, std::int64_t gpu) {
        auto const jobs = static_cast<std::int64_t>(space.size());
        store.at(columns.resources[0].capacity, 0) = jobs * cpu;
        store.at(columns.resources[static_cast<std::size_t>(resource_id::gpu)].capacity, 0) = jobs * gpu;
    }

    [[nodiscard]] limits most() const { return {.jobs = store.rows(table_id::jobs), .nodes = 1}; }

    void apply(change what) {
        if (what == change::all) ticks % 2 == 0 ? give_the_node(990, 2) : give_the_node(1000, 3);
        if (what != change::ten_jobs) return;
        std::size_t const jobs = space.size(), reports = std::min<std::size_t>(jobs, 10);
        for (std::size_t i = 0; i < reports; ++i) {
            std::size_t const row = (ticks * 7919 + i * (jobs / reports)) % jobs;
            store.at(columns.step, row) += 10;
            store.at(columns.loss, row) = 1.0 / static_cast<double>(store.at(columns.step, row));
            auto& least = store.at(columns.resources[0].minimum, row);
            least = least == 0 ? 2000 : 0;
        }
    }

    /// The next tick shows the grants as held.
    void hold() {
        for (auto const& g : reply) store.at(columns.resources[g.resource].held, g.job) = g.amount;
    }

    /// One tick; the result is the number of rows of the answer. Compiled once for each policy: where it is asked from
    /// makes no difference.
    template <class Policy>
    [[gnu::noinline]] std::size_t ask(Policy& policy) {
        grants out(space);
        out.read_by_rows();
        ++ticks;
        auto const code = policy.decide({.number = ticks,
                                         .seed = ticks,
                                         .now = {static_cast<std::int64_t>(ticks)},
                                         .budget = milliseconds(100),
                                         .data = store.view()},
                                        out);
        if (code != status::ok) {
            if constexpr (requires { policy.last_fault(); })
                std::fprintf(stderr, "%s ", policy.last_fault().what.c_str());
            std::fprintf(stderr, "status %d the policy refused a tick\n", static_cast<int>(code));
            std::exit(1);
        }
        reply = out.rows();
        if (in_effect) hold();
        return reply.size();
    }
};

}  // namespace plugin_bench
