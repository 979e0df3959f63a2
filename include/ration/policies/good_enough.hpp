// SPDX-License-Identifier: BSL-1.0
/// good_enough: devices and batches to whom they bring nearer to what its user wants. ration's own; the idea that a job
/// which has reached a tier is worth less is TRADL's (HPEC 2019), that jobs near their end come first is that of the
/// shortest remaining time.
#pragma once

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
    double interval = 60;  ///< seconds from one division of the devices to the next
    /// What a job is worth for each tier that it has reached, beside one that has reached none
    double reached = 0.25;
    /// Seconds since its submission that double what a job is worth; 0 = age counts for nothing
    double patience = 28'800;
    /// Share of a running job's rate that another number of devices must first make good
    double restart_penalty = 0.25;

    static constexpr parameter_note notes[] = {
        {.name = "interval",
         .meaning = "seconds from one division of the devices to the next, 0 to 1000000",
         .least = 0,
         .most = 1e6},
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

    /// What is wrong with the values and what to write instead, as a sentence; empty when nothing is.
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

/// Every interval the devices are divided so that the summed rate of approach is the largest. A job's rate with k
/// devices is 1 / (remaining steps / goodput(k) + restart cost where k is not what it holds): the inverse of the time
/// to its next tier, or to its end. That counts more by the penalty where a running job keeps what it holds, less for
/// each tier that the job has reached, and more the older it is, so that nobody starves. O(jobs x counts) and what
/// `allocation_dp` takes, every interval; O(jobs + nodes) otherwise.
class good_enough {
public:
    using policy_concept = policy_tag;
    using parameters = good_enough_parameters;
    using inputs = detail::goodput_columns<in<double, "jobs/remaining">, in<double, "jobs/restart_cost">,
                                           in<std::int64_t, "jobs/submitted">, in<std::uint32_t, "jobs/tier">>;
    static constexpr meta about{.id = "ration.good-enough",
                                .version = "1.0.0",
                                .summary = "devices to whom they bring nearer to its next tier",
                                .reasons = detail::elastic_jobs::reasons};

    good_enough() = default;
    explicit good_enough(good_enough_parameters const& p) noexcept : parameters_(p) {}

    [[nodiscard]] status prepare(limits const& most) noexcept {
        jobs_.reserve(most);
        return status::ok;
    }

    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        if (!jobs_.is_due(t, parameters_.interval)) return status::ok;
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

    [[nodiscard]] std::size_t save(std::span<std::byte> space) const noexcept { return jobs_.save(space); }
    [[nodiscard]] status load(std::span<std::byte const> saved) noexcept { return jobs_.load(saved); }

private:
    good_enough_parameters parameters_;
    detail::goodput_jobs jobs_;

    [[nodiscard]] double weight_of(tick<inputs> const& t, std::size_t row) const noexcept {
        double weight = 1;
        for (std::uint32_t tier = t.get<"jobs/tier">()[row]; tier > 0; --tier) weight *= parameters_.reached;
        if (parameters_.patience <= 0) return weight;
        double const age = to_seconds(t.now() - nanoseconds{t.get<"jobs/submitted">()[row]});
        return weight * (1 + age / parameters_.patience);
    }
};

static_assert(Policy<good_enough>);

}  // namespace ration::policies
