// SPDX-License-Identifier: BSL-1.0
/// pollux: devices and batches for the most goodput. Source: A. Qiao et al., "Pollux: Co-adaptive Cluster Scheduling
/// for Goodput-Optimized Deep Learning", OSDI 2021, solved exactly instead of by a genetic search.
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
    double interval = 60;          ///< seconds from one division of the devices to the next
    double p = 0.5;                ///< of the mean of speed-ups that is made the most of; lower is fairer
    double restart_penalty = 0.1;  ///< share of a job's speed-up that another number of devices must first make good

    static constexpr parameter_note notes[] = {
        {.name = "interval",
         .meaning = "seconds from one division of the devices to the next, 0 to 1000000",
         .least = 0,
         .most = 1e6},
        {.name = "p",
         .meaning = "of the mean of speed-ups that is made the most of, -10 to 1; lower is fairer",
         .least = -10,
         .most = 1},
        {.name = "restart_penalty",
         .meaning = "share of a speed-up that a resize must first make good, 0 to 1",
         .least = 0,
         .most = 1}};

    /// What is wrong with the values and what to write instead, as a sentence; empty when nothing is.
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

/// Every interval the devices are divided so that the p-mean of all jobs' speed-ups is the largest. A job's speed-up
/// with k devices is its goodput with them over that with its fair share, devices / jobs; less the penalty where k is
/// not what it holds. As many jobs run as possible: for p < 0 a job without devices would make the mean 0, so one more
/// job that runs outweighs all else. Each job gets the batch with which its goodput is best.
///
/// The artifact's search also avoids two jobs with several nodes on one node; here whoever changes is placed anew, the
/// largest first, on as few nodes as there is room on. O(jobs x counts) and what `allocation_dp` takes, every interval;
/// O(jobs + nodes) otherwise.
class pollux {
public:
    using policy_concept = policy_tag;
    using parameters = pollux_parameters;
    using inputs = detail::goodput_columns<>;
    static constexpr meta about{.id = "ration.pollux",
                                .version = "1.0.0",
                                .summary = "devices and batches for the most goodput",
                                .reasons = detail::elastic_jobs::reasons};

    pollux() = default;
    explicit pollux(pollux_parameters const& p) noexcept : parameters_(p) {}

    [[nodiscard]] status prepare(limits const& most) noexcept {
        jobs_.reserve(most);
        return status::ok;
    }

    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        if (!jobs_.is_due(t, parameters_.interval)) return status::ok;
        auto const shares = jobs_.list(t);
        if (shares.empty()) return jobs_.apply(t, out);
        std::int64_t const fair = jobs_.devices() / static_cast<std::int64_t>(shares.size());
        jobs_.divide([&](detail::share const& s, detail::speed_curve const& goodput, std::int64_t held) noexcept {
            double const usual = goodput.at(within(fair, {s.least, s.most}));
            return [=, this](std::int64_t k) noexcept {
                double const speedup =
                    goodput.at(k) / usual * (k == held || held == 0 ? 1 : 1 - parameters_.restart_penalty);
                return worth(speedup);
            };
        });
        return jobs_.apply(t, out);
    }

    [[nodiscard]] std::size_t save(std::span<std::byte> space) const noexcept { return jobs_.save(space); }
    [[nodiscard]] status load(std::span<std::byte const> saved) noexcept { return jobs_.load(saved); }

private:
    pollux_parameters parameters_;
    detail::goodput_jobs jobs_;

    /// Grows with the speed-up; 0 is for a job without devices.
    [[nodiscard]] double worth(double speedup) const noexcept {
        constexpr double least = 1.0 / 64;
        double const s = speedup > least ? speedup : least;
        if (parameters_.p > 0) return std::pow(s, parameters_.p);
        double const most = std::pow(least, parameters_.p);
        return 2 * most - std::pow(s, parameters_.p);
    }
};

static_assert(Policy<pollux>);

}  // namespace ration::policies
