// SPDX-License-Identifier: BSL-1.0
/// The limits that the kernel applies to a job's use of GPUs: which device files it opens, and how much memory it has.
#pragma once

#include <map>
#include <optional>
#include <sys/types.h>

#include "run/device_filter_guard.hpp"
#include "run/job_backend.hpp"

namespace ration::program {

class gpu_limits {
    device_filter_guard filter_;
    std::map<job_id, error> without_memory_limit_;

public:
    /// Before the first process of an incarnation. A failure leaves the job without that limit; see `why_...`.
    void apply(job_start const& what, job_groups const& groups);
    /// A process of the job, before it runs; its descendants follow it.
    void place(job_id job, pid_t pid) { filter_.place(job, pid); }
    /// When no process of the job is left.
    void remove(job_id job);

    /// Why the job's mask is only advice; nullopt if the kernel applies it, or the job has no GPUs.
    [[nodiscard]] std::optional<error> why_unfiltered(job_id job) const { return filter_.why_not(job); }
    /// Why the kernel does not apply the job's limit on GPU memory; nullopt if it does, if the job has no such limit,
    /// or if this machine has no dmem, which `ration doctor` reports.
    [[nodiscard]] std::optional<error> why_without_memory_limit(job_id job) const;
};

}  // namespace ration::program
