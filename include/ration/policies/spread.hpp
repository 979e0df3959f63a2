// SPDX-License-Identifier: BSL-1.0
/// spread: learners one at a time, each on the emptiest node on which it fits. Source: K. R.
/// Jayaram et al., "FfDL: A Flexible Multi-tenant Deep Learning Platform", Middleware 2019.
/// Spreading is the default there, and it fragments the devices.
#pragma once

#include <ration/policies/detail/learners.hpp>
#include <ration/policies/detail/one_learner_at_a_time.hpp>
#include <ration/policy.hpp>

namespace ration::policies {

/// The rule of `detail::one_learner_at_a_time` with spreading. Compare `pack`, and `gang`, which
/// starts all learners at once.
class spread : public detail::one_learner_at_a_time<learner_placement::spread> {
    /// The constructors of the rule.
public:
    using one_learner_at_a_time::one_learner_at_a_time;
    /// Identity of the policy, and the texts of its reason codes.
    static constexpr meta about{.id = "ration.spread",
                                .version = "1.0.0",
                                .summary = "learners one at a time, each onto the emptiest node",
                                .reasons = detail::learners::reasons};
};

static_assert(Policy<spread>);

}  // namespace ration::policies
