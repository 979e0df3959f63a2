// SPDX-License-Identifier: BSL-1.0
// An estimator writes only the columns that it declares.
#include <ration/host/any_estimator.hpp>

struct by_loss {
    using estimator_concept = ration::estimator_tag;
    using inputs = ration::columns<ration::in<double, "jobs/loss">>;
    using outputs = ration::columns<ration::out<double, "jobs/remaining">>;
    static constexpr ration::meta about{.id = "org.example.by-loss", .version = "1.0.0"};
    void estimate(ration::tick<inputs> const&, ration::estimates<outputs> const& to) noexcept {
#ifdef RATION_MISUSE
        static_cast<void>(to.get<"jobs/total_steps">());
#else
        static_cast<void>(to.get<"jobs/remaining">());
#endif
    }
};

template class ration::estimator_adapter<by_loss>;
