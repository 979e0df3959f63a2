// SPDX-License-Identifier: BSL-1.0
/// The placement of jobs on one machine: cores, memory and GPUs.
///
/// Used by `ration run` on machines with a topology. reader.hpp provides the machine, and
/// explain.hpp the reasons.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <span>
#include <utility>
#include <vector>

#include <ration/hwloc/detail/core_choice.hpp>
#include <ration/hwloc/detail/gpu_choice.hpp>
#include <ration/hwloc/topology.hpp>
#include <ration/result.hpp>

namespace ration::hwloc {

/// The request of a job. Zero of both releases everything.
struct request {
    /// Numbers of cores and of GPUs; GPUs need at least one core.
    std::uint32_t cores = 0, gpus = 0;
};

/// Cores and GPUs of a job, as indices into `placer::where()`, ascending.
struct holding {
    /// Indices, ascending and without duplicates.
    std::vector<std::uint32_t> cores{}, gpus{};

    friend bool operator==(holding const&, holding const&) noexcept = default;
};

/// The result of a placement.
struct placement {
    /// The devices and cores that the job holds from now on.
    holding now{};
    std::vector<std::uint32_t> cpus{};    ///< the kernel's numbers, ascending, for cpuset.cpus
    std::vector<std::uint32_t> memory{};  ///< numbers of NUMA nodes, ascending, for cpuset.mems

    friend bool operator==(placement const&, placement const&) noexcept = default;
};

/// The cores and GPUs of a machine that other jobs hold.
class occupied {
    std::vector<std::uint8_t> cores_, gpus_;

public:
    /// Nothing is held.
    explicit occupied(machine const& of) noexcept : cores_(of.cores.size()), gpus_(of.gpus.size()) {}

    /// Adds the holding of a job.
    void add(holding const& more) noexcept { mark(more, 1); }
    /// Removes the holding of a job.
    void remove(holding const& less) noexcept { mark(less, 0); }
    /// True if the core is held.
    [[nodiscard]] bool core(std::uint32_t index) const noexcept { return cores_[index] != 0; }
    /// True if the GPU is held.
    [[nodiscard]] bool gpu(std::uint32_t index) const noexcept { return gpus_[index] != 0; }

private:
    void mark(holding const& what, std::uint8_t as) noexcept {
        for (std::uint32_t const i : what.cores) cores_[i] = as;
        for (std::uint32_t const i : what.gpus) gpus_[i] = as;
    }
};

/// Places jobs on one machine. A job keeps its holding unless it shrinks, or others have taken it.
/// New cores and GPUs are as near to its GPUs, and to each other, as possible, and no cache or PCIe
/// switch is divided if another choice avoids it. The result depends only on the machine, the
/// holdings and the request, and not on the order in which the machine was described.
class placer {
    machine machine_;
    core_map map_;

    explicit placer(machine of) noexcept : machine_(in_order(std::move(of))), map_(machine_) {}

public:
    /// A placer for this machine. Error: `invalid_value` (the description contradicts itself).
    [[nodiscard]] static result<placer> of(machine of) noexcept {
        if (auto const sound = check(of); !sound) return sound.failure();
        return placer(std::move(of));
    }

    /// The machine `in_order`, to which the indices of holdings refer.
    [[nodiscard]] machine const& where() const noexcept { return machine_; }
    /// Its core domains.
    [[nodiscard]] core_map const& map() const noexcept { return map_; }

    /// The holding of a job by names: after a restart, or on a changed machine. A core counts if
    /// one of its CPUs does; unknown names are ignored.
    [[nodiscard]] holding reattach(std::span<std::uint32_t const> cpus, std::span<text<16> const> gpus) const noexcept {
        holding out;
        auto const is_named = [&cpus](std::uint32_t pu) { return std::ranges::find(cpus, pu) != cpus.end(); };
        for (std::uint32_t i = 0; i < machine_.cores.size(); ++i)
            if (std::ranges::any_of(machine_.cores[i].pus, is_named)) out.cores.push_back(i);
        for (std::uint32_t i = 0; i < machine_.gpus.size(); ++i)
            if (std::ranges::find(gpus, machine_.gpus[i].pci) != gpus.end()) out.gpus.push_back(i);
        return out;
    }

    /// Places a job that holds `has` and requests `wanted`, beside `others`. Errors:
    /// `invalid_value` (GPUs without a core), `no_capacity` (too few are free). O(GPUs^2 wanted +
    /// domains^2 + cores).
    [[nodiscard]] result<placement> place(request const& wanted, holding const& has,
                                          occupied const& others) const noexcept {
        holding const kept = still_there(has, others);
        if (auto const fits = check_room(wanted, others); !fits) return fits.failure();
        placement out;
        out.now.gpus = choose_gpus(wanted, kept, others);
        out.now.cores = choose_cores(wanted.cores, out.now.gpus, kept.cores, others);
        for (std::uint32_t const i : out.now.cores)
            out.cpus.insert(out.cpus.end(), machine_.cores[i].pus.begin(), machine_.cores[i].pus.end());
        std::ranges::sort(out.cpus);
        out.memory = memory_of(out.now.cores);
        return out;
    }

    /// The locations of these GPUs, ascending.
    [[nodiscard]] std::vector<core_home> homes_of(std::span<std::uint32_t const> gpus) const noexcept {
        std::vector<core_home> out;
        for (std::uint32_t const i : gpus) out.push_back(home_of(i));
        std::ranges::sort(out);
        out.erase(std::ranges::unique(out).begin(), out.end());
        return out;
    }

private:
    /// The location of one GPU.
    [[nodiscard]] core_home home_of(std::uint32_t gpu) const noexcept {
        return {.package = machine_.gpus[gpu].package, .node = machine_.gpus[gpu].node};
    }

    /// The part of a holding that still exists and that no other job has taken.
    [[nodiscard]] holding still_there(holding const& has, occupied const& others) const noexcept {
        holding out;
        for (std::uint32_t const i : has.cores)
            if (i < machine_.cores.size() && !others.core(i)) out.cores.push_back(i);
        for (std::uint32_t const i : has.gpus)
            if (i < machine_.gpus.size() && !others.gpu(i)) out.gpus.push_back(i);
        return out;
    }

    /// Tests the request against the free cores and GPUs.
    [[nodiscard]] result<void> check_room(request const& wanted, occupied const& others) const noexcept {
        std::size_t cores = 0, gpus = 0;
        for (std::uint32_t i = 0; i < machine_.cores.size(); ++i) cores += others.core(i) ? 0 : 1;
        for (std::uint32_t i = 0; i < machine_.gpus.size(); ++i) gpus += others.gpu(i) ? 0 : 1;
        std::array<char, 112> text{};
        auto const fault = [&](errc code, char const* remedy) {
            return error{.code = code, .operation = "place a job", .subject = text.data(), .remedy = remedy};
        };
        std::snprintf(text.data(), text.size(), "%u cores and %u GPUs where %zu and %zu can be had", wanted.cores,
                      wanted.gpus, cores, gpus);
        if (wanted.cores == 0 && wanted.gpus > 0)
            return fault(errc::invalid_value, "ask for one core at least beside GPUs");
        if (wanted.cores > cores || wanted.gpus > gpus)
            return fault(errc::no_capacity, "ask for less, or wait until others give something back");
        return {};
    }

    /// Chooses the GPUs.
    [[nodiscard]] std::vector<std::uint32_t> choose_gpus(request const& wanted, holding const& kept,
                                                         occupied const& others) const noexcept {
        gpu_market market{.free = std::vector<std::uint8_t>(machine_.gpus.size()),
                          .near_cores = std::vector<std::uint32_t>(machine_.nodes.size()),
                          .cores = wanted.cores};
        for (std::uint32_t i = 0; i < machine_.gpus.size(); ++i) market.free[i] = !others.gpu(i);
        for (std::uint32_t const i : kept.gpus) market.free[i] = 0;
        for (std::uint32_t i = 0; i < machine_.cores.size(); ++i)
            if (machine_.cores[i].node != unknown && !others.core(i)) ++market.near_cores[machine_.cores[i].node];
        gpu_chooser const chooser(machine_, market);
        // A change keeps as many of the job's GPUs as possible: their data are in GPU memory.
        auto const count = static_cast<std::uint32_t>(kept.gpus.size());
        return count > wanted.gpus ? chooser.shrink(kept.gpus, count - wanted.gpus)
                                   : chooser.grow(kept.gpus, wanted.gpus - count);
    }

    /// The cores of each domain while one job is placed: the free ones and its own.
    struct tally {
        std::vector<std::uint32_t> free, own;

        void take(std::span<std::uint32_t const> more) noexcept {
            for (std::size_t d = 0; d < more.size(); ++d) {
                free[d] -= more[d];
                own[d] += more[d];
            }
        }
    };

    /// Chooses the cores.
    [[nodiscard]] std::vector<std::uint32_t> choose_cores(std::uint32_t count, std::span<std::uint32_t const> gpus,
                                                          std::vector<std::uint32_t> const& kept,
                                                          occupied const& others) const noexcept {
        std::size_t const domains = map_.domains().size();
        tally state{.free = std::vector<std::uint32_t>(domains), .own = std::vector<std::uint32_t>(domains)};
        for (std::uint32_t i = 0; i < machine_.cores.size(); ++i)
            state.free[map_.domain_of(i)] += others.core(i) ? 0 : 1;
        for (std::uint32_t const i : kept) {
            --state.free[map_.domain_of(i)];
            ++state.own[map_.domain_of(i)];
        }
        core_chooser const chooser(map_, state.free, state.own, !gpus.empty());
        for (auto have = static_cast<std::uint32_t>(kept.size()); have > count; --have)
            --state.own[chooser.give_back(homes_of(gpus), state.own)];
        if (kept.size() < count) grow_cores(chooser, state, count, gpus);
        return pick(state.own, kept, others);
    }

    /// Divides the cores among the locations of the GPUs, in proportion to their GPUs. Cores that
    /// do not fit at their location are placed as is best for the first one.
    void grow_cores(core_chooser const& chooser, tally& state, std::uint32_t count,
                    std::span<std::uint32_t const> gpus) const noexcept {
        auto const homes = homes_of(gpus);
        std::vector<std::uint32_t> quota(homes.size());
        std::uint32_t left = count, before = 0;
        for (std::uint32_t const own : state.own) left -= own;
        for (std::size_t h = 0; h < homes.size(); ++h) {
            auto const here = before + static_cast<std::uint32_t>(std::ranges::count_if(
                                           gpus, [&](std::uint32_t i) { return home_of(i) == homes[h]; }));
            // Differences of cumulative shares, so that the quotas add up to the count.
            quota[h] = static_cast<std::uint32_t>(std::uint64_t{count} * here / gpus.size() -
                                                  std::uint64_t{count} * before / gpus.size());
            before = here;
        }
        for (std::size_t h = 0; h < homes.size() && homes.size() > 1; ++h) {
            std::uint32_t room = 0, own = 0;
            for (std::size_t d = 0; d < state.free.size(); ++d)
                if (map_.from_home(homes[h], d) == 0) {
                    room += state.free[d];
                    own += state.own[d];
                }
            // Cores that the job has at this location count towards its quota.
            std::uint32_t const more = std::min({left, room, quota[h] - std::min(quota[h], own)});
            if (more > 0) state.take(chooser.grow(homes[h], more));
            left -= more;
        }
        if (left > 0) state.take(chooser.grow(homes.empty() ? core_home{} : homes.front(), left));
    }

    /// In each domain, takes the lowest of the job's own cores, then the lowest free ones.
    [[nodiscard]] std::vector<std::uint32_t> pick(std::span<std::uint32_t const> counts,
                                                  std::vector<std::uint32_t> const& kept,
                                                  occupied const& others) const noexcept {
        std::vector<std::uint32_t> out;
        for (std::size_t d = 0; d < counts.size(); ++d) {
            std::uint32_t left = counts[d];
            auto const take = [&](bool own) {
                for (std::uint32_t const i : map_.domains()[d].cores)
                    if (left > 0 && !others.core(i) && std::ranges::binary_search(kept, i) == own) {
                        out.push_back(i);
                        --left;
                    }
            };
            if (left > 0) take(true);
            if (left > 0) take(false);
        }
        std::ranges::sort(out);
        return out;
    }

    /// The memory nodes of the cores; for a node without memory, the nearest normal node with
    /// memory.
    [[nodiscard]] std::vector<std::uint32_t> memory_of(std::span<std::uint32_t const> cores) const noexcept {
        std::vector<std::uint8_t> used(machine_.nodes.size());
        for (std::uint32_t const i : cores)
            if (machine_.cores[i].node != unknown) used[machine_.cores[i].node] = 1;
        std::vector<std::uint32_t> out;
        for (std::uint32_t from = 0; from < used.size(); ++from) {
            std::uint32_t best = unknown;
            for (std::uint32_t to = 0; used[from] != 0 && to < used.size(); ++to) {
                numa_node const& there = machine_.nodes[to];
                // cpuset.mems must not contain a node without memory.
                if (there.kind != memory_kind::normal || there.memory.count <= 0) continue;
                if (best == unknown || map_.beyond_local(from, to) < map_.beyond_local(from, best)) best = to;
            }
            if (best != unknown) out.push_back(machine_.nodes[best].number);
        }
        std::ranges::sort(out);
        out.erase(std::ranges::unique(out).begin(), out.end());
        return out;
    }
};

}  // namespace ration::hwloc
