// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// The common part of policies that divide devices among elastic jobs: `afs`, `max_min`, `optimus`,
/// `sia`, and, through `goodput_jobs`, `good_enough` and `pollux`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>

#include <ration/buffer.hpp>
#include <ration/parameter.hpp>
#include <ration/policies/detail/placement.hpp>
#include <ration/state.hpp>

namespace ration::policies {

/// Parameters of `optimus` and `afs`.
struct division_parameters {
    double interval = 600;  ///< seconds after which the devices are divided again
    /// Divides also when jobs or devices come or go, as AFS does; false = only at intervals, as Optimus does
    bool at_changes = true;

    static constexpr parameter_note notes[] = {
        {.name = "interval",
         .meaning = "seconds after which the devices are divided again, 0 to 1000000",
         .least = 0,
         .most = 1e6},
        {.name = "at_changes", .meaning = "divide also when jobs or devices come or go"}};

    /// The error in the values and its fix, as a sentence; empty if the values are valid.
    [[nodiscard]] constexpr std::string_view problem() const noexcept {
        return interval >= 0 && interval <= 1e6 ? std::string_view{}
                                                : "interval is a time in seconds: write a number from 0 to 1000000";
    }
};

namespace detail {

/// The columns of elastic jobs, and those that a policy adds.
template <class... More>
using elastic_columns = cluster_columns<More...>;

/// A job in a division: its bounds, and the devices given to it, 0 or from least to most.
struct share {
    std::uint32_t row = 0;
    std::int64_t least = 0, most = 0, given = 0;
};

/// The situation of a division; a policy saves that of the last one.
struct division {
    bool is_made = false;
    nanoseconds at{0};
    std::uint64_t last_id = 0, active = 0;
    std::int64_t capacity = 0;

    [[nodiscard]] static auto fields(auto& self) noexcept {
        return std::tie(self.is_made, self.at, self.last_id, self.active, self.capacity);
    }
    [[nodiscard]] bool sane() const noexcept { return capacity >= 0; }
    /// True if it is time for another one: `interval` seconds have passed, or, with `at_changes`, jobs or devices have
    /// come or gone. A tick that is asked again at the time of a division gets the same answer.
    [[nodiscard]] bool is_outdated(division const& now, double interval, bool at_changes) const noexcept {
        bool const changed = now.last_id != last_id || now.active != active || now.capacity != capacity;
        return !is_made || now.at == at || to_seconds(now.at - at) >= interval || (at_changes && changed);
    }
};

/// Jobs that take any number of devices within their bounds. The policy's rule decides the
/// division. This class decides when to divide again, and places the answer on nodes. `is_due` is
/// O(jobs + nodes).
class elastic_jobs {
    placement places_;
    buffer<share> shares_, sorted_;
    buffer<std::int64_t> targets_;  // by row
    std::int64_t devices_ = 0;

public:
    /// Public, since `max_min` saves it together with its own state.
    division last;

    /// Reason codes of the grants.
    enum reason : std::uint16_t { unexplained, its_share, others_first, node_lost_devices };
    /// Texts of the reason codes, in their order.
    static constexpr std::string_view reasons[] = {
        "", "its share of the devices", "the devices are with jobs that come before it", "a node of its lost devices"};

    /// Allocates for the largest tables.
    void reserve(limits const& most) noexcept {
        places_.reserve(most);
        shares_.reserve(most.jobs);
        sorted_.reserve(most.jobs);
        targets_.reserve(most.jobs);
    }

    /// Returns true if the devices have to be divided again: the last division is outdated, or a node has lost devices
    /// that jobs hold.
    template <class Tick>
    [[nodiscard]] bool is_due(Tick const& t, double interval, bool at_changes) noexcept {
        auto const ids = t.template get<"jobs/id">();
        division now{.is_made = true,
                     .at = t.now(),
                     .last_id = ids.empty() ? 0 : ids.back(),
                     .active = 0,
                     .capacity = capacity_of(t)};
        for (auto const state : t.template get<"jobs/state">()) now.active += is_active(static_cast<job_state>(state));
        if (!last.is_outdated(now, interval, at_changes) && !supply_of(t).is_overdrawn) return false;
        last = now;
        return true;
    }

    /// All active jobs that can run, without devices yet, in the order of rows. `usable(row)` is
    /// the largest number that the job can use.
    template <class Tick, class Usable>
    [[nodiscard]] std::span<share> list(Tick const& t, Usable const& usable) noexcept {
        auto const least = t.template get<"jobs/min.gpu">(), most = t.template get<"jobs/max.gpu">();
        auto const state = t.template get<"jobs/state">();
        places_.follow(t, true);  // other ticks were not followed
        places_.start(t, node_lost_devices);
        devices_ = places_.spare();
        shares_.clear();
        for (std::size_t row = 0; row < t.jobs(); ++row) {
            if (!is_active(static_cast<job_state>(state[row]))) continue;
            devices_ += places_.held(t, row);
            share s{
                .row = static_cast<std::uint32_t>(row), .least = least[row] > 1 ? least[row] : 1, .most = most[row]};
            if (std::int64_t const u = usable(row); u < s.most) s.most = u;
            if (s.most > last.capacity) s.most = last.capacity;
            if (s.least <= s.most) shares_.push_back(s);
        }
        return shares_.edit();
    }
    /// The devices for the listed jobs: all devices that other jobs do not hold.
    [[nodiscard]] std::int64_t devices() const noexcept { return devices_; }

    /// The placement, for a policy that chooses nodes itself instead of `apply`.
    [[nodiscard]] placement& places() noexcept { return places_; }

    /// Writes the grants for the listed jobs. Jobs that shrink come first, so that their devices
    /// are free.
    template <class Tick>
    [[nodiscard]] status apply(Tick const& t, grants& out) noexcept {
        targets_.reset(t.jobs());
        for (auto const& s : shares_) targets_[s.row] = s.given;
        auto const state = t.template get<"jobs/state">();
        for (bool const growing : {false, true})
            for (std::size_t row = 0; row < t.jobs(); ++row) {
                std::int64_t const held = places_.held(t, row), target = targets_[row];
                if (held == target || (target > held) != growing || !is_active(static_cast<job_state>(state[row])))
                    continue;
                places_.resize(t, row, target, target > 0 ? its_share : others_first);
            }
        return places_.finish(t, out);
    }

    /// As `apply`, for jobs that restart whenever their devices change and can do so on other
    /// nodes. Jobs that change are placed again, the largest first, so that few are spread over
    /// more nodes than necessary.
    template <class Tick>
    [[nodiscard]] status apply_afresh(Tick const& t, grants& out) noexcept {
        targets_.reset(t.jobs());
        for (auto const& s : shares_) targets_[s.row] = s.given;
        auto const state = t.template get<"jobs/state">();
        for (std::size_t row = 0; row < t.jobs(); ++row) {
            bool const stays = places_.held(t, row) == targets_[row] || !is_active(static_cast<job_state>(state[row]));
            if (!stays) places_.resize(t, row, 0, others_first);
        }
        sort_largest_first();
        for (auto const& s : shares_)
            if (places_.held(t, s.row) != s.given) places_.resize(t, s.row, s.given, its_share);
        return places_.finish(t, out);
    }

    /// Writes the last division if it fits, and returns its size in bytes.
    [[nodiscard]] std::size_t save(std::span<std::byte> space) const noexcept {
        state_writer out(space);
        out.put(last);
        return out.needed();
    }
    /// Restores it; `status::state` for invalid bytes.
    [[nodiscard]] status load(std::span<std::byte const> saved) noexcept {
        state_reader in(saved);
        division loaded;
        if (!in.get(loaded) || !in.finished()) return status::state;
        last = loaded;
        return status::ok;
    }

private:
    /// The shares with the most devices come first; equal ones stay in the order of their rows. O(shares) for each byte
    /// of the largest number: a sort by comparisons was a tenth of a division.
    void sort_largest_first() noexcept {
        constexpr std::int64_t last_digit = 255;
        std::int64_t most = 0;
        for (auto const& s : shares_) most = s.given > most ? s.given : most;
        for (int shift = 0; most >> shift > 0; shift += 8) {
            auto const place = [shift](share const& s) noexcept {
                return static_cast<std::size_t>(last_digit - (s.given >> shift & last_digit));
            };
            std::size_t begins[last_digit + 2] = {};
            for (auto const& s : shares_) ++begins[place(s) + 1];
            for (std::size_t i = 1; i < std::size(begins); ++i) begins[i] += begins[i - 1];
            sorted_.reset(shares_.size());
            for (auto const& s : shares_) sorted_[begins[place(s)]++] = s;
            shares_.assign(sorted_.begin(), sorted_.size());
        }
    }
};

}  // namespace detail
}  // namespace ration::policies
