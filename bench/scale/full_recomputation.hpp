// SPDX-License-Identifier: BSL-1.0
/// fifo, las and srtf as they were before they followed changes: each tick reads all jobs and all nodes.
///
/// The baseline of scale.cpp. The rules are the same, so both give the same schedules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <ration/buffer.hpp>
#include <ration/policies/detail/job_time.hpp>
#include <ration/policies/detail/placement.hpp>
#include <ration/policies/detail/priority_order.hpp>
#include <ration/policies/detail/rigid_jobs.hpp>
#include <ration/policy.hpp>

namespace ration::bench {

/// Jobs that get all requested devices or none. Each tick reads all jobs and all nodes.
class all_rigid_jobs {
    policies::detail::placement places_;
    policies::detail::priority_order order_;
    buffer<std::int64_t> wanted_;  // by row
    buffer<std::uint8_t> chosen_;
    std::int64_t all_wanted_ = 0, all_held_ = 0, capacity_ = 0;

public:
    /// Reason codes of the grants.
    enum reason : std::uint16_t { unexplained, its_turn, made_room, node_lost_devices };
    /// Texts of the reason codes, in their order.
    static constexpr std::string_view reasons[] = {"", "its turn has come and its devices are there",
                                                   "stopped for jobs that come before it",
                                                   "a node of its lost devices"};

    /// Allocates for the largest tables.
    void reserve(limits const& most) noexcept {
        places_.reserve(most);
        order_.reserve(most.jobs);
        wanted_.reserve(most.jobs);
        chosen_.reserve(most.jobs);
    }

    /// The devices that the job requests while it is active; otherwise 0.
    [[nodiscard]] std::int64_t wanted(std::size_t row) const noexcept { return wanted_[row]; }
    /// True if the job is active and does not hold its requested devices, and the nodes have that
    /// many.
    template <class Tick>
    [[nodiscard]] bool waits(Tick const& t, std::size_t row) const noexcept {
        std::int64_t const w = wanted_[row];
        return w > 0 && w <= capacity_ && places_.held(t, row) != w;
    }

    /// True if the job holds any devices.
    template <class Tick>
    [[nodiscard]] bool holds(Tick const& t, std::size_t row) const noexcept {
        return places_.held(t, row) > 0;
    }

    /// Starts a tick. Returns false if there is nothing to do: every job has its devices, or
    /// nothing is free and, without `may_stop`, no job can be stopped. A job that lost devices with
    /// a node gets others, or is stopped.
    template <class Tick>
    [[nodiscard]] bool begin(Tick const& t, bool may_stop) noexcept {
        auto const supplied = policies::detail::supply_of(t);
        auto const asked = t.template get<"jobs/request.gpu">(), held = t.template get<"jobs/held.gpu">();
        auto const state = t.template get<"jobs/state">();
        all_wanted_ = all_held_ = 0;
        wanted_.clear();
        std::int64_t* const wanted = wanted_.extend(t.jobs());
        bool lacks = false, exceeds = false;
        for (std::size_t row = 0; row < t.jobs(); ++row) {
            std::int64_t const w = wanted_by(state[row], asked[row]), h = w > 0 ? held[row] : 0;
            wanted[row] = w;
            all_wanted_ += w;
            all_held_ += h;
            lacks |= h < w;
            exceeds |= h > w;
        }
        if (!supplied.is_overdrawn && !exceeds && !(lacks && (may_stop || supplied.free > 0))) return false;
        capacity_ = policies::detail::capacity_of(t);
        places_.begin(t, node_lost_devices);
        restore(t);
        return true;
    }

    /// Gives the job its requested devices. Returns false if they are not free.
    template <class Tick>
    [[nodiscard]] bool start(Tick const& t, std::size_t row) noexcept {
        if (wanted_[row] - places_.held(t, row) > places_.spare()) return false;
        places_.resize(t, row, wanted_[row], its_turn);
        return true;
    }

    /// Runs the jobs in the order of their priorities, each that still fits; the others are
    /// stopped. `key(row)` is the `priority`. O(jobs) if all fit or the order has changed little.
    template <class Tick, class Key>
    void serve(Tick const& t, Key const& key) noexcept {
        std::int64_t left = places_.spare() + all_held_;
        // Everything fits, so no order is needed.
        if (all_wanted_ <= left) {
            for (std::size_t row = 0; row < t.jobs(); ++row)
                if (waits(t, row)) static_cast<void>(start(t, row));
            return;
        }
        chosen_.reset(t.jobs());
        auto const order = order_.sort(t.template get<"jobs/id">(), key);
        for (auto const& e : order) {
            std::int64_t const w = wanted_[e.row];
            if (w > left) continue;
            chosen_[e.row] = w > 0;
            left -= w;
        }
        // Stopped jobs first, so that their devices are free for the others.
        for (std::size_t row = 0; row < t.jobs(); ++row)
            if (!chosen_[row] && wanted_[row] > 0 && places_.held(t, row) > 0) places_.resize(t, row, 0, made_room);
        for (auto const& e : order)
            if (chosen_[e.row] && waits(t, e.row)) static_cast<void>(start(t, e.row));
    }

    /// Writes the grants. Returns `status::capacity` if they do not fit.
    template <class Tick>
    [[nodiscard]] status finish(Tick const& t, grants& out) noexcept {
        return places_.finish(t, out);
    }

    /// The devices that a job in this state requests.
    [[nodiscard]] static std::int64_t wanted_by(std::uint32_t state, std::int64_t asked) noexcept {
        return is_active(static_cast<job_state>(state)) && asked > 0 ? asked : 0;
    }

private:
    /// Replaces devices that jobs lost with their nodes, or stops these jobs.
    template <class Tick>
    void restore(Tick const& t) noexcept {
        for (std::size_t i = 0, n = places_.touched(); i < n; ++i) {
            std::size_t const row = places_.touched_row(i);
            if (wanted_[row] == 0) continue;
            bool const fits = wanted_[row] - places_.held(t, row) <= places_.spare();
            places_.resize(t, row, fits ? wanted_[row] : 0, node_lost_devices);
            all_held_ += places_.held(t, row) - t.template get<"jobs/held.gpu">()[row];
        }
    }
};

/// First come, first served.
class full_fifo {
    all_rigid_jobs jobs_;

public:
    using policy_concept = policy_tag;
    using inputs = policies::detail::rigid_columns<>;
    static constexpr meta about{.id = "ration.bench.full-fifo", .version = "1.0.0"};

    [[nodiscard]] status prepare(limits const& most) noexcept {
        jobs_.reserve(most);
        return status::ok;
    }
    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        if (!jobs_.begin(t, false)) return status::ok;
        for (std::size_t row = 0; row < t.jobs(); ++row)
            if (jobs_.waits(t, row) && !jobs_.start(t, row)) break;
        return jobs_.finish(t, out);
    }
};

/// The least attained service first, in three queues.
class full_las {
    all_rigid_jobs jobs_;

public:
    using policy_concept = policy_tag;
    using inputs = policies::detail::rigid_columns<in<double, "jobs/attained">, in<std::int64_t, "jobs/started">>;
    static constexpr meta about{.id = "ration.bench.full-las", .version = "1.0.0"};

    [[nodiscard]] status prepare(limits const& most) noexcept {
        jobs_.reserve(most);
        return status::ok;
    }
    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        if (!jobs_.begin(t, true)) return status::ok;
        auto const attained = t.get<"jobs/attained">();
        auto const started = t.get<"jobs/started">(), held = t.get<"jobs/held.gpu">();
        jobs_.serve(t, [&](std::size_t row) noexcept {
            double const queue = attained[row] < 3250 ? 0 : attained[row] < 7200 ? 1 : 2;
            return policies::detail::priority{queue, policies::detail::turn_of(held[row], started[row])};
        });
        return jobs_.finish(t, out);
    }
};

/// The shortest remaining time first.
class full_srtf {
    all_rigid_jobs jobs_;

public:
    using policy_concept = policy_tag;
    using inputs =
        policies::detail::rigid_columns<in<double, "jobs/remaining">, in<double, "jobs/nominal_steps_per_second">>;
    static constexpr meta about{.id = "ration.bench.full-srtf", .version = "1.0.0"};

    [[nodiscard]] status prepare(limits const& most) noexcept {
        jobs_.reserve(most);
        return status::ok;
    }
    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        if (!jobs_.begin(t, true)) return status::ok;
        auto const remaining = t.get<"jobs/remaining">(), rate = t.get<"jobs/nominal_steps_per_second">();
        jobs_.serve(t, [&](std::size_t row) noexcept {
            return policies::detail::priority{policies::detail::size_of_work(
                remaining[row], rate[row], jobs_.wanted(row), policies::job_measure::time)};
        });
        return jobs_.finish(t, out);
    }
};

}  // namespace ration::bench
