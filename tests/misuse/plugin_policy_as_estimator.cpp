// SPDX-License-Identifier: BSL-1.0
// Policies have another macro.
#include <ration/plugin/export.hpp>

struct nothing_granted {
    using policy_concept = ration::policy_tag;
    using inputs = ration::columns<ration::in<double, "jobs/loss">>;
    static constexpr ration::meta about{.id = "org.example.nothing-granted", .version = "1.0.0"};
    ration::status decide(ration::tick<inputs> const&, ration::grants&) noexcept { return ration::status::ok; }
};

#ifdef RATION_MISUSE
RATION_EXPORT_ESTIMATOR(nothing_granted)
#else
RATION_EXPORT_POLICY(nothing_granted)
#endif
