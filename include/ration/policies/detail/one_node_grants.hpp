// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// Grants of policies that give each job one amount of a resource on one node: `equal_share`, `flowcon`,
/// `loss_delta_ratio`, `phase_limits`, `tradl`, and all settings.
///
/// Bounds, capacities and holdings can change between two ticks, so that an amount no longer fits, or a job holds the
/// resource on another node. Only a policy that places jobs reads the table `held`: hosts give others one node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ration/policies/detail/planned_holdings.hpp>
#include <ration/policy.hpp>
#include <ration/resource.hpp>

namespace ration::policies::detail {

/// The columns that show where jobs hold a resource, and those that a policy adds.
template <class... More>
using located_columns =
    columns<in<std::uint64_t, "jobs/id">, in<std::uint64_t, "held/job">, in<std::uint32_t, "held/node">,
            in<std::uint32_t, "held/resource">, in<std::int64_t, "held/amount">, More...>;

/// Calls `visit(node, amount)` for each node on which the job holds the resource. O(log holdings + its holdings).
template <class Tick, class Visit>
void for_each_holding(Tick const& t, std::size_t row, resource_id resource, Visit const& visit) noexcept {
    auto const owner = t.template get<"held/job">();
    auto const node = t.template get<"held/node">(), of = t.template get<"held/resource">();
    auto const amount = t.template get<"held/amount">();
    std::uint64_t const id = t.template get<"jobs/id">()[row];
    for (std::size_t i = lower_bound(owner, id); i < owner.size() && owner[i] == id; ++i)
        if (of[i] == static_cast<std::uint32_t>(resource) && node[i] < t.nodes() && amount[i] != 0)
            visit(node[i], amount[i]);
}

/// Calls `visit(row, node, amount)` for each holding of the resource by a job that has a row. The table `held` is
/// sorted by job, so one pass is enough. O(jobs + holdings).
template <class Tick, class Visit>
void for_each_holding(Tick const& t, resource_id resource, Visit const& visit) noexcept {
    auto const ids = t.template get<"jobs/id">(), owner = t.template get<"held/job">();
    auto const node = t.template get<"held/node">(), of = t.template get<"held/resource">();
    auto const amount = t.template get<"held/amount">();
    for (std::size_t row = 0, i = 0; row < ids.size(); ++row)
        for (; i < owner.size() && owner[i] <= ids[row]; ++i)
            if (owner[i] == ids[row] && of[i] == static_cast<std::uint32_t>(resource) && node[i] < t.nodes())
                visit(row, node[i], amount[i]);
}

/// The amount that a job holds on one node, and whether it holds more on others.
struct node_holding {
    std::int64_t here = 0;
    bool elsewhere = false;
};
/// `sum`: what the job holds on all nodes together.
template <class Tick>
[[nodiscard]] node_holding holding_on(Tick const& t, std::size_t row, std::size_t node, resource_id resource,
                                      std::int64_t sum) noexcept {
    if (t.nodes() == 1 || sum == 0) return {sum, false};
    node_holding found;
    for_each_holding(t, row, resource, [&](std::uint32_t at, std::int64_t amount) noexcept {
        if (at == node)
            found.here = amount;
        else
            found.elsewhere = true;
    });
    return found;
}

/// Grants the job the amount on this node and nothing on others. Returns false if the rows do not fit into `out`.
template <class Tick>
[[nodiscard]] bool hold_on(Tick const& t, std::size_t row, std::size_t node, resource_id resource, std::int64_t amount,
                           std::uint16_t reason, grants& out) noexcept {
    bool has_room = true;
    if (t.nodes() > 1)
        for_each_holding(t, row, resource, [&](std::uint32_t at, std::int64_t) noexcept {
            if (at != node) has_room = out.set(row, at, resource, 0, reason) && has_room;
        });
    return out.set(row, node, resource, amount, reason) && has_room;
}

/// The amount of one job, and the policy's reason.
struct chosen_amount {
    std::int64_t amount = 0;
    std::uint16_t reason = 0;
    bool is_set = true;     ///< false: the policy leaves the job as it is
    bool repeated = false;  ///< a grant is written although the job holds this already
};

/// How much more of the node is reserved if `amount` replaces `held`.
[[nodiscard]] inline std::int64_t growth(std::int64_t amount, std::int64_t held, resource_id resource) noexcept {
    return reserved(amount, resource) - reserved(held, resource);
}

/// Grants each job the amount `choose(row)` on the first node; `held` and `capacity` are those of the resource. An
/// amount that does not fit, after all that become smaller, is not granted: the job keeps what it holds. Earlier rows
/// come first. O(jobs), each chosen twice.
template <class Choose>
[[nodiscard, gnu::noinline]] status grant_what_fits(resource_id resource, std::span<std::int64_t const> held,
                                                    std::int64_t capacity, Choose const& choose, grants& out) noexcept {
    std::int64_t left = capacity;
    for (std::size_t row = 0; row < held.size(); ++row) {
        chosen_amount const chosen = choose(row);
        std::int64_t const here = reserved(held[row], resource);
        left -= chosen.is_set && reserved(chosen.amount, resource) < here ? reserved(chosen.amount, resource) : here;
    }
    for (std::size_t row = 0; row < held.size(); ++row) {
        chosen_amount const chosen = choose(row);
        if (!chosen.is_set) continue;
        std::int64_t const more = growth(chosen.amount, held[row], resource);
        if (more > 0 && more > left) continue;
        if (more > 0) left -= more;
        bool const changes = chosen.amount != held[row] || chosen.repeated;
        if (changes && !out.set(row, 0, resource, chosen.amount, chosen.reason)) return status::capacity;
    }
    return status::ok;
}

/// The same for the whole answer of a policy, which is usually written in one pass: amounts fit unless the jobs' minima
/// exceed the node.
template <class Choose>
[[nodiscard]] status grant_on_first_node(resource_id resource, std::span<std::int64_t const> held,
                                         std::int64_t capacity, Choose const& choose, grants& out) noexcept {
    bool fits = true;
    std::int64_t left = capacity;
    for (std::size_t row = 0; fits && row < held.size(); ++row) {
        chosen_amount const chosen = choose(row);
        std::int64_t const after = chosen.is_set ? chosen.amount : held[row];
        if (__builtin_sub_overflow(left, reserved(after, resource), &left)) fits = false;
        bool const changes = chosen.is_set && (chosen.amount != held[row] || chosen.repeated);
        if (changes && !out.set(row, 0, resource, chosen.amount, chosen.reason)) return status::capacity;
    }
    if (fits && left >= 0) return status::ok;
    if (out.size() > 0) out.clear();
    return grant_what_fits(resource, held, capacity, choose, out);
}

}  // namespace ration::policies::detail
