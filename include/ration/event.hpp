// SPDX-License-Identifier: BSL-1.0
/// Events: what has happened since a policy's last tick, for policies that keep durable state.
#pragma once

#include <cstdint>

#include <ration/units.hpp>

namespace ration {

/// The numbers are those of the plugin ABI. A policy ignores kinds that it does not know.
enum class event_kind : std::uint32_t {
    job_arrived = 1,
    job_changed = 2,
    job_finished = 3,
    job_failed = 4,
    node_up = 16,
    node_down = 17,
    grant_applied = 32,   ///< a = node << 16 | resource, b = amount
    grant_rejected = 33,  ///< the same: refused by `check`
    grant_failed = 34,    ///< the same: the backend could not do it, and what held before holds on
    state_lost = 48,
};

/// The layout is that of the plugin ABI and never changes.
struct event {
    event_kind kind = event_kind::job_arrived;
    std::uint32_t row = 0xFFFFFFFF;  ///< of the last tick's jobs table; all ones when there is none
    std::uint64_t id = 0;            ///< jobs/id
    nanoseconds at{};
    std::int64_t a = 0, b = 0;
};
static_assert(sizeof(event) == 40);

/// Whether it says what became of a grant: of interest to the policy whose grant it was.
[[nodiscard]] constexpr bool is_of_a_grant(event_kind kind) noexcept {
    return kind == event_kind::grant_applied || kind == event_kind::grant_rejected || kind == event_kind::grant_failed;
}

}  // namespace ration
