// SPDX-License-Identifier: BSL-1.0
/// The choice of GPUs: a score of sets of GPUs that is a strict total order, and a search for the
/// best set.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <ration/hwloc/topology.hpp>

namespace ration::hwloc {

/// The quality of a set of GPUs for one job, most important first; less is better.
struct gpu_score {
    /// Minus the MB/s of the slowest NVLink that connects the set; 0 if it is not connected by
    /// NVLink
    std::int64_t weakest_link = 0;
    std::int64_t packages = 0;
    std::int64_t nodes = 0;            ///< NUMA nodes
    std::int64_t far_cores = 0;        ///< cores of the job that do not fit on these nodes
    std::int64_t switches = 0;         ///< PCIe switches
    std::int64_t links = 0;            ///< minus the MB/s of all NVLinks in the set
    std::int64_t broken_switches = 0;  ///< switches that were entirely free and are only partly used
    std::int64_t broken_packages = 0;  ///< the same for packages

    friend auto operator<=>(gpu_score const&, gpu_score const&) noexcept = default;
};

/// A set of GPUs, ascending, with its score. Different sets are never equal: with equal scores, the
/// one with lower PCI addresses comes first.
struct gpu_choice {
    gpu_score score{};
    std::vector<std::uint32_t> gpus{};

    friend auto operator<=>(gpu_choice const&, gpu_choice const&) noexcept = default;
};

/// The state on which a choice depends besides the machine.
struct gpu_market {
    std::vector<std::uint8_t> free;         ///< for each GPU: it is free
    std::vector<std::uint32_t> near_cores;  ///< for each node: cores that the job could have there
    std::uint32_t cores = 0;                ///< cores that it requests
};

/// Scores sets of GPUs of a machine `in_order` in one state. Both have to outlive the object.
class gpu_chooser {
    machine const& machine_;
    gpu_market const& market_;
    std::uint32_t count_;

    struct group {
        std::uint32_t size = 0, free = 0;
    };
    std::vector<group> switches_, packages_;

public:
    /// Counts the free GPUs below each switch and on each package.
    gpu_chooser(machine const& of, gpu_market const& market) noexcept
        : machine_(of), market_(market), count_(static_cast<std::uint32_t>(of.gpus.size())) {
        for (std::uint32_t i = 0; i < count_; ++i) {
            count(switches_, of.gpus[i].pcie_switch, market.free[i] != 0);
            count(packages_, of.gpus[i].package, market.free[i] != 0);
        }
    }

    /// The score of `set`, which ascends. O(n^2) in the set.
    [[nodiscard]] gpu_score score(std::span<std::uint32_t const> set) const noexcept {
        gpu_score out;
        std::int64_t near = 0;
        for (std::size_t i = 0; i < set.size(); ++i) {
            gpu const& one = machine_.gpus[set[i]];
            auto const earlier = set.first(i);
            out.packages += is_new(earlier, one.package, &gpu::package);
            out.switches += is_new(earlier, one.pcie_switch, &gpu::pcie_switch);
            out.broken_switches += is_new(earlier, one.pcie_switch, &gpu::pcie_switch) &&
                                   breaks(switches_, set, one.pcie_switch, &gpu::pcie_switch);
            out.broken_packages +=
                is_new(earlier, one.package, &gpu::package) && breaks(packages_, set, one.package, &gpu::package);
            for (std::uint32_t const other : earlier) out.links -= static_cast<std::int64_t>(link(set[i], other));
            if (!is_new(earlier, one.node, &gpu::node)) continue;
            ++out.nodes;
            near += one.node != unknown ? market_.near_cores[one.node] : market_.cores;
        }
        // A GPU with an unknown node counts as near to all cores.
        out.far_cores = std::max<std::int64_t>(0, market_.cores - near);
        out.weakest_link = weakest_link(set);
        return out;
    }

    /// Extends `keep` by `more` free GPUs. It compares the sets that grow from `keep` and each free
    /// GPU by the nearest next one. Precondition: there are that many free GPUs. O(more x free^2 +
    /// free x set^2).
    [[nodiscard]] std::vector<std::uint32_t> grow(std::vector<std::uint32_t> const& keep,
                                                  std::uint32_t more) const noexcept {
        if (more == 0) return keep;
        gpu_choice best, next;
        for (std::uint32_t seed = 0; seed < count_; ++seed) {
            if (market_.free[seed] == 0) continue;
            next.gpus = keep;
            next.gpus.push_back(seed);
            while (next.gpus.size() < keep.size() + more) next.gpus.push_back(nearest(next.gpus));
            std::ranges::sort(next.gpus);
            next.score = score(next.gpus);
            // The order is total, so the result does not depend on the order of the seeds.
            if (best.gpus.empty() || next < best) std::swap(best, next);
        }
        return std::move(best.gpus);
    }

    /// Removes `fewer` GPUs from `set`, one by one: the one without which the rest is best, and on
    /// a tie the one with the highest address. O(fewer x set^3).
    [[nodiscard]] std::vector<std::uint32_t> shrink(std::vector<std::uint32_t> set,
                                                    std::uint32_t fewer) const noexcept {
        for (; fewer > 0; --fewer) {
            gpu_choice best, next;
            for (std::size_t out = 0; out < set.size(); ++out) {
                next.gpus = set;
                next.gpus.erase(next.gpus.begin() + static_cast<std::ptrdiff_t>(out));
                next.score = score(next.gpus);
                // Removing one by one is not optimal, but releases as little as possible at each
                // step.
                if (out == 0 || next < best) std::swap(best, next);
            }
            set = std::move(best.gpus);
        }
        return set;
    }

    /// The NVLink bandwidth of two GPUs in MB/s; 0 without a link.
    [[nodiscard]] std::uint64_t link(std::uint32_t a, std::uint32_t b) const noexcept {
        return machine_.nvlink.empty() ? 0 : machine_.nvlink[static_cast<std::size_t>(a) * count_ + b];
    }

private:
    static void count(std::vector<group>& groups, std::uint32_t number, bool free) noexcept {
        if (number == unknown) return;
        if (groups.size() <= number) groups.resize(number + 1);
        ++groups[number].size;
        groups[number].free += free ? 1 : 0;
    }

    /// True if none of `earlier` is in the same group; a GPU with an unknown group has no
    /// neighbours.
    template <class Field>
    [[nodiscard]] bool is_new(std::span<std::uint32_t const> earlier, std::uint32_t number,
                              Field field) const noexcept {
        return number == unknown ||
               std::ranges::none_of(earlier, [&](std::uint32_t i) { return machine_.gpus[i].*field == number; });
    }

    template <class Field>
    /// True if the set uses only a part of a group that was entirely free.
    [[nodiscard]] bool breaks(std::vector<group> const& groups, std::span<std::uint32_t const> set,
                              std::uint32_t number, Field field) const noexcept {
        if (number == unknown || groups[number].free != groups[number].size) return false;
        return std::ranges::count_if(set, [&](std::uint32_t i) { return machine_.gpus[i].*field == number; }) <
               groups[number].size;
    }

    /// Minus the bandwidth of the weakest link in the tree of strongest links over the set (Prim's
    /// algorithm).
    [[nodiscard]] std::int64_t weakest_link(std::span<std::uint32_t const> set) const noexcept {
        if (set.size() < 2 || machine_.nvlink.empty()) return 0;
        std::vector<std::uint64_t> strongest(set.size(), 0);
        std::vector<std::uint8_t> inside(set.size(), 0);
        std::uint64_t weakest = std::numeric_limits<std::int64_t>::max();
        std::size_t last = 0;
        inside[0] = 1;
        for (std::size_t step = 1; step < set.size(); ++step) {
            std::size_t next = 0;
            for (std::size_t i = 1; i < set.size(); ++i) {
                if (inside[i] != 0) continue;
                strongest[i] = std::max(strongest[i], link(set[i], set[last]));
                if (next == 0 || strongest[i] > strongest[next]) next = i;
            }
            inside[next] = 1;
            weakest = std::min(weakest, strongest[next]);
            last = next;
        }
        return -static_cast<std::int64_t>(weakest);
    }

    /// The free GPU that fits best to a set.
    [[nodiscard]] std::uint32_t nearest(std::span<std::uint32_t const> set) const noexcept {
        using key = std::array<std::int64_t, 6>;
        std::uint32_t best = unknown;
        key least{};
        for (std::uint32_t i = 0; i < count_; ++i) {
            if (market_.free[i] == 0 || std::ranges::find(set, i) != set.end()) continue;
            std::uint64_t strongest = 0, all = 0;
            for (std::uint32_t const other : set) {
                strongest = std::max(strongest, link(i, other));
                all += link(i, other);
            }
            gpu const& one = machine_.gpus[i];
            // The same criteria in the same order as the score, for one candidate.
            key const now{-static_cast<std::int64_t>(strongest), is_new(set, one.package, &gpu::package),
                          is_new(set, one.node, &gpu::node),     is_new(set, one.pcie_switch, &gpu::pcie_switch),
                          -static_cast<std::int64_t>(all),       i};
            if (best == unknown || now < least) {
                best = i;
                least = now;
            }
        }
        return best;
    }
};

}  // namespace ration::hwloc
