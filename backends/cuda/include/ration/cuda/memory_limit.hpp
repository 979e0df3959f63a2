// SPDX-License-Identifier: BSL-1.0
/// A limit on the GPU memory of a cgroup, set by NVIDIA's driver (r615 and later, Linux 6.14 and
/// later). A write to the group's dmem.max does not reach it. Source: NVIDIA Multi-Process Service,
/// document of the v3 interface, "memory-limits".
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

/// Limits the memory of a group on one GPU, in whole MiB, rounded down, at least 1. `group` is its
/// directory. An allocation beyond the limit fails with CUDA's out-of-memory error; memory that is
/// in use stays. Runs nvidia-smi. Errors: `not_found` (no nvidia-smi), `not_supported` (it refuses;
/// its first line is the subject), `timed_out`.
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
                 .operation = "limit GPU memory with nvidia-smi, which printed",
                 .subject = text<120>(lines.empty() ? "nothing" : lines.front()),
                 .remedy = "it needs a driver r615 or later, and the right to set limits: run ration as root"};
}

}  // namespace ration::cuda
