// SPDX-License-Identifier: BSL-1.0
// An estimator declares a vector column that it computes with out_rows.
#include <ration/host/any_estimator.hpp>

struct by_speed {
    using estimator_concept = ration::estimator_tag;
    using inputs = ration::columns<ration::in<double, "jobs/measured_steps_per_second">>;
#ifdef RATION_MISUSE
    using outputs = ration::columns<ration::out<double, "jobs/goodput">>;
#else
    using outputs = ration::columns<ration::out_rows<double, "jobs/goodput">>;
#endif
    static constexpr ration::meta about{.id = "org.example.by-speed", .version = "1.0.0"};
    void estimate(ration::tick<inputs> const&, ration::estimates<outputs> const&) noexcept {}
};

template class ration::estimator_adapter<by_speed>;
