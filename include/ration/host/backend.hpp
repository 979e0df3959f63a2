// SPDX-License-Identifier: BSL-1.0
/// Backends: what turns grants into effects and measures what jobs use.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>

#include <ration/host/plan.hpp>

namespace ration {

/// What one job has used up to now. Counters are cumulative over the job's present incarnation; the engine makes rates
/// of them.
struct observation {
    nanoseconds cpu_time;  ///< user and system time of all of the job's processes
    /// Resident now: anonymous and mapped pages of the job's processes, no other cached files
    bytes memory;
    nanoseconds throttled;        ///< time during which a quota held the job back; 0 where unknown
    std::uint32_t processes = 0;  ///< alive now
};

struct backend_tag {};

template <class B>
concept has_backend_tag = requires { requires std::derived_from<typename B::backend_concept, backend_tag>; };

/// `b.resources()`: the resources that this backend can limit here and now.
template <class B>
concept has_resources = requires(B const& b) {
    { b.resources() } noexcept -> std::convertible_to<std::span<resource_id const>>;
};

/// `b.observe(job)`: the job's counters.
template <class B>
concept can_observe = requires(B& b, job_id job) {
    { b.observe(job) } noexcept -> std::same_as<result<observation>>;
};

/// `b.plan(setting, plan)`: appends the operations, with old and new values, that put the setting into force; none if
/// it is in force.
template <class B>
concept can_plan = requires(B& b, setting const& wanted, plan<typename B::operation>& out) {
    { b.plan(wanted, out) } noexcept -> std::same_as<result<void>>;
};

/// `b.apply(op)`, `b.verify(op)` (reads back), `b.undo(op)`, `b.describe(op)`.
template <class B>
concept can_apply = requires(B& b, typename B::operation const& op) {
    { b.apply(op) } noexcept -> std::same_as<result<void>>;
    { b.verify(op) } noexcept -> std::same_as<result<void>>;
    { b.undo(op) } noexcept -> std::same_as<result<void>>;
    { b.describe(op) } noexcept -> std::same_as<operation_text>;
};

/// Optional: `static constexpr bool fills_columns = true`: the host knows what its jobs use and how fast they go, and
/// writes jobs/used.* and jobs/measured_steps_per_second itself; the engine does not ask for each job.
template <class B>
concept fills_columns = requires { requires B::fills_columns; };

/// Turns settings into effects on jobs that it knows, and measures what they use.
/// Valid expressions: those of the parts above; `typename B::operation`, movable.
/// Laws: (1) after `apply(op)` succeeded, `verify(op)` succeeds; (2) `apply` then `undo` leaves what `plan` found;
/// (3) `plan` of a setting that is in force appends nothing; (4) a job it does not know is `errc::not_found`.
/// Cost: `observe` and `plan` O(1) system calls per controller; no allocation in the steady state.
/// Smallest model: `ration::testing::backend_archetype`.
template <class B>
concept Backend = has_backend_tag<B> && has_resources<B> && can_observe<B> && can_plan<B> && can_apply<B>;

}  // namespace ration
