// SPDX-License-Identifier: BSL-1.0
/// optimus: devices to whom they save the most time. Source: Y. Peng et al., "Optimus: An Efficient Dynamic Resource
/// Scheduler for Deep Learning Clusters", EuroSys 2018, with workers only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ration/policies/detail/elastic_jobs.hpp>
#include <ration/policies/detail/heap.hpp>
#include <ration/policies/detail/speed.hpp>
#include <ration/policy.hpp>

namespace ration::policies {

/// Every interval: each job gets its minimum, in the order of submission, as long as there is room. Then devices go,
/// one by one, to the job whose predicted remaining time they shorten most, per device, until nobody gains or nothing
/// is left. The remaining time is the predicted remaining steps over the speed at so many devices with the batch that
/// was asked for; where more devices help only from some number on, all of them count as one step. A job of unknown
/// length keeps its minimum. Of equals the first submitted.
///
/// The paper divides between parameter servers and workers, fits the speed itself, and spreads a job's tasks evenly;
/// here a job has workers only, the speed is the host's, and devices are placed as for all policies. Devices of all
/// types count as the first type. O((jobs + devices) log jobs) every interval, O(jobs + nodes) otherwise; state: when
/// it last divided.
class optimus {
public:
    using policy_concept = policy_tag;
    using parameters = division_parameters;
    using inputs = detail::elastic_columns<in<double, "jobs/remaining">, in_rows<double, "jobs/goodput.fixed">,
                                           in<std::uint32_t, "nodes/type">>;
    static constexpr meta about{.id = "ration.optimus",
                                .version = "1.0.0",
                                .summary = "devices to whom they save the most time",
                                .reasons = detail::elastic_jobs::reasons};

    optimus() = default;
    explicit optimus(division_parameters const& p) noexcept : parameters_(p) {}

    [[nodiscard]] status prepare(limits const& most) noexcept {
        jobs_.reserve(most);
        gains_.reserve(most.jobs);
        return status::ok;
    }

    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        if (!jobs_.is_due(t, parameters_.interval, false)) return status::ok;
        std::int64_t const widest = detail::widest_of(t.get<"jobs/goodput.fixed">().width(), t.get<"nodes/type">());
        auto const shares = jobs_.list(t, [&](std::size_t) noexcept { return widest; });
        std::int64_t left = jobs_.devices();
        gains_.clear();
        for (auto& s : shares) {
            std::int64_t const least = curve(t, s).next(0, s.least, s.most);
            if (least == 0 || least > left) continue;
            s.given = least;
            left -= least;
            offer(t, s, shares);
        }
        while (left > 0 && !gains_.empty()) {
            gain const best = gains_.top();
            gains_.pop();
            detail::share& s = shares[best.place];
            if (best.to - s.given > left) continue;
            left -= best.to - s.given;
            s.given = best.to;
            offer(t, s, shares);
        }
        return jobs_.apply(t, out);
    }

    [[nodiscard]] std::size_t save(std::span<std::byte> space) const noexcept { return jobs_.save(space); }
    [[nodiscard]] status load(std::span<std::byte const> saved) noexcept { return jobs_.load(saved); }

private:
    struct gain {
        double seconds;  // saved, for each device
        std::int64_t to;
        std::uint32_t place;

        [[nodiscard]] static bool before(gain const& a, gain const& b) noexcept {
            return a.seconds != b.seconds ? a.seconds > b.seconds : a.place < b.place;
        }
    };

    division_parameters parameters_;
    detail::elastic_jobs jobs_;
    detail::heap<gain> gains_;

    [[nodiscard]] static detail::speed_curve curve(tick<inputs> const& t, detail::share const& s) noexcept {
        return {t.get<"jobs/goodput.fixed">()[s.row]};
    }
    void offer(tick<inputs> const& t, detail::share const& s, std::span<detail::share const> all) noexcept {
        auto const speed = curve(t, s);
        std::int64_t const to = speed.next(s.given, s.least, s.most);
        if (to == 0) return;
        double const saved = t.get<"jobs/remaining">()[s.row] * (1 / speed.at(s.given) - 1 / speed.at(to));
        if (saved > 0)
            gains_.push({saved / static_cast<double>(to - s.given), to, static_cast<std::uint32_t>(&s - all.data())});
    }
};

static_assert(Policy<optimus>);

}  // namespace ration::policies
