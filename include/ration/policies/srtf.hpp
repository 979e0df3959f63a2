// SPDX-License-Identifier: BSL-1.0
/// srtf: the shortest remaining time first, with preemption.
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
    job_measure measure = job_measure::time;

    static constexpr parameter_note notes[] = {
        {.name = "measure",
         .meaning = "time counts a job's remaining seconds, service those times the devices that it asks for"}};
    [[nodiscard]] static constexpr std::string_view problem() noexcept { return {}; }
};

/// Those run that have the least predicted time left on the devices they ask for, all or nothing; one that does not fit
/// lets others pass. Running jobs make room for shorter ones. A job of unknown length comes last, of equals the one
/// submitted first. O(jobs) as long as little changes in the order; no state but that order.
class srtf {
public:
    using policy_concept = policy_tag;
    using parameters = srtf_parameters;
    using inputs = detail::rigid_columns<in<double, "jobs/remaining">, in<double, "jobs/nominal_steps_per_second">>;
    static constexpr meta about{.id = "ration.srtf",
                                .version = "1.0.0",
                                .summary = "the shortest remaining time first, with preemption",
                                .reasons = detail::rigid_jobs::reasons};

    srtf() = default;
    explicit srtf(srtf_parameters const& p) noexcept : parameters_(p) {}

    [[nodiscard]] status prepare(limits const& most) noexcept {
        jobs_.reserve(most);
        return status::ok;
    }

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
