// SPDX-License-Identifier: BSL-1.0
// An estimator computes columns of jobs.
#include <ration/host/any_estimator.hpp>

struct by_loss {
    using estimator_concept = ration::estimator_tag;
    using inputs = ration::columns<ration::in<double, "jobs/loss">>;
#ifdef RATION_MISUSE
    using outputs = ration::columns<ration::out<std::uint32_t, "nodes/type">>;
#else
    using outputs = ration::columns<ration::out<double, "jobs/remaining">>;
#endif
    static constexpr ration::meta about{.id = "org.example.by-loss", .version = "1.0.0"};
    void estimate(ration::tick<inputs> const&, ration::estimates<outputs> const&) noexcept {}
};

template class ration::estimator_adapter<by_loss>;
