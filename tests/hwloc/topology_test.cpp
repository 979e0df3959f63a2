// SPDX-License-Identifier: BSL-1.0
// A machine as plain data: what is refused, its order, and joining GPUs by address.
#include "random_machine.hpp"
#include "support/catch.hpp"

using namespace synthetic;

namespace {

[[nodiscard]] machine small_machine() {
    machine m;
    m.nodes = {{.number = 0, .package = 0, .memory = {1}}, {.number = 1, .package = 1, .memory = {1}}};
    m.cores = {{.package = 0, .node = 0, .l3 = 0, .pus = {0, 2}}, {.package = 1, .node = 1, .l3 = 1, .pus = {1, 3}}};
    m.gpus = {{.pci = "0000:17:00.0", .package = 0, .node = 0}, {.pci = "0000:b1:00.0", .package = 1, .node = 1}};
    m.nvlink = {0, 25'000, 25'000, 0};
    return m;
}

/// The subject and the remedy of the refusal of a machine that `spoil` has changed.
template <class Spoil>
[[nodiscard]] std::string refusal(Spoil spoil) {
    machine m = small_machine();
    spoil(m);
    auto const made = placer::of(m);
    if (made) return "accepted";
    CHECK(made.failure().code == errc::invalid_value);
    return std::string(made.failure().subject.view()) + ": " + made.failure().remedy;
}

}  // namespace

TEST_CASE("a machine that contradicts itself is refused, and told where") {
    CHECK(refusal([](machine&) {}) == "accepted");
    CHECK(refusal([](machine& m) { m.cores.clear(); }) == "cores: a machine has a core at least");
    CHECK(refusal([](machine& m) { m.cores[1].pus.clear(); }) == "cores: give each core a CPU at least");
    CHECK(refusal([](machine& m) { m.cores[1].pus = {2}; }) == "CPUs: give each CPU to one core");
    CHECK(refusal([](machine& m) { m.cores[1].node = 2; }) == "cores: name for each core a node that the machine has");
    CHECK(refusal([](machine& m) { m.cores[1].node = unknown; }) == "accepted");
    CHECK(refusal([](machine& m) { m.gpus[1].node = 2; }) ==
          "0000:b1:00.0: name for each GPU a node that the machine has");
    CHECK(refusal([](machine& m) { m.gpus[1].pci = m.gpus[0].pci; }) == "GPUs: give each GPU a unique PCI address");
    CHECK(refusal([](machine& m) { m.nodes[1].number = 0; }) == "NUMA nodes: give each NUMA node a unique number");
    CHECK(refusal([](machine& m) { m.nvlink.pop_back(); }) ==
          "NVLink bandwidths: give one for each two GPUs, or none at all");
    CHECK(refusal([](machine& m) { m.nvlink[1] = 50'000; }) == "NVLink bandwidths: give the same for both directions");
    CHECK(refusal([](machine& m) { m.latency = {10}; }) ==
          "latencies: give one for each two NUMA nodes, or none at all");
}

TEST_CASE("numbers are written as the kernel writes them") {
    using list = std::vector<std::uint32_t>;
    CHECK(list_of(list{}) == "");
    CHECK(list_of(list{7}) == "7");
    CHECK(list_of(list{0, 1}) == "0-1");
    CHECK(list_of(list{0, 1, 2, 3, 8, 10, 11}) == "0-3,8,10-11");
}

TEST_CASE("GPUs are joined by address: known ones keep their place and links, others have none") {
    std::vector<text<16>> const wanted{"0000:b1:00.0", "0000:ca:00.0", "0000:17:00.0"};
    machine const m = with_gpus(small_machine(), wanted);
    REQUIRE(m.gpus.size() == 3);
    CHECK(m.gpus[0].pci == "0000:b1:00.0");
    CHECK(m.gpus[0].node == 1);
    CHECK(m.gpus[1].pci == "0000:ca:00.0");
    CHECK(m.gpus[1].node == unknown);
    CHECK(m.gpus[1].package == unknown);
    CHECK(m.gpus[2].node == 0);
    CHECK(m.nvlink == std::vector<std::uint64_t>{0, 0, 25'000, 0, 0, 0, 25'000, 0, 0});
    CHECK(with_gpus(small_machine(), {}).gpus.empty());
}

TEST_CASE("a holding is found again by the names of CPUs and GPUs, and unknown names are left out") {
    auto const on = placer::of(small_machine());
    REQUIRE(on);
    std::vector<std::uint32_t> const cpus{3, 99};
    std::vector<text<16>> const gpus{"0000:b1:00.0", "0000:ff:00.0"};
    CHECK(on->reattach(cpus, gpus) == holding{.cores = {1}, .gpus = {1}});
}
