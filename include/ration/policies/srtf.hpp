// SPDX-License-Identifier: BSL-1.0
/// srtf: the shortest remaining time first, with preemption.
///
/// Minimises the mean completion time on one device with known lengths; so it is the usual bound
/// for other policies.
#pragma once

#include <cstddef>
#include <string_view>

#include <ration/parameter.hpp>
#include <ration/policies/detail/job_time.hpp>
#include <ration/policies/detail/rigid_jobs.hpp>
#include <ration/policy.hpp>

namespace ration::policies {

/// Parameters of `srtf`; each member has its unit and its default.
struct srtf_parameters {
    /// What "shortest" measures.
    job_measure measure = job_measure::time;

    /// Meaning of each parameter, for help texts and the JSON schema.
    static constexpr parameter_note notes[] = {
        {.name = "measure",
         .meaning = "time counts a job's remaining seconds, service those times the devices that it asks for"}};
    /// Every combination of values is valid.
    [[nodiscard]] static constexpr std::string_view problem() noexcept { return {}; }
};

/// The jobs with the shortest predicted remaining time on their requested devices run, all or
/// nothing; one that does not fit lets others overtake. Running jobs are stopped for shorter ones.
/// A job of unknown length comes last; ties go to the job submitted first. O(jobs) as long as the
/// order changes little. State: only that order.
class srtf {
public:
    /// Declares the class as a policy.
    using policy_concept = policy_tag;
    /// The parameters that a user can set.
    using parameters = srtf_parameters;
    /// The columns that `decide` reads. A host that lacks one of them refuses the policy.
    using inputs = detail::rigid_columns<in<double, "jobs/remaining">, in<double, "jobs/nominal_steps_per_second">>;
    /// Identity of the policy, and the texts of its reason codes.
    static constexpr meta about{.id = "ration.srtf",
                                .version = "1.0.0",
                                .summary = "the shortest remaining time first, with preemption",
                                .reasons = detail::rigid_jobs::reasons};

    /// With the default parameters.
    srtf() = default;
    /// With these parameters. Precondition: `p.problem()` is empty.
    explicit srtf(srtf_parameters const& p) noexcept : parameters_(p) {}

    /// Allocates for the largest tables, so that `decide` does not allocate.
    [[nodiscard]] status prepare(limits const& most) noexcept {
        jobs_.reserve(most);
        return status::ok;
    }

    /// Writes the grants of one tick. Returns `status::capacity` if they do not fit.
    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        if (!jobs_.begin(t, true)) return status::ok;
        auto const remaining = t.get<"jobs/remaining">(), rate = t.get<"jobs/nominal_steps_per_second">();
        jobs_.serve(t, [&](std::size_t row) noexcept {
            return detail::priority{
                detail::size_of_work(remaining[row], rate[row], jobs_.wanted(row), parameters_.measure)};
        });
        return jobs_.finish(out);
    }

private:
    srtf_parameters parameters_;
    detail::rigid_jobs jobs_;
};

static_assert(Policy<srtf>);

}  // namespace ration::policies
