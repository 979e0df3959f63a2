// SPDX-License-Identifier: BSL-1.0
/// gang: all learners of a job at once, or none. Source: K. R. Jayaram et al., "FfDL: A Flexible
/// Multi-tenant Deep Learning Platform", Middleware 2019.
///
/// For distributed jobs whose parts would wait for each other. `pack` and `spread` start the
/// learners one at a time instead, as a comparison.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <ration/parameter.hpp>
#include <ration/policies/detail/gated_jobs.hpp>
#include <ration/policies/detail/learners.hpp>
#include <ration/policy.hpp>

namespace ration::policies {

/// Parameters of `gang`; each member has its unit and its default.
struct gang_parameters {
    std::int64_t learner = 0;  ///< most devices of one learner; 0 = as many as the largest node has
    /// On which node a learner is placed.
    learner_placement placement = learner_placement::pack;
    bool backfill = true;                       ///< later jobs that fit overtake one that does not
    tenant_rule tenants = tenant_rule::ignore;  ///< use of the quotas of tenants

    /// Meaning and valid interval of each parameter, for help texts and the JSON schema.
    static constexpr parameter_note notes[] = {
        {.name = "learner",
         .meaning = "devices of one learner at most, 0 = as many as the largest node has",
         .least = 0},
        {.name = "placement",
         .meaning = "a learner comes onto the fullest node on which it fits (pack) or the emptiest (spread)"},
        {.name = "backfill", .meaning = "later jobs that fit pass one that does not"},
        detail::tenants_note};

    /// Validates the values: a sentence with the first invalid one and the fix, or empty text.
    [[nodiscard]] constexpr std::string_view problem() const noexcept {
        return learner >= 0 ? std::string_view{} : "learner is a number of devices: write 0 or more";
    }
};

/// A job of k devices has ceil(k / learner) learners, each of which needs its devices on one node.
/// In the order of submission, each job starts as a whole if all of its learners fit. Otherwise it
/// waits without any devices, so two jobs cannot wait for each other. Jobs keep their devices until
/// they end. A job that loses a learner with its node is stopped and queued again.
///
/// FfDL's gang scheduler searches for the best joint placement by biased sampling, which is not
/// published in full; here learners are placed one after the other. With `pack` this finds a placement
/// if one exists, and a search would leave less than one learner more together on one node. With
/// `backfill` off, the first job that does not fit blocks all later ones, as in FfDL's queue.
///
/// With `tenants`, jobs within the quota of their tenant come first, and then those that borrow, as under `fifo`.
/// O(log jobs) for each job that changes or starts, and for each number of devices that does not fit; with `tenants`,
/// O(waiting jobs). No state.
class gang {
public:
    /// Declares the class as a policy.
    using policy_concept = policy_tag;
    /// The parameters that a user can set.
    using parameters = gang_parameters;
    /// The columns that `decide` reads. A host that lacks one of them refuses the policy.
    using inputs = detail::learner_columns<>;
    /// The policy renews its own figures of changed jobs only.
    static constexpr bool follows_changes = true;
    /// Identity of the policy, and the texts of its reason codes.
    static constexpr meta about{.id = "ration.gang",
                                .version = "1.0.0",
                                .summary = "all learners of a job at once, or none",
                                .reasons = detail::learners::reasons};

    /// With the default parameters.
    gang() = default;
    /// With these parameters. Precondition: `p.problem()` is empty.
    explicit gang(gang_parameters const& p) noexcept : parameters_(p) {}

    /// Allocates for the largest tables, so that `decide` does not allocate.
    [[nodiscard]] status prepare(limits const& most) noexcept {
        jobs_.reserve(most);
        gate_.reserve(most);
        return status::ok;
    }

    /// Writes the grants of one tick. Returns `status::capacity` if they do not fit.
    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        bool const has_quotas = parameters_.tenants != tenant_rule::ignore && t.tenants() > 0;
        bool const frees = has_quotas && parameters_.tenants == tenant_rule::reclaim;
        if (!jobs_.begin(t, parameters_.learner, parameters_.placement, true, frees)) return status::ok;
        if (has_quotas)
            gate_.start(t, jobs_, parameters_.tenants, parameters_.backfill);
        else
            jobs_.start_in_order(t, parameters_.backfill);
        return jobs_.finish(t, out);
    }

private:
    gang_parameters parameters_;
    detail::learners jobs_;
    detail::gated_jobs gate_;
};

static_assert(Policy<gang>);

}  // namespace ration::policies
