// SPDX-License-Identifier: BSL-1.0
// The job has the column that the policy reads, but of another type.
#include <ration/column_adapter.hpp>

struct by_mood {
    using policy_concept = ration::policy_tag;
    using inputs = ration::columns<ration::in<double, "jobs/mood">>;
    static constexpr ration::meta about{.id = "org.example.by-mood", .version = "1.0.0"};
    ration::status decide(ration::tick<inputs> const&, ration::grants&) noexcept;
};

struct training {
    float mood;
    using job_concept = ration::job_tag;
    ration::job_id id() const noexcept;
    ration::bounds bounds_of(ration::resource_id) const noexcept;
    ration::job_progress progress() const noexcept;
    ration::two_tier_target const& target() const noexcept;
#ifdef RATION_MISUSE
    using supplies = ration::columns<ration::from<float, "jobs/mood", &training::mood>>;
#else
    using supplies = ration::columns<ration::from<double, "jobs/mood", &training::mood>>;
#endif
};

template struct ration::pairing<by_mood, training>;
