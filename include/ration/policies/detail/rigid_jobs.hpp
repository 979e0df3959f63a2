// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// The common part of policies for rigid jobs: `drf`, `fair_queue`, `fair_tree`, `fifo`, `gittins`, `las`,
/// `sjf`, `srtf`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <ration/buffer.hpp>
#include <ration/parameter.hpp>
#include <ration/policies/detail/device_requests.hpp>
#include <ration/policies/detail/placement.hpp>
#include <ration/policies/detail/priority_order.hpp>

namespace ration::policies::detail {

/// The columns of rigid jobs, and those that a policy adds.
template <class... More>
using rigid_columns = cluster_columns<in<std::int64_t, "jobs/request.gpu">, More...>;

/// The parameter `backfill` of policies that choose a tenant.
inline constexpr parameter_note backfill_note{
    .name = "backfill",
    .meaning = "when the job whose turn it is does not fit, others are tried; without, all wait for it"};

/// The jobs that are to run after a division of all devices.
class job_choice {
    buffer<std::uint8_t> chosen_;  // by row

public:
    /// Allocates for this number of jobs.
    void reserve(std::size_t jobs) noexcept { chosen_.reserve(jobs); }
    /// Makes room for this number of rows, none of which is chosen.
    void begin(std::size_t rows) noexcept { chosen_.reset(rows); }
    /// Chooses the job if it wants devices and they are left. Returns the number that it takes.
    std::int64_t take(std::size_t row, std::int64_t wanted, std::int64_t left) noexcept {
        if (wanted <= 0 || wanted > left) return 0;
        chosen_[row] = 1;
        return wanted;
    }
    /// True after `take` has chosen the job.
    [[nodiscard]] bool has(std::size_t row) const noexcept { return chosen_[row] != 0; }
};

/// Jobs that get all requested devices or none. The policy's rule decides which of them run; this
/// class does the rest. `follow` and `begin` are O(changes).
class rigid_jobs {
    placement places_;
    priority_order order_;
    device_requests requests_;
    buffer<std::uint32_t> planned_;  // rows whose `held` is that of the plan
    job_choice choice_;
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
        order_.reserve(most.jobs);
        requests_.reserve(most);
        planned_.reserve(most.jobs);
        choice_.reserve(most.jobs);
        planned_.clear();
        has_capacity_ = false;
    }

    /// What jobs request and hold, after the plan so far.
    [[nodiscard]] device_requests const& requests() const noexcept { return requests_; }
    /// The devices that the job requests while it is active; otherwise 0.
    [[nodiscard]] std::int64_t wanted(std::size_t row) const noexcept { return requests_.wanted(row); }
    /// The devices that the job holds, after the plan so far; 0 if it is not active.
    [[nodiscard]] std::int64_t held(std::size_t row) const noexcept { return requests_.held(row); }
    /// True if the job is active and does not hold its requested devices, and the nodes have that
    /// many.
    [[nodiscard]] bool waits(std::size_t row) const noexcept {
        return wanted(row) > 0 && wanted(row) <= capacity_ && held(row) != wanted(row);
    }
    /// The first job from `row` on that does not hold what it wants; `none` if there is none.
    [[nodiscard]] std::size_t next_waiting(std::size_t row) const noexcept { return requests_.lacking().next(row); }

    /// Rows of which `held` is planned, and not yet that of the snapshot.
    [[nodiscard]] std::span<std::uint32_t const> planned() const noexcept { return planned_.view(); }

    /// Takes in what has changed since the last tick. Returns true if rows have moved. O(changes), or O(jobs + nodes)
    /// without a list of changes.
    template <class Tick>
    [[nodiscard]] bool follow(Tick const& t) noexcept {
        places_.follow(t);
        bool const moved = requests_.follow(t, planned_.view());
        planned_.clear();
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
    /// Takes all devices from the job.
    template <class Tick>
    void stop(Tick const& t, std::size_t row) noexcept {
        resize(t, row, 0, made_room);
    }

    /// Starts waiting jobs in the order of their priorities; none is stopped. The first job that
    /// does not fit blocks all later ones, unless `others_pass`. `key(row)` is the priority.
    /// O(waiting jobs) for each job that starts.
    template <class Tick, class Key>
    void start_in_order(Tick const& t, bool others_pass, Key const& key) noexcept {
        for (;;) {
            std::size_t best = none;
            double first = 0;
            for (std::size_t row = next_waiting(0); row != none; row = next_waiting(row + 1)) {
                if (!waits(row) || (others_pass && wanted(row) - held(row) > places_.spare())) continue;
                double const k = key(row);
                if (best != none && !(k < first)) continue;
                best = row;
                first = k;
            }
            if (best == none || !start(t, best)) return;
        }
    }

    /// The devices that are free or held by jobs which may be stopped.
    [[nodiscard]] std::int64_t available() const noexcept { return places_.spare() + requests_.all_held(); }
    /// The devices that are free, after the plan so far.
    [[nodiscard]] std::int64_t spare() const noexcept { return places_.spare(); }
    /// The devices of all nodes, as of the last `plan`.
    [[nodiscard]] std::int64_t capacity() const noexcept { return capacity_; }
    /// True if all active jobs can run, so that no order is needed.
    [[nodiscard]] bool all_fit() const noexcept { return requests_.all_wanted() <= available(); }
    /// Starts all waiting jobs, in the order of submission.
    template <class Tick>
    void start_all(Tick const& t) noexcept {
        for (std::size_t row = next_waiting(0); row != none; row = next_waiting(row + 1))
            if (waits(row)) static_cast<void>(start(t, row));
    }

    /// Runs the jobs in the order of their priorities, each that still fits; the others are
    /// stopped. `key(row)` is the `priority`. O(jobs) if all fit or the order has changed little.
    template <class Tick, class Key>
    void serve(Tick const& t, Key const& key) noexcept {
        if (all_fit()) return start_all(t);
        serve_chosen(t, key, [&](std::span<priority_order::entry const> order) noexcept {
            std::int64_t left = available();
            for (auto const& e : order) left -= choice_.take(e.row, wanted(e.row), left);
        });
    }
    /// Runs the jobs that `select(order)` takes into `choice`; the others are stopped. `order` has all rows.
    template <class Tick, class Key, class Select>
    void serve_chosen(Tick const& t, Key const& key, Select const& select) noexcept {
        choice_.begin(t.jobs());
        auto const order = order_.sort(t.template get<"jobs/id">(), key);
        select(order);
        // Stopped jobs first, so that their devices are free for the others.
        for (std::size_t row = 0; row < t.jobs(); ++row)
            if (!choice_.has(row) && held(row) > 0) stop(t, row);
        for (auto const& e : order)
            if (choice_.has(e.row) && waits(e.row)) static_cast<void>(start(t, e.row));
    }

    /// The jobs that `serve_chosen` runs.
    [[nodiscard]] job_choice& choice() noexcept { return choice_; }

    /// Writes the grants. Returns `status::capacity` if they do not fit.
    [[nodiscard]] status finish(grants& out) noexcept { return places_.finish(out); }

private:
    template <class Tick>
    void resize(Tick const& t, std::size_t row, std::int64_t amount, std::uint16_t reason) noexcept {
        places_.resize(t, row, amount, reason);
        planned_.push_back(static_cast<std::uint32_t>(row));
        requests_.plan(row, places_.held(t, row));
    }

    /// Replaces devices that jobs lost with their nodes, or stops these jobs.
    template <class Tick>
    void restore(Tick const& t) noexcept {
        for (std::size_t i = 0, n = places_.touched(); i < n; ++i) {
            std::size_t const row = places_.touched_row(i);
            std::int64_t const devices = wanted(row);
            if (devices == 0) continue;
            bool const fits = devices - places_.held(t, row) <= places_.spare();
            resize(t, row, fits ? devices : 0, node_lost_devices);
        }
    }
};

}  // namespace ration::policies::detail
