// SPDX-License-Identifier: BSL-1.0
// A scheduler that has its own jobs asks a policy how to share one machine. Headers only: no daemon, no plugin.
#include <iostream>

#include <ration/policies/tradl.hpp>
#include <ration/ration.hpp>

struct training {
    std::uint64_t number;
    double loss, cores;
    ration::two_tier_target wanted;

    using job_concept = ration::job_tag;
    [[nodiscard]] ration::job_id id() const noexcept { return {number}; }
    [[nodiscard]] ration::bounds bounds_of(ration::resource_id) const noexcept { return {}; }
    [[nodiscard]] ration::job_progress progress() const noexcept { return {.step = 0, .value = loss}; }
    [[nodiscard]] ration::two_tier_target const& target() const noexcept { return wanted; }

    [[nodiscard]] double used() const noexcept { return cores * 1000; }
    using supplies = ration::columns<ration::from<double, "jobs/used.cpu", &training::used>>;
};

int main() {
    auto const target = *ration::two_tier_target::make({.acceptable = 120, .objective = 110});
    training const jobs[] = {{1, 118.0, 4.0, target}, {2, 340.5, 2.0, target}, {3, 220.1, 2.0, target}};
    ration::capacities const machine[] = {{.cpu = 8000}};

    ration::policies::tradl policy;
    auto const answer = ration::allocate(policy, jobs, machine);
    if (!answer) return 1;
    for (auto const& g : answer->granted) {
        std::cout << "job " << g.job.value << ": ";
        if (g.amount() == ration::unlimited)
            std::cout << "no limit";
        else
            std::cout << g.amount() << " millicores";
        std::cout << " (" << policy.about.reason(g.reason()) << ")\n";
    }
}
