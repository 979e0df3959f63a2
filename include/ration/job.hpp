// SPDX-License-Identifier: BSL-1.0
/// Jobs: one training or serving run each.
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

/// As it stands in the column `jobs/state`.
enum class job_state : std::uint32_t { queued = 0, running, restarting, done, failed };

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

/// What a job accepts of one resource. A grant is 0 or lies within.
struct bounds {
    std::int64_t minimum = 0;
    std::int64_t maximum = unlimited;
    friend constexpr bool operator==(bounds const&, bounds const&) noexcept = default;
};

/// The amount, brought to the nearest one that the job accepts.
[[nodiscard]] constexpr std::int64_t within(std::int64_t amount, bounds const& accepted) noexcept {
    if (amount < accepted.minimum) return accepted.minimum;
    return amount > accepted.maximum ? accepted.maximum : amount;
}

/// The CPU grant for a share of a node: `least_cpu` at least, so that rounding pauses no job, and within what the job
/// accepts.
[[nodiscard]] constexpr std::int64_t cpu_limit(std::int64_t share, bounds const& accepted) noexcept {
    return within(share < least_cpu.count ? least_cpu.count : share, accepted);
}

/// How far a job has come.
struct job_progress {
    std::uint64_t step = 0;
    double value = 0;  ///< the target's metric, smoothed as the target says
};

struct job_tag {};

template <class J>
concept has_job_tag = requires { requires std::derived_from<typename J::job_concept, job_tag>; };
template <class J>
concept has_id = requires(J const& j) {
    { j.id() } noexcept -> std::same_as<job_id>;
};
/// `j.bounds_of(resource)`: what the job may hold at least and at most.
template <class J>
concept has_bounds = requires(J const& j, resource_id r) {
    { j.bounds_of(r) } noexcept -> std::same_as<bounds>;
};
template <class J>
concept has_progress = requires(J const& j) {
    { j.progress() } noexcept -> std::same_as<job_progress>;
};

/// The type of `j.target()`.
template <class J>
    requires requires(J const& j) { j.target(); }
using target_of = std::remove_cvref_t<decltype(std::declval<J const&>().target())>;

template <class J>
concept has_target = requires { requires Target<target_of<J>>; };

/// One training or serving run.
/// Valid expressions: `j.id()`, `j.bounds_of(resource)`, `j.progress()`, `j.target()`; all noexcept and const.
/// Laws: (1) `id()` never changes and no two jobs share it; (2) `minimum <= maximum`, both at least 0; (3)
/// `progress().step` never falls within one incarnation. Cost: O(1) each. Smallest model:
/// `ration::testing::job_archetype`.
template <class J>
concept Job = has_job_tag<J> && has_id<J> && has_bounds<J> && has_progress<J> && has_target<J>;

}  // namespace ration
