// SPDX-License-Identifier: BSL-1.0
// Properties of every placement, on synthetic machines in synthetic states; and the message when there is none.
#include <set>

#include <ration/hwloc/explain.hpp>

#include "random_machine.hpp"
#include "support/catch.hpp"

using namespace synthetic;

namespace {

[[nodiscard]] bool has_all(std::vector<std::uint32_t> const& in, std::vector<std::uint32_t> const& of) {
    return std::ranges::includes(in, of);
}

[[nodiscard]] std::vector<std::uint32_t> without_taken(std::vector<std::uint32_t> const& list, auto is_taken) {
    std::vector<std::uint32_t> out;
    for (std::uint32_t const i : list)
        if (!is_taken(i)) out.push_back(i);
    return out;
}

}  // namespace

TEST_CASE("a job gets as much as it asked for, whole cores, each once, and nothing that others have") {
    rng d(11);
    for (int round = 0; round < 1'000; ++round) {
        question const q(d);
        auto const given = q.answer();
        REQUIRE(given);
        auto const& now = given->now;
        REQUIRE(now.cores.size() == q.wanted.cores);
        REQUIRE(now.gpus.size() == q.wanted.gpus);
        REQUIRE(std::set(now.cores.begin(), now.cores.end()).size() == now.cores.size());
        REQUIRE(std::ranges::is_sorted(now.gpus));
        REQUIRE(std::set(now.gpus.begin(), now.gpus.end()).size() == now.gpus.size());
        REQUIRE(std::ranges::none_of(now.cores, [&](std::uint32_t i) { return q.others.core(i); }));
        REQUIRE(std::ranges::none_of(now.gpus, [&](std::uint32_t i) { return q.others.gpu(i); }));
        std::set<std::uint32_t> cpus;
        for (std::uint32_t const i : now.cores)
            cpus.insert(q.on.where().cores[i].pus.begin(), q.on.where().cores[i].pus.end());
        REQUIRE(given->cpus == std::vector<std::uint32_t>(cpus.begin(), cpus.end()));
    }
}

TEST_CASE("what a job has stays when it grows, and nothing new comes when it shrinks") {
    rng d(12);
    int grown = 0, shrunk = 0;
    for (int round = 0; round < 1'000; ++round) {
        question const q(d);
        auto const given = q.answer();
        REQUIRE(given);
        auto const cores = without_taken(q.has.cores, [&](std::uint32_t i) { return q.others.core(i); });
        auto const gpus = without_taken(q.has.gpus, [&](std::uint32_t i) { return q.others.gpu(i); });
        REQUIRE((has_all(given->now.cores, cores) || has_all(cores, given->now.cores)));
        REQUIRE((has_all(given->now.gpus, gpus) || has_all(gpus, given->now.gpus)));
        grown += given->now.cores.size() > cores.size() && !cores.empty();
        shrunk += given->now.cores.size() < cores.size();
    }
    CHECK(grown > 100);
    CHECK(shrunk > 100);
}

TEST_CASE("a job that asks again for what it has keeps it, whatever is free by then") {
    rng d(13);
    for (int round = 0; round < 300; ++round) {
        question const q(d);
        auto const given = q.answer();
        REQUIRE(given);
        auto const again = q.on.place(q.wanted, given->now, occupied(q.on.where()));
        REQUIRE(again);
        REQUIRE(again->now == given->now);
    }
}

TEST_CASE("the order in which a machine is described changes nothing") {
    rng d(14);
    for (int round = 0; round < 300; ++round) {
        machine const m = any_machine(d);
        auto const state = d;
        question const q(m, d);
        rng same = state;
        question const other(shuffled(m, d), same);  // the same state, since holdings count in the order of names
        REQUIRE(q.wanted.cores == other.wanted.cores);
        REQUIRE(q.answer().value() == other.answer().value());
    }
}

TEST_CASE("memory is that of nodes that have some, one for each node of the cores at most") {
    rng d(15);
    for (int round = 0; round < 500; ++round) {
        question const q(d);
        auto const given = q.answer();
        REQUIRE(given);
        std::set<std::uint32_t> nodes;
        for (std::uint32_t const i : given->now.cores) nodes.insert(q.on.where().cores[i].node);
        REQUIRE(given->memory.size() <= nodes.size());
        for (std::uint32_t const number : given->memory) {
            auto const found = std::ranges::find(q.on.where().nodes, number, &numa_node::number);
            REQUIRE(found != q.on.where().nodes.end());
            REQUIRE(found->memory.count > 0);
        }
        for (std::uint32_t const node : nodes)
            if (q.on.where().nodes[node].memory.count > 0)
                REQUIRE(std::ranges::count(given->memory, q.on.where().nodes[node].number) == 1);
    }
}

TEST_CASE("cores whose node has no memory get that of the nearest normal node, not HBM and not memory behind CXL") {
    machine m;
    m.nodes = {{.number = 0, .package = 0},
               {.number = 1, .package = 1, .memory = {1}},
               {.number = 2, .package = 2, .memory = {1}},
               {.number = 3, .package = 0, .memory = {1}, .kind = memory_kind::high_bandwidth},
               {.number = 4, .memory = {1}, .kind = memory_kind::without_cpus}};
    for (std::uint32_t i = 0; i < 3; ++i) m.cores.push_back({.package = i, .node = i, .l3 = i, .pus = {i}});
    m.latency = {10, 31, 21, 11, 12, 31, 10, 21, 31, 31, 21, 21, 10, 31, 31, 11, 31, 31, 10, 12, 12, 31, 31, 12, 10};
    auto const on = placer::of(m);
    REQUIRE(on);
    CHECK(on->place({.cores = 1}, {}, occupied(m)).value().memory == std::vector<std::uint32_t>{2});
}

TEST_CASE("every choice is explained by one sentence") {
    rng d(16);
    for (int round = 0; round < 300; ++round) {
        question const q(d);
        auto const given = q.answer();
        REQUIRE(given);
        auto const reply = explain(q.on, q.has, *given, q.others);
        bool const gpus = !given->now.gpus.empty() || !q.has.gpus.empty();
        REQUIRE(reply.size() == (given->now.cores.empty() ? 1U : 2U) + (gpus ? 1U : 0U));
        for (std::string const& sentence : reply) {
            REQUIRE(sentence.ends_with('.'));
            REQUIRE(sentence.find(". ") == std::string::npos);
        }
    }
}

TEST_CASE("what cannot be is refused in a sentence") {
    machine m;
    m.nodes = {{.number = 0, .package = 0, .memory = {1}}};
    for (std::uint32_t i = 0; i < 4; ++i) m.cores.push_back({.node = 0, .pus = {i}});
    m.gpus = {{.pci = "0000:17:00.0"}};
    auto const on = placer::of(m);
    REQUIRE(on);
    occupied others(on->where());
    others.add({.cores = {0}, .gpus = {}});
    auto const refused = [&](request wanted) {
        auto const given = on->place(wanted, {}, others);
        REQUIRE_FALSE(given);
        error const& e = given.failure();
        return std::string(name_of(e.code)) + ": " + e.operation + ": " + e.subject.c_str() + ": " + e.remedy;
    };
    std::string const wait = ": ask for less, or wait until others give something back";
    CHECK(refused({.cores = 4}) == "no capacity: place a job: 4 cores and 0 GPUs where 3 and 1 can be had" + wait);
    CHECK(refused({.cores = 1, .gpus = 2}) ==
          "no capacity: place a job: 1 cores and 2 GPUs where 3 and 1 can be had" + wait);
    CHECK(
        refused({.cores = 0, .gpus = 1}) ==
        "invalid value: place a job: 0 cores and 1 GPUs where 3 and 1 can be had: ask for one core at least beside GPUs");
    CHECK(on->place({}, {.cores = {1}, .gpus = {0}}, others).value() == placement{});
    CHECK(on->place({.cores = 1}, {.cores = {77}, .gpus = {88}}, others).value().cpus == std::vector<std::uint32_t>{1});
}
