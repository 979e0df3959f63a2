// SPDX-License-Identifier: BSL-1.0
/// Keeps jobs from the device files of GPUs that are not theirs: the kernel refuses to open those, whatever a job does
/// to its mask. The guard is a filter on the job's own group of cgroup v2, else a separate group in the v1 hierarchy of
/// devices.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <sys/types.h>
#include <variant>
#include <vector>

#include <ration/cgroup/device_filter.hpp>
#include <ration/cuda/inventory.hpp>
#include <ration/result.hpp>
#include <ration/units.hpp>

namespace ration::program {

/// By which version of cgroups jobs can be kept from the files of these GPUs here, found out by doing it. `own_groups`:
/// each job has its own group on v2. Errors: why masks are advice.
[[nodiscard]] result<cgroup::version> find_device_filter(std::span<cuda::found_gpu const> gpus, bool own_groups);

/// The GPUs that a job may open.
struct own_gpus {
    std::vector<std::string> names;       ///< whole ones
    std::span<cuda::found_gpu const> of;  ///< all that there are
};

class device_filter_guard {
    using hold = std::variant<cgroup::device_guard, cgroup::device_filter>;
    struct entry {
        std::optional<hold> by;
        std::optional<error> why_not;
    };
    std::unique_ptr<cgroup::io> machine_;  // in one place for good: groups point to it
    std::map<job_id, entry> jobs_;

public:
    device_filter_guard();

    /// Before the job's first process. From then on those that are placed open no GPU but these.
    /// `group`: the job's own on v2; null where it has none. A failure costs the device filter and nothing else: see
    /// `why_not`.
    void close(job_id job, std::string const& name, cgroup::directory const* group, own_gpus const& gpus);
    /// A process of the job, while it is held back; those that it starts follow it.
    void place(job_id job, pid_t pid);
    /// Nothing of the job is left, or it is to be launched again.
    void open(job_id job) { jobs_.erase(job); }

    /// Why the job's mask is advice; nothing where the kernel keeps it, or the job has no device filter at all.
    [[nodiscard]] std::optional<error> why_not(job_id job) const;

private:
    [[nodiscard]] result<hold> make(std::string const& name, cgroup::directory const* group,
                                    own_gpus const& gpus) const;
};

}  // namespace ration::program
