// SPDX-License-Identifier: BSL-1.0
/// What a machine is made of and what is near what, as plain data: nothing here needs hwloc.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ration/result.hpp>
#include <ration/text.hpp>
#include <ration/units.hpp>

namespace ration::hwloc {

/// In the place of an index: there is none, or it is not known.
inline constexpr std::uint32_t unknown = ~std::uint32_t{0};

enum class memory_kind : std::uint8_t {
    normal,          ///< what programs get when they do not ask for anything else
    high_bandwidth,  ///< HBM or MCDRAM beside the normal memory of the same cores
    without_cpus,    ///< memory of no core in particular: behind CXL, non-volatile, a GPU's
};

struct numa_node {
    std::uint32_t number = 0;         ///< the kernel's
    std::uint32_t package = unknown;  ///< that it belongs to; unknown when it belongs to none alone
    bytes memory{0};
    memory_kind kind = memory_kind::normal;
};

/// One core with its hardware threads.
struct core {
    std::uint32_t package = 0;
    std::uint32_t node = unknown;      ///< index of its normal memory
    std::uint32_t l3 = unknown;        ///< cores with the same number share an L3 cache
    std::uint32_t kind = 0;            ///< 0 where all cores are alike; else the faster kind has the higher number
    std::vector<std::uint32_t> pus{};  ///< the kernel's CPU numbers
};

struct gpu {
    text<16> pci{};  ///< domain:bus:device.function, as ration::cuda names it
    std::uint32_t package = unknown;
    std::uint32_t node = unknown;         ///< index of the node it is near; unknown when it is as near to several
    std::uint32_t pcie_switch = unknown;  ///< GPUs with the same number sit below the same root port
};

/// One machine. Where cores, nodes and GPUs stand in the lists means nothing: CPU numbers, node numbers and PCI
/// addresses name them.
struct machine {
    text<64> name{};
    std::vector<numa_node> nodes{};
    std::vector<core> cores{};
    std::vector<gpu> gpus{};
    /// MB/s between two GPUs, GPUs x GPUs, symmetric; 0 where there is none. Empty when no two have a link
    std::vector<std::uint64_t> nvlink{};
    std::vector<std::uint32_t> latency{};  ///< nodes x nodes as firmware tells it, 10 = local. Empty when it does not
};

/// Of `to_sort`, where the first, second ... in the order of `key` stands. No two have the same key.
template <class T, class Key>
[[nodiscard]] std::vector<std::uint32_t> sorted_indices(std::vector<T> const& to_sort, Key key) noexcept {
    std::vector<std::uint32_t> order(to_sort.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::sort(order, {}, [&](std::uint32_t i) { return key(to_sort[i]); });
    return order;
}

/// CPU or node numbers as the kernel writes them: `0-3,8`. `numbers` ascend.
[[nodiscard]] inline std::string list_of(std::span<std::uint32_t const> numbers) noexcept {
    std::string out;
    for (std::size_t i = 0; i < numbers.size();) {
        std::size_t last = i;
        while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
        out.append(out.empty() ? "" : ",").append(std::to_string(numbers[i]));
        if (last > i) out.append("-").append(std::to_string(numbers[last]));
        i = last + 1;
    }
    return out;
}

namespace detail {

/// `matrix` with its rows and columns in another order; an empty one stays empty.
template <class T>
[[nodiscard]] std::vector<T> reordered(std::vector<T> const& matrix, std::span<std::uint32_t const> order) noexcept {
    std::vector<T> out;
    out.reserve(matrix.size());
    for (std::size_t i = 0; !matrix.empty() && i < order.size(); ++i)
        for (std::uint32_t const column : order) out.push_back(matrix[order[i] * order.size() + column]);
    return out;
}

template <class T>
[[nodiscard]] std::vector<T> reordered_list(std::vector<T> const& list, std::span<std::uint32_t const> order) noexcept {
    std::vector<T> out;
    out.reserve(list.size());
    for (std::uint32_t const i : order) out.push_back(list[i]);
    return out;
}

[[nodiscard]] inline error unsound(std::string_view subject, char const* remedy) noexcept {
    return {
        .code = errc::invalid_value, .operation = "read a machine's topology", .subject = subject, .remedy = remedy};
}

/// Whether no CPU number, node number or PCI address is there twice.
[[nodiscard]] inline result<void> check_names(machine const& m) noexcept {
    std::vector<std::uint32_t> pus, nodes;
    std::vector<std::string_view> gpus;
    for (core const& one : m.cores) pus.insert(pus.end(), one.pus.begin(), one.pus.end());
    for (numa_node const& one : m.nodes) nodes.push_back(one.number);
    for (gpu const& one : m.gpus) gpus.push_back(one.pci.view());
    auto const twice = [](auto& list) {
        std::ranges::sort(list);
        return std::ranges::adjacent_find(list) != list.end();
    };
    if (twice(pus)) return unsound("CPUs", "give each CPU to one core");
    if (twice(nodes)) return unsound("NUMA nodes", "give each NUMA node a number of its own");
    if (twice(gpus)) return unsound("GPUs", "give each GPU a PCI address of its own");
    return {};
}

}  // namespace detail

/// Whether indices and sizes fit each other and nothing is named twice. Error: `invalid_value`. O(n log n) in CPUs, and
/// the matrices.
[[nodiscard]] inline result<void> check(machine const& m) noexcept {
    using detail::unsound;
    std::size_t const nodes = m.nodes.size(), gpus = m.gpus.size();
    auto const there = [nodes](std::uint32_t node) { return node == unknown || node < nodes; };
    for (core const& one : m.cores) {
        if (one.pus.empty()) return unsound("cores", "give each core a CPU at least");
        if (!there(one.node)) return unsound("cores", "name for each core a node that the machine has");
    }
    for (gpu const& one : m.gpus)
        if (!there(one.node)) return unsound(one.pci, "name for each GPU a node that the machine has");
    if (m.cores.empty()) return unsound("cores", "a machine has a core at least");
    if (!m.nvlink.empty() && m.nvlink.size() != gpus * gpus)
        return unsound("NVLink bandwidths", "give one for each two GPUs, or none at all");
    if (!m.latency.empty() && m.latency.size() != nodes * nodes)
        return unsound("latencies", "give one for each two NUMA nodes, or none at all");
    for (std::size_t i = 0; i < gpus && !m.nvlink.empty(); ++i)
        for (std::size_t j = 0; j < i; ++j)
            if (m.nvlink[i * gpus + j] != m.nvlink[j * gpus + i])
                return unsound("NVLink bandwidths", "give the same for both directions");
    return detail::check_names(m);
}

/// The same machine in the order of its names: cores by lowest CPU, nodes by number, GPUs by PCI address; caches and
/// switches are numbered as they come. Two descriptions of one machine that differ in order only become equal.
/// Precondition: `check(m)`. O(n log n), and the matrices.
[[nodiscard]] inline machine in_order(machine m) noexcept {
    for (core& one : m.cores) std::ranges::sort(one.pus);
    auto const nodes = sorted_indices(m.nodes, [](numa_node const& one) { return one.number; });
    auto const cores = sorted_indices(m.cores, [](core const& one) { return one.pus.front(); });
    auto const gpus = sorted_indices(m.gpus, [](gpu const& one) { return one.pci.view(); });
    std::vector<std::uint32_t> new_node(nodes.size());
    for (std::uint32_t i = 0; i < nodes.size(); ++i) new_node[nodes[i]] = i;
    auto const move_node = [&](std::uint32_t& node) { node = node == unknown ? unknown : new_node[node]; };
    auto const renumber = [](std::vector<std::uint32_t>& seen, std::uint32_t& number) {
        if (number == unknown) return;
        auto const at = std::ranges::find(seen, number) - seen.begin();
        if (static_cast<std::size_t>(at) == seen.size()) seen.push_back(number);
        number = static_cast<std::uint32_t>(at);
    };
    m.nvlink = detail::reordered(m.nvlink, gpus);
    m.latency = detail::reordered(m.latency, nodes);
    m.nodes = detail::reordered_list(m.nodes, nodes);
    m.cores = detail::reordered_list(m.cores, cores);
    m.gpus = detail::reordered_list(m.gpus, gpus);
    std::vector<std::uint32_t> caches, switches;
    for (core& one : m.cores) {
        move_node(one.node);
        renumber(caches, one.l3);
    }
    for (gpu& one : m.gpus) {
        move_node(one.node);
        renumber(switches, one.pcie_switch);
    }
    return m;
}

/// The machine with these GPUs and no others, joined by PCI address: `ration::cuda::find_gpus` says which can be handed
/// out, the machine where they are. One that the machine does not know is near nothing and linked to nothing. O(wanted
/// x known), and the matrix.
[[nodiscard]] inline machine with_gpus(machine m, std::span<text<16> const> wanted) noexcept {
    std::vector<gpu> gpus;
    std::vector<std::uint32_t> known;
    for (text<16> const& pci : wanted) {
        auto const found = std::ranges::find(m.gpus, pci, &gpu::pci);
        gpus.push_back(found == m.gpus.end() ? gpu{.pci = pci} : *found);
        known.push_back(found == m.gpus.end() ? unknown : static_cast<std::uint32_t>(found - m.gpus.begin()));
    }
    std::vector<std::uint64_t> links;
    for (std::size_t i = 0; !m.nvlink.empty() && i < known.size(); ++i)
        for (std::uint32_t const other : known)
            links.push_back(known[i] == unknown || other == unknown ? 0 : m.nvlink[known[i] * m.gpus.size() + other]);
    m.gpus = std::move(gpus);
    m.nvlink = std::move(links);
    return m;
}

}  // namespace ration::hwloc
