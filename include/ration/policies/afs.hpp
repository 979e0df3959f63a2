// SPDX-License-Identifier: BSL-1.0
/// afs: elastic sharing that favours short jobs as long as long ones do not gain more. Source: C. Hwang et al.,
/// "Elastic Resource Sharing for Distributed Deep Learning", NSDI 2021, its AFS-L; the rule as a published
/// re-implementation has it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include <ration/buffer.hpp>
#include <ration/policies/detail/elastic_jobs.hpp>
#include <ration/policies/detail/speed.hpp>
#include <ration/policy.hpp>

namespace ration::policies {

/// Devices are given one by one, each to the winner of a tournament of all jobs that would go faster with it. Of two
/// jobs without devices the one with less left to do wins. Else let a be the one that ends first with what each has so
/// far, b the other, and s their speeds: b wins if (s_b(g_b + 1) - s_b(g_b)) / s_b(g_b + 1) > (s_a(g_a + 1) - s_a(g_a))
/// / s_a(g_a), and a otherwise; of equals the first submitted.
///
/// Read here: a job's first gift is its minimum; where more devices help only from some number on, they are one gift,
/// and its gain is divided by their number; both lengths are taken each at its own devices (the re-implementation takes
/// both at a's, which looks like a slip); a job of unknown length is longer than all others. The speed is that of the
/// batch that was asked for, on the first type of devices. O(devices x jobs) when jobs or devices come or go, O(jobs +
/// nodes) otherwise; state: when it last divided.
class afs {
public:
    using policy_concept = policy_tag;
    using parameters = division_parameters;
    using inputs = detail::elastic_columns<in<double, "jobs/remaining">, in_rows<double, "jobs/goodput.fixed">,
                                           in<std::uint32_t, "nodes/type">>;
    static constexpr meta about{.id = "ration.afs",
                                .version = "1.0.0",
                                .summary = "elastic sharing for the least mean completion time",
                                .reasons = detail::elastic_jobs::reasons};

    afs() = default;
    explicit afs(division_parameters const& p) noexcept : parameters_(p) {}

    [[nodiscard]] status prepare(limits const& most) noexcept {
        jobs_.reserve(most);
        players_.reserve(most.jobs);
        return status::ok;
    }

    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        if (!jobs_.is_due(t, parameters_.interval, true)) return status::ok;
        std::int64_t const widest = detail::widest_of(t.get<"jobs/goodput.fixed">().width(), t.get<"nodes/type">());
        auto const shares = jobs_.list(t, [&](std::size_t) noexcept { return widest; });
        players_.clear();
        for (auto const& s : shares)
            if (player const p = player_of(t, s, &s - shares.data()); p.gift > 0) players_.push_back(p);
        for (std::int64_t left = jobs_.devices(); left > 0 && !players_.empty();) {
            std::size_t const winner = best_of(left);
            if (winner == players_.size()) break;
            player& p = players_[winner];
            detail::share& s = shares[p.place];
            left -= p.gift;
            s.given += p.gift;
            p = player_of(t, s, p.place);
            if (p.gift == 0) players_.erase(winner, winner + 1);
        }
        return jobs_.apply(t, out);
    }

    [[nodiscard]] std::size_t save(std::span<std::byte> space) const noexcept { return jobs_.save(space); }
    [[nodiscard]] status load(std::span<std::byte const> saved) noexcept { return jobs_.load(saved); }

private:
    struct player {
        double length;      // seconds to its end, with nothing yet those at its minimum
        double as_short;    // its gain over its speed before
        double as_long;     // its gain over its speed after
        std::int64_t gift;  // devices that it wants next; 0 = none
        std::uint32_t place;
        bool has_devices;
    };

    division_parameters parameters_;
    detail::elastic_jobs jobs_;
    buffer<player> players_;  // in the order of submission

    [[nodiscard]] static player player_of(tick<inputs> const& t, detail::share const& s,
                                          std::ptrdiff_t place) noexcept {
        detail::speed_curve const speed{t.get<"jobs/goodput.fixed">()[s.row]};
        std::int64_t const to = speed.next(s.given, s.least, s.most);
        player p{.length = 0,
                 .as_short = 0,
                 .as_long = 1,
                 .gift = to - s.given,
                 .place = static_cast<std::uint32_t>(place),
                 .has_devices = s.given > 0};
        if (to == 0) {
            p.gift = 0;
            return p;
        }
        double const before = speed.at(s.given), after = speed.at(to), steps = t.get<"jobs/remaining">()[s.row];
        p.length = steps >= 0 ? steps / (p.has_devices ? before : after) : std::numeric_limits<double>::infinity();
        if (!p.has_devices) {
            p.as_long = 1 / static_cast<double>(p.gift);
            return p;
        }
        double const gain = (after - before) / static_cast<double>(p.gift);
        p.as_short = gain / before;
        p.as_long = gain / after;
        return p;
    }

    /// `other` comes later and has to be better.
    [[nodiscard]] static bool beats(player const& other, player const& best) noexcept {
        if (!other.has_devices && !best.has_devices) return other.length < best.length;
        bool const is_longer = other.has_devices != best.has_devices ? !other.has_devices : other.length >= best.length;
        return is_longer ? other.as_long > best.as_short : !(best.as_long > other.as_short);
    }

    /// Of those for whose gift there is room; `size()` when there is none.
    [[nodiscard]] std::size_t best_of(std::int64_t left) const noexcept {
        std::size_t best = players_.size();
        for (std::size_t i = 0; i < players_.size(); ++i)
            if (players_[i].gift <= left && (best == players_.size() || beats(players_[i], players_[best]))) best = i;
        return best;
    }
};

static_assert(Policy<afs>);

}  // namespace ration::policies
