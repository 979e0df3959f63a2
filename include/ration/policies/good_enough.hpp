// SPDX-License-Identifier: BSL-1.0
/// good_enough: devices and batches for the jobs that they bring closer to their targets. ration's
/// own rule. The idea that a job which has reached a tier is worth less is TRADL's (HPEC 2019);
/// priority for jobs near their end is that of the shortest remaining time.
///
/// For elastic jobs with targets and a known goodput; docs/good-enough.md explains the rule.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <ration/parameter.hpp>
#include <ration/policies/detail/goodput_jobs.hpp>
#include <ration/policy.hpp>

namespace ration::policies {

/// Parameters of `good_enough`; each member has its unit and its default.
struct good_enough_parameters {
    double interval = 60;    ///< seconds from one division of the devices to the next
    bool at_changes = true;  ///< divides also when jobs or devices come or go; false = only at intervals
    /// Worth of a job for each tier that it has reached, relative to a job without a tier
    double reached = 0.25;
    /// Seconds since its submission that double the worth of a job; 0 = age does not count
    double patience = 28'800;
    /// Share of a running job's rate that a change of its devices has to gain first
    double restart_penalty = 0.25;

    /// Meaning and valid interval of each parameter, for help texts and the JSON schema.
    static constexpr parameter_note notes[] = {
        {.name = "interval",
         .meaning = "seconds from one division of the devices to the next, 0 to 1000000",
         .least = 0,
         .most = 1e6},
        {.name = "at_changes", .meaning = "divide also when jobs or devices come or go"},
        {.name = "reached",
         .meaning = "what a job is worth for each tier that it has reached, 0 to 1",
         .least = 0,
         .most = 1},
        {.name = "patience",
         .meaning = "seconds of age that double what a job is worth, 0 to 1000000000; 0 = never",
         .least = 0,
         .most = 1e9},
        {.name = "restart_penalty",
         .meaning = "share of a rate that a resize must first make good, 0 to 1",
         .least = 0,
         .most = 1}};

    /// Validates the values: a sentence with the first invalid one and the fix, or empty text.
    [[nodiscard]] constexpr std::string_view problem() const noexcept {
        if (!(interval >= 0 && interval <= 1e6))
            return "interval is a time in seconds: write a number from 0 to 1000000";
        if (!(reached >= 0 && reached <= 1)) return "reached is a share: write a number from 0 to 1";
        if (!(patience >= 0 && patience <= 1e9))
            return "patience is a time in seconds: write a number from 0 to 1000000000";
        if (!(restart_penalty >= 0 && restart_penalty < 1))
            return "restart_penalty is a share: write a number from 0 to below 1";
        return {};
    }
};

/// Every interval, and with `at_changes` also when jobs or devices come or go, the devices are divided so that the sum
/// of all jobs' rates is the largest. A job's rate with k devices is 1 / (remaining steps / goodput(k) + restart cost
/// if k is not the present number): the inverse of the time to its next tier, or to its end.
///
/// The rate counts more by the penalty where a running job keeps its devices, less for each tier
/// that the job has reached, and more the older the job is, which prevents starvation. O(jobs x
/// counts) and the time of `allocation_dp` for a division; O(jobs + nodes) otherwise. State: the
/// time of the last division.
class good_enough {
public:
    /// Declares the class as a policy.
    using policy_concept = policy_tag;
    /// The parameters that a user can set.
    using parameters = good_enough_parameters;
    /// The columns that `decide` reads. A host that lacks one of them refuses the policy.
    using inputs = detail::goodput_columns<in<double, "jobs/remaining">, in<double, "jobs/restart_cost">,
                                           in<std::int64_t, "jobs/submitted">, in<std::uint32_t, "jobs/tier">>;
    /// Identity of the policy, and the texts of its reason codes.
    static constexpr meta about{.id = "ration.good-enough",
                                .version = "1.0.0",
                                .summary = "devices to the jobs that they bring nearest to the next tier",
                                .reasons = detail::elastic_jobs::reasons};

    /// With the default parameters.
    good_enough() = default;
    /// With these parameters. Precondition: `p.problem()` is empty.
    explicit good_enough(good_enough_parameters const& p) noexcept : parameters_(p) {}

    /// Allocates for the largest tables, so that `decide` does not allocate.
    [[nodiscard]] status prepare(limits const& most) noexcept {
        jobs_.reserve(most);
        return status::ok;
    }

    /// Writes the grants of one tick. Returns `status::capacity` if they do not fit.
    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        if (!jobs_.is_due(t, parameters_.interval, parameters_.at_changes)) return status::ok;
        if (jobs_.list(t).empty()) return jobs_.apply(t, out);
        auto const remaining = t.get<"jobs/remaining">(), cost = t.get<"jobs/restart_cost">();
        jobs_.divide([&](detail::share const& s, detail::speed_curve const& goodput, std::int64_t held) noexcept {
            double const weight = weight_of(t, s.row), steps = remaining[s.row] > 1 ? remaining[s.row] : 1,
                         restart = cost[s.row];
            return [=, this](std::int64_t k) noexcept {
                double const rate = weight / (steps / goodput.at(k) + (k == held ? 0 : restart));
                return k == held ? rate / (1 - parameters_.restart_penalty) : rate;
            };
        });
        return jobs_.apply(t, out);
    }

    /// Writes the state if it fits, and returns its size in bytes.
    [[nodiscard]] std::size_t save(std::span<std::byte> space) const noexcept { return jobs_.save(space); }
    /// Restores what `save` wrote. Returns `status::state`, without an effect, for invalid bytes.
    [[nodiscard]] status load(std::span<std::byte const> saved) noexcept { return jobs_.load(saved); }

private:
    good_enough_parameters parameters_;
    detail::goodput_jobs jobs_;

    /// The worth of a job: its reached tiers, then its age.
    [[nodiscard]] double weight_of(tick<inputs> const& t, std::size_t row) const noexcept {
        std::uint32_t const tiers = t.get<"jobs/tier">()[row];
        constexpr std::uint32_t few = 64;  // for more, a loop takes too long
        double weight = tiers > few ? std::pow(parameters_.reached, tiers) : 1;
        for (std::uint32_t tier = tiers > few ? 0 : tiers; tier > 0; --tier) weight *= parameters_.reached;
        if (parameters_.patience <= 0) return weight;
        double const age = to_seconds(t.now() - nanoseconds{t.get<"jobs/submitted">()[row]});
        return weight * (1 + age / parameters_.patience);
    }
};

static_assert(Policy<good_enough>);

}  // namespace ration::policies
