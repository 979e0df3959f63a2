// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// The waiting jobs of each tenant in the order of submission, and what the limits of tenants still admit.
///
/// For policies whose rule chooses a tenant and starts its next job: `fair_queue` and `fair_tree`.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ration/buffer.hpp>
#include <ration/policies/detail/rigid_jobs.hpp>
#include <ration/policies/detail/weight.hpp>
#include <ration/policy.hpp>
#include <ration/tenant.hpp>

namespace ration::policies::detail {

/// A queue for each row of the table tenants, and queue 0 for jobs of no tenant.
class tenant_queues {
public:
    /// Behind the last job of a queue.
    static constexpr std::uint32_t none = 0xFFFF'FFFF;

private:
    struct link {
        std::uint32_t queue = none, former = none, next = none;
    };
    struct ends {
        std::uint32_t first = none, last = none;
    };
    buffer<link> links_;  // by row
    buffer<ends> queues_;
    std::int64_t capacity_ = 0;

public:
    /// Allocates for the largest tables, and removes all.
    void reserve(limits const& most) noexcept {
        links_.reserve(most.jobs);
        queues_.reserve(most.tenants + 1);
        links_.clear();
        queues_.clear();
    }

    /// Takes in what `jobs` has followed in this tick; `moved` is what `jobs.follow` returned. O(changes), or O(jobs)
    /// without a list of changes, or if the capacity has changed: a job that exceeds it is in no queue.
    template <class Tick>
    void follow(Tick const& t, rigid_jobs& jobs, bool moved) noexcept {
        jobs.measure(t);
        bool const is_new = moved || queues_.size() != t.tenants() + 1 || capacity_ != jobs.capacity();
        capacity_ = jobs.capacity();
        if (is_new) clear(t.tenants() + 1);
        while (links_.size() < t.jobs()) links_.push_back({});
        if (is_new || t.changes(table_id::jobs).everything != 0)
            for (std::size_t row = 0; row < t.jobs(); ++row) renew(t, jobs, row);
        else
            for (std::uint32_t const row : jobs.requests().renewed()) renew(t, jobs, row);
    }

    /// Adds jobs that a plan has just stopped, because a node of theirs has lost devices.
    template <class Tick>
    void add_stopped(Tick const& t, rigid_jobs const& jobs) noexcept {
        for (std::size_t i = 0; i < jobs.planned(); ++i) renew(t, jobs, jobs.planned_row(i));
    }

    /// The number of queues.
    [[nodiscard]] std::size_t size() const noexcept { return queues_.size(); }
    /// The queue of a waiting job; `none` if it is in no queue.
    [[nodiscard]] std::uint32_t of_job(std::uint32_t row) const noexcept { return links_[row].queue; }
    /// The queue of a tenant.
    [[nodiscard]] std::size_t of(std::uint32_t tenant) const noexcept {
        return tenant < queues_.size() - 1 ? tenant + 1 : 0;
    }
    /// The row of the first job of a queue, as of the begin of the tick; `none` if it is empty.
    [[nodiscard]] std::uint32_t first(std::size_t queue) const noexcept { return queues_[queue].first; }
    /// The row of the job behind this one.
    [[nodiscard]] std::uint32_t next(std::uint32_t row) const noexcept { return links_[row].next; }
    /// From this row on, the first job of the queue that waits, after the plan so far.
    [[nodiscard]] std::uint32_t waiting(rigid_jobs const& jobs, std::uint32_t row) const noexcept {
        while (row != none && !jobs.waits(row)) row = next(row);
        return row;
    }

private:
    void clear(std::size_t queues) noexcept {
        links_.clear();
        queues_.clear();
        while (queues_.size() < queues) queues_.push_back({});
    }

    template <class Tick>
    void renew(Tick const& t, rigid_jobs const& jobs, std::size_t at) noexcept {
        auto const row = static_cast<std::uint32_t>(at);
        std::uint32_t const queue =
            jobs.waits(at) ? static_cast<std::uint32_t>(of(t.template get<"jobs/tenant">()[at])) : none;
        if (links_[row].queue == queue) return;
        if (links_[row].queue != none) remove(row);
        if (queue != none) insert(row, queue);
    }
    void remove(std::uint32_t row) noexcept {
        link const out = links_[row];
        ends& of = queues_[out.queue];
        (out.former == none ? of.first : links_[out.former].next) = out.next;
        (out.next == none ? of.last : links_[out.next].former) = out.former;
        links_[row] = {};
    }
    /// A new job comes last. A job that has lost its devices is among the first ones.
    void insert(std::uint32_t row, std::uint32_t queue) noexcept {
        ends& of = queues_[queue];
        std::uint32_t former = of.last;
        if (former != none && former > row) {
            former = none;
            for (std::uint32_t other = of.first; other < row; other = links_[other].next) former = other;
        }
        std::uint32_t const next = former == none ? of.first : links_[former].next;
        links_[row] = {queue, former, next};
        (former == none ? of.first : links_[former].next) = row;
        (next == none ? of.last : links_[next].former) = row;
    }
};

/// The devices that a plan adds to tenants, within their limits.
class tenant_room {
    buffer<std::int64_t> added_;  // by tenant, with those of the tenants below it

public:
    /// Allocates for the largest tables.
    void reserve(limits const& most) noexcept { added_.reserve(most.tenants); }
    /// Starts a plan. O(tenants).
    template <class Tick>
    void begin(Tick const& t) noexcept {
        added_.reset(t.tenants());
    }
    /// The devices that the plan has added.
    [[nodiscard]] std::int64_t added(std::uint32_t tenant) const noexcept { return added_[tenant]; }
    /// True if the tenant and those above it may hold `devices` more. O(depth).
    template <class Tick>
    [[nodiscard]] bool admits(Tick const& t, std::uint32_t tenant, std::int64_t devices) const noexcept {
        auto const limit = t.template get<"tenants/limit.gpu">(), held = t.template get<"tenants/held.gpu">();
        for (; tenant < added_.size(); tenant = parent_of(t, tenant))
            if (limit[tenant] != unlimited && held[tenant] + added_[tenant] + devices > limit[tenant]) return false;
        return true;
    }
    /// The plan gives the tenant `devices` more. O(depth).
    template <class Tick>
    void add(Tick const& t, std::uint32_t tenant, std::int64_t devices) noexcept {
        for (; tenant < added_.size(); tenant = parent_of(t, tenant)) added_[tenant] += devices;
    }
    /// The parent of a tenant; `no_tenant` if the column names a row that is not before its child.
    template <class Tick>
    [[nodiscard]] static std::uint32_t parent_of(Tick const& t, std::uint32_t tenant) noexcept {
        std::uint32_t const parent = t.template get<"tenants/parent">()[tenant];
        return parent < tenant ? parent : no_tenant;
    }
};

/// The `tenant_weight`, but at least 1e-9.
template <class Tick>
[[nodiscard]] double bounded_weight(Tick const& t, std::uint32_t tenant) noexcept {
    constexpr double least = 1e-9;  // so that a job's cost for its weight stays a number that can be added
    double const weight = tenant_weight(t, tenant);
    return weight > least ? weight : least;
}

}  // namespace ration::policies::detail
