// SPDX-License-Identifier: BSL-1.0
// Each number of a score counts what its name promises, on a machine small enough to count by hand.
#include <ration/hwloc/detail/core_choice.hpp>
#include <ration/hwloc/detail/gpu_choice.hpp>

#include "support/catch.hpp"

using namespace ration::hwloc;

namespace {

/// Package 0: fast cores 0 and 1 below one L3, 2 to 4 below another, GPUs 0 and 1 below one switch. Package 1: slow
/// cores 5 and 6, GPUs 2 and 3 below nothing in common.
[[nodiscard]] machine seven_cores() {
    machine m;
    m.nodes = {{.number = 0, .package = 0, .memory = {1}}, {.number = 1, .package = 1, .memory = {1}}};
    for (std::uint32_t i = 0; i < 7; ++i) {
        std::uint32_t const package = i < 5 ? 0 : 1;
        m.cores.push_back(
            {.package = package, .node = package, .l3 = i < 2 ? 0U : 1 + package, .kind = 1 - package, .pus = {i}});
    }
    m.gpus = {{.pci = "0000:01:00.0", .package = 0, .node = 0, .pcie_switch = 0},
              {.pci = "0000:02:00.0", .package = 0, .node = 0, .pcie_switch = 0},
              {.pci = "0000:81:00.0", .package = 1, .node = 1, .pcie_switch = 1},
              {.pci = "0000:82:00.0", .package = 1, .node = 1}};
    m.nvlink = {0, 25, 0, 0, 25, 0, 50, 0, 0, 50, 0, 0, 0, 0, 0, 0};
    m.latency = {10, 30, 30, 10};
    return m;
}

[[nodiscard]] bool same(gpu_score const& a, gpu_score const& b) { return a == b; }
[[nodiscard]] bool same(core_score const& a, core_score const& b) { return a == b; }

}  // namespace

TEST_CASE("the score of a set of GPUs") {
    machine const m = seven_cores();
    gpu_market market{.free = {1, 1, 1, 1}, .near_cores = {1, 1}, .cores = 4};
    using set = std::vector<std::uint32_t>;
    CHECK(same(gpu_chooser(m, market).score(set{0, 1, 2}), {.weakest_link = -25,
                                                            .packages = 2,
                                                            .nodes = 2,
                                                            .far_cores = 2,
                                                            .switches = 2,
                                                            .links = -75,
                                                            .broken_packages = 1}));
    CHECK(same(gpu_chooser(m, market).score(set{0, 1, 2, 3}),
               {.packages = 2, .nodes = 2, .far_cores = 2, .switches = 3, .links = -75}));
    CHECK(same(gpu_chooser(m, market).score(set{0}),
               {.packages = 1, .nodes = 1, .far_cores = 3, .switches = 1, .broken_switches = 1, .broken_packages = 1}));
    CHECK(same(gpu_chooser(m, market).score(set{3}),
               {.packages = 1, .nodes = 1, .far_cores = 3, .switches = 1, .broken_packages = 1}));
    market.free[0] = 0;
    CHECK(same(gpu_chooser(m, market).score(set{1}), {.packages = 1, .nodes = 1, .far_cores = 3, .switches = 1}));
}

TEST_CASE("the score of a set of cores") {
    core_map const map(seven_cores());
    REQUIRE(map.domains().size() == 3);
    std::vector<std::uint32_t> const free{2, 3, 1}, own{0, 0, 1}, take{1, 2, 1};
    core_home const home{.package = 0, .node = 0};
    // Between the caches of one package 1, between the packages 4 x 20 + 2 + 1; one, two and two cores.
    core_score const wanted{.kinds = 2,
                            .slowness = 1,
                            .distance = 20,
                            .packages = 2,
                            .nodes = 2,
                            .spread = 2 + 2 * 83 + 4 * 83,
                            .domains = 2,
                            .broken_domains = 2,
                            .left_over = 2};
    CHECK(same(core_chooser(map, free, own, true).score(home, take), wanted));
    core_score without_gpus = wanted;
    without_gpus.beside_gpus = 8;
    CHECK(same(core_chooser(map, free, own, false).score(home, take), without_gpus));
}

TEST_CASE("the score compares its numbers in the order in which they are declared") {
    core_score const worse{.kinds = 1};
    core_score const better{.slowness = 9,
                            .distance = 9,
                            .packages = 9,
                            .nodes = 9,
                            .spread = 9,
                            .domains = 9,
                            .broken_domains = 9,
                            .left_over = 9};
    CHECK(better < worse);
    gpu_score const slow{.weakest_link = -25'000},
        fast{.weakest_link = -50'000, .packages = 9, .nodes = 9, .far_cores = 9, .switches = 9};
    CHECK(fast < slow);
}
