// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// Placement of devices on nodes, shared by all policies for clusters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ration/job.hpp>
#include <ration/policies/detail/free_nodes.hpp>
#include <ration/policies/detail/planned_holdings.hpp>
#include <ration/policies/detail/row_set.hpp>
#include <ration/policy.hpp>

namespace ration::policies::detail {

/// The columns that placement reads, and those that a policy adds.
template <class... More>
using cluster_columns =
    columns<in<std::uint64_t, "jobs/id">, in<std::uint32_t, "jobs/state">, in<std::int64_t, "jobs/held.gpu">,
            in<std::int64_t, "jobs/min.gpu">, in<std::int64_t, "jobs/max.gpu">, in<std::uint64_t, "held/job">,
            in<std::uint32_t, "held/node">, in<std::uint32_t, "held/resource">, in<std::int64_t, "held/amount">,
            in<std::int64_t, "nodes/capacity.gpu">, in<std::int64_t, "nodes/free.gpu">, More...>;

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
    free_nodes free_;
    row_set planned_;  // nodes whose free devices differ from those of the snapshot
    planned_holdings jobs_;

public:
    /// The node of a learner that does not fit.
    static constexpr std::size_t nowhere = free_nodes::nowhere;
    /// The default for `allowed`: every node.
    static constexpr auto anywhere = [](std::size_t) noexcept { return true; };

    /// Allocates for the largest tables; nothing is allocated later as long as a node has at most
    /// 32 devices.
    void reserve(limits const& most) noexcept {
        resize(most.nodes);
        jobs_.reserve(most);
    }

    /// Forgets the last plan, and reads the free devices of the nodes that have changed. Without a list of changes it
    /// is O(nodes), and so it is with `all`, for a policy that has not followed the last tick.
    template <class Tick>
    void follow(Tick const& t, bool all = false) noexcept {
        jobs_.begin(t.jobs());
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
        return jobs_.held(t, row);
    }
    /// The number of changed jobs. After `begin` these are the jobs that lost devices with their
    /// nodes.
    [[nodiscard]] std::size_t touched() const noexcept { return jobs_.size(); }
    /// The row of the i-th of them.
    [[nodiscard]] std::uint32_t touched_row(std::size_t i) const noexcept { return jobs_[i].row; }

    /// Sets the devices of a job to `amount`; further ones come from nodes that are `allowed`. It
    /// gets less only if these do not suffice.
    template <class Tick, class Allowed = decltype(anywhere)>
    void resize(Tick const& t, std::size_t row, std::int64_t amount, std::uint16_t reason,
                Allowed const& allowed = anywhere) noexcept {
        touched_job& job = jobs_.open(t, row, free_.size());
        if (job.held == amount) return;
        job.reason = reason;
        if (amount < job.held) shrink(job, job.held - amount);
        if (amount > job.held) grow(job, amount - job.held, allowed);
    }

    /// Gives the job `amount` more devices on this node. Precondition: they are free.
    template <class Tick>
    void put(Tick const& t, std::size_t row, std::size_t node, std::int64_t amount, std::uint16_t reason) noexcept {
        touched_job& job = jobs_.open(t, row, free_.size());
        job.reason = reason;
        change(job, jobs_.on(job, static_cast<std::uint32_t>(node)), amount);
    }

    /// Remembers what the job holds now, for `revert`.
    template <class Tick>
    void keep(Tick const& t, std::size_t row) noexcept {
        touched_job& job = jobs_.open(t, row, free_.size());
        job.kept_reason = job.reason;
        for (place* p = jobs_.first(job); p != nullptr; p = jobs_.next(*p)) p->kept = p->after;
    }
    /// Gives the job exactly what it held at `keep`, and the reason of that. Returns false, without an effect, if these
    /// devices are not free.
    bool revert(std::size_t row) noexcept {
        touched_job& job = jobs_.opened(row);
        for (place const* p = jobs_.first(job); p != nullptr; p = jobs_.next(*p))
            if (p->kept > p->after && p->kept - p->after > free_[p->node]) return false;
        for (place* p = jobs_.first(job); p != nullptr; p = jobs_.next(*p)) change(job, *p, p->kept - p->after);
        job.reason = job.kept_reason;
        return true;
    }
    /// Another reason for the grants of a job that has been changed.
    void explain(std::size_t row, std::uint16_t reason) noexcept { jobs_.opened(row).reason = reason; }

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
    template <class Tick>
    [[nodiscard]] status finish(Tick const& t, grants& out) noexcept {
        return jobs_.finish(t, out);
    }

private:
    void resize(std::size_t nodes) noexcept {
        free_.reset(nodes);
        planned_.reset(nodes);
    }
    /// Changes a holding, and the free devices of its node.
    void change(touched_job& job, place& p, std::int64_t by) noexcept {
        p.after += by;
        job.held += by;
        free_.set(p.node, free_[p.node] - by);
        planned_.set(p.node, true);
    }

    /// Releases the smallest holdings first, so that the rest is on few nodes.
    void shrink(touched_job& job, std::int64_t by) noexcept {
        while (by > 0) {
            place* smallest = nullptr;
            for (place* p = jobs_.first(job); p != nullptr; p = jobs_.next(*p))
                if (p->after > 0 && (smallest == nullptr || p->after <= smallest->after)) smallest = p;
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
        for (place* p = jobs_.first(job); p != nullptr; p = jobs_.next(*p)) {
            std::int64_t const free = free_[p->node], found = best == nullptr ? 0 : free_[best->node];
            if (p->after <= 0 || free <= 0 || !allowed(p->node)) continue;
            bool const is_better = found < amount ? free > found : free >= amount && free < found;
            if (is_better) best = p;
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
            change(job, jobs_.on(job, static_cast<std::uint32_t>(node)), amount);
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
            touched_job& job = jobs_.open(t, row, free_.size());
            job.reason = reason;
            for (place* p = jobs_.first(job); p != nullptr; p = jobs_.next(*p)) {
                if (p->node != node[i]) continue;
                change(job, *p, -(p->after < -free_[node[i]] ? p->after : -free_[node[i]]));
                break;
            }
        }
    }
};

}  // namespace ration::policies::detail
