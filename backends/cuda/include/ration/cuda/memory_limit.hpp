// SPDX-License-Identifier: BSL-1.0
/// A limit on what a cgroup has of a GPU's memory, set by NVIDIA's driver (r615 and later, Linux 6.14 and later): a
/// write to the group's dmem.max is not passed on to it. Source: NVIDIA Multi-Process Service, document of the v3
/// interface, "memory-limits".
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <ration/cuda/detail/ask.hpp>
#include <ration/cuda/device.hpp>
#include <ration/cuda/inventory.hpp>
#include <ration/result.hpp>
#include <ration/units.hpp>

namespace ration::cuda {

/// Whole MiB, rounded down, 1 at least. `group`: its directory. What an allocation beyond it gets is CUDA's
/// out-of-memory error; what is held stays. Runs nvidia-smi. Errors: `not_found` (there is none), `not_supported` (it
/// refuses: its first line is the subject), `timed_out`.
[[nodiscard]] inline result<void> limit_memory(device_id const& gpu, std::string const& group, bytes most,
                                               nanoseconds at_most = seconds(10)) noexcept {
    constexpr std::int64_t mib = std::int64_t{1} << 20U;
    question const about{"limit the memory of a job on", text<120>(gpu.name().view()),
                         "nvidia-smi does not answer: see dmesg"};
    std::vector<std::string> const words{
        "nvidia-smi", "memory-limits", "-i",           std::string(gpu.name().view()),
        "-n",         group,           "--hard-limit", std::to_string(std::max<std::int64_t>(1, most.count / mib))};
    auto const reply = run_program(about, words, process::current_environment(), "", at_most);
    if (!reply) return reply.failure();
    if (reply->ended.success()) return {};
    auto const lines = detail::lines_of(reply->text);
    return error{.code = errc::not_supported,
                 .operation = "limit GPU memory with nvidia-smi, which says",
                 .subject = text<120>(lines.empty() ? "nothing" : lines.front()),
                 .remedy = "it needs a driver r615 or later, and the right to set limits: run ration as root"};
}

}  // namespace ration::cuda
