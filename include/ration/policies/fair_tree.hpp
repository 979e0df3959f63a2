// SPDX-License-Identifier: BSL-1.0
/// fair_tree: the tenant that has used least for its weight starts its next job, level by level of a tree. Source: the
/// Fair Tree algorithm of Slurm (R. Cox and L. Morrison, 2014), as its documentation describes it.
///
/// For a shared machine on which tenants are to be even over days and not at each moment, which `drf` is for. A
/// half-life of the usage (docs/run.md, `half_life`) limits how long the past counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <ration/buffer.hpp>
#include <ration/parameter.hpp>
#include <ration/policies/detail/rigid_jobs.hpp>
#include <ration/policies/detail/tenant_queues.hpp>
#include <ration/policy.hpp>
#include <ration/target.hpp>
#include <ration/tenant.hpp>

namespace ration::policies {

/// Parameters of `fair_tree`; each member has its unit and its default.
struct fair_tree_parameters {
    bool backfill = false;  ///< if the next job does not fit, others are tried

    /// Meaning of each parameter, for help texts and the JSON schema.
    static constexpr parameter_note notes[] = {detail::backfill_note};
    /// Every combination of values is valid.
    [[nodiscard]] static constexpr std::string_view problem() noexcept { return {}; }
};

/// From the root on, the policy descends to the tenant with the largest level share, which is weight / usage among the
/// tenants of one parent, and starts the next job there in the order of submission. Tenants below which no job can
/// start are passed over, so that their shares go to the others of the branch. A tenant's own jobs come before those of
/// the tenants below it; jobs of no tenant come last. Of equal shares, that of the tenant that holds less for its
/// weight comes first.
///
/// Running jobs are never stopped. A job beyond the limit of its tenant blocks only that tenant.
///
/// O(changes + tenants), and O(tenants) for each start. With `backfill`, each waiting job that is tried costs as much.
/// Without a list of changes, also O(jobs). No state: the engine keeps the usage.
class fair_tree {
public:
    /// Declares the class as a policy.
    using policy_concept = policy_tag;
    /// The parameters that a user can set.
    using parameters = fair_tree_parameters;
    /// The columns that `decide` reads. A host that lacks one of them refuses the policy.
    using inputs = detail::rigid_columns<in<std::uint32_t, "jobs/tenant">, in<std::uint32_t, "tenants/parent">,
                                         in<double, "tenants/weight">, in<std::int64_t, "tenants/limit.gpu">,
                                         in<std::int64_t, "tenants/held.gpu">, in<double, "tenants/usage.gpu">>;
    /// The policy renews its own figures of changed jobs only.
    static constexpr bool follows_changes = true;
    /// Identity of the policy, and the texts of its reason codes.
    static constexpr meta about{.id = "ration.fair-tree",
                                .version = "1.0.0",
                                .summary = "the tenant with the least decayed usage for its weight first",
                                .reasons = detail::rigid_jobs::reasons};

    /// With the default parameters.
    fair_tree() = default;
    /// With these parameters. Precondition: `p.problem()` is empty.
    explicit fair_tree(fair_tree_parameters const& p) noexcept : parameters_(p) {}

    /// Allocates for the largest tables, so that `decide` does not allocate.
    [[nodiscard]] status prepare(limits const& most) noexcept {
        jobs_.reserve(most);
        queues_.reserve(most);
        room_.reserve(most);
        branches_.reserve(most.tenants + 1);
        return status::ok;
    }

    /// Writes the grants of one tick. Returns `status::capacity` if they do not fit.
    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        bool const moved = jobs_.follow(t);
        queues_.follow(t, jobs_, moved);
        if (!jobs_.plan(t, false)) return status::ok;
        start_jobs(t);
        return jobs_.finish(t, out);
    }

private:
    static constexpr std::uint32_t none = detail::tenant_queues::none;
    /// A tenant, or behind all of them the root, to which the jobs of no tenant belong.
    struct branch {
        std::uint32_t row = none;   // of the next job that belongs to the tenant itself
        std::uint32_t best = none;  // the tenant below it that comes first
        double used = 0;            // usage for the weight
    };

    fair_tree_parameters parameters_;
    detail::rigid_jobs jobs_;
    detail::tenant_queues queues_;
    detail::tenant_room room_;
    buffer<branch> branches_;

    void start_jobs(tick<inputs> const& t) noexcept {
        queues_.add_stopped(t, jobs_);
        room_.begin(t);
        branches_.clear();
        for (std::uint32_t tenant = 0; tenant < t.tenants(); ++tenant)
            branches_.push_back({.row = queues_.first(queues_.of(tenant)), .used = usage_for_weight(t, tenant)});
        branches_.push_back({.row = queues_.first(queues_.of(no_tenant))});
        while (jobs_.spare() > 0) {
            std::uint32_t const tenant = next_tenant(t);
            if (branches_[tenant].row == none || !start_next(t, tenant)) return;
        }
    }
    /// Starts the tenant's next job, if possible. Returns false if all others have to wait for it.
    [[nodiscard]] bool start_next(tick<inputs> const& t, std::uint32_t tenant) noexcept {
        std::uint32_t const row = branches_[tenant].row;
        branches_[tenant].row = none;
        if (jobs_.waits(row)) {  // otherwise the plan has given it devices for those of a lost node
            std::int64_t const devices = jobs_.wanted(row) - jobs_.held(row);
            if (!room_.admits(t, tenant, devices)) return true;
            if (jobs_.start(t, row))
                room_.add(t, tenant, devices);
            else if (!parameters_.backfill)
                return false;
        }
        branches_[tenant].row = queues_.waiting(jobs_, queues_.next(row));
        return true;
    }

    /// The tenant whose next job is to start; the root if there is none. O(tenants).
    [[nodiscard]] std::uint32_t next_tenant(tick<inputs> const& t) noexcept {
        auto const root = static_cast<std::uint32_t>(t.tenants());
        for (auto& one : branches_) one.best = none;
        for (std::uint32_t tenant = root; tenant-- > 0;) {  // children come before their parents
            if (branches_[tenant].row == none && branches_[tenant].best == none) continue;
            std::uint32_t const parent = room_.parent_of(t, tenant);
            std::uint32_t& best = branches_[parent == no_tenant ? root : parent].best;
            if (best == none || !comes_before(t, best, tenant)) best = tenant;
        }
        std::uint32_t tenant = root;
        while (branches_[tenant].best != none && (tenant == root || branches_[tenant].row == none))
            tenant = branches_[tenant].best;
        return tenant;
    }
    /// True if the level share of `a` is larger, or it is equal and `a` holds less for its weight.
    [[nodiscard]] bool comes_before(tick<inputs> const& t, std::uint32_t a, std::uint32_t b) const noexcept {
        double const used_a = branches_[a].used, used_b = branches_[b].used;
        return used_a != used_b ? used_a < used_b : held_for_weight(t, a) < held_for_weight(t, b);
    }
    [[nodiscard]] static double usage_for_weight(tick<inputs> const& t, std::uint32_t tenant) noexcept {
        double const usage = t.get<"tenants/usage.gpu">()[tenant];
        return usage > 0 ? usage / detail::bounded_weight(t, tenant) : 0;
    }
    [[nodiscard]] double held_for_weight(tick<inputs> const& t, std::uint32_t tenant) const noexcept {
        std::int64_t const held = t.get<"tenants/held.gpu">()[tenant] + room_.added(tenant);
        return static_cast<double>(held) / detail::bounded_weight(t, tenant);
    }
};

static_assert(Policy<fair_tree>);

}  // namespace ration::policies
