// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <ration/buffer.hpp>
#include <ration/policies/detail/placement.hpp>
#include <ration/policies/detail/priority_order.hpp>

namespace ration::policies::detail {

template <class... More>
using rigid_columns = cluster_columns<in<std::int64_t, "jobs/request.gpu">, More...>;

/// Jobs that get what they ask for or nothing: who of them runs is the policy's rule, the rest is here. `begin` is
/// O(jobs + nodes).
class rigid_jobs {
    placement places_;
    priority_order order_;
    buffer<std::int64_t> wanted_;  // by row
    buffer<std::uint8_t> chosen_;
    std::int64_t all_wanted_ = 0, all_held_ = 0, capacity_ = 0;

public:
    enum reason : std::uint16_t { unexplained, its_turn, made_room, node_lost_devices };
    static constexpr std::string_view reasons[] = {"", "its turn has come and its devices are there",
                                                   "stopped for jobs that come before it",
                                                   "a node of its lost devices"};

    void reserve(limits const& most) noexcept {
        places_.reserve(most);
        order_.reserve(most.jobs);
        wanted_.reserve(most.jobs);
        chosen_.reserve(most.jobs);
    }

    /// What the job asks for while it is active; else 0.
    [[nodiscard]] std::int64_t wanted(std::size_t row) const noexcept { return wanted_[row]; }
    /// The job is active and does not hold what it asks for, which the nodes have.
    template <class Tick>
    [[nodiscard]] bool waits(Tick const& t, std::size_t row) const noexcept {
        std::int64_t const w = wanted_[row];
        return w > 0 && w <= capacity_ && places_.held(t, row) != w;
    }

    template <class Tick>
    [[nodiscard]] bool holds(Tick const& t, std::size_t row) const noexcept {
        return places_.held(t, row) > 0;
    }

    /// False when there is nothing to do: every job has what it wants, or, unless somebody may be stopped, nothing is
    /// free. A job that a node has failed gets what it lost elsewhere, or is stopped.
    template <class Tick>
    [[nodiscard]] bool begin(Tick const& t, bool may_stop) noexcept {
        auto const supplied = supply_of(t);
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
        capacity_ = capacity_of(t);
        places_.begin(t, node_lost_devices);
        restore(t);
        return true;
    }

    /// Gives the job what it asks for, if that is free.
    template <class Tick>
    [[nodiscard]] bool start(Tick const& t, std::size_t row) noexcept {
        if (wanted_[row] - places_.held(t, row) > places_.spare()) return false;
        places_.resize(t, row, wanted_[row], its_turn);
        return true;
    }

    /// Starts waiting jobs in the order of their priorities, nobody is stopped. The first that does not fit holds back
    /// all others, unless these may pass. `key(row)` is its priority. O(jobs) for each job that starts.
    template <class Tick, class Key>
    void start_in_order(Tick const& t, bool others_pass, Key const& key) noexcept {
        for (std::size_t best = t.jobs();; best = t.jobs()) {
            double first = 0;
            for (std::size_t row = 0; row < t.jobs(); ++row) {
                if (!waits(t, row) || (others_pass && wanted_[row] - places_.held(t, row) > places_.spare())) continue;
                double const k = key(row);
                if (best == t.jobs() || k < first) {
                    best = row;
                    first = k;
                }
            }
            if (best == t.jobs() || !start(t, best)) return;
        }
    }

    /// Lets those run that come first by priority, each that still fits; the others are stopped. `key(row)` is its
    /// `priority`. O(jobs) when all fit or little has changed in their order.
    template <class Tick, class Key>
    void serve(Tick const& t, Key const& key) noexcept {
        std::int64_t left = places_.spare() + all_held_;
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
        for (std::size_t row = 0; row < t.jobs(); ++row)
            if (!chosen_[row] && wanted_[row] > 0 && places_.held(t, row) > 0) places_.resize(t, row, 0, made_room);
        for (auto const& e : order)
            if (chosen_[e.row] && waits(t, e.row)) static_cast<void>(start(t, e.row));
    }

    [[nodiscard]] status finish(grants& out) noexcept { return places_.finish(out); }

    [[nodiscard]] static std::int64_t wanted_by(std::uint32_t state, std::int64_t asked) noexcept {
        return is_active(static_cast<job_state>(state)) && asked > 0 ? asked : 0;
    }

private:
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

}  // namespace ration::policies::detail
