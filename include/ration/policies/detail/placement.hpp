// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// Placement of devices on nodes, shared by all policies for clusters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ration/buffer.hpp>
#include <ration/detail/sort.hpp>
#include <ration/job.hpp>
#include <ration/policies/detail/free_nodes.hpp>
#include <ration/policy.hpp>

namespace ration::policies::detail {

/// The columns that placement reads, and those that a policy adds.
template <class... More>
using cluster_columns =
    columns<in<std::uint64_t, "jobs/id">, in<std::uint32_t, "jobs/state">, in<std::int64_t, "jobs/held.gpu">,
            in<std::uint64_t, "held/job">, in<std::uint32_t, "held/node">, in<std::uint32_t, "held/resource">,
            in<std::int64_t, "held/amount">, in<std::int64_t, "nodes/capacity.gpu">, in<std::int64_t, "nodes/free.gpu">,
            More...>;

/// The first index in an ascending column whose value is not below `value`; the size if there is
/// none.
[[nodiscard]] inline std::size_t lower_bound(std::span<std::uint64_t const> ascending, std::uint64_t value) noexcept {
    return ration::detail::partition_point(ascending.size(),
                                           [&](std::size_t i) noexcept { return ascending[i] < value; });
}

/// The free devices of the cluster.
struct supply {
    std::int64_t free = 0;      ///< devices, on all nodes together
    bool is_overdrawn = false;  ///< a node has lost devices that jobs hold
};

/// Sums up the free devices. O(nodes).
template <class Tick>
[[nodiscard]] supply supply_of(Tick const& t) noexcept {
    supply s;
    std::int64_t signs = 0;
    for (std::int64_t const f : t.template get<"nodes/free.gpu">()) {
        s.free += f > 0 ? f : 0;
        signs |= f;
    }
    s.is_overdrawn = signs < 0;
    return s;
}

/// The devices of all nodes. O(nodes).
template <class Tick>
[[nodiscard]] std::int64_t capacity_of(Tick const& t) noexcept {
    std::int64_t sum = 0;
    for (std::int64_t const c : t.template get<"nodes/capacity.gpu">()) sum += c > 0 ? c : 0;
    return sum;
}

/// True if no node has another capacity than at the last tick, as far as the host lists that. O(changes).
template <class Tick>
[[nodiscard]] bool has_same_capacity(Tick const& t) noexcept {
    auto const& nodes = t.changes(table_id::nodes);
    std::uint32_t any = 0;
    for (std::size_t i = 0; i < nodes.count; ++i) any |= nodes.groups[i];
    return nodes.everything == 0 && (any & capacity_columns) == 0;
}

/// Places the devices of jobs on nodes, and writes grants for the changes.
///
/// Placement is consolidated. A job gets the node with the least free devices that suffice;
/// otherwise as few nodes as possible, the emptiest first; ties go to the first node. A job that
/// changes keeps as much as possible where it is. `follow` is O(changed nodes); everything else is
/// O(log holdings) for each holding that changes, and O(1) for each node that is not allowed.
class placement {
    static constexpr std::uint32_t untouched = 0xFFFF'FFFF, end = 0xFFFF'FFFE;
    /// The devices of a job on one node, as a list element: before this tick and after it.
    struct place {
        std::uint32_t node, next;
        std::int64_t before, after;
    };
    /// A job whose holdings have been loaded, since they may change.
    struct touched_job {
        std::uint32_t row, first;  // first: of its places, in the order of nodes
        std::int64_t held;
        std::uint16_t reason;
    };

    free_nodes free_;
    row_set planned_;       // nodes whose free devices differ from those of the snapshot
    buffer<place> places_;  // of the touched jobs
    buffer<touched_job> touched_;
    buffer<std::uint32_t> index_;  // by row: into touched_

public:
    /// The node of a learner that does not fit.
    static constexpr std::size_t nowhere = free_nodes::nowhere;
    /// The default for `allowed`: every node.
    static constexpr auto anywhere = [](std::size_t) noexcept { return true; };

    /// Allocates for the largest tables; nothing is allocated later as long as a node has at most
    /// 32 devices.
    void reserve(limits const& most) noexcept {
        resize(most.nodes);
        index_.reserve(most.jobs);
        touched_.reserve(most.jobs);
        places_.reserve((most.jobs < 64 ? most.jobs : 64) * most.nodes);
    }

    /// Forgets the last plan, and reads the free devices of the nodes that have changed. Without a list of changes it
    /// is O(nodes), and so it is with `all`, for a policy that has not followed the last tick.
    template <class Tick>
    void follow(Tick const& t, bool all = false) noexcept {
        for (auto const& job : touched_)
            if (job.row < index_.size()) index_[job.row] = untouched;
        touched_.clear();
        places_.clear();
        if (index_.size() > t.jobs()) index_.resize(t.jobs());
        while (index_.size() < t.jobs()) index_.push_back(untouched);
        auto const free = t.template get<"nodes/free.gpu">();
        auto const& changed = t.changes(table_id::nodes);
        if (changed.everything != 0 || all) {
            if (free_.size() != free.size()) resize(free.size());
            for (std::size_t node = 0; node < free.size(); ++node) free_.set(node, free[node]);
        } else {
            for (std::size_t i = 0; i < changed.count; ++i) free_.set(changed.row[i], free[changed.row[i]]);
        }
        for (std::size_t node = planned_.next(0); node != nowhere; node = planned_.next(node + 1)) {
            free_.set(node, free[node]);
            planned_.set(node, false);
        }
    }

    /// Starts from the present holdings. Devices that a node lost are taken from the jobs there
    /// that arrived last. Precondition: `follow` was called in this tick.
    template <class Tick>
    void start(Tick const& t, std::uint16_t reason_of_loss = 0) noexcept {
        if (free_.is_overdrawn()) take_what_is_lost(t, reason_of_loss);
    }
    /// `follow` and `start`, for policies that do neither between two plans.
    template <class Tick>
    void begin(Tick const& t, std::uint16_t reason_of_loss = 0) noexcept {
        follow(t);
        start(t, reason_of_loss);
    }

    /// The free devices on all nodes.
    [[nodiscard]] std::int64_t spare() const noexcept { return free_.sum(); }
    /// True if a node has lost devices that jobs hold.
    [[nodiscard]] bool is_overdrawn() const noexcept { return free_.is_overdrawn(); }
    /// The free devices of a node; negative if it has lost devices that are held.
    [[nodiscard]] std::int64_t free(std::size_t node) const noexcept { return free_[node]; }
    /// The devices that the job holds after the changes so far.
    template <class Tick>
    [[nodiscard]] std::int64_t held(Tick const& t, std::size_t row) const noexcept {
        return index_[row] == untouched ? t.template get<"jobs/held.gpu">()[row] : touched_[index_[row]].held;
    }
    /// The number of changed jobs. After `begin` these are the jobs that lost devices with their
    /// nodes.
    [[nodiscard]] std::size_t touched() const noexcept { return touched_.size(); }
    /// The row of the i-th of them.
    [[nodiscard]] std::uint32_t touched_row(std::size_t i) const noexcept { return touched_[i].row; }

    /// Sets the devices of a job to `amount`; further ones come from nodes that are `allowed`. It
    /// gets less only if these do not suffice.
    template <class Tick, class Allowed = decltype(anywhere)>
    void resize(Tick const& t, std::size_t row, std::int64_t amount, std::uint16_t reason,
                Allowed const& allowed = anywhere) noexcept {
        touched_job& job = open(t, row);
        if (job.held == amount) return;
        job.reason = reason;
        if (amount < job.held) shrink(job, job.held - amount);
        if (amount > job.held) grow(job, amount - job.held, allowed);
    }

    /// Gives the job `amount` more devices on this node. Precondition: they are free.
    template <class Tick>
    void put(Tick const& t, std::size_t row, std::size_t node, std::int64_t amount, std::uint16_t reason) noexcept {
        touched_job& job = open(t, row);
        job.reason = reason;
        add(job, static_cast<std::uint32_t>(node), amount);
    }

    /// The allowed node with the least free devices, but at least `amount`; `nowhere` if there is
    /// none.
    template <class Allowed = decltype(anywhere)>
    [[nodiscard]] std::size_t tightest(std::int64_t amount, Allowed const& allowed = anywhere) const noexcept {
        return free_.tightest(amount, allowed);
    }
    /// The allowed node with the most free devices; `nowhere` if none has any.
    template <class Allowed = decltype(anywhere)>
    [[nodiscard]] std::size_t emptiest(Allowed const& allowed = anywhere) const noexcept {
        return free_.emptiest(allowed);
    }

    /// Writes the changes, in the order of jobs and nodes.
    [[nodiscard]] status finish(grants& out) noexcept {
        ration::detail::sort(touched_.data(), touched_.size(),
                             [](touched_job const& a, touched_job const& b) { return a.row < b.row; });
        for (auto const& job : touched_)
            for (std::uint32_t i = job.first; i != end; i = places_[i].next) {
                place const& p = places_[i];
                if (p.before != p.after && !out.set(job.row, p.node, resource_id::gpu, p.after, job.reason))
                    return status::capacity;
            }
        return status::ok;
    }

private:
    void resize(std::size_t nodes) noexcept {
        free_.reset(nodes);
        planned_.reset(nodes);
    }
    /// The job with its present holdings, loaded at the first use.
    template <class Tick>
    [[nodiscard]] touched_job& open(Tick const& t, std::size_t row) noexcept {
        if (index_[row] != untouched) return touched_[index_[row]];
        index_[row] = static_cast<std::uint32_t>(touched_.size());
        touched_job job{.row = static_cast<std::uint32_t>(row), .first = end, .held = 0, .reason = 0};
        if (t.template get<"jobs/held.gpu">()[row] > 0) load(t, job);
        touched_.push_back(job);
        return touched_.back();
    }
    /// Reads the holdings of a job from the table `held`, which is sorted by job and node.
    template <class Tick>
    void load(Tick const& t, touched_job& job) noexcept {
        auto const owner = t.template get<"held/job">();
        auto const node = t.template get<"held/node">(), resource = t.template get<"held/resource">();
        auto const amount = t.template get<"held/amount">();
        std::uint64_t const id = t.template get<"jobs/id">()[job.row];
        std::uint32_t last = end;
        for (std::size_t i = lower_bound(owner, id); i < owner.size() && owner[i] == id; ++i) {
            if (resource[i] != static_cast<std::uint32_t>(resource_id::gpu) || node[i] >= free_.size() ||
                amount[i] <= 0)
                continue;
            auto const here = static_cast<std::uint32_t>(places_.size());
            places_.push_back({node[i], end, amount[i], amount[i]});
            (last == end ? job.first : places_[last].next) = here;
            last = here;
            job.held += amount[i];
        }
    }

    /// Changes a holding, and the free devices of its node.
    void change(touched_job& job, place& p, std::int64_t by) noexcept {
        p.after += by;
        job.held += by;
        free_.set(p.node, free_[p.node] - by);
        planned_.set(p.node, true);
    }

    /// Adds devices on a node; the list of holdings stays sorted by node.
    void add(touched_job& job, std::uint32_t node, std::int64_t amount) noexcept {
        std::uint32_t former = end, here = job.first;
        while (here != end && places_[here].node < node) {
            former = here;
            here = places_[here].next;
        }
        if (here == end || places_[here].node != node) {
            auto const fresh = static_cast<std::uint32_t>(places_.size());
            places_.push_back({node, here, 0, 0});
            (former == end ? job.first : places_[former].next) = fresh;
            here = fresh;
        }
        change(job, places_[here], amount);
    }

    /// Releases the smallest holdings first, so that the rest is on few nodes.
    void shrink(touched_job& job, std::int64_t by) noexcept {
        while (by > 0) {
            place* smallest = nullptr;
            for (std::uint32_t i = job.first; i != end; i = places_[i].next)
                if (places_[i].after > 0 && (smallest == nullptr || places_[i].after <= smallest->after))
                    smallest = &places_[i];
            if (smallest == nullptr) return;
            std::int64_t const amount = smallest->after < by ? smallest->after : by;
            change(job, *smallest, -amount);
            by -= amount;
        }
    }

    /// Takes devices first on the job's own nodes, then on others.
    template <class Allowed>
    void grow(touched_job& job, std::int64_t by, Allowed const& allowed) noexcept {
        for (place* own = tightest_own(job, by, allowed); own != nullptr && by > 0;
             own = tightest_own(job, by, allowed)) {
            std::int64_t const amount = free_[own->node] < by ? free_[own->node] : by;
            change(job, *own, amount);
            by -= amount;
        }
        if (by > 0) static_cast<void>(fill(job, by, allowed));
    }
    /// Of the job's own allowed nodes with free devices, the one with the least that suffice for `amount`, or else the
    /// one with the most; nullptr if none has any.
    template <class Allowed>
    [[nodiscard]] place* tightest_own(touched_job const& job, std::int64_t amount, Allowed const& allowed) noexcept {
        place* best = nullptr;
        for (std::uint32_t i = job.first; i != end; i = places_[i].next) {
            std::int64_t const free = free_[places_[i].node], found = best == nullptr ? 0 : free_[best->node];
            if (places_[i].after <= 0 || free <= 0 || !allowed(places_[i].node)) continue;
            bool const is_better = found < amount ? free > found : free >= amount && free < found;
            if (is_better) best = &places_[i];
        }
        return best;
    }
    /// Takes devices on allowed nodes. Returns the number that did not fit.
    template <class Allowed>
    [[nodiscard]] std::int64_t fill(touched_job& job, std::int64_t by, Allowed const& allowed) noexcept {
        while (by > 0) {
            std::size_t node = tightest(by, allowed);
            // No node has enough: take as much as possible from one, then continue.
            if (node == nowhere) node = emptiest(allowed);
            if (node == nowhere) break;
            std::int64_t const amount = free_[node] < by ? free_[node] : by;
            add(job, static_cast<std::uint32_t>(node), amount);
            by -= amount;
        }
        return by;
    }

    /// Takes the devices that nodes have lost from their jobs, the last job first.
    template <class Tick>
    void take_what_is_lost(Tick const& t, std::uint16_t reason) noexcept {
        auto const owner = t.template get<"held/job">();
        auto const ids = t.template get<"jobs/id">();
        auto const node = t.template get<"held/node">(), resource = t.template get<"held/resource">();
        for (std::size_t i = owner.size(); i-- > 0;) {
            if (resource[i] != static_cast<std::uint32_t>(resource_id::gpu) || node[i] >= free_.size() ||
                free_[node[i]] >= 0)
                continue;
            std::size_t const row = lower_bound(ids, owner[i]);
            if (row == ids.size() || ids[row] != owner[i]) continue;
            touched_job& job = open(t, row);
            job.reason = reason;
            for (std::uint32_t p = job.first; p != end; p = places_[p].next) {
                if (places_[p].node != node[i]) continue;
                std::int64_t const lost = places_[p].after < -free_[node[i]] ? places_[p].after : -free_[node[i]];
                change(job, places_[p], -lost);
                break;
            }
        }
    }
};

}  // namespace ration::policies::detail
