// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// The holdings of the jobs that a plan changes, before and after it.
///
/// Part of placement.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ration/buffer.hpp>
#include <ration/detail/sort.hpp>
#include <ration/job.hpp>
#include <ration/policy.hpp>
#include <ration/resource.hpp>

namespace ration::policies::detail {

/// The first index in an ascending column whose value is not below `value`; the size if there is
/// none.
[[nodiscard]] inline std::size_t lower_bound(std::span<std::uint64_t const> ascending, std::uint64_t value) noexcept {
    return ration::detail::partition_point(ascending.size(),
                                           [&](std::size_t i) noexcept { return ascending[i] < value; });
}

/// The devices of a job on one node, as a list element.
struct place {
    std::uint32_t node, next;
    std::int64_t before, after;
    std::int64_t kept = 0;  ///< by `placement::keep`
};
/// A job whose holdings have been loaded, since they may change.
struct touched_job {
    std::uint32_t row, first;  ///< first: of its places, in the order of nodes
    std::int64_t held;
    std::uint16_t reason, kept_reason = 0;
};

/// The touched jobs, each with its places. O(log holdings) for each job that is opened.
class planned_holdings {
    static constexpr std::uint32_t untouched = 0xFFFF'FFFF, end = 0xFFFF'FFFE;
    buffer<place> places_;
    buffer<touched_job> jobs_;
    buffer<std::uint32_t> index_;  // by row: into jobs_

public:
    /// Allocates for the largest tables.
    void reserve(limits const& most) noexcept {
        index_.reserve(most.jobs);
        jobs_.reserve(most.jobs);
        places_.reserve((most.jobs < 64 ? most.jobs : 64) * most.nodes);
    }
    /// Forgets the last plan. O(touched jobs + new rows).
    void begin(std::size_t rows) noexcept {
        for (auto const& job : jobs_)
            if (job.row < index_.size()) index_[job.row] = untouched;
        jobs_.clear();
        places_.clear();
        if (index_.size() > rows) index_.resize(rows);
        while (index_.size() < rows) index_.push_back(untouched);
    }

    /// The number of touched jobs.
    [[nodiscard]] std::size_t size() const noexcept { return jobs_.size(); }
    /// The i-th of them.
    [[nodiscard]] touched_job const& operator[](std::size_t i) const noexcept { return jobs_[i]; }
    /// The devices that the job holds after the changes so far.
    template <class Tick>
    [[nodiscard]] std::int64_t held(Tick const& t, std::size_t row) const noexcept {
        return index_[row] == untouched ? t.template get<"jobs/held.gpu">()[row] : jobs_[index_[row]].held;
    }
    /// The job with its present holdings on nodes below `nodes`, loaded at the first use.
    template <class Tick>
    [[nodiscard]] touched_job& open(Tick const& t, std::size_t row, std::size_t nodes) noexcept {
        if (index_[row] != untouched) return jobs_[index_[row]];
        index_[row] = static_cast<std::uint32_t>(jobs_.size());
        touched_job job{.row = static_cast<std::uint32_t>(row), .first = end, .held = 0, .reason = 0};
        if (t.template get<"jobs/held.gpu">()[row] > 0) load(t, job, nodes);
        jobs_.push_back(job);
        return jobs_.back();
    }
    /// The same after it was opened.
    [[nodiscard]] touched_job& opened(std::size_t row) noexcept { return jobs_[index_[row]]; }

    /// The first place of a job, and the one behind another one; nullptr if there is none.
    [[nodiscard]] place* first(touched_job const& job) noexcept { return at(job.first); }
    [[nodiscard]] place* next(place const& p) noexcept { return at(p.next); }
    /// The place of a job on this node, a new one if it has none. The list stays sorted by node.
    [[nodiscard]] place& on(touched_job& job, std::uint32_t node) noexcept {
        std::uint32_t former = end, here = job.first;
        while (here != end && places_[here].node < node) {
            former = here;
            here = places_[here].next;
        }
        if (here != end && places_[here].node == node) return places_[here];
        auto const fresh = static_cast<std::uint32_t>(places_.size());
        places_.push_back({node, here, 0, 0});
        (former == end ? job.first : places_[former].next) = fresh;
        return places_[fresh];
    }

    /// Writes the changes, in the order of jobs and nodes. A job is released that would hold what it does not accept:
    /// its bounds have changed, or a node has lost a part of its devices, and the plan found no others.
    template <class Tick>
    [[nodiscard]] status finish(Tick const& t, grants& out) noexcept {
        ration::detail::sort(jobs_.data(), jobs_.size(),
                             [](touched_job const& a, touched_job const& b) { return a.row < b.row; });
        for (auto const& job : jobs_) {
            bool const stays = accepts(t, job);
            for (place const* p = first(job); p != nullptr; p = next(*p)) {
                std::int64_t const after = stays ? p->after : 0;
                if (p->before != after && !out.set(job.row, p->node, resource_id::gpu, after, job.reason))
                    return status::capacity;
            }
        }
        return status::ok;
    }

private:
    /// True if the job may hold the devices of the plan.
    template <class Tick>
    [[nodiscard]] static bool accepts(Tick const& t, touched_job const& job) noexcept {
        return is_active(static_cast<job_state>(t.template get<"jobs/state">()[job.row])) &&
               job.held >= t.template get<"jobs/min.gpu">()[job.row] &&
               job.held <= t.template get<"jobs/max.gpu">()[job.row];
    }
    [[nodiscard]] place* at(std::uint32_t index) noexcept { return index == end ? nullptr : &places_[index]; }

    /// Reads the holdings of a job from the table `held`, which is sorted by job and node.
    template <class Tick>
    void load(Tick const& t, touched_job& job, std::size_t nodes) noexcept {
        auto const owner = t.template get<"held/job">();
        auto const node = t.template get<"held/node">(), resource = t.template get<"held/resource">();
        auto const amount = t.template get<"held/amount">();
        std::uint64_t const id = t.template get<"jobs/id">()[job.row];
        std::uint32_t last = end;
        for (std::size_t i = lower_bound(owner, id); i < owner.size() && owner[i] == id; ++i) {
            if (resource[i] != static_cast<std::uint32_t>(resource_id::gpu) || node[i] >= nodes || amount[i] <= 0)
                continue;
            auto const here = static_cast<std::uint32_t>(places_.size());
            places_.push_back({node[i], end, amount[i], amount[i]});
            (last == end ? job.first : places_[last].next) = here;
            last = here;
            job.held += amount[i];
        }
    }
};

}  // namespace ration::policies::detail
