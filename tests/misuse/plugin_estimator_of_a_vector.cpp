// SPDX-License-Identifier: BSL-1.0
// The manifest of a plugin has no widths.
#include <ration/plugin/export.hpp>

struct by_loss {
    using estimator_concept = ration::estimator_tag;
    using inputs = ration::columns<ration::in<double, "jobs/loss">>;
#ifdef RATION_MISUSE
    using outputs = ration::columns<ration::out_rows<double, "jobs/speedup">>;
#else
    using outputs = ration::columns<ration::out<double, "jobs/remaining">>;
#endif
    static constexpr ration::meta about{.id = "org.example.by-loss", .version = "1.0.0"};
    void estimate(ration::tick<inputs> const&, ration::estimates<outputs> const&) noexcept {}
};

RATION_EXPORT_ESTIMATOR(by_loss)
