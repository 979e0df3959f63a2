// SPDX-License-Identifier: BSL-1.0
// Which devices and CPUs jobs have, on a machine of two packages drawn here: no hwloc and no driver.
#include "run/device_placement.hpp"

#include <map>
#include <random>
#include <set>

#include <ration/resource.hpp>

#include "support/catch.hpp"

using namespace ration;
using namespace ration::program;

namespace {

/// Two packages of four cores with two CPUs each (core c: CPUs c and c + 8), three GPUs on each. GPUs 1 and 2 are
/// linked, and 4 and 5.
[[nodiscard]] machine_topology two_packages() {
    hwloc::machine m;
    for (std::uint32_t p = 0; p < 2; ++p)
        m.nodes.push_back({.number = p, .package = p, .memory = {std::int64_t{1} << 36U}});
    for (std::uint32_t c = 0; c < 8; ++c)
        m.cores.push_back({.package = c / 4, .node = c / 4, .l3 = c / 4, .pus = {c, c + 8}});
    for (std::uint32_t g = 0; g < 6; ++g)
        m.gpus.push_back({.pci = text<16>("0000:0" + std::to_string(g) + ":00.0"), .package = g / 3, .node = g / 3});
    m.nvlink.assign(36, 0);
    for (auto const& [a, b] : {std::pair(1, 2), std::pair(4, 5)})
        m.nvlink[static_cast<std::size_t>(a * 6 + b)] = m.nvlink[static_cast<std::size_t>(b * 6 + a)] = 50'000;
    return {.reader = "drawn", .machine = std::move(m), .why_not = {}, .remedy = {}};
}

[[nodiscard]] std::vector<text<16>> addresses(machine_topology const& of) {
    std::vector<text<16>> out;
    for (auto const& gpu : of.machine->gpus) out.push_back(gpu.pci);
    return out;
}

[[nodiscard]] process::cpu_set cpus(std::vector<unsigned> const& numbers) {
    process::cpu_set out;
    for (auto const one : numbers) out.insert(one);
    return out;
}

[[nodiscard]] process::cpu_set all_cpus() { return cpus({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}); }

/// A run of jobs 1 to `count`.
struct synthetic_run {
    machine_topology topology;
    std::vector<text<16>> pci;
    device_placement placement;
    device_table table;

    synthetic_run(machine_topology of, std::vector<text<16>> gpus, process::cpu_set const& usable = all_cpus(),
                  std::uint32_t jobs = 6)
        : topology(std::move(of)), pci(std::move(gpus)), placement(*device_placement::of(topology, pci, usable)),
          table(std::vector<std::string>(pci.begin(), pci.end())) {
        for (std::uint32_t j = 1; j <= jobs; ++j) placement.add(job_id{j}, unlimited);
        table.choose_by(placement);
    }
    explicit synthetic_run(machine_topology of) : synthetic_run(of, addresses(of)) {}

    /// The job changes to `count` devices and is launched with them.
    job_location put(job_id job, device_list& has, std::int64_t count) {
        has = table.change(job, has, count);
        table.keep_only(job, has);
        return placement.settle(job, has);
    }
};

}  // namespace

TEST_CASE("device_placement: a job gets linked GPUs, and the cores beside them") {
    synthetic_run run(two_packages());
    device_list first, second;
    auto place = run.put(job_id{1}, first, 2);
    CHECK(first == device_list{1, 2});     // the lowest numbers are 0 and 1
    CHECK(place.cpu_list() == "0-1,8-9");  // a third of eight cores
    CHECK(
        place.why ==
        "GPUs 0000:01:00.0, 0000:02:00.0 on NUMA node 0, joined by NVLink of 50 GB/s or more. 2 cores (CPUs 0-1,8-9) on NUMA node 0, "
        "where its GPUs are, under one L3 cache.");
    place = run.put(job_id{2}, second, 1);
    CHECK(second == device_list{0});  // a pair stays whole
    CHECK(place.cpu_list() == "2,10");
}

TEST_CASE("device_placement: of what a job has, the best connected stay, and stay first when it grows") {
    synthetic_run run(two_packages());
    device_list has;
    static_cast<void>(run.put(job_id{1}, has, 3));
    CHECK(has == device_list{0, 1, 2});
    auto place = run.put(job_id{1}, has, 2);
    CHECK(has == device_list{1, 2});
    CHECK(place.why.find("1 given back, those farthest from the rest. 2 cores (CPUs 0-1,8-9)") != std::string::npos);
    place = run.put(job_id{1}, has, 3);
    CHECK(has == device_list{1, 2, 0});
    CHECK(place.why.find("1 of them new") != std::string::npos);
    CHECK(place.cpu_list() == "0-3,8-11");
}

TEST_CASE("device_placement: cores of a job that is over are free again, others are not") {
    synthetic_run run(two_packages());
    device_list first, second, third;
    static_cast<void>(run.put(job_id{1}, first, 3));
    CHECK(run.put(job_id{2}, second, 3).cpu_list() == "4-7,12-15");
    run.table.release(job_id{1});
    CHECK(run.put(job_id{3}, third, 3).cpu_list() == "0-3,8-11");
    CHECK(third == device_list{0, 1, 2});
}

TEST_CASE("device_placement: only CPUs that the run may use are given, though its topology is the whole machine's") {
    auto const topology = two_packages();
    // One CPU of core 2, one of core 4, both of core 5
    synthetic_run run(topology, addresses(topology), cpus({2, 4, 5, 13}));
    device_list has;
    CHECK(run.put(job_id{1}, has, 6).cpu_list() == "2,4-5,13");
    CHECK(run.put(job_id{1}, has, 4).cpus.size() < 4);
    synthetic_run elsewhere(topology, addresses(topology), cpus({100}));
    has.clear();
    auto const place = elsewhere.put(job_id{1}, has, 2);
    CHECK(place.cpus.empty());
    CHECK(place.why.find("No CPU is bound") != std::string::npos);
    CHECK(has == device_list{1, 2});
}

TEST_CASE("device_placement: a job keeps its cores when it is launched again, though others would be as near") {
    synthetic_run run(two_packages());
    run.placement.add(job_id{7}, 8'000);
    device_list first{0}, second, third;
    REQUIRE(run.table.claim(job_id{1}, first));
    // 100 is none that the run may use
    CHECK(run.placement.reattach(job_id{1}, first, cpus({3, 11, 100})).cpu_list() == "3,11");
    CHECK(run.put(job_id{1}, first, 1).cpu_list() == "3,11");
    // A device that the machine does not show, beside which nothing is
    CHECK(run.placement.settle(job_id{1}, {6}).cpus.empty());
    CHECK(run.put(job_id{2}, second, 3).cpu_list() == "4-7,12-15");
    CHECK(run.put(job_id{7}, third, 1).cpu_list() == "0-3,8-11");
}

TEST_CASE("device_placement: a bound on cpu is how many CPUs a job gets, whatever its devices are") {
    auto const topology = two_packages();
    synthetic_run run(topology, addresses(topology), all_cpus(), 0);
    run.placement.add(job_id{1}, 4'100);
    run.placement.add(job_id{2}, 1);
    device_list has, other;
    CHECK(run.put(job_id{1}, has, 1).cpus.size() == 6);  // whole cores, and not less than was asked for
    CHECK(run.put(job_id{2}, other, 3).cpus.size() == 2);
}

TEST_CASE("device_placement: more jobs than cores share them, and are told so") {
    auto const topology = two_packages();
    synthetic_run run(topology, addresses(topology), cpus({0, 8}));
    device_list first, second;
    CHECK(run.put(job_id{1}, first, 1).why.find("Other jobs") == std::string::npos);
    auto const place = run.put(job_id{2}, second, 1);
    CHECK(place.cpu_list() == "0,8");
    CHECK(place.why.find("Other jobs have these cores too") != std::string::npos);
    CHECK(first != second);
}

TEST_CASE("device_placement: on another machine's topology devices are chosen and no CPU is bound") {
    auto topology = two_packages();
    topology.is_this_machine = false;
    synthetic_run run(topology, addresses(topology), cpus({0}));
    device_list has;
    auto const place = run.put(job_id{1}, has, 2);
    CHECK(has == device_list{1, 2});
    CHECK(place.cpus.empty());
    // The CPUs that are ours here do not matter there
    CHECK(place.why.find("2 cores (CPUs 0-1,8-9)") != std::string::npos);
    CHECK(place.why.find("No CPU is bound") != std::string::npos);
}

TEST_CASE("device_placement: a GPU that the topology does not show is handed out without CPUs") {
    auto const topology = two_packages();
    synthetic_run run(topology, {"0000:aa:00.0"});
    device_list has;
    auto const place = run.put(job_id{1}, has, 1);
    CHECK(has == device_list{0});
    CHECK(place.cpus.empty());
    CHECK(place.why ==
          "GPU 0000:aa:00.0 somewhere on this machine. No CPUs are chosen, as it is not known where that is.");
}

TEST_CASE("device_placement: instances of one GPU are devices of their own") {
    auto const topology = two_packages();
    synthetic_run run(topology, {"0000:04:00.0", "0000:04:00.0", "0000:00:00.0"});
    device_list first, second, third;
    auto const place = run.put(job_id{1}, first, 1);
    static_cast<void>(run.put(job_id{2}, second, 1));
    static_cast<void>(run.put(job_id{3}, third, 1));
    CHECK(std::set<std::uint32_t>{first[0], second[0], third[0]} == std::set<std::uint32_t>{0, 1, 2});
    CHECK(first == device_list{2});  // the lowest address
    CHECK(place.cpu_list() == "0-1,8-9");
}

TEST_CASE(
    "device_placement: a device of an earlier run that the machine does not show any more does not stop the choice") {
    synthetic_run run(two_packages());
    device_list has{run.table.devices().number("gone")};
    REQUIRE(run.table.claim(job_id{1}, has));
    CHECK(run.placement.reattach(job_id{1}, has, cpus({1, 9})).cpu_list() == "1,9");
    CHECK(run.table.change(job_id{1}, has, 2) == device_list{6, 0});
    CHECK(run.placement.settle(job_id{1}, {6, 0}).why.empty());
    has = run.table.change(job_id{1}, run.table.devices().sound(device_list{6, 0}), 2);
    run.table.keep_only(job_id{1}, has);
    CHECK(has.front() == 0);
    CHECK(has.back() < 6);
    CHECK(run.table.free() == 4);
}

TEST_CASE("device_placement: a job that was found bound keeps its cores, and an unbound one gets none") {
    synthetic_run run(two_packages());
    CHECK(run.placement.reattach(job_id{1}, {0}, cpus({1, 9})).cpu_list() == "1,9");
    CHECK(run.placement.reattach(job_id{2}, {3}, all_cpus()).cpus.empty());
    REQUIRE(run.table.claim(job_id{1}, device_list{0}));
    REQUIRE(run.table.claim(job_id{2}, device_list{3}));
    device_list third, first{0};
    CHECK(run.put(job_id{3}, third, 2).cpu_list() == "0,2,8,10");
    CHECK(run.put(job_id{1}, first, 1).cpu_list() == "1,9");  // as before
    machine_topology nothing;
    CHECK_FALSE(device_placement::of(nothing, run.pci, all_cpus()));
    CHECK_FALSE(device_placement::of(run.topology, {}, all_cpus()));
}

TEST_CASE("device_placement: whatever jobs come and go, no device and no core is in two of them") {
    for (unsigned seed = 0; seed < 40; ++seed) {
        std::mt19937 rng(seed);
        synthetic_run run(two_packages());
        std::map<std::uint32_t, device_list> has;
        std::map<std::uint32_t, process::cpu_set> bound;
        for (int step = 0; step < 60; ++step) {
            std::uint32_t const j = 1 + rng() % 6;
            auto const before = has[j];
            auto const most = run.table.free() + static_cast<std::int64_t>(before.size());
            std::int64_t const count = rng() % static_cast<unsigned>(most + 1);
            if (count == 0) {
                run.table.release(job_id{j});
                has.erase(j);
                bound.erase(j);
                continue;
            }
            bound[j] = run.put(job_id{j}, has[j], count).cpus;
            REQUIRE(static_cast<std::int64_t>(has[j].size()) == count);
            auto const kept = static_cast<std::int64_t>(std::min(before.size(), has[j].size()));
            CHECK(std::ranges::all_of(std::span(has[j]).first(static_cast<std::size_t>(kept)),
                                      [&](auto d) { return std::ranges::find(before, d) != before.end(); }));
            for (auto const& [other, devices] : has) {
                if (other == j) continue;
                CHECK(std::ranges::none_of(devices,
                                           [&](auto d) { return std::ranges::find(has[j], d) != has[j].end(); }));
                CHECK((bound[other] & bound[j]).empty());
            }
            CHECK_FALSE(bound[j].empty());
        }
    }
}
