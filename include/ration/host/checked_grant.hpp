// SPDX-License-Identifier: BSL-1.0
/// Validated grants, and the test whether they fit into the capacities of the nodes.
///
/// Shared by check (which rejects groups over capacity), settle (which repeats the test after it
/// has deferred groups) and the engine (which repeats it while it applies them).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <ration/detail/tenant_sums.hpp>
#include <ration/grant.hpp>
#include <ration/host/check_rule.hpp>
#include <ration/host/ledger.hpp>

namespace ration {

/// A validated grant, with the row of the answer. It has 24 bytes, since there can be 100 000 of
/// them in a tick.
struct checked_grant {
    /// The job, by id.
    job_id job;
    std::int64_t held = 0;         ///< present amount of the job there
    grant const* asked = nullptr;  ///< row of the policy's answer; valid until the next call of the policy

    [[nodiscard]] constexpr std::uint32_t node() const noexcept { return asked->node; }  ///< row of the nodes table
    /// The resource.
    [[nodiscard]] constexpr resource_id resource() const noexcept { return static_cast<resource_id>(asked->resource); }
    /// The granted amount, in the resource's unit.
    [[nodiscard]] constexpr std::int64_t amount() const noexcept { return asked->amount; }
    /// The setting to apply.
    [[nodiscard]] constexpr setting what() const noexcept { return {job, node(), resource(), amount()}; }
    /// Row of the jobs table.
    [[nodiscard]] constexpr std::uint32_t job_row() const noexcept { return asked->job; }
    /// The policy's reason code, an index into `meta::reasons`.
    [[nodiscard]] constexpr std::uint16_t reason() const noexcept { return asked->reason; }
    /// Equal for rows that are applied all or none.
    [[nodiscard]] std::uint64_t group() const noexcept {
        return asked->group == 0 ? asked->job : std::uint64_t{1} << 32 | asked->group;
    }
    /// The change of the node's reservations by the grant; negative for a release.
    [[nodiscard]] std::int64_t growth() const noexcept {
        return ledger::promised(amount(), resource()) - ledger::promised(held, resource());
    }
    /// The change of what the job's tenant holds.
    [[nodiscard]] std::int64_t growth_of_tenant() const noexcept {
        return ledger::counted(amount()) - ledger::counted(held);
    }
    /// True if the job had a limit, and would have none.
    [[nodiscard]] bool drops_limit() const noexcept { return amount() == unlimited && held != unlimited; }
};

/// The end of the group that starts at `first`. Rows are sorted by group. O(group).
[[nodiscard]] inline std::size_t end_of_group(std::span<checked_grant const> rows, std::size_t first) noexcept {
    std::size_t last = first + 1;
    while (last < rows.size() && rows[last].group() == rows[first].group()) ++last;
    return last;
}

/// The reservations of each node, and what each tenant with a limit holds, while groups of grants are added one after
/// another. No sum overflows: a claim is refused at its first row beyond the capacity or the limit, and settings, which
/// have no capacity, are not summed.
class reservations {
    buffer<std::int64_t> sums_;    // node-major
    buffer<std::uint64_t> begun_;  // in which round the sum was begun; in any other the ledger's holds
    // The same for tenants, tenant-major
    buffer<std::int64_t> tenant_sums_;
    buffer<std::uint64_t> tenant_begun_;
    std::size_t resources_ = 0;
    ledger const* held_ = nullptr;
    detail::tenant_sums const* tenants_ = nullptr;
    std::uint64_t round_ = 0;

public:
    /// Allocates for this number of nodes and resources.
    void prepare(std::size_t nodes, std::size_t resources) {
        sums_.reset(nodes * resources);
        begun_.reset(nodes * resources);
        tenant_sums_.clear();
        tenant_begun_.clear();
        resources_ = resources;
        round_ = 0;
    }

    /// Starts from the present holdings. Until the last use, `held` may change only where `at` was
    /// called before. `tenants`: those with limits; nullptr = none has one. O(1), but for the first call with more
    /// tenants than before.
    void start(ledger const& held, detail::tenant_sums const* tenants = nullptr) noexcept {
        held_ = &held;
        tenants_ = tenants;
        ++round_;
        if (tenants == nullptr || tenant_begun_.size() >= tenants->size() * resources_) return;
        tenant_sums_.resize(tenants->size() * resources_);
        tenant_begun_.resize(tenants->size() * resources_);
    }

    /// The reservations of one resource on a node. The reference is for callers that update the sum
    /// themselves.
    [[nodiscard]] std::int64_t& at(std::uint32_t node, resource_id resource) noexcept {
        std::size_t const place = node * resources_ + static_cast<std::size_t>(resource);
        if (begun_[place] != round_) {
            sums_[place] = held_->sum(node, resource);
            begun_[place] = round_;
        }
        return sums_[place];
    }

    /// Subtracts the releases of a group.
    void yield(std::span<checked_grant const> group) noexcept {
        for (auto const& g : group) {
            if (g.growth() < 0) add(g, g.growth());
            if (g.growth_of_tenant() < 0) add_to_tenants(g, g.growth_of_tenant());
        }
    }

    /// Adds the claims of a group if they fit on every node and within the limits of their tenants. Otherwise returns
    /// the broken rule and changes nothing.
    template <class Capacity>
    [[nodiscard]] check_rule claim(std::span<checked_grant const> group, Capacity const& capacity) noexcept {
        for (std::size_t i = 0; i < group.size(); ++i) {
            check_rule const broken = add_claim(group[i], capacity);
            if (broken == check_rule::passed) continue;
            // Roll back the rows that were added before the failure.
            for (std::size_t taken = 0; taken <= i; ++taken) subtract_claim(group[taken]);
            return broken;
        }
        return check_rule::passed;
    }

    /// Subtracts the releases and adds the claims of a group, if the claims fit then; otherwise
    /// returns false and changes nothing.
    template <class Capacity>
    [[nodiscard]] bool exchange(std::span<checked_grant const> group, Capacity const& capacity) noexcept {
        yield(group);
        if (claim(group, capacity) == check_rule::passed) return true;
        for (auto const& g : group) {
            if (g.growth() < 0) add(g, -g.growth());
            if (g.growth_of_tenant() < 0) add_to_tenants(g, -g.growth_of_tenant());
        }
        return false;
    }
    /// Undoes `exchange`.
    void revert(std::span<checked_grant const> group) noexcept {
        for (auto const& g : group) {
            add(g, -g.growth());
            add_to_tenants(g, -g.growth_of_tenant());
        }
    }

private:
    [[nodiscard]] std::int64_t& at(checked_grant const& g) noexcept { return at(g.node(), g.resource()); }
    /// Adds nothing for a resource without sums.
    void add(checked_grant const& g, std::int64_t change) noexcept {
        if (held_->has_sums(g.resource())) at(g) += change;
    }

    template <class Capacity>
    [[nodiscard]] check_rule add_claim(checked_grant const& g, Capacity const& capacity) noexcept {
        bool fits = true;
        if (g.growth() > 0) {
            add(g, g.growth());
            fits = at(g) <= capacity(g.node(), g.resource());
        }
        if (g.growth_of_tenant() > 0) add_to_tenants(g, g.growth_of_tenant());
        if (!fits) return check_rule::over_capacity;
        return is_within_limits(g) ? check_rule::passed : check_rule::over_tenant_limit;
    }
    void subtract_claim(checked_grant const& g) noexcept {
        if (g.growth() > 0) add(g, -g.growth());
        if (g.growth_of_tenant() > 0) add_to_tenants(g, -g.growth_of_tenant());
    }

    /// Calls `act(sum, limit)` for the job's tenant and those above it, as far as they have a limit.
    template <class Act>
    void for_each_limit(checked_grant const& g, Act const& act) noexcept {
        if (tenants_ == nullptr) return;
        for (std::uint32_t t = tenants_->owner(g.job_row()); t != no_tenant; t = tenants_->parent(t)) {
            std::int64_t const most = tenants_->limit(t, g.resource());
            if (most == unlimited) continue;
            std::size_t const place = t * resources_ + static_cast<std::size_t>(g.resource());
            if (tenant_begun_[place] != round_) {
                tenant_sums_[place] = tenants_->held(t, g.resource());
                tenant_begun_[place] = round_;
            }
            act(tenant_sums_[place], most);
        }
    }
    void add_to_tenants(checked_grant const& g, std::int64_t growth) noexcept {
        for_each_limit(g, [&](std::int64_t& sum, std::int64_t) noexcept { sum += growth; });
    }
    /// A release is always within the limits, also of a tenant above its limit.
    [[nodiscard]] bool is_within_limits(checked_grant const& g) noexcept {
        if (g.growth_of_tenant() <= 0 && !g.drops_limit()) return true;
        bool within = true;
        for_each_limit(g, [&](std::int64_t& sum, std::int64_t most) noexcept {
            within = within && sum <= most && !g.drops_limit();
        });
        return within;
    }
};

/// Drops whole groups until the reservations of no node exceed its capacity.
class capacity_fit {
    struct outcome {
        check_rule broken = check_rule::passed;
        bool is_final = false;  ///< no later round can change it
    };
    reservations reservations_;
    buffer<outcome> outcomes_;  // by row

public:
    /// Allocates for the largest answer.
    void prepare(std::size_t nodes, std::size_t resources, std::size_t rows) {
        reservations_.prepare(nodes, resources);
        outcomes_.reset(rows);
    }

    /// Drops groups that do not fit. If groups compete for the last units, the earlier one stays; a
    /// group that claims too much does not affect others. `capacity(node, resource)` is called with
    /// existing nodes, and `dropped(row, rule)` for each dropped row. `tenants` as in `reservations::start`. `rows` has
    /// to be sorted by group, and stays sorted. O(rows) for each round; a further round is only needed if a dropped
    /// group would have released something.
    template <class Capacity, class Dropped>
    void fit(ledger const& held, detail::tenant_sums const* tenants, buffer<checked_grant>& rows, Capacity capacity,
             Dropped dropped) noexcept {
        for (std::size_t i = 0; i < rows.size(); ++i) outcomes_[i] = {};
        while (!one_round(held, tenants, rows.view(), capacity)) {
        }
        std::size_t kept = 0;
        for (std::size_t i = 0; i < rows.size(); ++i)
            if (outcomes_[i].broken == check_rule::passed)
                rows[kept++] = rows[i];
            else
                dropped(rows[i], outcomes_[i].broken);
        rows.resize(kept);
    }

private:
    /// Subtracts all releases, then adds the claims group by group. Returns false if a dropped
    /// group would have released something, so that the sums of the others are wrong.
    template <class Capacity>
    [[nodiscard]] bool one_round(ledger const& held, detail::tenant_sums const* tenants,
                                 std::span<checked_grant const> rows, Capacity const& capacity) noexcept {
        reservations_.start(held, tenants);
        for (std::size_t i = 0; i < rows.size(); ++i) {
            if (outcomes_[i].is_final) continue;
            outcomes_[i] = {};
            reservations_.yield(rows.subspan(i, 1));
        }
        for (std::size_t first = 0, last = 0; first < rows.size(); first = last) {
            last = end_of_group(rows, first);
            auto const group = rows.subspan(first, last - first);
            if (outcomes_[first].is_final) continue;
            check_rule const broken = reservations_.claim(group, capacity);
            if (broken == check_rule::passed) continue;
            bool const others_relied = gives_back(group);
            for (std::size_t i = first; i < last; ++i) outcomes_[i] = {broken, others_relied};
            if (others_relied) return false;
        }
        return true;
    }

    /// True if a row of the group releases something.
    [[nodiscard]] static bool gives_back(std::span<checked_grant const> group) noexcept {
        bool any = false;
        for (auto const& g : group) any |= g.growth() < 0 || g.growth_of_tenant() < 0;
        return any;
    }
};

}  // namespace ration
