// SPDX-License-Identifier: BSL-1.0
/// The kernel's reports of processes that it killed for lack of memory.
#pragma once

#include <cstdint>
#include <string>

#include <ration/cgroup/memory.hpp>

namespace ration::program {

/// Processes that the kernel has killed for that since the machine's start, of whatever user or group.
[[nodiscard]] std::int64_t oom_kills_of_machine();

/// For a job with its own group; empty when nothing was killed.
[[nodiscard]] std::string sentence_of(cgroup::memory_shortage const& found);

}  // namespace ration::program
