// SPDX-License-Identifier: BSL-1.0
/// Check: every grant is data to be proved before anything is done with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <ration/checked_grant.hpp>
#include <ration/detail/job_sums.hpp>
#include <ration/detail/place_set.hpp>
#include <ration/detail/sort.hpp>
#include <ration/grant.hpp>
#include <ration/job.hpp>
#include <ration/standard_columns.hpp>

namespace ration {

/// Why a row was refused. A bad row costs its group.
enum class check_rule : std::uint8_t {
    passed = 0,
    unknown_job,       ///< no such row in the jobs table
    unknown_node,      ///< no such row in the nodes table
    unknown_resource,  ///< not a resource of this host
    negative_amount,
    amount_too_large,  ///< above `max_amount` and not `unlimited`
    unlimited_whole,   ///< `unlimited` of a resource that comes in whole units
    job_not_active,    ///< something for a job that is done or failed
    below_minimum,     ///< with it the job would hold, on all nodes together, neither 0 nor as much as it accepts
    above_maximum,     ///< with it the job would hold more than it accepts
    divided,           ///< grants of one resource to one job are in different groups
    duplicate,         ///< the same job, node and resource twice in one tick
    over_capacity,     ///< with it the node would promise more than it has
    broken_group,      ///< another row of the same job or group was refused
};

[[nodiscard]] constexpr std::string_view name_of(check_rule rule) noexcept {
    switch (rule) {
        case check_rule::passed: return "passed";
        case check_rule::unknown_job: return "there is no such job";
        case check_rule::unknown_node: return "there is no such node";
        case check_rule::unknown_resource: return "this host has no such resource";
        case check_rule::negative_amount: return "the amount is negative";
        case check_rule::amount_too_large: return "the amount is above 2^53";
        case check_rule::unlimited_whole: return "no limit is asked for a resource that comes in whole units";
        case check_rule::job_not_active: return "the job is done or failed";
        case check_rule::below_minimum: return "the amount is below the job's minimum";
        case check_rule::above_maximum: return "the amount is above the job's maximum";
        case check_rule::divided: return "grants of one resource to one job are in different groups";
        case check_rule::duplicate: return "job, node and resource are granted twice in one tick";
        case check_rule::over_capacity: return "the node would promise more than it has";
        case check_rule::broken_group: return "another grant of its group was refused";
    }
    return "unknown rule";
}

struct rejection {
    std::uint32_t row = 0;  ///< index of the grant in the policy's answer
    check_rule rule = check_rule::passed;
    friend constexpr bool operator==(rejection, rejection) noexcept = default;
};

/// Proves grants against one snapshot. Only `prepare` allocates; `check` is O(grants), and O(grants log grants) when they are not
/// in the order of their groups. On one node, an answer in the order of jobs and resources with nothing to refuse takes one pass.
class checker {
    snapshot_store const* store_ = nullptr;
    standard_columns const* columns_ = nullptr;
    std::span<resource_info const> resources_;
    buffer<check_rule> rules_;
    detail::place_set places_;
    detail::job_sums sums_;
    capacity_fit fit_;
    promises promises_;  // of the one pass

public:
    /// What is passed by reference must outlive the checker. `most_grants`: rows of one answer.
    void prepare(snapshot_store const& store, standard_columns const& columns, std::span<resource_info const> resources,
                 std::size_t most_nodes, std::size_t most_grants) {
        store_ = &store;
        columns_ = &columns;
        resources_ = resources;
        rules_.reserve(most_grants);
        places_.reserve(most_grants);
        sums_.reserve(most_grants);
        fit_.prepare(most_nodes, resources.size(), most_grants);
        promises_.prepare(most_nodes, resources.size());
    }

    /// Splits `rows` into accepted grants, sorted by group, and rejections in no particular order. The accepted ones point to their
    /// rows.
    void check(ledger const& held, std::span<grant const> rows, buffer<checked_grant>& accepted,
               buffer<rejection>& rejected) noexcept {
        rejected.clear();
        if (accept_all(held, rows, accepted)) return;
        accepted.clear();
        judge(held, rows, accepted);
        detail::sort(accepted.data(), accepted.size(), [](checked_grant const& a, checked_grant const& b) {
            return a.group() != b.group() ? a.group() < b.group() : a.asked < b.asked;
        });
        drop_broken_groups(rows, accepted, rejected);
        fit_.fit(
            held, accepted, [&](std::uint32_t node, resource_id r) { return capacity(node, r); },
            [&](checked_grant const& g) { rejected.push_back({index_of(g, rows), check_rule::over_capacity}); });
    }

private:
    /// The common answer: there is one node; rows ascend by job and resource, without groups of their own; none is refused; and
    /// there is room for all that grows even before anything is given back. False when the answer is not like that: then it has to
    /// be judged row by row, and `accepted` holds nothing of worth.
    [[nodiscard]] bool accept_all(ledger const& held, std::span<grant const> rows, buffer<checked_grant>& accepted) noexcept {
        accepted.clear();
        if (store_->rows(table_id::nodes) != 1 || store_->rows(table_id::jobs) >> 24 != 0) return false;  // places have 64 bits
        promises_.start(held);
        ledger::walk amounts(held);
        checked_grant* const out = accepted.extend(rows.size());
        std::uint64_t least = 0;  // the place after that of the last row
        for (std::size_t i = 0; i < rows.size();) {
            grant const& g = rows[i];
            std::uint64_t const place = place_of(g);
            if (place < least || !is_known(g)) return false;
            std::size_t const run = accept_run(rows.data() + i, rows.data() + rows.size(), amounts, out + i);
            if (run == 0) return false;
            i += run;
            least = place_of(rows[i - 1]) + 1;
        }
        return true;
    }

    /// Accepts rows as long as they are of the first one's resource and node; stops before the first row of another place, and
    /// before one that cannot be accepted here. Returns how many.
    [[nodiscard]] std::size_t accept_run(grant const* const first, grant const* const last, ledger::walk& amounts,
                                         checked_grant* out) noexcept {
        std::uint32_t const node = first->node;
        std::uint16_t const resource = first->resource;
        auto const& columns = of(resource);
        std::int64_t const* const minimum = &store_->at(columns.minimum, 0);
        std::int64_t const* const maximum = &store_->at(columns.maximum, 0);
        std::uint64_t const* const ids = &store_->at(columns_->id, 0);
        std::uint32_t const* const states = &store_->at(columns_->state, 0);
        std::int64_t const most = store_->at(columns.capacity, node);
        std::int64_t sum = promises_.at(node, static_cast<resource_id>(resource));
        std::uint64_t const jobs = store_->rows(table_id::jobs);
        std::uint64_t least = 0;
        grant const* g = first;
        for (; g != last && g->node == node && g->resource == resource; ++g) {
            std::uint32_t const job = g->job;
            std::int64_t const amount = g->amount;
            if (job < least || job >= jobs || g->group != 0) break;
            bool const in_bounds = amount >= minimum[job] && amount <= maximum[job] && static_cast<std::uint64_t>(amount) <= max_amount;
            if (!(in_bounds && is_active(static_cast<job_state>(states[job]))) && rule_alone(*g) != check_rule::passed) break;
            std::int64_t const holds = amounts.amount({ids[job]}, node, static_cast<resource_id>(resource));
            std::int64_t const growth = ledger::counted(amount) - ledger::counted(holds);
            if (growth > 0) sum += growth;
            if (growth > 0 && sum > most) break;
            *out++ = {{{ids[job]}, node, static_cast<resource_id>(resource), amount}, holds, g};
            least = std::uint64_t{job} + 1;
        }
        promises_.at(node, static_cast<resource_id>(resource)) = sum;
        return static_cast<std::size_t>(g - first);
    }

    [[nodiscard]] static std::uint64_t place_of(grant const& g) noexcept {
        return std::uint64_t{g.job} << 40 ^ std::uint64_t{g.node} << 16 ^ g.resource;
    }

    [[nodiscard]] resource_columns const& of(std::size_t resource) const noexcept { return columns_->resources[resource]; }
    [[nodiscard]] std::int64_t capacity(std::uint32_t node, resource_id r) const noexcept {
        return store_->at(of(static_cast<std::size_t>(r)).capacity, node);
    }

    [[nodiscard]] bool is_known(grant const& g) const noexcept {
        return g.job < store_->rows(table_id::jobs) && g.node < store_->rows(table_id::nodes) && g.resource < resources_.size();
    }

    /// Row by row what can be said of it, and then what its job would hold of the resource on all nodes together.
    void judge(ledger const& held, std::span<grant const> rows, buffer<checked_grant>& accepted) noexcept {
        rules_.clear();
        places_.clear();
        sums_.clear();
        for (auto const& g : rows) {
            rules_.push_back(rule_for(g));
            accepted.push_back(named(held, g));
            if (rules_.back() != check_rule::passed) continue;
            sums_.of(accepted.back(), held).add(accepted.back());
        }
        for (std::size_t i = 0; i < rows.size(); ++i)
            if (rules_[i] == check_rule::passed) rules_[i] = rule_for_sum(rows[i], sums_.of(accepted[i], held));
    }

    [[nodiscard]] check_rule rule_for(grant const& g) noexcept {
        if (g.job >= store_->rows(table_id::jobs)) return check_rule::unknown_job;
        if (g.node >= store_->rows(table_id::nodes)) return check_rule::unknown_node;
        if (g.resource >= resources_.size()) return check_rule::unknown_resource;
        if (auto const rule = rule_for_amount(g); rule != check_rule::passed) return rule;
        if (g.amount != 0 && !is_active(static_cast<job_state>(store_->at(columns_->state, g.job)))) return check_rule::job_not_active;
        return places_.insert(place_of(g)) ? check_rule::passed : check_rule::duplicate;
    }

    /// Of a row whose job, node and resource exist.
    [[nodiscard]] check_rule rule_for_amount(grant const& g) const noexcept {
        if (g.amount < 0) return check_rule::negative_amount;
        if (g.amount > max_amount && g.amount != unlimited) return check_rule::amount_too_large;
        if (g.amount == unlimited && resources_[g.resource].cut == divisibility::whole) return check_rule::unlimited_whole;
        return check_rule::passed;
    }

    /// Of all rows of this job and resource. "No limit of mine" is within bounds: the job's own maximum still holds.
    [[nodiscard]] check_rule rule_for_sum(grant const& g, detail::job_sum const& sum) const noexcept {
        if (sum.divided) return check_rule::divided;
        if (sum.unlimited_nodes > 0 || sum.amount == 0) return check_rule::passed;
        if (sum.amount < store_->at(of(g.resource).minimum, g.job)) return check_rule::below_minimum;
        if (sum.amount > store_->at(of(g.resource).maximum, g.job)) return check_rule::above_maximum;
        return check_rule::passed;
    }

    /// Of the only row of its job and resource, where there is one node. Not inline: the common row needs it only for the
    /// amounts 0 and `unlimited`.
    [[nodiscard, gnu::noinline]] check_rule rule_alone(grant const& g) const noexcept {
        if (auto const rule = rule_for_amount(g); rule != check_rule::passed) return rule;
        if (g.amount == 0) return check_rule::passed;
        if (!is_active(static_cast<job_state>(store_->at(columns_->state, g.job)))) return check_rule::job_not_active;
        return g.amount == unlimited ? check_rule::passed : rule_for_sum(g, {.amount = g.amount});
    }

    [[nodiscard]] checked_grant named(ledger const& held, grant const& g) const noexcept {
        bool const known_job = g.job < store_->rows(table_id::jobs);
        setting const what{{known_job ? store_->at(columns_->id, g.job) : 0}, g.node, static_cast<resource_id>(g.resource), g.amount};
        return {what, known_job ? held.amount(what.job, what.node, what.resource) : 0, &g};
    }

    [[nodiscard]] static std::uint32_t index_of(checked_grant const& g, std::span<grant const> rows) noexcept {
        return static_cast<std::uint32_t>(g.asked - rows.data());
    }

    void drop_broken_groups(std::span<grant const> asked, buffer<checked_grant>& rows, buffer<rejection>& rejected) const noexcept {
        auto const rule_of = [&](checked_grant const& g) { return rules_[index_of(g, asked)]; };
        std::size_t kept = 0;
        for (std::size_t first = 0, last = 0; first < rows.size(); first = last) {
            last = end_of_group(rows.view(), first);
            bool whole = true;
            for (std::size_t i = first; i < last; ++i) whole &= rule_of(rows[i]) == check_rule::passed;
            for (std::size_t i = first; i < last; ++i) {
                auto const rule = rule_of(rows[i]);
                if (whole)
                    rows[kept++] = rows[i];
                else
                    rejected.push_back({index_of(rows[i], asked), rule == check_rule::passed ? check_rule::broken_group : rule});
            }
        }
        rows.resize(kept);
    }
};

}  // namespace ration
