// SPDX-License-Identifier: BSL-1.0
/// The memory of GPUs that a job may have, as a limit that the kernel keeps (`dmem`, Linux 6.14 and later).
#pragma once

#include <vector>

#include <ration/cgroup/directory.hpp>
#include <ration/cgroup/io.hpp>
#include <ration/cuda/device.hpp>
#include <ration/result.hpp>
#include <ration/units.hpp>

namespace ration::program {

struct gpu_memory_limit {
    struct gpu {
        cuda::device_id id;
        text<16> pci;
    };
    std::vector<gpu> gpus;  ///< each once
    bytes most;             ///< of each
};

/// `group`: the job's own that has dmem. Before its first process. Every region of these GPUs is limited: by the driver
/// where it is NVIDIA's, else by dmem.max. Errors: those of cgroup::find_dmem, cgroup::set_dmem_max and
/// cuda::limit_memory, of the first region that cannot be limited; `not_found`, a GPU without regions.
[[nodiscard]] result<void> limit_gpu_memory(cgroup::io& machine, cgroup::directory const& group,
                                            gpu_memory_limit const& limit);

}  // namespace ration::program
