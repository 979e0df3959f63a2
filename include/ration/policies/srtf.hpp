// SPDX-License-Identifier: BSL-1.0
/// srtf: the shortest remaining time first, with preemption.
///
/// Minimises the mean completion time on one device with known lengths; so it is the usual bound
/// for other policies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include <ration/parameter.hpp>
#include <ration/policies/detail/followed_order.hpp>
#include <ration/policies/detail/gated_jobs.hpp>
#include <ration/policies/detail/job_time.hpp>
#include <ration/policies/detail/rigid_jobs.hpp>
#include <ration/policies/detail/rigid_order.hpp>
#include <ration/policy.hpp>

namespace ration::policies {

/// The place of a job of unknown length.
enum class unknown_length : std::uint8_t { last, first };
/// The words of `unknown_length` in a configuration, in the order of its values.
inline constexpr std::string_view unknown_length_names[] = {"last", "first"};
/// Found by the adapter of parameters (adapt/parameters.hpp).
[[nodiscard]] constexpr std::span<std::string_view const> words_of(unknown_length) noexcept {
    return unknown_length_names;
}

/// Parameters of `srtf`; each member has its unit and its default.
struct srtf_parameters {
    /// What "shortest" measures.
    job_measure measure = job_measure::time;
    /// An estimator has no length before the job has run.
    unknown_length unknown = unknown_length::last;
    tenant_rule tenants = tenant_rule::ignore;  ///< use of the quotas of tenants

    /// Meaning of each parameter, for help texts and the JSON schema.
    static constexpr parameter_note notes[] = {
        {.name = "measure",
         .meaning = "time counts a job's remaining seconds, service those times the devices that it asks for"},
        {.name = "unknown",
         .meaning = "jobs of unknown length come last, or first so that an estimator can measure them"},
        detail::preemptive_tenants_note};
    /// Every combination of values is valid.
    [[nodiscard]] static constexpr std::string_view problem() noexcept { return {}; }
};

/// The jobs with the shortest predicted remaining time on their requested devices run, all or
/// nothing; one that does not fit lets others overtake. Running jobs are stopped for shorter ones.
/// A job of unknown length comes last, or with `unknown = first` before all others; ties go to the job submitted first.
/// State: only that order.
///
/// With `tenants`, this order divides the devices that quotas admit: jobs within quotas come before those that borrow,
/// except with `borrow`. All jobs are then sorted.
///
/// With a list of changes, O((starts + largest request) log jobs + changes log jobs). Running jobs that sink at one
/// speed, a second each second, keep their order among each other, and waiting jobs keep theirs; only a division merges
/// both. A job at another speed than its nominal one, or with `measure = service` one with more than one device, is
/// ranked at each tick. If many are, or without a list, all jobs are sorted: O(jobs) as long as the order changes
/// little.
class srtf {
public:
    /// Declares the class as a policy.
    using policy_concept = policy_tag;
    /// The parameters that a user can set.
    using parameters = srtf_parameters;
    /// The columns that `decide` reads. A host that lacks one of them refuses the policy.
    using inputs = detail::tenant_columns<in<double, "jobs/remaining">, in<double, "jobs/nominal_steps_per_second">,
                                          in<double, "jobs/measured_steps_per_second">>;
    /// The policy renews its own figures of changed jobs only.
    static constexpr bool follows_changes = true;
    /// Identity of the policy, and the texts of its reason codes.
    static constexpr meta about{.id = "ration.srtf",
                                .version = "1.0.0",
                                .summary = "the shortest remaining time first, with preemption",
                                .reasons = detail::gated_jobs::reasons};

    /// With the default parameters.
    srtf() = default;
    /// With these parameters. Precondition: `p.problem()` is empty.
    explicit srtf(srtf_parameters const& p) noexcept : parameters_(p) {}

    /// Allocates for the largest tables, so that `decide` does not allocate.
    [[nodiscard]] status prepare(limits const& most) noexcept {
        jobs_.reserve(most);
        order_.reserve(most);
        sorted_.reserve(most);
        gate_.reserve(most);
        irregular_.reset(most.jobs);
        return status::ok;
    }

    /// Writes the grants of one tick. Returns `status::capacity` if they do not fit.
    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        auto const& changed = t.changes(table_id::jobs);
        if (changed.everything != 0) {
            order_.skip(t.now());
            if (!jobs_.begin(t, true)) return status::ok;
            auto const remaining = t.get<"jobs/remaining">();
            sort_all(t, [&](std::size_t row) noexcept { return remaining[row]; });
            return jobs_.finish(t, out);
        }
        if (order_.follow(t, jobs_, t.get<"jobs/remaining">())) irregular_.reset(t.jobs());
        if (!jobs_.plan(t, true)) return status::ok;
        bool const is_gated = parameters_.tenants != tenant_rule::ignore;
        if (jobs_.all_fit() && !is_gated)
            detail::start_all(t, jobs_);
        else if (is_gated || are_many(t, changed.count) || !rank_all(t))
            sort_all(t, [&](std::size_t row) noexcept { return remaining_of(t, row); });
        else
            order_.serve_merged(t, jobs_, [&](std::uint32_t running, detail::priority const& key, std::uint32_t row) {
                double const size = size_of(t, running, remaining_of(t, running));
                return size != key.first ? size < key.first : running < row;
            });
        return jobs_.finish(t, out);
    }

private:
    srtf_parameters parameters_;
    detail::rigid_jobs jobs_;
    detail::followed_order order_;  // by remaining steps; the second order has the jobs that sink at one speed
    detail::row_set irregular_;     // jobs that sink at another speed
    detail::rigid_order sorted_;    // all jobs, if the other order is not kept
    detail::gated_jobs gate_;

    /// A sort of all jobs costs less than ranking this number.
    [[nodiscard]] static bool are_many(tick<inputs> const& t, std::size_t rows) noexcept {
        return rows > 16 + t.jobs() / 16;
    }

    /// The predicted size of a job with this number of remaining steps; infinite if it is unknown.
    [[nodiscard]] double size_of(tick<inputs> const& t, std::size_t row, double remaining) const noexcept {
        return detail::size_of_work(remaining, t.get<"jobs/nominal_steps_per_second">()[row], jobs_.wanted(row),
                                    parameters_.measure);
    }
    /// The sort key of a job of this size.
    [[nodiscard]] double key_of(double size) const noexcept {
        bool const is_first =
            parameters_.unknown == unknown_length::first && !(size < std::numeric_limits<double>::infinity());
        return is_first ? 0 : size;
    }
    template <class Remaining>
    void sort_all(tick<inputs> const& t, Remaining const& remaining) noexcept {
        auto const key = [&](std::size_t row) noexcept {
            return detail::priority{key_of(size_of(t, row, remaining(row)))};
        };
        if (parameters_.tenants == tenant_rule::ignore)
            sorted_.serve(t, jobs_, key);
        else
            gate_.serve(t, jobs_, sorted_, parameters_.tenants, key);
    }

    /// Steps per second that the job makes; 0 if it does not run.
    [[nodiscard]] static double speed_of(tick<inputs> const& t, std::size_t row) noexcept {
        double const speed = t.get<"jobs/measured_steps_per_second">()[row];
        return t.get<"jobs/held.gpu">()[row] > 0 && speed > 0 ? speed : 0;
    }
    /// Remaining steps of a job now.
    [[nodiscard]] double remaining_of(tick<inputs> const& t, std::size_t row) const noexcept {
        detail::line const& known = order_[row];
        double const speed = speed_of(t, row);
        if (!(speed > 0) || t.now().count <= known.since) return known.value;
        double const left = known.value - speed * to_seconds(t.now() - nanoseconds{known.since});
        return left < 0 ? 0 : left;
    }

    /// Returns false if a sort costs less.
    [[nodiscard]] bool rank_all(tick<inputs> const& t) noexcept {
        order_.rank_all(jobs_, t.now(), [&](std::size_t row) noexcept { rank(t, row); });
        if (are_many(t, irregular_.size())) return false;
        for (std::size_t row = irregular_.next(0); row != irregular_.none; row = irregular_.next(row + 1)) rank(t, row);
        return true;
    }

    /// Sets the place of a job in its order.
    void rank(tick<inputs> const& t, std::size_t row) noexcept {
        detail::line const& known = order_[row];
        double const speed = speed_of(t, row), size = size_of(t, row, remaining_of(t, row));
        bool const sinks = speed > 0 && size < std::numeric_limits<double>::infinity();
        // A restart: it sinks later.
        bool const pauses = sinks && t.now().count < known.since;
        bool const is_even = sinks && !pauses && speed == t.get<"jobs/nominal_steps_per_second">()[row] &&
                             (parameters_.measure == job_measure::time || jobs_.wanted(row) == 1);
        irregular_.set(row, sinks && !pauses && !is_even);
        nanoseconds const since{known.since};
        // All that sink evenly are sorted by the time of their end, which stays.
        if (is_even)
            order_.put(jobs_, row, {to_seconds(since) + size_of(t, row, known.value)}, detail::crossing_times::never,
                       detail::job_order::second);
        else
            order_.put(jobs_, row, {key_of(size)}, pauses ? since : detail::crossing_times::never);
    }
};

static_assert(Policy<srtf>);

}  // namespace ration::policies
