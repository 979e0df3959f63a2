// SPDX-License-Identifier: BSL-1.0
/// pack: learners one at a time, each on the fullest node on which it fits. Source: K. R. Jayaram
/// et al., "FfDL: A Flexible Multi-tenant Deep Learning Platform", Middleware 2019. Packing
/// shortens long waits there.
#pragma once

#include <ration/policies/detail/learners.hpp>
#include <ration/policies/detail/one_learner_at_a_time.hpp>
#include <ration/policy.hpp>

namespace ration::policies {

/// The rule of `detail::one_learner_at_a_time` with packing. Compare `spread`, and `gang`, which
/// starts all learners at once.
class pack : public detail::one_learner_at_a_time<learner_placement::pack> {
public:
    /// The constructors of the rule.
    using one_learner_at_a_time::one_learner_at_a_time;
    /// Identity of the policy, and the texts of its reason codes.
    static constexpr meta about{.id = "ration.pack",
                                .version = "1.0.0",
                                .summary = "learners one at a time, each onto the fullest node",
                                .reasons = detail::learners::reasons};
};

static_assert(Policy<pack>);

}  // namespace ration::policies
