// SPDX-License-Identifier: BSL-1.0
// Machines and states of them, made up from a seed.
#pragma once

#include <algorithm>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include <ration/hwloc/placement.hpp>

namespace synthetic {

using namespace ration;
using namespace ration::hwloc;
using rng = std::mt19937;

[[nodiscard]] inline std::uint32_t roll(rng& d, std::uint32_t low, std::uint32_t high) {
    return low + d() % (high - low + 1);
}

[[nodiscard]] inline text<16> address(std::uint32_t number) {
    char out[17];
    std::snprintf(out, sizeof out, "0000:%02x:00.0", number & 0xffU);
    return out;
}

/// Up to four packages of up to two nodes of up to three caches of up to four cores, up to eight GPUs, some with links;
/// now and then two kinds of cores.
[[nodiscard]] inline machine any_machine(rng& d) {
    machine m;
    std::uint32_t const packages = roll(d, 1, 4), nodes = roll(d, 1, 2), caches = roll(d, 1, 3), cores = roll(d, 1, 4),
                        threads = roll(d, 1, 2);
    bool const hybrid = roll(d, 1, 4) == 1;
    std::uint32_t pu = 0;
    for (std::uint32_t p = 0; p < packages; ++p)
        for (std::uint32_t n = 0; n < nodes; ++n) {
            bytes const memory{std::int64_t{roll(d, 0, 5) == 0 ? 0 : 1} << 34};
            m.nodes.push_back({.number = static_cast<std::uint32_t>(m.nodes.size()), .package = p, .memory = memory});
            for (std::uint32_t c = 0; c < caches * cores; ++c) {
                auto const node = static_cast<std::uint32_t>(m.nodes.size() - 1);
                m.cores.push_back(
                    {.package = p, .node = node, .l3 = node * caches + c / cores, .kind = hybrid ? c % 2 : 0});
                for (std::uint32_t t = 0; t < threads; ++t) m.cores.back().pus.push_back(pu++);
            }
        }
    for (std::uint32_t g = 0, count = roll(d, 0, 8); g < count; ++g) {
        auto const node = roll(d, 0, static_cast<std::uint32_t>(m.nodes.size()) - 1);
        bool const known = roll(d, 0, 3) > 0;
        auto const below = roll(d, 0, 2) == 0 ? unknown : roll(d, 0, 3);
        m.gpus.push_back({.pci = address(16 * g + 1),
                          .package = m.nodes[node].package,
                          .node = known ? node : unknown,
                          .pcie_switch = below});
    }
    if (roll(d, 0, 1) == 0) m.nvlink.assign(m.gpus.size() * m.gpus.size(), 0);
    for (std::size_t i = 0; i < m.gpus.size() && !m.nvlink.empty(); ++i)
        for (std::size_t j = 0; j < i; ++j)
            m.nvlink[i * m.gpus.size() + j] = m.nvlink[j * m.gpus.size() + i] = 25'000 * roll(d, 0, 2);
    return m;
}

/// The same machine, listed in another order, with other numbers for caches and switches.
[[nodiscard]] inline machine shuffled(machine const& m, rng& d) {
    auto const order_of = [&d](std::size_t size) {
        std::vector<std::uint32_t> out(size);
        std::iota(out.begin(), out.end(), 0U);
        std::ranges::shuffle(out, d);
        return out;
    };
    machine out = m;
    auto const nodes = order_of(m.nodes.size()), cores = order_of(m.cores.size()), gpus = order_of(m.gpus.size());
    auto const new_node = [&](std::uint32_t old) {
        return old == unknown ? unknown : static_cast<std::uint32_t>(std::ranges::find(nodes, old) - nodes.begin());
    };
    for (std::size_t i = 0; i < nodes.size(); ++i) out.nodes[i] = m.nodes[nodes[i]];
    for (std::size_t i = 0; i < cores.size(); ++i) {
        out.cores[i] = m.cores[cores[i]];
        out.cores[i].node = new_node(out.cores[i].node);
        if (out.cores[i].l3 != unknown) out.cores[i].l3 ^= 5U;
        std::ranges::shuffle(out.cores[i].pus, d);
    }
    for (std::size_t i = 0; i < gpus.size(); ++i) {
        out.gpus[i] = m.gpus[gpus[i]];
        out.gpus[i].node = new_node(out.gpus[i].node);
        if (out.gpus[i].pcie_switch != unknown) out.gpus[i].pcie_switch ^= 3U;
        for (std::size_t j = 0; j < gpus.size() && !m.nvlink.empty(); ++j)
            out.nvlink[i * gpus.size() + j] = m.nvlink[gpus[i] * gpus.size() + gpus[j]];
    }
    for (std::size_t i = 0; i < nodes.size() && !m.latency.empty(); ++i)
        for (std::size_t j = 0; j < nodes.size(); ++j)
            out.latency[i * nodes.size() + j] = m.latency[nodes[i] * nodes.size() + nodes[j]];
    return out;
}

/// Some of the cores and GPUs that are not taken yet; each with a chance of one in `rarity`.
[[nodiscard]] inline holding some_of(machine const& m, occupied const& taken, std::uint32_t rarity, rng& d) {
    holding out;
    for (std::uint32_t i = 0; i < m.cores.size(); ++i)
        if (!taken.core(i) && roll(d, 1, rarity) == 1) out.cores.push_back(i);
    for (std::uint32_t i = 0; i < m.gpus.size(); ++i)
        if (!taken.gpu(i) && roll(d, 1, rarity) == 1) out.gpus.push_back(i);
    return out;
}

/// One question to a placer.
struct question {
    placer on;
    occupied others;
    holding has{};
    request wanted{};

    /// Not more than there is. A job may say that it has what others have.
    explicit question(rng& d) : question(any_machine(d), d) {}
    question(machine of, rng& d) : on(std::move(*placer::of(std::move(of)))), others(on.where()) {
        others.add(some_of(on.where(), others, roll(d, 2, 5), d));
        has = some_of(on.where(), roll(d, 0, 3) == 0 ? occupied(on.where()) : others, roll(d, 2, 8), d);
        std::uint32_t cores = 0, gpus = 0;
        for (std::uint32_t i = 0; i < on.where().cores.size(); ++i) cores += others.core(i) ? 0 : 1;
        for (std::uint32_t i = 0; i < on.where().gpus.size(); ++i) gpus += others.gpu(i) ? 0 : 1;
        wanted.cores = roll(d, 0, cores);
        wanted.gpus = wanted.cores == 0 ? 0 : roll(d, 0, gpus);
    }
    [[nodiscard]] result<placement> answer() const { return on.place(wanted, has, others); }
};

}  // namespace synthetic
