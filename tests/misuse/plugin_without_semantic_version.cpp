// SPDX-License-Identifier: BSL-1.0
// Who has the file of a plugin has to know which one it is.
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
