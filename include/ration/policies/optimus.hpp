// SPDX-License-Identifier: BSL-1.0
/// optimus: devices to the jobs whose time they reduce most. Source: Y. Peng et al., "Optimus: An
/// Efficient Dynamic Resource Scheduler for Deep Learning Clusters", EuroSys 2018, with workers
/// only.
///
/// For elastic jobs with predicted lengths. `afs` has the same inputs and favours short jobs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ration/policies/detail/elastic_jobs.hpp>
#include <ration/policies/detail/heap.hpp>
#include <ration/policies/detail/speed.hpp>
#include <ration/policy.hpp>

namespace ration::policies {

/// Every interval, and with `at_changes` also when jobs or devices come or go, each job gets its minimum in the order
/// of submission, while devices are left. Then devices are granted one by one to the job whose predicted remaining time
/// they reduce most, per device, until no job gains or no device is left. The remaining time is the predicted remaining
/// steps divided by the speed with the requested batch. Where more devices help only from some number on, all of them
/// count as one step. A job of unknown length keeps its minimum. Ties go to the job submitted first.
///
/// The paper divides between parameter servers and workers, fits the speed itself, and spreads a
/// job's tasks evenly. Here a job has workers only, the host supplies the speed, and devices are
/// placed as for all policies. Devices of all types count as the first type. O((jobs + devices) log
/// jobs) for a division, O(jobs + nodes) otherwise. State: the time of the last division.
class optimus {
public:
    /// Declares the class as a policy.
    using policy_concept = policy_tag;
    /// The parameters that a user can set.
    using parameters = division_parameters;
    /// The columns that `decide` reads. A host that lacks one of them refuses the policy.
    using inputs = detail::elastic_columns<in<double, "jobs/remaining">, in_rows<double, "jobs/goodput.fixed">,
                                           in<std::uint32_t, "nodes/type">>;
    /// Identity of the policy, and the texts of its reason codes.
    static constexpr meta about{.id = "ration.optimus",
                                .version = "1.0.0",
                                .summary = "devices to the jobs that save the most time by them",
                                .reasons = detail::elastic_jobs::reasons};

    /// With the default parameters.
    optimus() = default;
    /// With these parameters. Precondition: `p.problem()` is empty.
    explicit optimus(division_parameters const& p) noexcept : parameters_(p) {}

    /// Allocates for the largest tables, so that `decide` does not allocate.
    [[nodiscard]] status prepare(limits const& most) noexcept {
        jobs_.reserve(most);
        gains_.reserve(most.jobs);
        return status::ok;
    }

    /// Writes the grants of one tick. Returns `status::capacity` if they do not fit.
    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        if (!jobs_.is_due(t, parameters_.interval, parameters_.at_changes)) return status::ok;
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
            // Greedy: the heap holds the next step of each job, the best one on top.
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

    /// Writes the state if it fits, and returns its size in bytes.
    [[nodiscard]] std::size_t save(std::span<std::byte> space) const noexcept { return jobs_.save(space); }
    /// Restores what `save` wrote. Returns `status::state`, without an effect, for invalid bytes.
    [[nodiscard]] status load(std::span<std::byte const> saved) noexcept { return jobs_.load(saved); }

private:
    /// The next step of a job.
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

    /// The speed of a job as a function of its devices.
    [[nodiscard]] static detail::speed_curve curve(tick<inputs> const& t, detail::share const& s) noexcept {
        return {t.get<"jobs/goodput.fixed">()[s.row]};
    }
    /// Adds the next step of a job to the heap, if it saves time.
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
