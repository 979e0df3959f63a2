// SPDX-License-Identifier: BSL-1.0
// TRADL reads what each job uses of the CPU. A Job does not imply that: it has to say where it comes from.
#include <vector>

#include <ration/allocate.hpp>
#include <ration/policies/tradl.hpp>

struct training {
    double cpu_used;
    using job_concept = ration::job_tag;
    ration::job_id id() const noexcept;
    ration::bounds bounds_of(ration::resource_id) const noexcept;
    ration::job_progress progress() const noexcept;
    ration::two_tier_target const& target() const noexcept;
#ifndef RATION_MISUSE
    using supplies = ration::columns<ration::from<double, "jobs/used.cpu", &training::cpu_used>>;
#endif
};

void share(std::vector<training> const& jobs) {
    ration::policies::tradl policy;
    ration::capacities const node[] = {{.cpu = 8000}};
    static_cast<void>(ration::allocate(policy, jobs, node));
}
