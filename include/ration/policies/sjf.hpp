// SPDX-License-Identifier: BSL-1.0
/// sjf: the shortest job first, without preemption.
///
/// Needs predicted run times, which the simulator has and a live run estimates. `srtf` is the same
/// rule with preemption.
#pragma once

#include <cstddef>
#include <string_view>

#include <ration/parameter.hpp>
#include <ration/policies/detail/job_time.hpp>
#include <ration/policies/detail/rigid_jobs.hpp>
#include <ration/policy.hpp>

namespace ration::policies {

/// Parameters of `sjf`; each member has its unit and its default.
struct sjf_parameters {
    /// What "shortest" measures.
    job_measure measure = job_measure::time;
    bool backfill = true;  ///< longer jobs that fit overtake one that does not

    /// Meaning of each parameter, for help texts and the JSON schema.
    static constexpr parameter_note notes[] = {
        {.name = "measure",
         .meaning = "time counts a job's seconds, service its seconds times the devices that it asks for"},
        {.name = "backfill", .meaning = "longer jobs that fit pass one that does not"}};
    /// Every combination of values is valid.
    [[nodiscard]] static constexpr std::string_view problem() noexcept { return {}; }
};

/// Of the waiting jobs, the one with the shortest predicted run time starts first and keeps its
/// devices. The time is that of the whole job on its requested devices. A job of unknown length
/// comes last; ties go to the job submitted first. O(jobs) for each start; no state.
class sjf {
public:
    /// Declares the class as a policy.
    using policy_concept = policy_tag;
    /// The parameters that a user can set.
    using parameters = sjf_parameters;
    /// The columns that `decide` reads. A host that lacks one of them refuses the policy.
    using inputs = detail::rigid_columns<in<double, "jobs/total_steps">, in<double, "jobs/nominal_steps_per_second">>;
    /// Identity of the policy, and the texts of its reason codes.
    static constexpr meta about{.id = "ration.sjf",
                                .version = "1.0.0",
                                .summary = "the shortest job first",
                                .reasons = detail::rigid_jobs::reasons};

    /// With the default parameters.
    sjf() = default;
    /// With these parameters. Precondition: `p.problem()` is empty.
    explicit sjf(sjf_parameters const& p) noexcept : parameters_(p) {}

    /// Allocates for the largest tables, so that `decide` does not allocate.
    [[nodiscard]] status prepare(limits const& most) noexcept {
        jobs_.reserve(most);
        return status::ok;
    }

    /// Writes the grants of one tick. Returns `status::capacity` if they do not fit.
    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        if (!jobs_.begin(t, false)) return status::ok;
        auto const length = t.get<"jobs/total_steps">(), rate = t.get<"jobs/nominal_steps_per_second">();
        detail::start_in_order(t, jobs_, parameters_.backfill, [&](std::size_t row) noexcept {
            return detail::size_of_work(length[row], rate[row], jobs_.wanted(row), parameters_.measure);
        });
        return jobs_.finish(t, out);
    }

private:
    sjf_parameters parameters_;
    detail::rigid_jobs jobs_;
};

static_assert(Policy<sjf>);

}  // namespace ration::policies
