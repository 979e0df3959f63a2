// SPDX-License-Identifier: BSL-1.0
/// fifo: first come, first served.
///
/// The simplest policy with parameters; a good start for a new one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <ration/parameter.hpp>
#include <ration/policies/detail/gated_jobs.hpp>
#include <ration/policy.hpp>

namespace ration::policies {

/// Parameters of `fifo`; each member has its unit and its default.
struct fifo_parameters {
    bool backfill = false;                      ///< later jobs that fit overtake one that does not
    tenant_rule tenants = tenant_rule::ignore;  ///< use of the quotas of tenants

    /// Meaning of each parameter, for help texts and the JSON schema.
    static constexpr parameter_note notes[] = {
        {.name = "backfill", .meaning = "later jobs that fit pass one that does not"}, detail::tenants_note};
    /// Every combination of values is valid.
    [[nodiscard]] static constexpr std::string_view problem() noexcept { return {}; }
};

/// Jobs start in the order of submission, each with its requested devices, and keep them. A job
/// that does not fit blocks all later ones; a job that requests more than all nodes have does not.
///
/// With `tenants`, jobs within the quota of their tenant come first, and then those that borrow, of the tenant with the
/// smallest borrowed share first. A job that its quota does not admit blocks only its own tenant.
/// O(changes + log jobs for each start); with `backfill` or `tenants`, O(waiting jobs). No state to save.
class fifo {
public:
    /// Declares the class as a policy.
    using policy_concept = policy_tag;
    /// The parameters that a user can set.
    using parameters = fifo_parameters;
    /// The columns that `decide` reads. A host that lacks one of them refuses the policy.
    using inputs = detail::tenant_columns<>;
    /// The policy renews its own figures of changed jobs only.
    static constexpr bool follows_changes = true;
    /// Identity of the policy, and the texts of its reason codes.
    static constexpr meta about{.id = "ration.fifo",
                                .version = "1.0.0",
                                .summary = "first come, first served",
                                .reasons = detail::gated_jobs::reasons};

    /// With the default parameters.
    fifo() = default;
    /// With these parameters. Precondition: `p.problem()` is empty.
    explicit fifo(fifo_parameters const& p) noexcept : parameters_(p) {}

    /// Allocates for the largest tables, so that `decide` does not allocate.
    [[nodiscard]] status prepare(limits const& most) noexcept {
        jobs_.reserve(most);
        gate_.reserve(most);
        return status::ok;
    }

    /// Writes the grants of one tick. Returns `status::capacity` if they do not fit.
    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        if (!jobs_.begin(t, parameters_.tenants == tenant_rule::reclaim)) return status::ok;
        if (parameters_.tenants != tenant_rule::ignore)
            gate_.start(t, jobs_, parameters_.tenants, parameters_.backfill);
        else
            detail::start_as_submitted(t, jobs_, parameters_.backfill);
        return jobs_.finish(t, out);
    }

private:
    fifo_parameters parameters_;
    detail::rigid_jobs jobs_;
    detail::gated_jobs gate_;
};

static_assert(Policy<fifo>);

}  // namespace ration::policies
