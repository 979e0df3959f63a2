// SPDX-License-Identifier: BSL-1.0
// A class is a job only if it declares so.
#include <vector>

#include <ration/allocate.hpp>
#include <ration/policies/equal_share.hpp>

struct training {
#ifndef RATION_MISUSE
    using job_concept = ration::job_tag;
#endif
    ration::job_id id() const noexcept;
    ration::bounds bounds_of(ration::resource_id) const noexcept;
    ration::job_progress progress() const noexcept;
    ration::two_tier_target const& target() const noexcept;
};

void share(std::vector<training> const& jobs) {
    ration::policies::equal_share policy;
    ration::capacities const node[] = {{.cpu = 8000}};
    static_cast<void>(ration::allocate(policy, jobs, node));
}
