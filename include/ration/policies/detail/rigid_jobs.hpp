// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// The common part of policies for rigid jobs: `drf`, `fair_queue`, `fair_tree`, `fifo`, `gittins`, `las`,
/// `sjf`, `srtf`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <ration/buffer.hpp>
#include <ration/parameter.hpp>
#include <ration/policies/detail/device_requests.hpp>
#include <ration/policies/detail/placement.hpp>

namespace ration::policies::detail {

/// The columns of rigid jobs, and those that a policy adds.
template <class... More>
using rigid_columns = cluster_columns<in<std::int64_t, "jobs/request.gpu">, More...>;

/// The parameter `backfill` of policies that choose a tenant.
inline constexpr parameter_note backfill_note{
    .name = "backfill",
    .meaning = "when the job whose turn it is does not fit, others are tried; without, all wait for it"};

/// Jobs that get all requested devices or none. The policy's rule decides which of them run; this
/// class does the rest. `follow` and `begin` are O(changes).
class rigid_jobs {
    placement places_;
    device_requests requests_;
    buffer<std::uint32_t> planned_;  // rows of the last plan
    std::int64_t capacity_ = 0;
    bool has_capacity_ = false;  // `capacity_` is that of the present nodes

public:
    /// Reason codes of the grants.
    enum reason : std::uint16_t { unexplained, its_turn, made_room, node_lost_devices };
    /// Texts of the reason codes, in their order.
    static constexpr std::string_view reasons[] = {"", "its turn has come and its devices are there",
                                                   "stopped for jobs that come before it",
                                                   "a node of its lost devices"};
    /// Behind the last row of `next_waiting`.
    static constexpr std::size_t none = row_set::none;

    /// Allocates for the largest tables.
    void reserve(limits const& most) noexcept {
        places_.reserve(most);
        requests_.reserve(most);
        planned_.reserve(most.jobs);
        has_capacity_ = false;
    }

    /// The devices that jobs request and hold, after the plan so far.
    [[nodiscard]] device_requests const& requests() const noexcept { return requests_; }
    /// The devices that the job requests while it is active; otherwise 0.
    [[nodiscard]] std::int64_t wanted(std::size_t row) const noexcept { return requests_.wanted(row); }
    /// The devices that the job holds, after the plan so far; 0 if it is not active.
    [[nodiscard]] std::int64_t held(std::size_t row) const noexcept { return requests_.held(row); }
    /// The devices that count as held by its tenant.
    [[nodiscard]] std::int64_t committed(std::size_t row) const noexcept { return held(row); }
    /// True if the job is active and does not hold its requested devices, and the nodes have that
    /// many.
    [[nodiscard]] bool waits(std::size_t row) const noexcept {
        return wanted(row) > 0 && wanted(row) <= capacity_ && held(row) != wanted(row);
    }
    /// The first job from `row` on that does not hold what it wants; `none` if there is none.
    [[nodiscard]] std::size_t next_waiting(std::size_t row) const noexcept { return requests_.lacking().next(row); }

    /// The number of rows of which `held` may be planned, and not yet that of the snapshot.
    [[nodiscard]] std::size_t planned() const noexcept { return places_.touched(); }
    /// The i-th of them.
    [[nodiscard]] std::uint32_t planned_row(std::size_t i) const noexcept { return places_.touched_row(i); }

    /// Takes in what has changed since the last tick. Returns true if rows have moved. O(changes), or O(jobs + nodes)
    /// without a list of changes.
    template <class Tick>
    [[nodiscard]] bool follow(Tick const& t) noexcept {
        planned_.clear();
        for (std::size_t i = 0; i < planned(); ++i) planned_.push_back(planned_row(i));
        bool const moved = requests_.follow(t, planned_.view());
        places_.follow(t);
        has_capacity_ = has_capacity_ && has_same_capacity(t);
        return moved;
    }

    /// Reads the capacities of the nodes, as `plan` does, after `follow`: `waits` depends on them. O(nodes) if they may
    /// have changed.
    template <class Tick>
    void measure(Tick const& t) noexcept {
        if (!has_capacity_) capacity_ = capacity_of(t);
        has_capacity_ = true;
    }
    /// Starts a plan after `follow`. Returns false if there is nothing to do: every job has its devices, or
    /// nothing is free and, without `may_stop`, no job can be stopped. A job that lost devices with
    /// a node gets others, or is stopped.
    template <class Tick>
    [[nodiscard]] bool plan(Tick const& t, bool may_stop) noexcept {
        bool const may_start = requests_.any_waits() && (may_stop || places_.spare() > 0);
        if (!places_.is_overdrawn() && !requests_.any_exceeds() && !may_start) return false;
        measure(t);
        places_.start(t, node_lost_devices);
        restore(t);
        return true;
    }
    /// `follow` and `plan`.
    template <class Tick>
    [[nodiscard]] bool begin(Tick const& t, bool may_stop) noexcept {
        static_cast<void>(follow(t));
        return plan(t, may_stop);
    }

    /// Gives the job its requested devices. Returns false if they are not free.
    template <class Tick>
    bool start(Tick const& t, std::size_t row) noexcept {
        if (wanted(row) - held(row) > places_.spare()) return false;
        resize(t, row, wanted(row), its_turn);
        return true;
    }
    /// The same, since no part of a job starts.
    template <class Tick>
    bool start_whole(Tick const& t, std::size_t row) noexcept {
        return start(t, row);
    }
    /// False if the job surely does not fit.
    template <class Tick>
    [[nodiscard]] bool may_fit(Tick const&, std::size_t row) const noexcept {
        return wanted(row) - held(row) <= places_.spare();
    }
    /// Takes all devices from the job. `put_back` can return them.
    template <class Tick>
    void stop(Tick const& t, std::size_t row) noexcept {
        places_.keep(t, row);
        resize(t, row, 0, made_room);
    }
    /// Undoes the last `stop` of the job. Returns false, without an effect, if its devices are not free.
    template <class Tick>
    bool put_back(Tick const& t, std::size_t row) noexcept {
        if (!places_.revert(row)) return false;
        requests_.plan(row, places_.held(t, row));
        return true;
    }

    /// The devices that are free or held by jobs which may be stopped.
    [[nodiscard]] std::int64_t available() const noexcept { return places_.spare() + requests_.all_held(); }
    /// The devices that are free, after the plan so far.
    [[nodiscard]] std::int64_t spare() const noexcept { return places_.spare(); }
    /// The devices of all nodes, as of the last `plan`.
    [[nodiscard]] std::int64_t capacity() const noexcept { return capacity_; }
    /// True if all active jobs can run, so that no order is needed.
    [[nodiscard]] bool all_fit() const noexcept { return requests_.all_wanted() <= available(); }
    /// Writes the grants. Returns `status::capacity` if they do not fit.
    template <class Tick>
    [[nodiscard]] status finish(Tick const& t, grants& out) noexcept {
        return places_.finish(t, out);
    }

private:
    template <class Tick>
    void resize(Tick const& t, std::size_t row, std::int64_t amount, std::uint16_t reason) noexcept {
        places_.resize(t, row, amount, reason);
        requests_.plan(row, places_.held(t, row));
    }

    /// Replaces devices that jobs lost with their nodes, or stops these jobs. Jobs that hold more than they request
    /// give back the rest, before others start.
    template <class Tick>
    void restore(Tick const& t) noexcept {
        for (std::size_t i = 0, n = places_.touched(); i < n; ++i) {
            std::size_t const row = places_.touched_row(i);
            std::int64_t const devices = wanted(row);
            if (devices == 0) continue;
            bool const fits = devices - places_.held(t, row) <= places_.spare();
            resize(t, row, fits ? devices : 0, node_lost_devices);
        }
        row_set const& lacking = requests_.lacking();
        for (std::size_t row = lacking.next(0); requests_.any_exceeds() && row != none; row = lacking.next(row + 1))
            if (held(row) > wanted(row)) resize(t, row, wanted(row), its_turn);
    }
};

/// Starts waiting jobs in the order of submission. The first one that does not fit blocks all later ones, unless
/// `others_pass`. O(waiting jobs).
template <class Tick>
void start_as_submitted(Tick const& t, rigid_jobs& jobs, bool others_pass) noexcept {
    for (std::size_t row = jobs.next_waiting(0); row != jobs.none; row = jobs.next_waiting(row + 1))
        if (jobs.waits(row) && !jobs.start(t, row) && !others_pass) break;
}
/// Starts all waiting jobs that fit, in the order of submission.
template <class Tick>
void start_all(Tick const& t, rigid_jobs& jobs) noexcept {
    start_as_submitted(t, jobs, true);
}

/// Starts waiting jobs in the order of their priorities; none is stopped. The first job that
/// does not fit blocks all later ones, unless `others_pass`. `key(row)` is the priority.
/// O(waiting jobs) for each job that starts.
template <class Tick, class Key>
void start_in_order(Tick const& t, rigid_jobs& jobs, bool others_pass, Key const& key) noexcept {
    for (;;) {
        std::size_t best = jobs.none;
        double first = 0;
        for (std::size_t row = jobs.next_waiting(0); row != jobs.none; row = jobs.next_waiting(row + 1)) {
            if (!jobs.waits(row) || (others_pass && !jobs.may_fit(t, row))) continue;
            double const k = key(row);
            if (best != jobs.none && !(k < first)) continue;
            best = row;
            first = k;
        }
        if (best == jobs.none || !jobs.start(t, best)) return;
    }
}

}  // namespace ration::policies::detail
