// SPDX-License-Identifier: BSL-1.0
/// Backends: apply grants to jobs, and measure what jobs use.
///
/// For authors of backends. An engine calls, for each grant: `plan`, then `apply` and `verify` for
/// each operation, and `undo` in reverse order after a failure. docs/backends.md explains the
/// concept, examples/backend has a small one, and testing/backend_laws.hpp tests the laws.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>

#include <ration/host/plan.hpp>

namespace ration {

/// The use of one job up to now. Counters are cumulative over its present incarnation; the engine
/// computes rates from them.
struct observation {
    nanoseconds cpu_time;  ///< user and system time of all of the job's processes
    /// Resident now: anonymous and mapped pages of the job's processes, but no other cached files
    bytes memory;
    nanoseconds throttled;        ///< time during which a quota stopped the job; 0 if unknown
    std::uint32_t processes = 0;  ///< alive now
};

/// Base of the tag by which a type declares that it is a backend: `using backend_concept =
/// ration::backend_tag;`.
struct backend_tag {};

/// The type has declared the tag.
template <class B>
concept has_backend_tag = requires { requires std::derived_from<typename B::backend_concept, backend_tag>; };

/// `b.resources()`: the resources that this backend can limit on this machine.
template <class B>
concept has_resources = requires(B const& b) {
    { b.resources() } noexcept -> std::convertible_to<std::span<resource_id const>>;
};

/// `b.observe(job)`: the counters of a job. Error: `not_found`.
template <class B>
concept can_observe = requires(B& b, job_id job) {
    { b.observe(job) } noexcept -> std::same_as<result<observation>>;
};

/// `b.plan(setting, plan)`: appends the operations, with old and new values, that apply the
/// setting; none if it is in effect already. It changes nothing on the machine.
template <class B>
concept can_plan = requires(B& b, setting const& wanted, plan<typename B::operation>& out) {
    { b.plan(wanted, out) } noexcept -> std::same_as<result<void>>;
};

/// `b.apply(op)` changes the machine; `b.verify(op)` reads the value back; `b.undo(op)` sets the
/// old value; `b.describe(op)` returns texts for people.
template <class B>
concept can_apply = requires(B& b, typename B::operation const& op) {
    { b.apply(op) } noexcept -> std::same_as<result<void>>;
    { b.verify(op) } noexcept -> std::same_as<result<void>>;
    { b.undo(op) } noexcept -> std::same_as<result<void>>;
    { b.describe(op) } noexcept -> std::same_as<operation_text>;
};

/// Optional: `static constexpr bool fills_columns = true`. The host measures the use and the speed of
/// its jobs, and writes jobs/used.* and jobs/measured_steps_per_second itself; the engine does not
/// call `observe`.
template <class B>
concept fills_columns = requires { requires B::fills_columns; };

/// Applies settings to the jobs that it controls, and measures their use.
/// Valid expressions: those of the parts above; `typename B::operation`, movable.
/// Laws: (1) after `apply(op)` succeeded, `verify(op)` succeeds; (2) `apply` then `undo` leaves what `plan` found;
/// (3) `plan` of a setting that is in force appends nothing; (4) an unknown job is `errc::not_found`.
/// Cost: `observe` and `plan` O(1) system calls per controller; no allocation in the steady state.
/// Smallest model: `ration::testing::backend_archetype`.
template <class B>
concept Backend = has_backend_tag<B> && has_resources<B> && can_observe<B> && can_plan<B> && can_apply<B>;

}  // namespace ration
