// SPDX-License-Identifier: BSL-1.0
/// The choice of cores: a score of sets of cores that is a strict total order, and a search for the
/// best set. Cores are counted in domains: cores of one kind under one L3 cache and one NUMA node.
/// Cores of a domain are alike, and the lowest free ones are used.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <ration/hwloc/topology.hpp>

namespace ration::hwloc {

/// Cores that are alike.
struct core_domain {
    std::uint32_t package = 0, node = unknown, l3 = unknown, kind = 0;
    std::vector<std::uint32_t> cores{};  ///< indices, ascending
};

/// The quality of a set of cores for one job, most important first; less is better.
struct core_score {
    /// Kinds of cores: threads that wait for each other run at the speed of the slowest
    std::int64_t kinds = 0;
    std::int64_t slowness = 0;  ///< sum over all cores of the number of faster kinds
    std::int64_t distance = 0;  ///< sum over all cores of the latency to the GPUs' node beyond the local one
    std::int64_t packages = 0;
    std::int64_t nodes = 0;
    std::int64_t spread = 0;       ///< sum over all pairs of cores of their distance
    std::int64_t beside_gpus = 0;  ///< for a job without GPUs: cores near GPUs, once for each GPU
    std::int64_t domains = 0;
    std::int64_t broken_domains = 0;  ///< domains that were entirely free and are only partly used
    std::int64_t left_over = 0;       ///< free cores that remain in the used domains

    friend auto operator<=>(core_score const&, core_score const&) noexcept = default;
};

/// Number of cores of each domain, with the score. Different choices are never equal: with equal
/// scores, the one with more cores of the first domain comes first.
struct core_choice {
    core_score score{};
    std::vector<std::uint32_t> take{};

    friend auto operator<=>(core_choice const& a, core_choice const& b) noexcept {
        auto const by_score = a.score <=> b.score;
        return by_score != 0 ? by_score : b.take <=> a.take;
    }
};

/// The location of a job's GPUs: a node; only a package, if they are equally near to several of its
/// nodes; or unknown.
struct core_home {
    std::uint32_t package = unknown, node = unknown;

    friend auto operator<=>(core_home const&, core_home const&) noexcept = default;
};

/// The domains of a machine `in_order`, by their first cores, and their distances.
class core_map {
    std::vector<core_domain> domains_;
    std::vector<std::uint32_t> domain_of_;    // of each core
    std::vector<std::uint32_t> apart_;        // domains x domains
    std::vector<std::uint32_t> gpus_beside_;  // of each domain: GPUs at its place
    std::vector<std::uint32_t> latency_;      // nodes x nodes
    std::size_t nodes_;
    std::uint32_t fastest_ = 0;

public:
    /// Builds the domains. Without latencies from the firmware, usual values are assumed.
    explicit core_map(machine const& m) noexcept : latency_(m.latency), nodes_(m.nodes.size()) {
        for (std::uint32_t i = 0; i < m.cores.size(); ++i) add(m.cores[i], i);
        if (latency_.empty())
            for (numa_node const& a : m.nodes)
                for (numa_node const& b : m.nodes) latency_.push_back(&a == &b ? 10 : a.package == b.package ? 12 : 20);
        for (core_domain const& a : domains_) {
            fastest_ = std::max(fastest_, a.kind);
            auto const is_beside = [&a](gpu const& one) {
                return one.node != unknown ? one.node == a.node : one.package == a.package;
            };
            gpus_beside_.push_back(static_cast<std::uint32_t>(std::ranges::count_if(m.gpus, is_beside)));
            for (core_domain const& b : domains_)
                // Memory latency weighs more than the package, and the package more than the
                // cache.
                apart_.push_back(4 * beyond_local(a.node, b.node) + (a.package != b.package ? 2 : 0) +
                                 (a.l3 != b.l3 ? 1 : 0));
        }
    }

    /// The domains.
    [[nodiscard]] std::span<core_domain const> domains() const noexcept { return domains_; }
    /// The domain of a core.
    [[nodiscard]] std::uint32_t domain_of(std::uint32_t core) const noexcept { return domain_of_[core]; }
    /// The distance of two domains; 0 for the same one.
    [[nodiscard]] std::uint32_t apart(std::size_t a, std::size_t b) const noexcept {
        return apart_[a * domains_.size() + b];
    }
    /// The number of GPUs near a domain.
    [[nodiscard]] std::uint32_t gpus_beside(std::size_t domain) const noexcept { return gpus_beside_[domain]; }
    /// The number of kinds that are faster than that of the domain.
    [[nodiscard]] std::uint32_t slowness(std::size_t domain) const noexcept { return fastest_ - domains_[domain].kind; }

    /// The latency of memory on `to`, seen from `from`, beyond the local one; 0 if one is unknown.
    [[nodiscard]] std::uint32_t beyond_local(std::uint32_t from, std::uint32_t to) const noexcept {
        if (from == unknown || to == unknown) return 0;
        auto const local = latency_[from * nodes_ + from], there = latency_[from * nodes_ + to];
        return there > local ? there - local : 0;
    }

    /// The distance of a domain from a location of GPUs.
    [[nodiscard]] std::uint32_t from_home(core_home const& home, std::size_t domain) const noexcept {
        core_domain const& at = domains_[domain];
        if (home.node != unknown) return beyond_local(home.node, at.node);
        return home.package == unknown || home.package == at.package ? 0 : 10;
    }

private:
    void add(core const& one, std::uint32_t index) noexcept {
        auto const same = [&one](core_domain const& d) {
            return d.package == one.package && d.node == one.node && d.l3 == one.l3 && d.kind == one.kind;
        };
        auto found = std::ranges::find_if(domains_, same);
        if (found == domains_.end()) {
            domains_.push_back({.package = one.package, .node = one.node, .l3 = one.l3, .kind = one.kind});
            found = domains_.end() - 1;
        }
        found->cores.push_back(index);
        domain_of_.push_back(static_cast<std::uint32_t>(found - domains_.begin()));
    }
};

/// Chooses the number of cores of each domain, in one state of the machine. `free` and `own` are,
/// for each domain, the free cores and the cores of the job.
class core_chooser {
    core_map const& map_;
    std::vector<std::uint32_t> const &free_, &own_;
    bool has_gpus_;

public:
    /// All arguments have to outlive the object.
    core_chooser(core_map const& map, std::vector<std::uint32_t> const& free, std::vector<std::uint32_t> const& own,
                 bool has_gpus) noexcept
        : map_(map), free_(free), own_(own), has_gpus_(has_gpus) {}

    /// The score of `take` more cores, together with those that the job has. O(domains used ^ 2).
    [[nodiscard]] core_score score(core_home const& home, std::span<std::uint32_t const> take) const noexcept {
        core_score out;
        auto const domains = map_.domains();
        std::vector<std::uint32_t> used;
        for (std::uint32_t d = 0; d < domains.size(); ++d) {
            if (take[d] + own_[d] == 0) continue;
            auto const is_new = [&](auto field) {
                return std::ranges::none_of(used,
                                            [&](std::uint32_t e) { return domains[e].*field == domains[d].*field; });
            };
            std::int64_t const all = take[d] + own_[d];
            out.kinds += is_new(&core_domain::kind);
            out.packages += is_new(&core_domain::package);
            out.nodes += is_new(&core_domain::node);
            for (std::uint32_t const e : used) out.spread += all * (take[e] + own_[e]) * map_.apart(d, e);
            used.push_back(d);
            // Cores that the job has already cannot be improved, so only new ones count from here
            // on.
            if (take[d] == 0) continue;
            out.slowness += std::int64_t{take[d]} * map_.slowness(d);
            out.distance += std::int64_t{take[d]} * map_.from_home(home, d);
            out.beside_gpus += has_gpus_ ? 0 : std::int64_t{take[d]} * map_.gpus_beside(d);
            out.domains += own_[d] == 0;
            out.broken_domains += free_[d] == domains[d].cores.size() && take[d] < free_[d];
            out.left_over += free_[d] - take[d];
        }
        return out;
    }

    /// Chooses `count` more cores. It compares the choices that start in each domain and continue
    /// with the one that fits best. Precondition: there are that many free cores. O(domains^2) if
    /// few domains are enough.
    [[nodiscard]] std::vector<std::uint32_t> grow(core_home const& home, std::uint32_t count) const noexcept {
        core_choice best, next;
        for (std::uint32_t seed = 0; seed < free_.size(); ++seed) {
            if (free_[seed] == 0) continue;
            next.take.assign(free_.size(), 0);
            std::uint32_t left = count;
            // Greedy: each further domain is the best one for what has been chosen so far.
            for (std::uint32_t at = seed; left > 0; at = left > 0 ? next_domain(home, seed, next.take, left) : seed) {
                next.take[at] = std::min(left, free_[at]);
                left -= next.take[at];
            }
            next.score = score(home, next.take);
            if (best.take.empty() || next < best) std::swap(best, next);
        }
        return std::move(best.take);
    }

    /// The domain from which the job should release a core first: slow ones, far from its GPUs, far
    /// from its other cores, with the fewest of its cores, last in order. `has` are its cores in
    /// each domain, not all 0. O(domains^2).
    [[nodiscard]] std::uint32_t give_back(std::span<core_home const> homes,
                                          std::span<std::uint32_t const> has) const noexcept {
        using key = std::array<std::int64_t, 5>;
        std::uint32_t worst = unknown;
        key most{};
        for (std::uint32_t d = 0; d < has.size(); ++d) {
            if (has[d] == 0) continue;
            std::uint32_t home = homes.empty() ? 0 : unknown;
            // A core near any of the GPUs is near enough.
            for (core_home const& one : homes) home = std::min(home, map_.from_home(one, d));
            std::int64_t apart = 0;
            for (std::uint32_t e = 0; e < has.size(); ++e) apart += std::int64_t{has[e]} * map_.apart(d, e);
            key const now{map_.slowness(d), home, apart, -std::int64_t{has[d]}, d};
            if (worst == unknown || now > most) {
                worst = d;
                most = now;
            }
        }
        return worst;
    }

private:
    /// The next domain for a choice: of the same kind, near the GPUs, near the first one; then the
    /// one that just suffices, or otherwise has the most.
    [[nodiscard]] std::uint32_t next_domain(core_home const& home, std::uint32_t seed,
                                            std::span<std::uint32_t const> take, std::uint32_t left) const noexcept {
        using key = std::array<std::int64_t, 8>;
        std::uint32_t best = unknown;
        key least{};
        for (std::uint32_t d = 0; d < free_.size(); ++d) {
            if (free_[d] == 0 || take[d] > 0) continue;
            bool const fits = free_[d] >= left;
            key const now{map_.domains()[d].kind != map_.domains()[seed].kind,
                          map_.slowness(d),
                          map_.from_home(home, d),
                          map_.apart(seed, d) / 2,
                          has_gpus_ ? 0 : map_.gpus_beside(d),
                          !fits,
                          fits ? std::int64_t{free_[d]} : -std::int64_t{free_[d]},
                          d};
            if (best == unknown || now < least) {
                best = d;
                least = now;
            }
        }
        return best;
    }
};

}  // namespace ration::hwloc
