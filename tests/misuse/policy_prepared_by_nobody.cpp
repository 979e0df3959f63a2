// SPDX-License-Identifier: BSL-1.0
// A prepare() of another form would be passed over in silence, and decide() would run unprepared.
#include <ration/host/any_policy.hpp>

struct by_loss {
    using policy_concept = ration::policy_tag;
    using inputs = ration::columns<ration::in<double, "jobs/loss">>;
    static constexpr ration::meta about{.id = "org.example.by-loss", .version = "1.0.0"};
#ifdef RATION_MISUSE
    void prepare(ration::limits const&) {}
#else
    ration::status prepare(ration::limits const&) noexcept { return ration::status::ok; }
#endif
    ration::status decide(ration::tick<inputs> const&, ration::grants&) noexcept { return ration::status::ok; }
};

template class ration::policy_adapter<by_loss>;
