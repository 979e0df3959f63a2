// SPDX-License-Identifier: BSL-1.0
/// drf: dominant resource fairness between tenants. Source: A. Ghodsi et al., "Dominant Resource
/// Fairness: Fair Allocation of Multiple Resource Types", NSDI 2011. The rule is widely known and
/// was written down without the text of the paper.
///
/// For machines that several tenants share and whose jobs keep their devices until they end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <ration/buffer.hpp>
#include <ration/detail/sort.hpp>
#include <ration/parameter.hpp>
#include <ration/policies/detail/followed_tenants.hpp>
#include <ration/policies/detail/rigid_jobs.hpp>
#include <ration/policy.hpp>

namespace ration::policies {

/// Parameters of `drf`; each member has its unit and its default.
struct drf_parameters {
    bool backfill = true;  ///< if the next job does not fit, later ones are tried; the paper's rule stops there

    /// Meaning of each parameter, for help texts and the JSON schema.
    static constexpr parameter_note notes[] = {detail::backfill_note};
    /// Every combination of values is valid.
    [[nodiscard]] static constexpr std::string_view problem() noexcept { return {}; }
};

/// The dominant share of a tenant is the larger of two shares: of all devices and of all CPU, as
/// requested by its running jobs. Devices count as requested, and CPU as the job's minimum.
///
/// Whenever there is capacity, the tenant with the smallest dominant share for its weight starts
/// its next job in the order of submission, and so on (progressive filling). Running jobs are never
/// stopped. Only devices are granted and bound to nodes. CPU counts for the shares, and all running
/// jobs together stay within the CPU of all nodes. A tenant without a row in the table tenants has
/// the weight 1.
///
/// O(log jobs) for each job that changes or starts, and O(tenants) if the smallest waiting job fits. Without a list of
/// changes, O(jobs log tenants + starts x tenants) if a job waits and a device is free; otherwise O(jobs + nodes). No
/// state.
class drf {
public:
    /// Declares the class as a policy.
    using policy_concept = policy_tag;
    /// The parameters that a user can set.
    using parameters = drf_parameters;
    /// The columns that `decide` reads. A host that lacks one of them refuses the policy.
    using inputs = detail::rigid_columns<in<std::uint32_t, "jobs/tenant">, in<double, "tenants/weight">,
                                         in<std::int64_t, "jobs/min.cpu">, in<std::int64_t, "nodes/capacity.cpu">>;
    /// The policy renews its own figures of changed jobs only.
    static constexpr bool follows_changes = true;
    /// Identity of the policy, and the texts of its reason codes.
    static constexpr meta about{.id = "ration.drf",
                                .version = "1.0.0",
                                .summary = "dominant resource fairness between tenants",
                                .reasons = detail::rigid_jobs::reasons};

    /// With the default parameters.
    drf() = default;
    /// With these parameters. Precondition: `p.problem()` is empty.
    explicit drf(drf_parameters const& p) noexcept : parameters_(p) {}

    /// Allocates for the largest tables, so that `decide` does not allocate.
    [[nodiscard]] status prepare(limits const& most) noexcept {
        jobs_.reserve(most);
        followed_.reserve(most);
        tenants_.reserve(most.jobs);
        next_.reserve(most.jobs);
        return status::ok;
    }

    /// Writes the grants of one tick. Returns `status::capacity` if they do not fit.
    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        if (t.changes(table_id::jobs).everything == 0) {
            followed_.follow(t, jobs_, jobs_.follow(t));
            if (!jobs_.plan(t, false)) return status::ok;
            followed_.start(t, jobs_, parameters_.backfill);
            return jobs_.finish(t, out);
        }
        followed_.skip();
        if (!jobs_.begin(t, false)) return status::ok;
        measure(t);
        for (tenant* poorest = next_tenant(); poorest != nullptr; poorest = next_tenant()) {
            std::size_t const row = poorest->first;
            bool const fits = detail::least_cpu_of(t, row) <= cpu_left_ && jobs_.start(t, row);
            if (!fits && !parameters_.backfill) break;
            poorest->first = next_[row];
            if (!fits) continue;
            count(t, row, *poorest);
        }
        return jobs_.finish(t, out);
    }

private:
    /// End of a list of waiting jobs.
    static constexpr std::uint32_t none = 0xFFFF'FFFF;
    /// The sums of one tenant, and the head of the list of its waiting jobs.
    struct tenant {
        std::uint32_t id;
        std::uint32_t first;  // of its waiting jobs
        double weight;
        detail::dominant_use use;  // of its running jobs
    };

    drf_parameters parameters_;
    detail::rigid_jobs jobs_;
    detail::followed_tenants followed_;  // for hosts that list changes; the rest is for others
    buffer<tenant> tenants_;             // in ascending order of ids
    buffer<std::uint32_t> next_;         // by row: the tenant's next waiting job
    detail::dominant_use all_;
    std::int64_t cpu_left_ = 0;

    /// Finds the tenant of a job by binary search, or adds it. O(log tenants), and O(tenants) for a
    /// new one.
    [[nodiscard]] tenant& tenant_of(tick<inputs> const& t, std::size_t row) noexcept {
        std::uint32_t const id = t.get<"jobs/tenant">()[row];
        std::size_t const place = ration::detail::partition_point(
            tenants_.size(), [&](std::size_t i) noexcept { return tenants_[i].id < id; });
        if (place == tenants_.size() || tenants_[place].id != id)
            tenants_.insert(place, {.id = id, .first = none, .weight = detail::tenant_weight(t, id), .use = {}});
        return tenants_[place];
    }

    /// Counts a running job.
    void count(tick<inputs> const& t, std::size_t row, tenant& who) noexcept {
        std::int64_t const cpu = detail::least_cpu_of(t, row);
        who.use.devices += static_cast<double>(jobs_.wanted(row));
        who.use.cpu += static_cast<double>(cpu);
        cpu_left_ -= cpu;
    }

    /// Sums up the use of each tenant and lists its waiting jobs. Rows are read backwards, so that
    /// the first job ends at the head of its list.
    void measure(tick<inputs> const& t) noexcept {
        cpu_left_ = detail::all_cpu_of(t);
        all_ = {static_cast<double>(detail::capacity_of(t)), static_cast<double>(cpu_left_)};
        tenants_.clear();
        next_.reset(t.jobs());
        for (std::size_t row = t.jobs(); row-- > 0;) {
            std::int64_t const wanted = jobs_.wanted(row);
            if (wanted == 0) continue;
            tenant& who = tenant_of(t, row);
            if (jobs_.waits(row)) {
                next_[row] = who.first;
                who.first = static_cast<std::uint32_t>(row);
            } else if (jobs_.held(row) > 0) {
                count(t, row, who);
            }
        }
    }

    /// The dominant share divided by the weight; the number that the rule keeps equal.
    [[nodiscard]] double share_of(tenant const& who) const noexcept { return who.use.share_of(all_, who.weight); }

    /// The tenant with the smallest dominant share among those with a waiting job; on a tie, the
    /// lowest id. Returns nullptr if no job waits. O(tenants).
    [[nodiscard]] tenant* next_tenant() noexcept {
        tenant* found = nullptr;
        for (auto& who : tenants_)
            if (who.first != none && (found == nullptr || share_of(who) < share_of(*found))) found = &who;
        return found;
    }
};

static_assert(Policy<drf>);

}  // namespace ration::policies
