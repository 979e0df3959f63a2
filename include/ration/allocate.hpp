// SPDX-License-Identifier: BSL-1.0
/// One call for a scheduler that has its own jobs and its own way of acting: ask a policy, prove the answer, get the
/// grants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <ration/column_adapter.hpp>
#include <ration/host/check.hpp>
#include <ration/host/holdings.hpp>

namespace ration {

/// What one node has of each standard resource.
struct capacities {
    std::int64_t cpu = 0, memory = 0, gpu = 0, gpu_sm = 0, cache = 0, batch = 0;
    std::uint32_t type = 0;  ///< which kind of devices; numbered from 0
};

/// What else a policy may want to know.
struct allocation_context {
    nanoseconds now{};  ///< on the scheduler's one clock
    /// What is in force: the `what()` of grants that were carried out. Of jobs not listed: free
    std::span<setting const> held{};
    std::uint64_t number = 0;  ///< of this call
    std::uint64_t seed = 0;
};

/// A policy's answer, proved. What was granted points into what was asked, so it can be moved and not copied.
struct allocation {
    allocation() = default;
    allocation(allocation&&) = default;
    allocation& operator=(allocation&&) = default;

    buffer<checked_grant> granted;  ///< by job; what no grant names stays as it is
    buffer<grant> asked;            ///< all that the policy answered
    buffer<rejection> rejected;     ///< `row` is a place in `asked`
};

namespace detail {

/// The tables of one call.
struct allocation_tables {
    snapshot_store store;
    standard_columns columns;
    ledger held;

    /// `fill_jobs(store, columns)` makes the jobs table.
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
            std::int64_t const amounts[] = {c.cpu, c.memory, c.gpu, c.gpu_sm, c.cache, c.batch};
            for (std::size_t r = 0; r < columns.resources.size(); ++r)
                store.at(columns.resources[r].capacity, i) = amounts[r];
            store.at(*type, i) = c.type;
        }
        if (auto filled = fill_jobs(store, columns); !filled) return filled;
        return hold(now.held);
    }

private:
    [[nodiscard]] result<void> hold(std::span<setting const> all) noexcept {
        held.reset(store.rows(table_id::nodes), columns.resources.size(), all.size());
        for (auto const& s : all) {
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

/// `decide(tick_data, grants)` answers what `shown` shows, and its answer is proved.
template <class Decide>
[[nodiscard]] result<allocation> answer_of(allocation_tables const& tables, snapshot const& shown,
                                           allocation_context const& now, std::string_view policy,
                                           Decide const& decide) noexcept {
    std::size_t const jobs = tables.store.rows(table_id::jobs), nodes = tables.store.rows(table_id::nodes);
    allocation out;
    out.asked.resize(jobs * nodes * std::size(standard_resources));
    grants answer(out.asked);
    tick_data const data{.number = now.number, .seed = now.seed, .now = now.now, .budget = seconds(1), .data = shown};
    if (decide(data, answer) != status::ok || answer.overflowed())
        return error{.code = errc::internal, .operation = "ask policy", .subject = policy};
    checker validation;
    validation.prepare(tables.store, tables.columns, standard_resources, nodes, out.asked.size());
    validation.check(tables.held, answer.rows(), out.granted, out.rejected);
    out.asked.resize(answer.size());
    return out;
}

/// Of a policy that is known when this is compiled.
template <class P>
[[nodiscard]] result<allocation> ask_policy(P& policy, allocation_tables const& tables, snapshot const& shown,
                                            allocation_context const& now) noexcept {
    auto const bound = bind_columns<typename P::inputs>(tables.store.schema());
    if (!bound) return bound.failure();
    if constexpr (has_prepare<P>)
        if (policy.prepare({.jobs = tables.store.rows(table_id::jobs), .nodes = tables.store.rows(table_id::nodes)}) !=
            status::ok)
            return error{.code = errc::no_capacity, .operation = "ask policy", .subject = P::about.id};
    return answer_of(tables, shown, now, P::about.id, [&](tick_data const& data, grants& answer) {
        return policy.decide(tick<typename P::inputs>(data, *bound), answer);
    });
}

}  // namespace detail

/// Asks `policy` once to share `nodes` among `jobs` (a contiguous range of any Job type, in any order) and proves its
/// answer. Nothing is carried out, nothing remembered but what the policy itself remembers from call to call. Errors:
/// those of `fill`; `invalid_value` for a setting in `held` that cannot be; `no_capacity` or `internal` when the policy
/// gave no answer, with its id. O(jobs) besides the policy; allocates.
template <class P, class Jobs>
[[nodiscard]] result<allocation> allocate(P& policy, Jobs const& jobs, std::span<capacities const> nodes,
                                          allocation_context const& now = {}) noexcept {
    std::span const rows(jobs);
    using J = typename decltype(rows)::value_type;
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
