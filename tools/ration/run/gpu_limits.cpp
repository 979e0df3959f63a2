// SPDX-License-Identifier: BSL-1.0
#include "run/gpu_limits.hpp"

#include <ration/cgroup/kernel_io.hpp>

namespace ration::program {

void gpu_limits::apply(job_start const& what, job_groups const& groups) {
    if (what.gpus) filter_.close(what.job, what.name, groups.core, *what.gpus);
    without_memory_limit_.erase(what.job);
    if (!what.gpu_memory || groups.dmem == nullptr) return;
    cgroup::kernel_io machine;
    if (auto const limited = limit_gpu_memory(machine, *groups.dmem, *what.gpu_memory); !limited)
        without_memory_limit_.emplace(what.job, limited.failure());
}

void gpu_limits::remove(job_id job) {
    filter_.open(job);
    without_memory_limit_.erase(job);
}

std::optional<error> gpu_limits::why_without_memory_limit(job_id job) const {
    auto const at = without_memory_limit_.find(job);
    return at != without_memory_limit_.end() ? std::optional(at->second) : std::nullopt;
}

}  // namespace ration::program
