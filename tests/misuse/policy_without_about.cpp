// SPDX-License-Identifier: BSL-1.0
// A policy declares its identity.
#include <ration/host/any_policy.hpp>

struct by_loss {
    using policy_concept = ration::policy_tag;
    using inputs = ration::columns<ration::in<double, "jobs/loss">>;
#ifndef RATION_MISUSE
    static constexpr ration::meta about{.id = "org.example.by-loss", .version = "1.0.0"};
#endif
    ration::status decide(ration::tick<inputs> const&, ration::grants&) noexcept { return ration::status::ok; }
};

template class ration::policy_adapter<by_loss>;
