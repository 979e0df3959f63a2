// SPDX-License-Identifier: BSL-1.0
/// The parts of a machine and their distances, as plain data; this header does not need hwloc.
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

/// An index that does not exist, or is unknown.
inline constexpr std::uint32_t unknown = ~std::uint32_t{0};

/// The kind of a memory node.
enum class memory_kind : std::uint8_t {
    normal,          ///< used by programs by default
    high_bandwidth,  ///< HBM or MCDRAM beside the normal memory of the same cores
    without_cpus,    ///< memory that belongs to no core: behind CXL, non-volatile, or a GPU's
};

/// One memory node.
struct numa_node {
    std::uint32_t number = 0;         ///< the kernel's number
    std::uint32_t package = unknown;  ///< its package; unknown if it belongs to several
    /// Its size.
    bytes memory{0};
    /// Only normal memory is given to jobs.
    memory_kind kind = memory_kind::normal;
};

/// One core with its hardware threads.
struct core {
    /// Its package.
    std::uint32_t package = 0;
    std::uint32_t node = unknown;      ///< index of its normal memory
    std::uint32_t l3 = unknown;        ///< cores with the same number share an L3 cache
    std::uint32_t kind = 0;            ///< 0 if all cores are alike; otherwise faster kinds have higher numbers
    std::vector<std::uint32_t> pus{};  ///< the kernel's CPU numbers
};

/// One GPU.
struct gpu {
    text<16> pci{};  ///< domain:bus:device.function, as ration::cuda names it
    std::uint32_t package = unknown;
    std::uint32_t node = unknown;         ///< index of the nearest node; unknown if several are equally near
    std::uint32_t pcie_switch = unknown;  ///< GPUs with the same number are below the same root port
};

/// One machine. The order of the lists has no meaning: CPU numbers, node numbers and PCI addresses
/// are the names.
struct machine {
    /// Its name, for reports.
    text<64> name{};
    /// The memory nodes, of all kinds.
    std::vector<numa_node> nodes{};
    /// The cores; at least one.
    std::vector<core> cores{};
    /// The GPUs, including those that are in use.
    std::vector<gpu> gpus{};
    /// MB/s between two GPUs, GPUs x GPUs, symmetric; 0 without a link. Empty if no two have a link
    std::vector<std::uint64_t> nvlink{};
    std::vector<std::uint32_t>
        latency{};  ///< nodes x nodes from the firmware, 10 = local; empty if it does not report them
};

/// The indices of `to_sort` in the order of `key`. No two elements may have the same key.
template <class T, class Key>
[[nodiscard]] std::vector<std::uint32_t> sorted_indices(std::vector<T> const& to_sort, Key key) noexcept {
    std::vector<std::uint32_t> order(to_sort.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::sort(order, {}, [&](std::uint32_t i) { return key(to_sort[i]); });
    return order;
}

/// CPU or node numbers in the kernel's notation: `0-3,8`. `numbers` ascend.
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

/// `list` in another order.
template <class T>
[[nodiscard]] std::vector<T> reordered_list(std::vector<T> const& list, std::span<std::uint32_t const> order) noexcept {
    std::vector<T> out;
    out.reserve(list.size());
    for (std::uint32_t const i : order) out.push_back(list[i]);
    return out;
}

/// An error about a description.
[[nodiscard]] inline error unsound(std::string_view subject, char const* remedy) noexcept {
    return {
        .code = errc::invalid_value, .operation = "read a machine's topology", .subject = subject, .remedy = remedy};
}

/// Checks that no CPU number, node number or PCI address is repeated.
[[nodiscard]] inline result<void> check_names(machine const& m) noexcept {
    std::vector<std::uint32_t> pus, nodes;
    std::vector<std::string_view> gpus;
    for (core const& one : m.cores) pus.insert(pus.end(), one.pus.begin(), one.pus.end());
    nodes.reserve(m.nodes.size());
    for (numa_node const& one : m.nodes) nodes.push_back(one.number);
    gpus.reserve(m.gpus.size());
    for (gpu const& one : m.gpus) gpus.push_back(one.pci.view());
    auto const twice = [](auto& list) {
        std::ranges::sort(list);
        return std::ranges::adjacent_find(list) != list.end();
    };
    if (twice(pus)) return unsound("CPUs", "give each CPU to one core");
    if (twice(nodes)) return unsound("NUMA nodes", "give each NUMA node a unique number");
    if (twice(gpus)) return unsound("GPUs", "give each GPU a unique PCI address");
    return {};
}

}  // namespace detail

/// Checks that indices and sizes fit, and that no name is repeated. Error: `invalid_value`. O(n log
/// n) in CPUs, and the matrices.
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
    // The choice of GPUs assumes a symmetric matrix.
    for (std::size_t i = 0; i < gpus && !m.nvlink.empty(); ++i)
        for (std::size_t j = 0; j < i; ++j)
            if (m.nvlink[i * gpus + j] != m.nvlink[j * gpus + i])
                return unsound("NVLink bandwidths", "give the same for both directions");
    return detail::check_names(m);
}

/// The same machine in the order of its names: cores by lowest CPU, nodes by number, GPUs by PCI
/// address; caches and switches are numbered in that order. Descriptions of one machine that differ
/// only in order become equal. Precondition: `check(m)` succeeded. O(n log n), and the matrices.
[[nodiscard]] inline machine in_order(machine m) noexcept {
    for (core& one : m.cores) std::ranges::sort(one.pus);
    auto const nodes = sorted_indices(m.nodes, [](numa_node const& one) { return one.number; });
    auto const cores = sorted_indices(m.cores, [](core const& one) { return one.pus.front(); });
    auto const gpus = sorted_indices(m.gpus, [](gpu const& one) { return one.pci.view(); });
    std::vector<std::uint32_t> new_node(nodes.size());
    for (std::uint32_t i = 0; i < nodes.size(); ++i) new_node[nodes[i]] = i;
    auto const move_node = [&](std::uint32_t& node) { node = node == unknown ? unknown : new_node[node]; };
    // Caches and switches have no names of their own: they get numbers by their first core or GPU.
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

/// The machine with these GPUs only, joined by PCI address. `ration::cuda::find_gpus` reports which
/// GPUs can be allocated, and the machine reports where they are. A GPU that the machine lacks gets
/// no place and no links. O(wanted x known), and the matrix.
[[nodiscard]] inline machine with_gpus(machine m, std::span<text<16> const> wanted) noexcept {
    std::vector<gpu> gpus;
    std::vector<std::uint32_t> known;
    for (text<16> const& pci : wanted) {
        auto const found = std::ranges::find(m.gpus, pci, &gpu::pci);
        // An unknown GPU can still be allocated, without a preference for its place.
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
