// SPDX-License-Identifier: BSL-1.0
/// The laws of the concepts as checks that users run on their own types. Each check returns success, or an error whose
/// `operation` is the law that was broken and whose `subject` is what was seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include <ration/job.hpp>
#include <ration/resource.hpp>
#include <ration/target.hpp>
#include <ration/testing/backend_laws.hpp>  // IWYU pragma: export
#include <ration/testing/broken_law.hpp>
#include <ration/testing/estimator_laws.hpp>  // IWYU pragma: export
#include <ration/testing/policy_laws.hpp>     // IWYU pragma: export

namespace ration::testing {

/// The laws of Resource for all resources of one host.
[[nodiscard]] inline result<void> resource_laws(std::span<resource_info const> resources) noexcept {
    constexpr auto* spelling = "Resource law 1: a name is spelt [a-z][a-z0-9.]*";
    constexpr auto* unique = "Resource law 1: a name is unique on a host";
    auto const is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
    for (std::size_t i = 0; i < resources.size(); ++i) {
        std::string_view const name = resources[i].name;
        if (name.empty() || !is_lower(name.front())) return broken_law(spelling, name);
        for (char const c : name)
            if (!is_lower(c) && !(c >= '0' && c <= '9') && c != '.') return broken_law(spelling, name);
        for (std::size_t k = 0; k < i; ++k)
            if (resources[k].name == name) return broken_law(unique, name);
    }
    return {};
}

/// The laws of Target on these values of the metric, in any order. Give values on both sides of every threshold.
template <Target T>
[[nodiscard]] result<void> target_laws(T const& target, std::span<double const> values) noexcept {
    if (auto const tiers = target.reached(std::numeric_limits<double>::quiet_NaN()); tiers != 0)
        return broken_law("Target law 3: NaN reaches no tier", seen("reached(NaN) = %u", tiers));
    bool rises = false, falls = false;
    for (double const a : values) {
        std::uint32_t const reached = target.reached(a);
        if (reached > target.tiers())
            return broken_law("Target law 1: reached() is at most tiers()",
                              seen("reached(%g) = %u of %u", a, reached, target.tiers()));
        for (double const b : values) {
            rises |= a < b && reached < target.reached(b);
            falls |= a < b && reached > target.reached(b);
        }
        if (rises && falls)
            return broken_law("Target law 2: a better value never reaches fewer tiers",
                              seen("reached() rises and falls by %g", a));
    }
    return {};
}

/// The laws of Job that can be seen at one moment, for all jobs of one host.
template <Job J>
[[nodiscard]] result<void> job_laws(std::span<J const> jobs,
                                    std::size_t resources = std::size(standard_resources)) noexcept {
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        auto const number = static_cast<unsigned long long>(jobs[i].id().value);
        if (jobs[i].id() != jobs[i].id()) return broken_law("Job law 1: id() never changes", seen("job at %zu", i));
        for (std::size_t k = 0; k < i; ++k)
            if (jobs[k].id() == jobs[i].id())
                return broken_law("Job law 1: no two jobs share an id", seen("job %llu", number));
        for (std::size_t r = 0; r < resources; ++r) {
            auto const b = jobs[i].bounds_of(static_cast<resource_id>(r));
            if (b.minimum < 0 || b.maximum < b.minimum)
                return broken_law("Job law 2: 0 <= minimum <= maximum", seen("job %llu, resource %zu", number, r));
        }
    }
    return {};
}

/// The laws of Job over time: `advance(job)` lets the job progress within one incarnation, and is called `times` times.
template <Job J, class Advance>
[[nodiscard]] result<void> job_laws_over_time(J& job, Advance advance, int times = 100) noexcept {
    auto const id = job.id();
    for (auto step = job.progress().step; times > 0; --times) {
        advance(job);
        auto const now = job.progress().step;
        if (job.id() != id)
            return broken_law("Job law 1: id() never changes",
                              seen("after step %llu", static_cast<unsigned long long>(step)));
        if (now < step)
            return broken_law(
                "Job law 3: progress().step never falls within one incarnation",
                seen("%llu, then %llu", static_cast<unsigned long long>(step), static_cast<unsigned long long>(now)));
        step = now;
    }
    return {};
}

}  // namespace ration::testing
