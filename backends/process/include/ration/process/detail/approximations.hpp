// SPDX-License-Identifier: BSL-1.0
/// The inaccuracies of limits without cgroups, as sentences for reports. `ration doctor` prints
/// them.
#pragma once

#include <array>
#include <string_view>

namespace ration::process::detail {

/// One sentence for each.
inline constexpr std::array<std::string_view, 5> approximations{
    "a fraction of the CPU is kept by stopping the job's processes (SIGSTOP) once their CPU time of each 100 ms is used up: "
    "right on average over a second, coarse below it",
    "whole cores are kept by CPU affinity, which overrides what a job's own threads asked for and which a job can undo",
    "a stopped job answers nothing: its timeouts run on, and some of its system calls end early (EINTR) when it continues",
    "processes are found by descent up to 0.2 s late, by session and environment alone up to seconds late; one that hides from all three is not limited",
    "memory is the sum of resident pages, shared ones counted once per process, and it is measured only, not limited",
};

}  // namespace ration::process::detail
