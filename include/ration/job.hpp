// SPDX-License-Identifier: BSL-1.0
/// Jobs: one training or serving run each.
///
/// Used by schedulers that pass their own job type to `ration::allocate` (allocate.hpp), and by
/// hosts, which keep the state and the bounds of a job in the jobs table. A policy never sees this
/// type; it reads the columns that column_adapter.hpp makes out of it.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include <ration/resource.hpp>
#include <ration/target.hpp>
#include <ration/units.hpp>

namespace ration {

/// The state of a job, with the numbers of the column `jobs/state`. The numbers are part of the
/// plugin ABI and never change.
enum class job_state : std::uint32_t { queued = 0, running, restarting, done, failed };

/// The state as a word for messages and logs; "unknown" for a number outside the enumeration.
[[nodiscard]] constexpr std::string_view name_of(job_state state) noexcept {
    switch (state) {
        case job_state::queued: return "queued";
        case job_state::running: return "running";
        case job_state::restarting: return "restarting";
        case job_state::done: return "done";
        case job_state::failed: return "failed";
    }
    return "unknown";
}

/// True while the job may hold resources.
[[nodiscard]] constexpr bool is_active(job_state s) noexcept { return s != job_state::done && s != job_state::failed; }

/// The amounts of one resource that a job accepts, in the unit of the resource. A grant is 0, which
/// pauses the job, or in the closed interval.
struct bounds {
    /// The smallest amount with which the job can run; 0 or more.
    std::int64_t minimum = 0;
    /// The largest amount that the job can use; `unlimited` where it has no limit.
    std::int64_t maximum = unlimited;
    friend constexpr bool operator==(bounds const&, bounds const&) noexcept = default;
};

/// The amount that is nearest to `amount` and within the bounds. Precondition: `accepted.minimum <=
/// accepted.maximum`.
[[nodiscard]] constexpr std::int64_t within(std::int64_t amount, bounds const& accepted) noexcept {
    if (amount < accepted.minimum) return accepted.minimum;
    return amount > accepted.maximum ? accepted.maximum : amount;
}

/// Converts a share of a node, in millicores, to a CPU grant: at least `least_cpu`, so that
/// rounding does not pause a job, and within the bounds of the job. 0 for a job that accepts no amount of `least_cpu`
/// or more.
[[nodiscard]] constexpr std::int64_t cpu_limit(std::int64_t share, bounds const& accepted) noexcept {
    if (accepted.maximum < least_cpu.count) return 0;
    return within(share < least_cpu.count ? least_cpu.count : share, accepted);
}

/// The progress of a job, as its last message reported it.
struct job_progress {
    /// Training steps since the start of the job, over all incarnations.
    std::uint64_t step = 0;
    double value = 0;  ///< the target's metric, averaged over `mean_of` values
};

/// Base of the tag by which a type declares that it is a job: `using job_concept =
/// ration::job_tag;`.
struct job_tag {};

/// The type has declared the tag. A type that has the members by chance is not taken for a job.
template <class J>
concept has_job_tag = requires { requires std::derived_from<typename J::job_concept, job_tag>; };
/// `j.id()`: the identifier of the job, unique among the jobs of one call.
template <class J>
concept has_id = requires(J const& j) {
    { j.id() } noexcept -> std::same_as<job_id>;
};
/// `j.bounds_of(resource)`: the least and the most that the job may hold of the resource.
template <class J>
concept has_bounds = requires(J const& j, resource_id r) {
    { j.bounds_of(r) } noexcept -> std::same_as<bounds>;
};
/// `j.progress()`: the last step and the last value of the target's metric.
template <class J>
concept has_progress = requires(J const& j) {
    { j.progress() } noexcept -> std::same_as<job_progress>;
};

/// The type of `j.target()`, without reference and qualifiers.
template <class J>
    requires requires(J const& j) { j.target(); }
using target_of = std::remove_cvref_t<decltype(std::declval<J const&>().target())>;

/// `j.target()`: a model of `Target` (target.hpp).
template <class J>
concept has_target = requires { requires Target<target_of<J>>; };

/// One training or serving run.
///
/// Example:
/// ~~~{.cpp}
/// struct my_job {
///     using job_concept = ration::job_tag;
///     std::uint64_t number;
///     std::uint64_t steps;
///     double last_loss;
///     ration::two_tier_target goal;
///     ration::job_id id() const noexcept { return {number}; }
///     ration::bounds bounds_of(ration::resource_id) const noexcept { return {.minimum = 1, .maximum = 8}; }
///     ration::job_progress progress() const noexcept { return {steps, last_loss}; }
///     ration::two_tier_target const& target() const noexcept { return goal; }
/// };
/// static_assert(ration::Job<my_job>);
/// ~~~
///
/// Valid expressions: `j.id()`, `j.bounds_of(resource)`, `j.progress()`, `j.target()`; all noexcept and const.
/// Laws: (1) `id()` never changes and no two jobs share it; (2) `minimum <= maximum`, both at least 0; (3)
/// `progress().step` never falls within one incarnation. Cost: O(1) each. Smallest model:
/// `ration::testing::job_archetype`.
template <class J>
concept Job = has_job_tag<J> && has_id<J> && has_bounds<J> && has_progress<J> && has_target<J>;

}  // namespace ration
