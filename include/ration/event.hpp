// SPDX-License-Identifier: BSL-1.0
/// Events: the changes since a policy's last tick, for policies that keep state.
///
/// The engine delivers them through `on_events` (policy.hpp). They are not the events of the log,
/// which the program defines (tools/ration/events).
#pragma once

#include <cstdint>

#include <ration/units.hpp>

namespace ration {

/// The kind of an event. The numbers are those of the plugin ABI; a policy ignores unknown
/// kinds.
enum class event_kind : std::uint32_t {
    /// The job is new in the table.
    job_arrived = 1,
    /// The state of the job has changed, and it is still active.
    job_changed = 2,
    /// The job has ended with success, or has left the table.
    job_finished = 3,
    /// The job has ended with a failure.
    job_failed = 4,
    /// The node is new, or available again.
    node_up = 16,
    /// The node is no longer available.
    node_down = 17,
    /// The backend applied a grant. `a` is node << 16 | resource, and `b` is the amount.
    grant_applied = 32,   ///< a = node << 16 | resource, b = amount
    grant_rejected = 33,  ///< same values; the validation rejected it
    grant_failed = 34,    ///< same values; the backend failed, and the earlier allocation stays
    /// Earlier events or state were lost: the policy restarts from the tables alone.
    state_lost = 48,
};

/// One event. The layout is that of the plugin ABI and never changes.
struct event {
    /// The kind; decides the meaning of the other members.
    event_kind kind = event_kind::job_arrived;
    std::uint32_t row = 0xFFFFFFFF;  ///< row of the last tick's jobs table; all ones without one
    std::uint64_t id = 0;            ///< jobs/id
    /// The time of the tick that found the change.
    nanoseconds at{};
    /// Details; see `event_kind`.
    std::int64_t a = 0, b = 0;
};
static_assert(sizeof(event) == 40);

/// True if the event reports the outcome of a grant. Only the policy that made the grant receives
/// such events.
[[nodiscard]] constexpr bool is_of_a_grant(event_kind kind) noexcept {
    return kind == event_kind::grant_applied || kind == event_kind::grant_rejected || kind == event_kind::grant_failed;
}

}  // namespace ration
