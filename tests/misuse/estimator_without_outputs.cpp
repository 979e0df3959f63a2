// SPDX-License-Identifier: BSL-1.0
// An estimator declares the columns that it computes, with out and not with in.
#include <ration/host/any_estimator.hpp>

struct by_loss {
    using estimator_concept = ration::estimator_tag;
    using inputs = ration::columns<ration::in<double, "jobs/loss">>;
    using remaining = ration::columns<ration::out<double, "jobs/remaining">>;
#ifdef RATION_MISUSE
    using outputs = ration::columns<ration::in<double, "jobs/remaining">>;
#else
    using outputs = remaining;
#endif
    static constexpr ration::meta about{.id = "org.example.by-loss", .version = "1.0.0"};
    void estimate(ration::tick<inputs> const&, ration::estimates<remaining> const&) noexcept {}
};

template class ration::estimator_adapter<by_loss>;
