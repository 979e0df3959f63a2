// SPDX-License-Identifier: BSL-1.0
// A user of a plugin's file has to be able to identify its version.
#include <ration/plugin/export.hpp>

struct by_loss {
    using policy_concept = ration::policy_tag;
    using inputs = ration::columns<ration::in<double, "jobs/loss">>;
#ifdef RATION_MISUSE
    static constexpr ration::meta about{.id = "org.example.by-loss", .version = "banana"};
#else
    static constexpr ration::meta about{.id = "org.example.by-loss", .version = "1.0.0-rc.1"};
#endif
    ration::status decide(ration::tick<inputs> const&, ration::grants&) noexcept { return ration::status::ok; }
};

RATION_EXPORT_POLICY(by_loss)
