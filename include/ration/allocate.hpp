// SPDX-License-Identifier: BSL-1.0
/// One call for a scheduler that has its own jobs and applies grants itself: call a policy,
/// validate its answer, return the grants.
///
/// Example:
/// ~~~{.cpp}
/// ration::policies::equal_share policy;
/// ration::capacities const nodes[] = {{.cpu = 64'000}};
/// auto const answer = ration::allocate(policy, jobs, nodes, {.now = ration::seconds(clock)});
/// if (!answer) return answer.failure();
/// for (auto const& g : answer->granted) apply(g.job, g.node(), g.amount());
/// ~~~
///
/// For a policy chosen at run time, see allocation_host.hpp; for a loop with hysteresis and a
/// backend, see host/engine.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <ration/column_adapter.hpp>
#include <ration/host/check.hpp>
#include <ration/host/holdings.hpp>
#include <ration/host/tenants.hpp>

namespace ration {

/// The capacity of one node, in the units of the standard resources.
struct capacities {
    /// Millicores, bytes, devices, thousandths of a device, bytes. The batch is a setting, without a capacity.
    std::int64_t cpu = 0, memory = 0, gpu = 0, gpu_sm = 0, cache = 0;
    std::uint32_t type = 0;  ///< the kind of its devices, numbered from 0
};

/// The state of the scheduler that its jobs do not carry.
struct allocation_context {
    nanoseconds now{};  ///< on the scheduler's own clock
    /// The current allocation: the `what()` of grants that were applied. Settings of jobs that are
    /// not listed count as free.
    std::span<setting const> held{};
    /// The tenants of the jobs, for policies that read them. Their limits hold for every policy.
    std::span<tenant_description const> tenants{};
    std::uint64_t number = 0;  ///< number of this call
    /// Seed for policies that decide at random.
    std::uint64_t seed = 0;
};

/// A validated answer. `granted` points into `asked`, so the object can be moved and not copied.
struct allocation {
    /// An empty answer.
    allocation() = default;
    /// Moves keep the pointers valid, since the rows stay where they are.
    allocation(allocation&&) = default;
    /// As the move constructor.
    allocation& operator=(allocation&&) = default;

    buffer<checked_grant> granted;  ///< ordered by job; jobs without a grant keep their allocation
    buffer<grant> asked;            ///< all rows of the policy's answer
    buffer<rejection> rejected;     ///< `row` is an index into `asked`
};

namespace detail {

/// The tables of one call: a snapshot store with the standard columns, and the ledger of the
/// current allocation.
struct allocation_tables {
    snapshot_store store;
    standard_columns columns;
    ledger held;
    tenant_sums tenants;

    /// Fills the tables. `fill_jobs(store, columns)` makes the jobs table.
    template <class Fill>
    [[nodiscard]] result<void> make(std::span<capacities const> nodes, allocation_context const& now,
                                    Fill const& fill_jobs) noexcept {
        auto declared = standard_columns::declare(store, standard_resources);
        if (!declared) return declared.failure();
        columns = *declared;
        auto const type = store.declare<std::uint32_t>("nodes/type");
        if (!type) return type.failure();
        if (auto sized = store.resize(table_id::nodes, nodes.size()); !sized) return sized;
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            capacities const& c = nodes[i];
            std::int64_t const amounts[] = {c.cpu, c.memory, c.gpu, c.gpu_sm, c.cache};
            for (std::size_t r = 0; r < std::size(amounts); ++r)
                store.at(columns.resources[r].capacity, i) = amounts[r];
            store.at(*type, i) = c.type;
        }
        if (auto filled = fill_jobs(store, columns); !filled) return filled;
        if (auto filled = fill_tenants(store, columns, now.tenants); !filled) return filled;
        if (auto taken = hold(now.held); !taken) return taken;
        tenants.prepare(store, columns, {.jobs = store.rows(table_id::jobs), .tenants = now.tenants.size()}, {}, true);
        tenants.begin(store, columns, now.now);
        return {};
    }

private:
    /// Puts the current allocation into the ledger, and from there into the columns `held/*` and
    /// `nodes/free.*`.
    [[nodiscard]] result<void> hold(std::span<setting const> all) noexcept {
        reset(held, columns, store.rows(table_id::nodes), all.size());
        for (auto const& s : all) {
            // Values come from another program: each is checked before it is used as an index.
            bool const sane = s.amount >= 0 && (s.amount <= max_amount || s.amount == unlimited);
            if (!sane || s.node >= store.rows(table_id::nodes) ||
                static_cast<std::size_t>(s.resource) >= columns.resources.size())
                return error{
                    .code = errc::invalid_value,
                    .operation = "take in what is held",
                    .subject = "a setting",
                    .remedy = "pass settings of this scheduler's nodes and standard resources, amounts from 0 to 2^53"};
            if (row_of(store, columns, s.job) < store.rows(table_id::jobs)) held.set(s, {});
        }
        show_holdings(held, store, columns);
        return {};
    }
};

/// The longest valid answer: one row for each job, node and resource.
[[nodiscard]] inline std::size_t longest_answer(allocation_tables const& tables) noexcept {
    return tables.store.rows(table_id::jobs) * tables.store.rows(table_id::nodes) * std::size(standard_resources);
}

/// Calls `decide(tick_data, grants)` with the snapshot `shown`, and validates the answer. There is space for `room`
/// rows at first. A policy with a longer answer is asked again, and gives the same one.
template <class Decide>
[[nodiscard]] result<allocation> answer_of(allocation_tables const& tables, snapshot const& shown,
                                           allocation_context const& now, std::string_view policy, std::size_t room,
                                           Decide const& decide) noexcept {
    allocation out;
    tick_data const data{.number = now.number, .seed = now.seed, .now = now.now, .budget = seconds(1), .data = shown};
    std::size_t const most = longest_answer(tables);
    grants answer(out.asked.edit());
    for (status reply = status::capacity; reply == status::capacity; room *= 4) {
        out.asked.resize(room < most ? room : most);
        answer = grants(out.asked.edit());
        reply = decide(data, answer);
        if (reply == status::ok && answer.overflowed()) reply = status::capacity;
        if (reply != status::ok && (reply != status::capacity || room >= most))
            return error{.code = errc::internal, .operation = "ask policy", .subject = policy};
    }
    checker validation;
    validation.prepare(tables.store, tables.columns, standard_resources, tables.store.rows(table_id::nodes),
                       out.asked.size());
    validation.check(tables.held, answer.rows(), out.granted, out.rejected, tables.tenants.limits_of());
    out.asked.resize(answer.size());
    return out;
}

/// Calls a policy whose type is known at compile time.
template <class P>
[[nodiscard]] result<allocation> ask_policy(P& policy, allocation_tables const& tables, snapshot const& shown,
                                            allocation_context const& now) noexcept {
    auto const bound = bind_columns<typename P::inputs>(tables.store.schema());
    if (!bound) return bound.failure();
    if constexpr (has_prepare<P>)
        if (policy.prepare({.jobs = tables.store.rows(table_id::jobs),
                            .nodes = tables.store.rows(table_id::nodes),
                            .tenants = now.tenants.size()}) != status::ok)
            return error{.code = errc::no_capacity, .operation = "ask policy", .subject = P::about.id};
    // Most answers are far shorter than the longest one.
    std::size_t const room =
        std::size(standard_resources) * (tables.store.rows(table_id::jobs) + tables.store.rows(table_id::nodes)) +
        now.held.size();
    return answer_of(tables, shown, now, P::about.id, room, [&](tick_data const& data, grants& answer) {
        return policy.decide(tick<typename P::inputs>(data, *bound), answer);
    });
}

}  // namespace detail

/// Calls `policy` once to share `nodes` among `jobs`, and validates the answer. `jobs` is a
/// contiguous range of any Job type, in any order.
///
/// Nothing is applied, and only the policy itself keeps state between calls. Errors: those of
/// `fill` and `fill_tenants`; `invalid_value` for an impossible setting in `held`; `no_capacity` or `internal` with
/// the policy's id if the policy returned no answer. O(jobs) besides the policy; allocates.
template <class P, class Jobs>
[[nodiscard]] result<allocation> allocate(P& policy, Jobs const& jobs, std::span<capacities const> nodes,
                                          allocation_context const& now = {}) noexcept {
    std::span const rows(jobs);
    using J = typename decltype(rows)::value_type;
    // Named errors first: without this, a missing column would be an error deep inside `fill`.
    static_assert(sizeof(pairing<P, J>) > 0);
    if constexpr (can_pair<P, J>) {
        detail::allocation_tables tables;
        auto const filled = [&](snapshot_store& store, standard_columns const& columns) {
            return fill(store, columns, std::span<J const>(rows));
        };
        if (auto made = tables.make(nodes, now, filled); !made) return made.failure();
        return detail::ask_policy(policy, tables, tables.store.view(), now);
    } else {
        return error{};
    }
}

}  // namespace ration
