// SPDX-License-Identifier: BSL-1.0
/// afs: elastic sharing that favours short jobs unless long ones gain more. Source: C. Hwang et
/// al., "Elastic Resource Sharing for Distributed Deep Learning", NSDI 2021, its AFS-L. The rule
/// follows a published re-implementation.
///
/// For clusters of jobs whose number of devices can change. `optimus` uses the same inputs and
/// minimises another sum; docs/choosing.md measures both.
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

/// Devices are granted one by one, each to the winner of a tournament among all jobs that would run
/// faster with it. Of two jobs without devices, the one with less remaining work wins. Otherwise
/// let a be the job that ends first with the devices granted so far, b the other, and s their
/// speeds. Job b wins if
///
///     (s_b(g_b + 1) - s_b(g_b)) / s_b(g_b + 1) > (s_a(g_a + 1) - s_a(g_a)) / s_a(g_a),
///
/// and a otherwise. Ties go to the job that was submitted first.
///
/// Interpretation here: the first grant of a job is its minimum. Where more devices help only from
/// some number on, they are one grant, and its gain is divided by their number. Each length is
/// taken at the job's own devices; the re-implementation takes both at those of a, which is
/// probably a mistake. A job of unknown length is longer than all others. The speed is that of the
/// requested batch, on the first type of devices.
///
/// O(devices x jobs) when jobs or devices come or go, O(jobs + nodes) otherwise. State: the time of
/// the last division.
class afs {
public:
    /// Declares the class as a policy.
    using policy_concept = policy_tag;
    /// The parameters that a user can set.
    using parameters = division_parameters;
    /// The columns that `decide` reads. A host that lacks one of them refuses the policy.
    using inputs = detail::elastic_columns<in<double, "jobs/remaining">, in_rows<double, "jobs/goodput.fixed">,
                                           in<std::uint32_t, "nodes/type">>;
    /// Identity of the policy, and the texts of its reason codes.
    static constexpr meta about{.id = "ration.afs",
                                .version = "1.0.0",
                                .summary = "elastic sharing for the least mean completion time",
                                .reasons = detail::elastic_jobs::reasons};

    /// With the default parameters.
    afs() = default;
    /// With these parameters. Precondition: `p.problem()` is empty.
    explicit afs(division_parameters const& p) noexcept : parameters_(p) {}

    /// Allocates for the largest tables, so that `decide` does not allocate.
    [[nodiscard]] status prepare(limits const& most) noexcept {
        jobs_.reserve(most);
        players_.reserve(most.jobs);
        return status::ok;
    }

    /// Writes the grants of one tick. Returns `status::capacity` if they do not fit.
    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        if (!jobs_.is_due(t, parameters_.interval, parameters_.at_changes)) return status::ok;
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

    /// Writes the state if it fits, and returns its size in bytes.
    [[nodiscard]] std::size_t save(std::span<std::byte> space) const noexcept { return jobs_.save(space); }
    /// Restores what `save` wrote. Returns `status::state`, without an effect, for invalid bytes.
    [[nodiscard]] status load(std::span<std::byte const> saved) noexcept { return jobs_.load(saved); }

private:
    /// A job in the tournament.
    struct player {
        // A length is in seconds; a job without devices is measured with its minimum.
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

    /// The next grant of a job, and the values that the tournament compares. A gift of 0 means that
    /// more devices do not help.
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

    /// Compares two players; `other` comes later in the order of submission and has to be better.
    [[nodiscard]] static bool beats(player const& other, player const& best) noexcept {
        if (!other.has_devices && !best.has_devices) return other.length < best.length;
        bool const is_longer = other.has_devices != best.has_devices ? !other.has_devices : other.length >= best.length;
        return is_longer ? other.as_long > best.as_short : !(best.as_long > other.as_short);
    }

    /// The winner among the players whose grant fits into `left` devices; `players_.size()` if
    /// there is none.
    [[nodiscard]] std::size_t best_of(std::int64_t left) const noexcept {
        std::size_t best = players_.size();
        for (std::size_t i = 0; i < players_.size(); ++i)
            if (players_[i].gift <= left && (best == players_.size() || beats(players_[i], players_[best]))) best = i;
        return best;
    }
};

static_assert(Policy<afs>);

}  // namespace ration::policies
