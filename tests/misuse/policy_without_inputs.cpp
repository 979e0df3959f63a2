// SPDX-License-Identifier: BSL-1.0
// A policy declares the columns that it reads.
#include <ration/host/any_policy.hpp>

struct by_loss {
    using policy_concept = ration::policy_tag;
#ifdef RATION_MISUSE
    using columns = ration::columns<ration::in<double, "jobs/loss">>;
    ration::status decide(ration::tick<columns> const&, ration::grants&) noexcept { return ration::status::ok; }
#else
    using inputs = ration::columns<ration::in<double, "jobs/loss">>;
    ration::status decide(ration::tick<inputs> const&, ration::grants&) noexcept { return ration::status::ok; }
#endif
    static constexpr ration::meta about{.id = "org.example.by-loss", .version = "1.0.0"};
};

template class ration::policy_adapter<by_loss>;
