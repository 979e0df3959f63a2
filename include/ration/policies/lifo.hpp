// SPDX-License-Identifier: BSL-1.0
/// lifo: last come, first served.
#pragma once

#include <ration/policies/detail/rigid_jobs.hpp>
#include <ration/policy.hpp>

namespace ration::policies {

/// Starts the job that was submitted last first, each with its requested devices. Stops no job.
/// O(jobs) for each job that starts; no state.
class lifo {
public:
    /// Declares the class as a policy.
    using policy_concept = policy_tag;
    /// The columns that `decide` reads. A host that lacks one of them refuses the policy.
    using inputs = detail::rigid_columns<>;
    /// Identity of the policy, and the texts of its reason codes.
    static constexpr meta about{.id = "ration.lifo",
                                .version = "1.0.0",
                                .summary = "last come, first served",
                                .reasons = detail::rigid_jobs::reasons};

    /// Allocates for the largest tables, so that `decide` does not allocate.
    [[nodiscard]] status prepare(limits const& most) noexcept {
        jobs_.reserve(most);
        return status::ok;
    }

    /// Writes the grants of one tick. Returns `status::capacity` if they do not fit.
    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        if (!jobs_.begin(t, false)) return status::ok;
        jobs_.start_in_order(t, false, [](std::size_t row) noexcept { return -static_cast<double>(row); });
        return jobs_.finish(out);
    }

private:
    detail::rigid_jobs jobs_;
};

static_assert(Policy<lifo>);

}  // namespace ration::policies
