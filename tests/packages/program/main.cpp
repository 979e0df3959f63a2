// SPDX-License-Identifier: BSL-1.0
// What each way of depending on ration has to build: two jobs of a scheduler's own share a machine of eight cores.
#include <ration/policies/equal_share.hpp>
#include <ration/ration.hpp>

struct training {
    ration::two_tier_target wanted;
    std::uint64_t number;

    using job_concept = ration::job_tag;
    [[nodiscard]] ration::job_id id() const noexcept { return {number}; }
    [[nodiscard]] ration::bounds bounds_of(ration::resource_id) const noexcept { return {}; }
    [[nodiscard]] ration::job_progress progress() const noexcept { return {}; }
    [[nodiscard]] ration::two_tier_target const& target() const noexcept { return wanted; }
};

int main() {
    training const jobs[] = {{.wanted = {}, .number = 1}, {.wanted = {}, .number = 2}};
    ration::capacities const machine[] = {{.cpu = 8000}};
    ration::policies::equal_share policy;
    auto const answer = ration::allocate(policy, jobs, machine);
    return answer && answer->granted.size() == 2 && answer->granted[0].amount() == 4000 ? 0 : 1;
}
