// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// The use of tenants, and their waiting jobs in the order of submission, updated from tick to tick.
///
/// Part of `drf`, for hosts that list changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include <ration/buffer.hpp>
#include <ration/detail/sort.hpp>
#include <ration/policies/detail/heap.hpp>
#include <ration/policies/detail/ranked_jobs.hpp>
#include <ration/policies/detail/rigid_jobs.hpp>
#include <ration/policies/detail/weight.hpp>
#include <ration/policy.hpp>

namespace ration::policies::detail {

/// The devices and the CPU of a cluster, or a tenant's part of them.
struct dominant_use {
    double devices = 0, cpu = 0;

    /// The larger one of the shares of `all`, for the weight.
    [[nodiscard]] double share_of(dominant_use const& all, double weight) const noexcept {
        double const of_devices = all.devices > 0 ? devices / all.devices : 0, of_cpu = all.cpu > 0 ? cpu / all.cpu : 0;
        return (of_devices > of_cpu ? of_devices : of_cpu) / weight;
    }
};

/// The CPU that a job counts for, in millicores; a missing minimum counts as 0.
template <class Tick>
[[nodiscard]] std::int64_t least_cpu_of(Tick const& t, std::size_t row) noexcept {
    std::int64_t const least = t.template get<"jobs/min.cpu">()[row];
    return least > 0 ? least : 0;
}
/// The CPU of all nodes, in millicores. O(nodes).
template <class Tick>
[[nodiscard]] std::int64_t all_cpu_of(Tick const& t) noexcept {
    std::int64_t sum = 0;
    for (std::int64_t const c : t.template get<"nodes/capacity.cpu">()) sum += c > 0 ? c : 0;
    return sum;
}

/// The waiting jobs are in one treap, by tenant and row. `follow` is O(log jobs + log tenants) for each job that
/// changes, and O(jobs) if rows have moved. A tenant with its first job or without its last one costs O(tenants).
class followed_tenants {
    struct tenant {
        std::uint32_t id = 0;
        std::uint64_t jobs = 0, waiting = 0;
        std::int64_t devices = 0, cpu = 0;  // of its running jobs
    };
    /// The amounts that a job adds to its tenant.
    struct part {
        std::uint32_t tenant = 0;
        bool is_active = false, waits = false;
        std::int64_t devices = 0, cpu = 0;
    };
    /// A tenant in the heap; the first one starts the next job.
    struct turn {
        double share;
        std::uint32_t place;  // in tenants_, which is in the order of ids

        [[nodiscard]] static bool before(turn const& a, turn const& b) noexcept {
            return a.share != b.share ? a.share < b.share : a.place < b.place;
        }
    };
    buffer<tenant> tenants_;
    buffer<part> parts_, moved_;  // by row
    buffer<std::uint32_t> new_rows_;
    ranked_jobs waiting_;
    heap<turn> turns_;
    std::int64_t capacity_ = 0, all_cpu_ = 0, used_cpu_ = 0;
    bool has_cpu_ = false;    // `all_cpu_` is that of the present nodes
    bool is_skipped_ = true;  // the last tick had no list

public:
    /// Allocates for the largest tables, and removes all.
    void reserve(limits const& most) noexcept {
        tenants_.reserve(most.jobs);
        parts_.reserve(most.jobs);
        moved_.reserve(most.jobs);
        new_rows_.reserve(most.jobs);
        waiting_.reserve(most.jobs);
        turns_.reserve(most.jobs);
        is_skipped_ = true;
    }
    /// A tick without a list.
    void skip() noexcept { is_skipped_ = true; }

    /// Takes in what has changed since the last tick. `moved`: rows have moved. Precondition: `jobs` has followed.
    template <class Tick>
    void follow(Tick const& t, rigid_jobs const& jobs, bool moved) noexcept {
        has_cpu_ = has_cpu_ && !is_skipped_ && has_same_capacity(t);
        if (is_skipped_)
            clear();
        else if (moved)
            move_rows(jobs, t.jobs());
        parts_.resize(t.jobs());
        waiting_.grow(t.jobs());
        if (is_skipped_)
            for (std::size_t row = 0; row < t.jobs(); ++row) renew(t, jobs, row);
        else
            for (std::uint32_t const row : jobs.requests().renewed()) renew(t, jobs, row);
        is_skipped_ = false;
    }

    /// Starts the jobs of the poorest tenant, and so on. The first one that does not fit blocks all, unless
    /// `others_pass`. Precondition: `jobs` has begun its plan. O(tenants + log jobs) and O(log jobs) for each start.
    template <class Tick>
    void start(Tick const& t, rigid_jobs& jobs, bool others_pass) noexcept {
        bool const is_resized = jobs.capacity() != capacity_;
        capacity_ = jobs.capacity();
        for (std::size_t row = 0; is_resized && row < t.jobs(); ++row) renew(t, jobs, row);
        for (std::size_t i = 0; i < jobs.planned(); ++i) renew(t, jobs, jobs.planned_row(i));
        if (others_pass && waiting_.least() > jobs.spare() + 1) return;
        if (!has_cpu_) all_cpu_ = all_cpu_of(t);
        has_cpu_ = true;
        fill_heap(t);
        while (!turns_.empty()) {
            std::uint32_t const place = turns_.top().place;
            std::size_t const row = next_of(t, jobs, tenants_[place].id, others_pass);
            bool const fits = row != ranked_jobs::none && fits_cpu(t, row) && jobs.start(t, row);
            if (!fits && !others_pass) return;
            if (fits) renew(t, jobs, row);
            if (fits && tenants_[place].waiting > 0)
                turns_.replace_top(turn_of(t, place));
            else
                turns_.pop();
        }
    }

private:
    void clear() noexcept {
        tenants_.clear();
        parts_.clear();
        waiting_.clear();
        used_cpu_ = 0;
        capacity_ = -1;  // the rows that are read now are read again with the present one
    }
    /// Gives the jobs their present rows.
    void move_rows(rigid_jobs const& jobs, std::size_t rows) noexcept {
        new_rows_.clear();
        for (std::size_t old = 0; old < parts_.size(); ++old) new_rows_.push_back(ranked_jobs::none);
        moved_.reset(rows);
        for (std::size_t row = 0; row < rows; ++row) {
            former_row const& from = jobs.requests().former(row);
            if (!from.is_known) continue;
            new_rows_[from.row] = static_cast<std::uint32_t>(row);
            moved_[row] = parts_[from.row];
        }
        for (std::size_t old = 0; old < parts_.size(); ++old)
            if (new_rows_[old] == ranked_jobs::none) count(parts_[old], -1);
        parts_.swap(moved_);
        waiting_.move_rows(new_rows_.view(), rows);
    }

    /// Reads a row, after the plan so far.
    template <class Tick>
    void renew(Tick const& t, rigid_jobs const& jobs, std::size_t row) noexcept {
        std::int64_t const wanted = jobs.wanted(row), held = jobs.held(row), lacks = wanted - held;
        part p{.tenant = t.template get<"jobs/tenant">()[row], .is_active = wanted > 0, .waits = jobs.waits(row)};
        if (p.is_active && !p.waits && held > 0) {
            p.devices = wanted;
            p.cpu = least_cpu_of(t, row);
        }
        part& known = parts_[row];
        count(p, 1);  // first, so that the tenant of both keeps its place
        count(known, -1);
        known = p;
        // One more than it lacks, since a job that wants nothing is not in the treap.
        waiting_.put(row, {static_cast<double>(p.tenant)},
                     {.wanted = p.waits ? (lacks > 0 ? lacks : 0) + 1 : 0, .holds = false, .lacks = true});
    }
    /// Adds a job to its tenant, or takes it out.
    void count(part const& p, int sign) noexcept {
        if (!p.is_active) return;
        std::size_t const place = place_of(p.tenant);
        if (place == tenants_.size() || tenants_[place].id != p.tenant) tenants_.insert(place, {.id = p.tenant});
        tenant& who = tenants_[place];
        who.jobs += static_cast<std::uint64_t>(sign);
        who.waiting += p.waits ? static_cast<std::uint64_t>(sign) : 0;
        who.devices += sign * p.devices;
        who.cpu += sign * p.cpu;
        used_cpu_ += sign * p.cpu;
        if (who.jobs == 0) tenants_.erase(place, place + 1);
    }
    /// The place of a tenant, or the one for it.
    [[nodiscard]] std::size_t place_of(std::uint32_t id) const noexcept {
        return ration::detail::partition_point(tenants_.size(),
                                               [&](std::size_t i) noexcept { return tenants_[i].id < id; });
    }

    template <class Tick>
    [[nodiscard]] bool fits_cpu(Tick const& t, std::size_t row) const noexcept {
        return least_cpu_of(t, row) <= all_cpu_ - used_cpu_;
    }
    template <class Tick>
    [[nodiscard]] turn turn_of(Tick const& t, std::uint32_t place) const noexcept {
        tenant const& who = tenants_[place];
        dominant_use const use{static_cast<double>(who.devices), static_cast<double>(who.cpu)},
            all{static_cast<double>(capacity_), static_cast<double>(all_cpu_)};
        return {use.share_of(all, tenant_weight(t, who.id)), place};
    }
    template <class Tick>
    void fill_heap(Tick const& t) noexcept {
        turns_.clear();
        for (std::uint32_t place = 0; place < tenants_.size(); ++place)
            if (tenants_[place].waiting > 0) turns_.push(turn_of(t, place));
    }
    /// The first waiting job of a tenant; with `others_pass`, the first one that fits.
    template <class Tick>
    [[nodiscard]] std::size_t next_of(Tick const& t, rigid_jobs const& jobs, std::uint32_t id,
                                      bool others_pass) const noexcept {
        std::int64_t const most = others_pass ? jobs.spare() + 1 : std::numeric_limits<std::int64_t>::max();
        return waiting_.first_fit(static_cast<double>(id), most,
                                  [&](std::size_t row) noexcept { return !others_pass || fits_cpu(t, row); });
    }
};

}  // namespace ration::policies::detail
