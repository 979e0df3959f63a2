// SPDX-License-Identifier: BSL-1.0
// A job with everything that a recipe reads, and one call that returns what each job is given.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <ration/allocate.hpp>
#include <ration/testing/laws.hpp>

#include "support/allocations.hpp"
#include "support/catch.hpp"

namespace cookbook {

struct trainee {
    std::uint64_t number = 1;
    std::uint32_t tenant = 0;
    double weight = 1, loss = 1, best = 1, used = 0;
    std::int64_t due = -1, asked = 0;
    ration::bounds cpu{}, gpu{}, batch{};
    std::vector<double> speedup{0, 1};
    std::vector<std::int64_t> batches{0, 32};

    using job_concept = ration::job_tag;
    // A name of this scheduler's own
    using supplies = ration::columns<ration::from<std::int64_t, "jobs/due", &trainee::due>,
                                     ration::from<std::uint32_t, "jobs/tenant", &trainee::tenant>,
                                     ration::from<double, "jobs/weight", &trainee::weight>,
                                     ration::from<double, "jobs/loss.best", &trainee::best>,
                                     ration::from<double, "jobs/used.cpu", &trainee::used>,
                                     ration::from<std::int64_t, "jobs/request.gpu", &trainee::asked>,
                                     ration::from_rows<double, "jobs/speedup", &trainee::speedup>,
                                     ration::from_rows<std::int64_t, "jobs/batch", &trainee::batches>>;

    [[nodiscard]] ration::job_id id() const noexcept { return {number}; }
    [[nodiscard]] ration::bounds bounds_of(ration::resource_id r) const noexcept {
        return r == ration::resource_id::cpu     ? cpu
               : r == ration::resource_id::gpu   ? gpu
               : r == ration::resource_id::batch ? batch
                                                 : ration::bounds{};
    }
    [[nodiscard]] ration::job_progress progress() const noexcept { return {.step = 0, .value = loss}; }
    [[nodiscard]] ration::two_tier_target target() const noexcept {
        return *ration::two_tier_target::make({.acceptable = 0.5, .objective = 0.2});
    }
};

/// What each job is given over all nodes, in their order; -1 for a job that no grant names. Every grant has to pass.
template <class Policy>
[[nodiscard]] std::vector<std::int64_t> amounts(Policy& policy, std::vector<trainee> const& jobs,
                                                ration::resource_id what, std::vector<ration::capacities> const& nodes,
                                                ration::allocation_context const& now = {}) {
    auto const answer = ration::allocate(policy, jobs, nodes, now);
    REQUIRE(answer);
    CHECK(answer->rejected.empty());
    std::vector<std::int64_t> given(jobs.size(), -1);
    for (auto const& g : answer->granted)
        for (std::size_t i = 0; i < jobs.size(); ++i)
            if (g.job == jobs[i].id() && g.resource() == what) given[i] = (given[i] < 0 ? 0 : given[i]) + g.amount();
    return given;
}

}  // namespace cookbook
