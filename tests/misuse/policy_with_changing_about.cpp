// SPDX-License-Identifier: BSL-1.0
// Who a policy is does not change while it runs.
#include <ration/host/any_policy.hpp>

struct by_loss {
    using policy_concept = ration::policy_tag;
    using inputs = ration::columns<ration::in<double, "jobs/loss">>;
#ifdef RATION_MISUSE
    inline static ration::meta about{.id = "org.example.by-loss", .version = "1.0.0"};
#else
    static constexpr ration::meta about{.id = "org.example.by-loss", .version = "1.0.0"};
#endif
    ration::status decide(ration::tick<inputs> const&, ration::grants&) noexcept { return ration::status::ok; }
};

template class ration::policy_adapter<by_loss>;
