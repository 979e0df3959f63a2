// SPDX-License-Identifier: BSL-1.0
/// A synthetic host for trying policies: jobs come and go, reach tiers and use what they hold, the same on every run of
/// one seed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include <ration/host/holdings.hpp>
#include <ration/host/rng_sequence.hpp>
#include <ration/host/standard_columns.hpp>
#include <ration/job.hpp>
#include <ration/policy.hpp>

namespace ration::testing {

/// The size, length and seed of a trial of a policy on a synthetic cluster.
struct trial_options {
    std::uint64_t seed = 1;
    std::uint64_t ticks = 500;  ///< one second each
    limits most{.jobs = 8, .nodes = 1};
    /// Writes the columns that only this policy reads. Called once before the first tick, to declare them, and before
    /// every tick.
    void (*fill)(snapshot_store& store, std::uint64_t tick) = nullptr;
    /// How many allocations the program has made so far; without it nobody looks whether `decide` allocates.
    std::size_t (*allocations)() = nullptr;
};

/// What the nodes of a trial have. `usual`: enough for the minima of all jobs, and some jobs have a minimum of CPU. In
/// the others no job has one. `scarce`: of each 40 ticks the nodes have less than a millicore, and less than a device,
/// for each job in 30.
enum class trial_supply : std::uint8_t { usual, ample, scarce };

/// The tables of the synthetic host, and who holds what.
class trial {
    trial_options options_;
    trial_supply supply_;
    rng_sequence rng_;
    std::uint64_t last_id_ = 0;

public:
    static constexpr std::array<std::int64_t, std::size(standard_resources)> node_capacity{8000, 1 << 30, 8,
                                                                                           8000, 1 << 20, 4096};

    snapshot_store store;
    standard_columns columns;
    ledger held;

    explicit trial(trial_options const& options, trial_supply supply = trial_supply::usual) noexcept
        : options_(options), supply_(supply), rng_(options.seed) {
        auto declared = standard_columns::declare(store, standard_resources);
        RATION_ASSERT(declared, "an empty store takes the standard columns");
        columns = *declared;
        // The largest size comes first, so that later ticks allocate nothing.
        bool const sized = store.resize(table_id::jobs, options.most.jobs) &&
                           store.resize(table_id::nodes, options.most.nodes) && store.resize(table_id::jobs, 0);
        RATION_ASSERT(sized, "no memory for the tables of a trial");
        for (std::size_t r = 0; r < columns.resources.size(); ++r)
            for (auto& c : store[columns.resources[r].capacity]) c = node_capacity[r];
        held.reset(options.most.nodes, columns.resources.size(),
                   options.most.jobs * options.most.nodes * columns.resources.size());
        if (options.fill != nullptr) options.fill(store, 0);
    }

    /// Lets one second pass.
    void step(std::uint64_t tick) noexcept {
        if (supply_ == trial_supply::scarce) change_capacities(tick);
        let_one_leave();
        if (store.rows(table_id::jobs) < options_.most.jobs && below(4) == 0) let_one_arrive(tick);
        for (std::size_t row = 0; row < store.rows(table_id::jobs); ++row) let_it_work(row, tick);
        show_holdings(held, store, columns);
        if (options_.fill != nullptr) options_.fill(store, tick);
    }

    [[nodiscard]] tick_data data(std::uint64_t tick) const noexcept {
        return {.number = tick,
                .seed = options_.seed + tick,
                .now = seconds(static_cast<double>(tick)),
                .budget = seconds(1),
                .data = store.view()};
    }

private:
    [[nodiscard]] std::uint64_t below(std::uint64_t bound) noexcept { return rng_.below(bound); }

    void change_capacities(std::uint64_t tick) noexcept {
        auto const jobs = static_cast<std::int64_t>(options_.most.jobs);
        for (auto const r : {resource_id::cpu, resource_id::gpu}) {
            std::int64_t const usual = node_capacity[static_cast<std::size_t>(r)],
                               little = jobs / 2 < usual ? jobs / 2 : usual;
            for (auto& c : store[columns.resources[static_cast<std::size_t>(r)].capacity])
                c = tick % 40 < 10 ? usual : little;
        }
    }

    void let_one_leave() noexcept {
        for (std::size_t row = 0; row < store.rows(table_id::jobs); ++row) {
            if (static_cast<job_state>(store[columns.state][row]) != job_state::done) continue;
            store.erase_row(table_id::jobs, row);
            return;
        }
    }

    void let_one_arrive(std::uint64_t tick) noexcept {
        std::size_t const row = store.rows(table_id::jobs);
        RATION_ASSERT(store.resize(table_id::jobs, row + 1), "a trial never outgrows its tables");
        store[columns.id][row] = last_id_ += 1 + below(3);
        store[columns.get<"jobs/weight">()][row] = 1;
        store[columns.get<"jobs/submitted">()][row] = seconds(static_cast<double>(tick)).count;
        store[columns.started][row] = -1;
        store[columns.tiers][row] = two_tier_target::objective_tier;
        store[columns.loss][row] = store[columns.get<"jobs/loss.best">()][row] = 100;
        store[columns.restart_cost][row] = static_cast<double>(below(10));
        for (std::size_t r = 0; r < columns.resources.size(); ++r) {
            std::int64_t const fair = node_capacity[r] / static_cast<std::int64_t>(options_.most.jobs);
            store[columns.resources[r].minimum][row] = below(2) == 0 ? 0 : fair / 4;
            bool const is_cpu = static_cast<resource_id>(r) == resource_id::cpu;
            if (is_cpu && supply_ != trial_supply::usual) store[columns.resources[r].minimum][row] = 0;
            store[columns.resources[r].maximum][row] =
                below(2) == 0 ? unlimited : fair * static_cast<std::int64_t>(1 + below(4));
        }
    }

    void let_it_work(std::size_t row, std::uint64_t tick) noexcept {
        auto& state = store[columns.state][row];
        if (static_cast<job_state>(state) == job_state::queued && below(3) == 0) {
            state = static_cast<std::uint32_t>(job_state::running);
            store[columns.started][row] = seconds(static_cast<double>(tick)).count;
        }
        if (static_cast<job_state>(state) != job_state::running) return;
        store[columns.step][row] += 1 + below(100);
        double& loss = store[columns.loss][row];
        // Falls by 1 % as a rule, at most by 3; now and then it rises
        loss *= 1.01 - 0.0004 * static_cast<double>(below(101));
        if (double& best = store[columns.get<"jobs/loss.best">()][row]; loss < best) best = loss;
        auto& tier = store[columns.tier][row];
        if (tier < two_tier_target::objective_tier && below(25) == 0) ++tier;
        if (below(60) == 0) {
            state = static_cast<std::uint32_t>(job_state::done);
            held.release({store[columns.id][row]});
        }
        for (std::size_t r = 0; r < columns.resources.size(); ++r)
            store[columns.resources[r].used][row] =
                static_cast<double>(below(static_cast<std::uint64_t>(node_capacity[r]) / 2));
    }
};

}  // namespace ration::testing
