// SPDX-License-Identifier: BSL-1.0
// How long does it take to place 64 jobs on a machine of 64 GPUs, one after the other, beside what placing by number
// alone takes? Each answer is checked; the last lines are medians.
#include <algorithm>
#include <array>
#include <benchmark/benchmark.h>
#include <cstdio>
#include <utility>
#include <vector>

#include <ration/hwloc/placement.hpp>

namespace {

using namespace ration;
using namespace ration::hwloc;

/// Eight packages of one NUMA node, four L3 caches of eight cores and eight GPUs, two below each switch; NVLink between
/// all GPUs of a package, twice as wide below a switch.
[[nodiscard]] machine big_machine() {
    machine m;
    for (std::uint32_t package = 0; package < 8; ++package) {
        m.nodes.push_back({.number = package, .package = package, .memory = {std::int64_t{256} << 30}});
        for (std::uint32_t i = 32 * package; i < 32 * (package + 1); ++i)
            m.cores.push_back({.package = package, .node = package, .l3 = i / 8, .pus = {i, i + 256}});
        for (std::uint32_t i = 8 * package; i < 8 * (package + 1); ++i) {
            std::array<char, 20> pci{};
            std::snprintf(pci.data(), pci.size(), "0000:%02x:00.0", i);
            m.gpus.push_back({.pci = pci.data(), .package = package, .node = package, .pcie_switch = i / 2});
        }
    }
    for (std::uint32_t i = 0; i < 64; ++i)
        for (std::uint32_t j = 0; j < 64; ++j)
            m.nvlink.push_back(i == j || i / 8 != j / 8 ? 0 : i / 2 == j / 2 ? 100'000 : 50'000);
    return m;
}

/// What 64 jobs ask for: a GPU and four cores each, or by turns one GPU, two, none and one, and two to four cores.
/// Either way all GPUs are taken in the end.
[[nodiscard]] std::vector<request> requests(bool mixed) {
    std::vector<request> out;
    for (std::uint32_t i = 0; i < 64; ++i) {
        std::uint32_t const gpus = mixed ? std::array{1U, 2U, 0U, 1U}[i % 4] : 1;
        out.push_back({.cores = mixed ? 2 + i % 3 : 4, .gpus = gpus});
    }
    return out;
}

/// The lowest free ones, wherever they are.
[[nodiscard]] holding by_number(machine const& m, request const& wanted, occupied const& others) {
    holding out;
    for (std::uint32_t i = 0; i < m.cores.size() && out.cores.size() < wanted.cores; ++i)
        if (!others.core(i)) out.cores.push_back(i);
    for (std::uint32_t i = 0; i < m.gpus.size() && out.gpus.size() < wanted.gpus; ++i)
        if (!others.gpu(i)) out.gpus.push_back(i);
    return out;
}

struct tally {
    bool sound = true;
    std::uint32_t far = 0;  // cores that are not on the package of one of the job's GPUs
};

/// Whether each job has what it requested and no other job has it; and the number of cores that are far from the GPUs.
[[nodiscard]] tally check_answer(machine const& m, std::vector<request> const& wanted,
                                 std::vector<holding> const& given) {
    tally out;
    std::vector<int> cores(m.cores.size()), gpus(m.gpus.size());
    for (std::size_t job = 0; job < wanted.size(); ++job) {
        out.sound =
            out.sound && given[job].cores.size() == wanted[job].cores && given[job].gpus.size() == wanted[job].gpus;
        for (std::uint32_t const g : given[job].gpus) ++gpus[g];
        for (std::uint32_t const c : given[job].cores) {
            ++cores[c];
            auto const beside = [&](std::uint32_t g) { return m.gpus[g].package == m.cores[c].package; };
            out.far += !given[job].gpus.empty() && std::ranges::none_of(given[job].gpus, beside) ? 1 : 0;
        }
    }
    out.sound = out.sound && std::ranges::max(cores) <= 1 && std::ranges::max(gpus) <= 1;
    return out;
}

template <class Place>
void measure(benchmark::State& state, std::uint32_t most_far, Place const& place) {
    auto const on = placer::of(big_machine());
    auto const wanted = requests(state.range(0) != 0);
    std::vector<holding> given;
    for (auto _ : state) {
        given.clear();
        occupied others(on->where());
        for (request const& one : wanted) {
            given.push_back(place(*on, one, others));
            others.add(given.back());
        }
        benchmark::DoNotOptimize(given.data());
    }
    tally const found = check_answer(on->where(), wanted, given);
    if (!found.sound || found.far > most_far) state.SkipWithError("wrong answer");
    state.counters["cores_far_from_gpus"] = found.far;
}

void topology(benchmark::State& state) {
    measure(state, 0, [](placer const& on, request const& wanted, occupied const& others) {
        return on.place(wanted, {}, others).value_or({}).now;
    });
}

void lowest_numbers(benchmark::State& state) {
    measure(state, 256, [](placer const& on, request const& wanted, occupied const& others) {
        return by_number(on.where(), wanted, others);
    });
}

void keep(benchmark::State& state) {
    auto const on = placer::of(big_machine());
    auto const wanted = requests(state.range(0) != 0);
    std::vector<holding> has;
    occupied all(on->where());
    for (request const& one : wanted) {
        has.push_back(on->place(one, {}, all).value_or({}).now);
        all.add(has.back());
    }
    for (auto _ : state)
        for (std::size_t job = 0; job < wanted.size(); ++job) {
            all.remove(has[job]);
            if (on->place(wanted[job], has[job], all).value_or({}).now != has[job])
                state.SkipWithError("a job was moved");
            all.add(has[job]);
        }
}

#define RATION_PLACES(what)             \
    BENCHMARK(what)                     \
        ->ArgName("mixed")              \
        ->Arg(0)                        \
        ->Arg(1)                        \
        ->Unit(benchmark::kMicrosecond) \
        ->Repetitions(9)                \
        ->ReportAggregatesOnly()
RATION_PLACES(topology);
RATION_PLACES(lowest_numbers);
RATION_PLACES(keep);

}  // namespace

BENCHMARK_MAIN();
