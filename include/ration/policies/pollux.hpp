// SPDX-License-Identifier: BSL-1.0
/// pollux: devices and batches for the most goodput. Source: A. Qiao et al., "Pollux: Co-adaptive
/// Cluster Scheduling for Goodput-Optimized Deep Learning", OSDI 2021, solved exactly instead of by
/// a genetic search.
///
/// For jobs whose batch can change with their devices. `sia` is the rule for devices of several
/// types.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <ration/parameter.hpp>
#include <ration/policies/detail/allocation_dp.hpp>
#include <ration/policies/detail/goodput_jobs.hpp>
#include <ration/policy.hpp>
#include <ration/state.hpp>

namespace ration::policies {

/// Parameters of `pollux`; each member has its unit and its default.
struct pollux_parameters {
    double interval = 60;  ///< seconds from one division of the devices to the next
    /// Divides also when jobs or devices come or go; false = only at intervals, as the paper does
    bool at_changes = true;
    double p = 0.5;                ///< exponent of the mean of speed-ups that is maximised; lower is fairer
    double restart_penalty = 0.1;  ///< share of a speed-up that a change of the devices has to gain first

    /// Meaning and valid interval of each parameter, for help texts and the JSON schema.
    static constexpr parameter_note notes[] = {
        {.name = "interval",
         .meaning = "seconds from one division of the devices to the next, 0 to 1000000",
         .least = 0,
         .most = 1e6},
        {.name = "at_changes", .meaning = "divide also when jobs or devices come or go"},
        {.name = "p",
         .meaning = "of the mean of speed-ups that is made the most of, -10 to 1; lower is fairer",
         .least = -10,
         .most = 1},
        {.name = "restart_penalty",
         .meaning = "share of a speed-up that a resize must first make good, 0 to 1",
         .least = 0,
         .most = 1}};

    /// Validates the values: a sentence with the first invalid one and the fix, or empty text.
    [[nodiscard]] constexpr std::string_view problem() const noexcept {
        if (!(interval >= 0 && interval <= 1e6))
            return "interval is a time in seconds: write a number from 0 to 1000000";
        if (!(p >= -10 && p <= 1) || p == 0)
            return "p is the exponent of a mean: write a number from -10 to 1 that is not 0";
        if (!(restart_penalty >= 0 && restart_penalty < 1))
            return "restart_penalty is a share: write a number from 0 to below 1";
        return {};
    }
};

/// Every interval, and with `at_changes` also when jobs or devices come or go, the devices are divided so that the
/// p-mean of all jobs' speed-ups is the largest. A job's speed-up with k devices is its goodput with them, divided by
/// its goodput with the fair share, devices / jobs, or with the nearest number on which it runs. It is reduced by the
/// penalty if k is not the present number. As many jobs run as possible: for p < 0 a job without devices would make the
/// mean 0, so one more running job outweighs everything else. Each job gets the batch with its best goodput.
///
/// The published search also avoids two multi-node jobs on one node. Here jobs that change are
/// placed again, the largest first, on as few nodes as possible. O(jobs x counts) and the time of
/// `allocation_dp` for a division; O(jobs + nodes) otherwise. State: the time of the last division.
class pollux {
public:
    /// Declares the class as a policy.
    using policy_concept = policy_tag;
    /// The parameters that a user can set.
    using parameters = pollux_parameters;
    /// The columns that `decide` reads. A host that lacks one of them refuses the policy.
    using inputs = detail::goodput_columns<>;
    /// Identity of the policy, and the texts of its reason codes.
    static constexpr meta about{.id = "ration.pollux",
                                .version = "1.0.0",
                                .summary = "devices and batches for the most goodput",
                                .reasons = detail::elastic_jobs::reasons};

    /// With the default parameters.
    pollux() = default;
    /// With these parameters. Precondition: `p.problem()` is empty.
    explicit pollux(pollux_parameters const& p) noexcept : parameters_(p) {}

    /// Allocates for the largest tables, so that `decide` does not allocate.
    [[nodiscard]] status prepare(limits const& most) noexcept {
        jobs_.reserve(most);
        return status::ok;
    }

    /// Writes the grants of one tick. Returns `status::capacity` if they do not fit.
    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        if (!jobs_.is_due(t, parameters_.interval, parameters_.at_changes)) return status::ok;
        auto const shares = jobs_.list(t);
        if (shares.empty()) return jobs_.apply(t, out);
        std::int64_t const fair = jobs_.devices() / static_cast<std::int64_t>(shares.size());
        jobs_.divide([&](detail::share const& s, detail::speed_curve const& goodput, std::int64_t held) noexcept {
            double const usual = usual_goodput(goodput, s, fair);
            return [=, this](std::int64_t k) noexcept {
                double const speedup =
                    goodput.at(k) / usual * (k == held || held == 0 ? 1 : 1 - parameters_.restart_penalty);
                return worth(speedup);
            };
        });
        return jobs_.apply(t, out);
    }

    /// Writes the state if it fits, and returns its size in bytes.
    [[nodiscard]] std::size_t save(std::span<std::byte> space) const noexcept { return jobs_.save(space); }
    /// Restores what `save` wrote. Returns `status::state`, without an effect, for invalid bytes.
    [[nodiscard]] status load(std::span<std::byte const> saved) noexcept { return jobs_.load(saved); }

private:
    pollux_parameters parameters_;
    detail::goodput_jobs jobs_;

    /// The goodput to which speed-ups relate: that with the fair share, or with the next fewer devices on which the job
    /// runs, or else with the next more. It is above 0 where any is.
    [[nodiscard]] static double usual_goodput(detail::speed_curve const& goodput, detail::share const& s,
                                              std::int64_t fair) noexcept {
        std::int64_t const share = within(fair, {s.least, s.most});
        for (std::int64_t k = share; k >= s.least; --k)
            if (double const g = goodput.at(k); g > 0) return g;
        for (std::int64_t k = share; k <= s.most; ++k)
            if (double const g = goodput.at(k); g > 0) return g;
        return 0;
    }

    /// Increases with the speed-up; 0 belongs to a job without devices.
    [[nodiscard]] double worth(double speedup) const noexcept {
        constexpr double least = 1.0 / 64;
        double const s = speedup > least ? speedup : least;
        if (parameters_.p > 0) return std::pow(s, parameters_.p);
        // For p < 0 the power falls from `most`; turned round and shifted, it is positive for each
        // speed-up from `least` on.
        double const most = std::pow(least, parameters_.p);
        return 2 * most - std::pow(s, parameters_.p);
    }
};

static_assert(Policy<pollux>);

}  // namespace ration::policies
