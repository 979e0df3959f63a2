// SPDX-License-Identifier: BSL-1.0
// A target is more than a number.
#include <vector>

#include <ration/allocate.hpp>
#include <ration/policies/equal_share.hpp>

struct training {
    using job_concept = ration::job_tag;
    ration::job_id id() const noexcept;
    ration::bounds bounds_of(ration::resource_id) const noexcept;
    ration::job_progress progress() const noexcept;
#ifdef RATION_MISUSE
    double target() const noexcept;
#else
    ration::two_tier_target const& target() const noexcept;
#endif
};

void share(std::vector<training> const& jobs) {
    ration::policies::equal_share policy;
    ration::capacities const node[] = {{.cpu = 8000}};
    static_cast<void>(ration::allocate(policy, jobs, node));
}
