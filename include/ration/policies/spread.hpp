// SPDX-License-Identifier: BSL-1.0
/// spread: learners one at a time, each onto the emptiest node on which it fits. Source: K. R. Jayaram et al., "FfDL: A
/// Flexible Multi-tenant Deep Learning Platform", Middleware 2019, where spreading is the default, and fragments the
/// devices.
#pragma once

#include <ration/policies/detail/learners.hpp>
#include <ration/policy.hpp>

namespace ration::policies {

/// The rule is that of `detail::one_learner_at_a_time`.
class spread : public detail::one_learner_at_a_time<learner_placement::spread> {
public:
    using one_learner_at_a_time::one_learner_at_a_time;
    static constexpr meta about{.id = "ration.spread",
                                .version = "1.0.0",
                                .summary = "learners one at a time, each onto the emptiest node",
                                .reasons = detail::learners::reasons};
};

static_assert(Policy<spread>);

}  // namespace ration::policies
