// SPDX-License-Identifier: BSL-1.0
#include "run/gpu_memory.hpp"

#include <string>

#include <ration/cgroup/dmem.hpp>
#include <ration/cuda/memory_limit.hpp>

namespace ration::program {
namespace {

[[nodiscard]] result<void> limit_region(cgroup::directory const& group, std::string const& region,
                                        cuda::device_id const& gpu, bytes most) {
    if (!region.starts_with("nvidia/")) return cgroup::set_dmem_max(group, region, most);
    constexpr std::int64_t mib = std::int64_t{1} << 20U;
    auto const set = cuda::limit_memory(gpu, group.path(), most);
    return set ? cgroup::verify_dmem_max(group, region, {most.count / mib * mib}) : set;
}

}  // namespace

result<void> limit_gpu_memory(cgroup::io& machine, cgroup::directory const& group, gpu_memory_limit const& limit) {
    auto const there = cgroup::find_dmem(machine);
    if (!there) return there.failure();
    for (auto const& gpu : limit.gpus) {
        auto const regions = cgroup::regions_of(there->capacity, gpu.pci.view());
        if (regions.empty())
            return error{.code = errc::not_found,
                         .operation = "limit the memory of",
                         .subject = gpu.pci.view(),
                         .remedy = "the GPU driver takes no part in dmem: use an NVIDIA driver r615 or later"};
        for (auto const& region : regions)
            if (auto const limited = limit_region(group, region, gpu.id, limit.most); !limited) return limited;
    }
    return {};
}

}  // namespace ration::program
