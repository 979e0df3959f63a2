// SPDX-License-Identifier: BSL-1.0
// A class that happens to have a decide() is not meant to be a policy.
#include <ration/host/any_policy.hpp>

struct by_loss {
#ifndef RATION_MISUSE
    using policy_concept = ration::policy_tag;
#endif
    using inputs = ration::columns<ration::in<double, "jobs/loss">>;
    static constexpr ration::meta about{.id = "org.example.by-loss", .version = "1.0.0"};
    ration::status decide(ration::tick<inputs> const&, ration::grants&) noexcept { return ration::status::ok; }
};

template class ration::policy_adapter<by_loss>;
