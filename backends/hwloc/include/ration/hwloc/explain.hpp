// SPDX-License-Identifier: BSL-1.0
/// The reasons of a placement in plain sentences. Used by `ration run` for its event log.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ration/hwloc/placement.hpp>

namespace ration::hwloc {

namespace detail {

/// A number with its unit, in the plural if needed.
[[nodiscard]] inline std::string counted(std::size_t count, std::string const& one) noexcept {
    return std::to_string(count) + ' ' + one + (count == 1 ? "" : "s");
}

/// The change of a job's list: ", 2 of them new", ", 1 given back, the farthest", ", all as
/// before"; empty for a job that had none.
[[nodiscard]] inline std::string change(std::span<std::uint32_t const> before, std::span<std::uint32_t const> now,
                                        bool fewer_wanted) noexcept {
    if (before.empty()) return "";
    auto const fresh =
        std::ranges::count_if(now, [&](std::uint32_t i) { return std::ranges::find(before, i) == before.end(); });
    auto const lost =
        std::ranges::count_if(before, [&](std::uint32_t i) { return std::ranges::find(now, i) == now.end(); });
    // The usual case for a job that is not resized.
    if (fresh == 0 && lost == 0) return ", all as before";
    std::string out;
    if (fresh > 0) out += ", " + std::to_string(fresh) + " of them new";
    if (lost > 0)
        out += ", " + std::to_string(lost) +
               (fewer_wanted ? " given back, those farthest from the rest" : " lost to another job");
    return out;
}

/// The different values of a list, ascending.
template <class List, class Value>
[[nodiscard]] auto distinct(List const& indices, Value value) noexcept {
    std::set<std::uint32_t> out;
    for (std::uint32_t const i : indices) out.insert(value(i));
    return std::vector<std::uint32_t>(out.begin(), out.end());
}

/// The place: "on NUMA node 0", "on NUMA nodes 0,2", "on package 1"; a general phrase if neither is
/// known.
[[nodiscard]] inline std::string place_of(machine const& m, std::span<std::uint32_t const> nodes,
                                          std::span<std::uint32_t const> packages) noexcept {
    auto const known = [](std::span<std::uint32_t const> list) { return !list.empty() && list.back() != unknown; };
    if (known(nodes)) {
        auto const numbers = distinct(nodes, [&](std::uint32_t i) { return m.nodes[i].number; });
        return (numbers.size() == 1 ? " on NUMA node " : " on NUMA nodes ") + list_of(numbers);
    }
    if (known(packages)) return (packages.size() == 1 ? " on package " : " on packages ") + list_of(packages);
    return " somewhere on this machine";
}

/// The connection of several GPUs: "joined by NVLink of 50 GB/s or more", "below one PCIe switch".
[[nodiscard]] inline std::string ties(machine const& m, std::span<std::uint32_t const> gpus) noexcept {
    if (gpus.size() < 2) return "";
    gpu_market const none{.free = std::vector<std::uint8_t>(m.gpus.size()),
                          .near_cores = std::vector<std::uint32_t>(m.nodes.size())};
    auto const score = gpu_chooser(m, none).score(gpus);
    // The scores are negative where more is better.
    if (score.weakest_link < 0)
        return ", joined by NVLink of " + std::to_string(-score.weakest_link / 1000) + " GB/s or more";
    if (score.switches == 1) return ", below one PCIe switch";
    return m.nvlink.empty() ? ", below " + counted(static_cast<std::size_t>(score.switches), "PCIe root port")
                            : ", not all joined by NVLink";
}

/// The sentence about GPUs; empty for a job without.
[[nodiscard]] inline std::string explain_gpus(machine const& m, holding const& before, holding const& now) noexcept {
    if (now.gpus.empty()) return before.gpus.empty() ? "" : counted(before.gpus.size(), "GPU") + " given back.";
    std::string out = now.gpus.size() == 1 ? "GPU " : "GPUs ";
    for (std::uint32_t const i : now.gpus) out.append(i == now.gpus.front() ? "" : ", ").append(m.gpus[i].pci.view());
    auto const nodes = distinct(now.gpus, [&](std::uint32_t i) { return m.gpus[i].node; });
    auto const packages = distinct(now.gpus, [&](std::uint32_t i) { return m.gpus[i].package; });
    return out + place_of(m, nodes, packages) + ties(m, now.gpus) +
           change(before.gpus, now.gpus, now.gpus.size() < before.gpus.size()) + '.';
}

/// The place of the cores relative to the GPUs, or the number of cores that are farther away
/// because nearer ones are in use.
[[nodiscard]] inline std::string beside_gpus(placer const& from, holding const& now) noexcept {
    auto const homes = from.homes_of(now.gpus);
    auto const is_far = [&](std::uint32_t i) {
        return std::ranges::none_of(
            homes, [&](core_home const& home) { return from.map().from_home(home, from.map().domain_of(i)) == 0; });
    };
    if (homes.empty()) return "";
    // Without a GPU the place of the cores needs no reason.
    auto const far = std::ranges::count_if(now.cores, is_far);
    std::string const gpus = now.gpus.size() == 1 ? "GPU" : "GPUs";
    if (far > 0) return ", " + std::to_string(far) + " of them away from its " + gpus + ", as no more are free there";
    return ", where its " + gpus + (now.gpus.size() == 1 ? " is" : " are");
}

/// The kinds of the cores, on a machine that has several.
[[nodiscard]] inline std::string kinds_of(machine const& m, holding const& now) noexcept {
    std::uint32_t fastest = 0;
    for (core const& one : m.cores) fastest = std::max(fastest, one.kind);
    auto const used = distinct(now.cores, [&](std::uint32_t i) { return m.cores[i].kind; });
    if (fastest == 0) return "";
    if (used.size() > 1) return ", of " + std::to_string(used.size()) + " kinds, as no one kind has enough";
    return used.front() == fastest ? ", all of the fastest kind"
                                   : ", all of a slower kind, as the fastest has not enough";
}

/// True if all new cores are in domains of other jobs, although an equally near domain of that kind
/// is empty.
[[nodiscard]] inline bool is_packed(placer const& from, holding const& before, holding const& now,
                                    occupied const& others) noexcept {
    auto const& map = from.map();
    std::vector<std::uint32_t> fresh;
    for (std::uint32_t const i : now.cores)
        if (std::ranges::find(before.cores, i) == before.cores.end()) fresh.push_back(map.domain_of(i));
    auto const is_shared = [&](std::uint32_t d) {
        return std::ranges::any_of(map.domains()[d].cores, [&](std::uint32_t i) { return others.core(i); });
    };
    // Only new cores were chosen in this placement; older ones have earlier reasons.
    if (fresh.empty() || !std::ranges::all_of(fresh, is_shared)) return false;
    auto const homes = from.homes_of(now.gpus);
    auto const is_near = [&](std::uint32_t d) {
        return homes.empty() ||
               std::ranges::any_of(homes, [&](core_home const& home) { return map.from_home(home, d) == 0; });
    };
    for (std::uint32_t d = 0; d < map.domains().size(); ++d) {
        auto const is_mine = [&](std::uint32_t i) { return map.domain_of(i) == d; };
        bool const is_whole =
            !is_shared(d) && std::ranges::none_of(now.cores, is_mine) && map.domains()[d].l3 != unknown;
        if (is_whole && is_near(d) && map.domains()[d].kind == map.domains()[fresh.front()].kind) return true;
    }
    return false;
}

/// The sentence about cores.
[[nodiscard]] inline std::string explain_cores(placer const& from, holding const& before, placement const& given,
                                               occupied const& others) noexcept {
    machine const& m = from.where();
    auto const& cores = given.now.cores;
    auto const nodes = distinct(cores, [&](std::uint32_t i) { return m.cores[i].node; });
    auto const packages = distinct(cores, [&](std::uint32_t i) { return m.cores[i].package; });
    auto const caches = distinct(cores, [&](std::uint32_t i) { return m.cores[i].l3; });
    std::string const cpus = (given.cpus.size() == 1 ? "CPU " : "CPUs ") + list_of(given.cpus);
    std::string out =
        counted(cores.size(), "core") + " (" + cpus + ')' + place_of(m, nodes, packages) + beside_gpus(from, given.now);
    if (caches.back() != unknown)
        out += caches.size() == 1 ? ", under one L3 cache" : ", under " + counted(caches.size(), "L3 cache");
    if (is_packed(from, before, given.now, others)) out += " beside other jobs, so that whole ones stay free";
    return out + kinds_of(m, given.now) + change(before.cores, cores, cores.size() < before.cores.size()) + '.';
}

/// The sentence about memory.
[[nodiscard]] inline std::string explain_memory(machine const& m, placement const& given) noexcept {
    auto const own = distinct(given.now.cores, [&](std::uint32_t i) {
        return m.cores[i].node == unknown ? unknown : m.nodes[m.cores[i].node].number;
    });
    if (given.memory.empty()) return "Memory wherever there is some.";
    std::string const nodes =
        (given.memory.size() == 1 ? "Memory of NUMA node " : "Memory of NUMA nodes ") + list_of(given.memory);
    return nodes + (own == given.memory ? ", that of its cores." : ", the nearest to its cores that has some.");
}

}  // namespace detail

/// One sentence each for the GPUs (if the job has or had some), the cores and the memory. `before`
/// is the former holding; `others` is the argument of `placer::place`.
[[nodiscard]] inline std::vector<std::string> explain(placer const& from, holding const& before, placement const& given,
                                                      occupied const& others) noexcept {
    std::vector<std::string> out;
    if (auto gpus = detail::explain_gpus(from.where(), before, given.now); !gpus.empty())
        out.push_back(std::move(gpus));
    if (given.now.cores.empty()) {
        out.push_back(before.cores.empty() ? "No cores."
                                           : detail::counted(before.cores.size(), "core") + " given back.");
        return out;
    }
    out.push_back(detail::explain_cores(from, before, given, others));
    out.push_back(detail::explain_memory(from.where(), given));
    return out;
}

}  // namespace ration::hwloc
