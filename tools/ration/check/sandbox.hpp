// SPDX-License-Identifier: BSL-1.0
/// Runs each probe in a separate process, under a supervisor: whatever the plugin does to that process, the program
/// continues and reports it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "finding.hpp"

namespace ration::conformance {

/// The largest file that a probe may write, in bytes.
inline constexpr std::uint64_t most_output = std::uint64_t{16} << 20;

struct deadline {
    double cpu_seconds = 2;    ///< for a loop without end; a starved machine does not shorten it
    double wall_seconds = 20;  ///< for one that waits without end
};

/// Called in the probe's process before `body`: gives up rights. Returns why that is impossible; empty when it is done.
using rights_filter = std::function<std::string()>;

/// Runs `body` in a separate process. The verdict is `passed` only when that process proves that it came to its end:
/// its exit status counts for nothing, because a plugin can call exit(0). A second process supervises it from outside
/// and enforces the deadline. Where the kernel allows it, the first is in a PID namespace, and everything that it has
/// started dies with that. If `give_up_rights` fails, `body` does not run, and the verdict is `failed` with its
/// sentence.
[[nodiscard]] finding run_isolated(std::function<void()> const& body, deadline const& until = {},
                                   rights_filter const& give_up_rights = {});

/// In the probe's process: leaves a note for the case that it does not come to its end. Async-signal-safe.
void leave_note(char const* text, std::size_t size) noexcept;

}  // namespace ration::conformance
