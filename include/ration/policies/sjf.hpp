// SPDX-License-Identifier: BSL-1.0
/// sjf: the shortest job first.
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
    job_measure measure = job_measure::time;
    bool backfill = true;  ///< longer jobs that fit pass one that does not

    static constexpr parameter_note notes[] = {
        {.name = "measure",
         .meaning = "time counts a job's seconds, service its seconds times the devices that it asks for"},
        {.name = "backfill", .meaning = "longer jobs that fit pass one that does not"}};
    [[nodiscard]] static constexpr std::string_view problem() noexcept { return {}; }
};

/// Of the waiting jobs the one with the least predicted run time starts first, and keeps its devices. The time is that
/// of the whole job on the devices it asks for; a job of unknown length comes last, of equals the one submitted first.
/// O(jobs) for each start; no state.
class sjf {
public:
    using policy_concept = policy_tag;
    using parameters = sjf_parameters;
    using inputs = detail::rigid_columns<in<double, "jobs/total_steps">, in<double, "jobs/nominal_steps_per_second">>;
    static constexpr meta about{.id = "ration.sjf",
                                .version = "1.0.0",
                                .summary = "the shortest job first",
                                .reasons = detail::rigid_jobs::reasons};

    sjf() = default;
    explicit sjf(sjf_parameters const& p) noexcept : parameters_(p) {}

    [[nodiscard]] status prepare(limits const& most) noexcept {
        jobs_.reserve(most);
        return status::ok;
    }

    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        if (!jobs_.begin(t, false)) return status::ok;
        auto const length = t.get<"jobs/total_steps">(), rate = t.get<"jobs/nominal_steps_per_second">();
        jobs_.start_in_order(t, parameters_.backfill, [&](std::size_t row) noexcept {
            return detail::size_of_work(length[row], rate[row], jobs_.wanted(row), parameters_.measure);
        });
        return jobs_.finish(out);
    }

private:
    sjf_parameters parameters_;
    detail::rigid_jobs jobs_;
};

static_assert(Policy<sjf>);

}  // namespace ration::policies
