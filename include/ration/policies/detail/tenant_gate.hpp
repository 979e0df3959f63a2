// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// Which jobs may start by the quotas of their tenants. Sources: the open part of FfDL's admission (K. R. Jayaram et
/// al., Middleware 2019), and the cohorts of Kueue, which lend and reclaim quotas.
///
/// For policies for jobs of a fixed size, through gated_jobs.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <ration/buffer.hpp>
#include <ration/policies/detail/rigid_jobs.hpp>
#include <ration/policies/detail/weight.hpp>
#include <ration/policy.hpp>
#include <ration/tenant.hpp>

namespace ration::policies {

/// How a policy uses the quotas of tenants.
enum class tenant_rule : std::uint8_t { ignore, quota, borrow, reclaim };
/// The words of `tenant_rule` in a configuration, in the order of its values.
inline constexpr std::string_view tenant_rule_names[] = {"ignore", "quota", "borrow", "reclaim"};
/// Found by the adapter of parameters (adapt/parameters.hpp).
[[nodiscard]] constexpr std::span<std::string_view const> words_of(tenant_rule) noexcept { return tenant_rule_names; }

namespace detail {

/// The columns of jobs of tenants, and those that a policy adds.
template <class... More>
using tenant_columns =
    rigid_columns<in<std::uint32_t, "jobs/tenant">, in<std::uint32_t, "tenants/parent">, in<double, "tenants/weight">,
                  in<std::int64_t, "tenants/quota.gpu">, in<std::int64_t, "tenants/limit.gpu">,
                  in<std::int64_t, "tenants/lend.gpu">, in<std::int64_t, "tenants/held.gpu">, More...>;

/// The devices that each tenant holds in a plan, against its quota, its limit, and what its cohort lends.
///
/// The tenants of one parent are a cohort; those without a parent share the cluster. A tenant within its quota, or
/// within that of the next tenant above it that has one, owns its devices. Beyond that it borrows: what its cohort has
/// beyond the quotas, and what other tenants of the cohort lend and do not hold.
class tenant_gate {
    struct one_tenant {
        std::uint32_t parent = no_tenant;
        std::int64_t quota = 0;  ///< its own, or the sum of those below a tenant without one
        std::int64_t lent = 0;   ///< the part of it that others may hold meanwhile
        std::int64_t limit = unlimited;
        std::int64_t held = 0;      ///< in the plan
        std::int64_t reserved = 0;  ///< what the tenants below it keep for themselves and do not hold
        std::int64_t quota_below = 0, lent_below = 0;  ///< sums over the tenants below it
        double weight = 1;
    };
    buffer<one_tenant> tenants_;  // the last one is the cluster
    bool keeps_reserves_ = false;

public:
    /// Allocates for the largest tables.
    void reserve(limits const& most) noexcept { tenants_.reserve(most.tenants + 1); }

    /// Reads the tenants. `capacity`: all devices; `held`: those that all jobs hold. O(tenants).
    template <class Tick>
    void begin(Tick const& t, tenant_rule rule, std::int64_t capacity, std::int64_t held) noexcept {
        auto const held_by = t.template get<"tenants/held.gpu">();
        read(t, rule, capacity, held, [&](std::size_t row) noexcept { return held_by[row]; });
    }
    /// The same for a plan in which no job holds devices yet.
    template <class Tick>
    void begin_empty(Tick const& t, tenant_rule rule, std::int64_t capacity) noexcept {
        read(t, rule, capacity, 0, [](std::size_t) noexcept { return std::int64_t{0}; });
    }

    /// True if the tenant would own `devices` more. O(depth).
    [[nodiscard]] bool owns(std::uint32_t tenant, std::int64_t devices) const noexcept {
        place at = place_of(tenant);
        while (!is_cluster(at.row) && tenants_[at.row].quota == 0) at = above(at);
        return !is_cluster(at.row) && fits(at, devices) && is_allowed(tenant, at, devices);
    }
    /// True if the tenant may hold `devices` more: it would own or borrow them. O(depth).
    [[nodiscard]] bool admits(std::uint32_t tenant, std::int64_t devices) const noexcept {
        place at = place_of(tenant);
        while (!is_cluster(at.row) && !fits(at, devices)) at = above(at);
        return fits(at, devices) && is_allowed(tenant, at, devices);
    }

    /// True if neither the tenant nor one above it would exceed its limit with `devices` more. O(depth).
    [[nodiscard]] bool is_within_limits(std::uint32_t tenant, std::int64_t devices) const noexcept {
        for (std::uint32_t at = row_of(tenant); !is_cluster(at); at = tenants_[at].parent)
            if (tenants_[at].limit != unlimited && tenants_[at].held + devices > tenants_[at].limit) return false;
        return true;
    }

    /// The tenant holds `devices` more in the plan; less if negative. O(depth).
    void add(std::uint32_t tenant, std::int64_t devices) noexcept {
        std::uint32_t at = row_of(tenant);
        for (; !is_cluster(at); at = tenants_[at].parent) {
            std::int64_t const kept = reserve_of(tenants_[at]);
            tenants_[at].held += devices;
            tenants_[tenants_[at].parent].reserved += reserve_of(tenants_[at]) - kept;
        }
        tenants_[at].held += devices;
    }

    /// True if `owner`, which would own `devices` more, can have them back from the tenant. Up to the cohort of both,
    /// the one side stays within its quotas and the other side is beyond them. O(depth).
    [[nodiscard]] bool borrows_from(std::uint32_t tenant, std::uint32_t owner, std::int64_t devices) const noexcept {
        std::uint32_t at = row_of(tenant), other = holder_of(row_of(owner));
        bool is_outside = false;
        while (at != other) {
            // The lower one of both: parents come before their children, and the cluster is above all.
            if (is_cluster(at) || (!is_cluster(other) && other > at)) {
                if (tenants_[other].held + devices > tenants_[other].quota) return false;
                other = tenants_[other].parent;
                is_outside = true;
            } else {
                if (tenants_[at].quota != 0 && tenants_[at].held <= tenants_[at].quota) return false;
                at = tenants_[at].parent;
            }
        }
        return is_outside;
    }

    /// The borrowed amount of the tenant as a part of the cohort's other quotas, for its weight; 0 if it borrows
    /// nothing.
    [[nodiscard]] double borrowed_share(std::uint32_t tenant) const noexcept {
        std::uint32_t const row = row_of(tenant);
        if (is_cluster(row)) return 0;
        one_tenant const& who = tenants_[row];
        std::int64_t const borrowed = who.held - who.quota, others = tenants_[who.parent].quota - who.quota;
        if (borrowed <= 0) return 0;
        return static_cast<double>(borrowed) / static_cast<double>(others > 1 ? others : 1) / who.weight;
    }

private:
    /// A tenant on the way to the cluster, and what tenants below it that are not on the way keep.
    struct place {
        std::uint32_t row;
        std::int64_t kept;
    };

    template <class Tick, class HeldBy>
    void read(Tick const& t, tenant_rule rule, std::int64_t capacity, std::int64_t held,
              HeldBy const& held_by) noexcept {
        std::size_t const size = t.tenants();
        tenants_.reset(size + 1);
        tenants_[size] = {.quota = capacity, .limit = capacity, .held = held};
        auto const parent = t.template get<"tenants/parent">();
        for (std::size_t row = 0; row < size; ++row)
            tenants_[row] = {.parent = parent[row] < row ? parent[row] : static_cast<std::uint32_t>(size),
                             .quota = t.template get<"tenants/quota.gpu">()[row],
                             .lent = rule == tenant_rule::quota ? 0 : t.template get<"tenants/lend.gpu">()[row],
                             .limit = t.template get<"tenants/limit.gpu">()[row],
                             .held = held_by(row),
                             .weight = valid_weight(t.template get<"tenants/weight">()[row])};
        for (std::size_t row = size; row-- > 0;) sum_up(tenants_[row], rule != tenant_rule::quota);
        // With reclaiming, an owner can have its devices back. Reserves that exceed the cluster would block all
        // tenants.
        one_tenant const& all = tenants_[size];
        keeps_reserves_ = rule != tenant_rule::reclaim && all.quota_below - all.lent_below <= capacity;
    }

    [[nodiscard]] std::uint32_t row_of(std::uint32_t tenant) const noexcept {
        auto const cluster = static_cast<std::uint32_t>(tenants_.size() - 1);
        return tenant < cluster ? tenant : cluster;
    }
    /// The tenant, or the next one above it, that has a quota; otherwise the cluster.
    [[nodiscard]] std::uint32_t holder_of(std::uint32_t row) const noexcept {
        while (!is_cluster(row) && tenants_[row].quota == 0) row = tenants_[row].parent;
        return row;
    }
    [[nodiscard]] bool is_cluster(std::uint32_t row) const noexcept { return row + 1 == tenants_.size(); }
    /// The devices that a tenant keeps for itself and does not hold.
    [[nodiscard]] static std::int64_t reserve_of(one_tenant const& who) noexcept {
        std::int64_t const kept = who.quota - who.lent - who.held;
        return kept > 0 ? kept : 0;
    }
    /// Adds a tenant, for which all below it were added before, to its parent.
    void sum_up(one_tenant& who, bool is_lent) noexcept {
        if (who.quota == 0) {
            who.quota = who.quota_below;
            who.lent = is_lent ? who.lent_below : 0;
        }
        one_tenant& parent = tenants_[who.parent];
        parent.quota_below += who.quota;
        parent.lent_below += who.lent;
        parent.reserved += reserve_of(who);
    }

    [[nodiscard]] place place_of(std::uint32_t tenant) const noexcept {
        std::uint32_t const row = row_of(tenant);
        return {row, tenants_[row].reserved};
    }
    [[nodiscard]] place above(place const& at) const noexcept {
        one_tenant const& who = tenants_[at.row];
        return {who.parent, at.kept + tenants_[who.parent].reserved - reserve_of(who)};
    }
    [[nodiscard]] bool fits(place const& at, std::int64_t devices) const noexcept {
        return tenants_[at.row].held + devices + at.kept <= tenants_[at.row].quota;
    }
    /// True if the tenant stays within its limit and takes no device that another tenant does not lend. It could take
    /// one within its quota while others borrow from that.
    [[nodiscard]] bool is_allowed(std::uint32_t tenant, place at, std::int64_t devices) const noexcept {
        if (!is_within_limits(tenant, devices)) return false;
        while (!is_cluster(at.row)) at = above(at);
        return !keeps_reserves_ || fits(at, devices);
    }
};

}  // namespace detail
}  // namespace ration::policies
