// SPDX-License-Identifier: BSL-1.0
// An engine calls estimate() between two ticks of a running host: it must not throw.
#include <ration/host/any_estimator.hpp>

struct by_loss {
    using estimator_concept = ration::estimator_tag;
    using inputs = ration::columns<ration::in<double, "jobs/loss">>;
    using outputs = ration::columns<ration::out<double, "jobs/remaining">>;
    static constexpr ration::meta about{.id = "org.example.by-loss", .version = "1.0.0"};
#ifdef RATION_MISUSE
    void estimate(ration::tick<inputs> const&, ration::estimates<outputs> const&) {}
#else
    void estimate(ration::tick<inputs> const&, ration::estimates<outputs> const&) noexcept {}
#endif
};

template class ration::estimator_adapter<by_loss>;
