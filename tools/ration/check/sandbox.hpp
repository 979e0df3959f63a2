// SPDX-License-Identifier: BSL-1.0
/// A process of its own for each probe: whatever the plugin does to it, the program goes on and knows what happened.
#pragma once

#include <functional>

#include "finding.hpp"

namespace ration::conformance {

struct deadline {
    double cpu_seconds = 2;    ///< for a loop without end; a starved machine does not shorten it
    double wall_seconds = 20;  ///< for one that waits for ever
};

/// Runs `body` in a child process. The verdict is `passed` only when the child proves that it came to its end: its exit status
/// counts for nothing, because a plugin can call exit(0). What outlives the deadline is killed, with everything it started.
[[nodiscard]] finding run_isolated(std::function<void()> const& body, deadline const& until = {});

/// In the child: leaves a note for the case that it does not come to its end. Async-signal-safe.
void leave_note(char const* text, std::size_t size) noexcept;

}  // namespace ration::conformance
