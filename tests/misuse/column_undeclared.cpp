// SPDX-License-Identifier: BSL-1.0
// What a policy reads it has to declare: a host binds the declared columns and no others.
#include <ration/host/any_policy.hpp>

struct by_loss {
    using policy_concept = ration::policy_tag;
    using inputs = ration::columns<ration::in<double, "jobs/loss">>;
    static constexpr ration::meta about{.id = "org.example.by-loss", .version = "1.0.0"};

    ration::status decide(ration::tick<inputs> const& t, ration::grants&) noexcept {
#ifdef RATION_MISUSE
        static_cast<void>(t.get<"jobs/loss.best">());  // [here]
#else
        static_cast<void>(t.get<"jobs/loss">());
#endif
        return ration::status::ok;
    }
};

template class ration::policy_adapter<by_loss>;
