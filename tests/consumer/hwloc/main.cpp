// SPDX-License-Identifier: BSL-1.0
#include <utility>

#include <ration/hwloc/placement.hpp>
#include <ration/hwloc/reader.hpp>

int main() {
    auto machine = ration::hwloc::read_synthetic("Package:2 [NUMANode(memory=1GiB)] L3Cache:1 Core:4 PU:2");
    if (!machine) return 1;
    auto const placer = ration::hwloc::placer::of(std::move(*machine));
    auto const given = placer->place({.cores = 2}, {}, ration::hwloc::occupied(placer->where()));
    return given && given->cpus.size() == 4 ? 0 : 1;
}
