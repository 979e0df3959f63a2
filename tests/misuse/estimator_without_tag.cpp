// SPDX-License-Identifier: BSL-1.0
// A class that happens to have an estimate() is not meant to be an estimator.
#include <ration/host/any_estimator.hpp>

struct by_loss {
#ifndef RATION_MISUSE
    using estimator_concept = ration::estimator_tag;
#endif
    using inputs = ration::columns<ration::in<double, "jobs/loss">>;
    using outputs = ration::columns<ration::out<double, "jobs/remaining">>;
    static constexpr ration::meta about{.id = "org.example.by-loss", .version = "1.0.0"};
    void estimate(ration::tick<inputs> const&, ration::estimates<outputs> const&) noexcept {}
};

template class ration::estimator_adapter<by_loss>;
