// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private, include "ration/host/check.hpp"
/// The fast path of `check`: accepts an answer without faults in one pass over its rows.
///
/// An answer that is not accepted here goes to the general path in host/check.hpp, which finds the
/// faulty rows. Both have to give the same grants; tests/unit/check_random.cpp compares them on random
/// answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ration/buffer.hpp>
#include <ration/detail/grant_rules.hpp>
#include <ration/detail/job_order.hpp>
#include <ration/detail/job_sums.hpp>
#include <ration/detail/sort.hpp>
#include <ration/host/checked_grant.hpp>
#include <ration/host/ledger.hpp>

namespace ration::detail {

/// Validates the common answer: no explicit groups, and nothing to reject except rows beyond the
/// capacity. The rows are read once, job by job, in parallel with the holdings of the jobs. Rows in
/// another order are sorted first.
class good_answer {
public:
    // `not_in_order` is also the outcome for a node and resource that come twice.
    enum class outcome : std::uint8_t { good, over_capacity, not_good, not_in_order };

    /// Orders by group, then as the rows are in the answer.
    struct by_group {
        [[nodiscard]] bool operator()(checked_grant const& a, checked_grant const& b) const noexcept {
            return a.group() != b.group() ? a.group() < b.group() : a.asked < b.asked;
        }
    };

private:
    /// The rows in the order of the answer.
    struct as_written {
        grant const* all;
        std::size_t size;

        [[nodiscard]] grant const& operator[](std::size_t i) const noexcept { return all[i]; }
        [[nodiscard]] std::uint32_t job(std::size_t i) const noexcept { return all[i].job; }
    };
    /// The rows in the order of `order`.
    struct by_job {
        grant const* all;
        std::size_t size;
        job_order const& order;

        [[nodiscard]] grant const& operator[](std::size_t i) const noexcept {
            // Rows are read in random order, which the hardware cannot predict; so prefetch.
            constexpr std::size_t ahead = 16;
            if (i + ahead < size) __builtin_prefetch(&all[order.row(i + ahead)]);
            return all[order.row(i)];
        }
        [[nodiscard]] std::uint32_t job(std::size_t i) const noexcept { return order.job(i); }
    };

    job_order order_;
    buffer<job_sum> sums_;  // by resource, of one job; all empty between jobs
    reservations reservations_;

public:
    /// Allocates for the largest answer.
    void prepare(std::size_t most_nodes, std::size_t resources, std::size_t most_grants) {
        order_.reserve(most_grants);
        sums_.reset(resources);
        reservations_.prepare(most_nodes, resources);
    }

    /// Accepts all rows, ordered by job and then as in the answer. After `over_capacity` the caller
    /// has to drop some of them. After other failures the content of `accepted` is meaningless.
    [[nodiscard]] outcome accept(grant_rules const& by, ledger const& held, std::span<grant const> rows,
                                 buffer<checked_grant>& accepted) noexcept {
        accepted.clear();
        checked_grant* const out = accepted.extend(rows.size());
        auto reply = accept_rows(by, held, as_written{rows.data(), rows.size()}, out);
        if (reply == outcome::not_in_order && order_.sort(rows, by.jobs()))
            reply = accept_rows(by, held, by_job{rows.data(), rows.size(), order_}, out);
        return reply;
    }

private:
    static constexpr std::int64_t far_too_much = std::int64_t{1} << 60;  // beyond, sums might overflow

    /// The node and resource of the last row. Most rows have the same ones, or at least the same
    /// resource, so the sum is kept in a register.
    struct here {
        grant_rules const& by;
        reservations& sums;
        bool crowded = false;  ///< a reservation exceeded the capacity before all releases were counted
        std::uint32_t node = ~std::uint32_t{0};
        std::uint32_t resource = ~std::uint32_t{0};
        std::int64_t *place = nullptr, sum = 0, capacity = 0;
        bool is_summed = true;  ///< false for settings: nothing bounds their sum, which could overflow
        grant_rules::bounds_view bounds{};
        std::size_t plain_end = 0;  ///< rows up to here have passed `end_of_plain`

        /// Moves to the row's node and resource. Returns false if they do not exist.
        [[nodiscard]] bool go_to(grant const& g) noexcept {
            if (g.node == node && g.resource == resource) return true;
            leave();
            if (!by.knows_place(g)) return false;
            if (g.resource != resource) bounds = by.bounds(g.resource);
            node = g.node;
            resource = g.resource;
            place = &sums.at(node, static_cast<resource_id>(resource));
            sum = *place;
            capacity = by.capacity(node, static_cast<resource_id>(resource));
            is_summed = capacity != unlimited;
            return true;
        }
        /// Writes the sum back.
        void leave() noexcept {
            if (place != nullptr) *place = sum;
        }
        /// Adds the change of a grant. Returns false if the sum could overflow.
        [[nodiscard]] bool reservation(checked_grant const& g) noexcept {
            if (!is_summed) return true;
            std::int64_t const growth = g.growth();
            sum += growth;
            crowded |= growth > 0 && sum > capacity;
            return sum < far_too_much;
        }
    };

    /// Validates the rows job by job. `first` to `last` are the rows of one job, or a run of plain
    /// rows.
    template <class Rows>
    [[nodiscard]] outcome accept_rows(grant_rules const& by, ledger const& held, Rows const& rows,
                                      checked_grant* const out) noexcept {
        std::size_t const size = rows.size;
        reservations_.start(held);
        ledger::walk walk(held);
        here at{by, reservations_};
        for (std::size_t first = 0, last = 0; first < size; first = last) {
            std::uint32_t const job = rows.job(first);
            if (job >= by.jobs()) return outcome::not_good;
            if (first > 0 && job < rows.job(first - 1)) return outcome::not_in_order;
            // Two jobs, one row each, in the same place: probably a run.
            if (first + 1 < size && begins_run(rows[first], rows[first + 1])) {
                last = accept_run(rows, walk, at, out, first);
                if (last > first) continue;
            }
            auto const owned = walk.of(by.id_of(job));
            for (last = first + 1; last < size && rows.job(last) == job;) ++last;
            auto const reply = last - first == 1 ? accept_one(rows[first], owned, at, out[first])
                               : by.nodes() == 1 ? accept_each(rows, owned, at, out, first, last)
                                                 : accept_several(rows, owned, at, out, first, last);
            if (reply != outcome::good) return reply;
        }
        // Sums were checked while later rows had not yet released; only if one was too large is a
        // second look needed.
        at.leave();
        return !at.crowded || fits(by, out, size) ? outcome::good : outcome::over_capacity;
    }

    /// True if two rows can be in a run: same node and resource, ascending jobs.
    [[nodiscard]] static bool begins_run(grant const& first, grant const& second) noexcept {
        return first.node == second.node && first.resource == second.resource && first.job < second.job;
    }

    /// The amount that the job holds of the resource on the node, if it holds nothing else;
    /// otherwise -1.
    [[nodiscard]] static std::int64_t all_held(holding_range owned, std::uint32_t node,
                                               std::uint32_t resource) noexcept {
        if (owned.first == owned.last) return 0;
        setting const& what = owned.first->what;
        return owned.first + 1 == owned.last && what.node == node &&
                       static_cast<std::uint32_t>(what.resource) == resource
                   ? what.amount
                   : -1;
    }

    /// A run is read twice, in pieces that stay in the first-level cache meanwhile and whose sums
    /// cannot overflow.
    static constexpr std::size_t piece = 256;

    /// The end of the plain rows from `first` on. A row is plain if it is the only row of its job,
    /// has the place of `at`, and has an amount that the job accepts alone. A separate function,
    /// so that all values stay in registers.
    template <class Rows>
    [[nodiscard, gnu::noinline]] static std::size_t end_of_plain(Rows const rows, here const& at, std::size_t first,
                                                                 std::size_t last) noexcept {
        std::int64_t const *const minimum = at.bounds.minimum, *const maximum = at.bounds.maximum;
        std::uint32_t const* const states = at.by.states();
        std::uint64_t const jobs = at.by.jobs();
        std::uint64_t const first_job = std::uint64_t{at.node} << 32, resource = at.resource, any_reason = 0xFFFF0000;
        bool const can_be_free = at.by.can_be_unlimited(at.resource);
        std::int64_t const smallest = at.bounds.least;
        std::uint64_t const row_mask = at.bounds.row_mask;
        std::size_t i = first;
        std::uint64_t least = 0;  // the job before `first` is another one
        for (; i < last; ++i) {
            grant const& g = rows[i];
            std::uint64_t const job = place_word(g) - first_job;  // on another node it is more than all jobs
            std::int64_t const amount = g.amount;
            if (job < least || job >= jobs || (kind_word(g) & ~any_reason) != resource) break;
            least = job + 1;
            bool const active = is_active(static_cast<job_state>(states[job]));
            std::uint64_t const bound = job & row_mask;
            if (amount >= minimum[bound] && amount <= maximum[bound] && amount >= smallest && amount < max_amount &&
                active) [[likely]]
                continue;
            if (amount != 0 && !(amount == unlimited && can_be_free && active)) break;
        }
        // A job with a second row behind the run is not plain: both rows have to be summed.
        bool const of_one_job = i > first && i < rows.size && rows.job(i) == rows.job(i - 1);
        return of_one_job ? i - 1 : i;
    }

    /// Accepts a piece of the plain rows from `first` on, as long as their jobs hold the resource
    /// on no other node. Returns the index of the first row that is not accepted.
    template <class Rows>
    [[nodiscard, gnu::noinline]] static std::size_t accept_run(Rows const rows, ledger::walk& walk, here& at,
                                                               checked_grant* const out,
                                                               std::size_t const first) noexcept {
        if (!at.go_to(rows[first]) || at.sum >= far_too_much) return first;
        if (first >= at.plain_end)
            at.plain_end = end_of_plain(rows, at, first, first + piece < rows.size ? first + piece : rows.size);
        std::uint64_t const* const ids = at.by.ids();
        std::uint32_t const node = at.node, resource = at.resource;
        ledger::walk held = walk;
        std::int64_t sum = at.sum, peak = sum;
        std::size_t i = first;
        for (; i < at.plain_end; ++i) {
            grant const& g = rows[i];
            job_id const job{ids[g.job]};
            std::int64_t const before = held.only(job, node, static_cast<resource_id>(resource));
            if (before < 0) break;
            out[i] = {job, before, &g};
            if (g.amount == before) continue;  // true for most rows
            sum += out[i].growth();
            peak = sum > peak ? sum : peak;
        }
        if (at.is_summed) at.sum = sum;
        at.crowded |= peak > at.capacity;
        walk = held;
        return i;
    }

    /// Validates the only row of a job.
    [[nodiscard]] static outcome accept_one(grant const& g, holding_range owned, here& at,
                                            checked_grant& out) noexcept {
        if (!at.go_to(g) || g.group != 0) return outcome::not_good;
        std::int64_t const before = all_held(owned, g.node, g.resource);
        out = {at.by.id_of(g.job), before < 0 ? 0 : before, &g};
        bool const plain = before >= 0 && at.bounds.hold(g) && at.by.is_active(g);
        return (plain || is_good(g, owned, at.by, out)) && at.reservation(out) ? outcome::good : outcome::not_good;
    }

    /// Validates the rows of a job on a single node. No other row can add to the sum of a resource.
    template <class Rows>
    [[nodiscard]] static outcome accept_each(Rows const& rows, holding_range owned, here& at, checked_grant* out,
                                             std::size_t first, std::size_t last) noexcept {
        job_id const job = at.by.id_of(rows.job(first));
        bool const active = at.by.is_active(rows[first]);
        holding const* next = owned.first;
        for (std::size_t i = first; i < last; ++i) {
            grant const& g = rows[i];
            auto const resource = static_cast<resource_id>(g.resource);
            if (i > first && out[i - 1].resource() >= resource) return outcome::not_in_order;
            if (!at.go_to(g) || g.group != 0) return outcome::not_good;
            while (next != owned.last && next->what.resource < resource) ++next;
            bool const holds = next != owned.last && next->what.resource == resource;
            out[i] = {job, holds ? next->what.amount : 0, &g};
            bool const plain = active && at.bounds.hold(g);
            if (!(plain || is_good(g, {next, next + holds}, at.by, out[i])) || !at.reservation(out[i]))
                return outcome::not_good;
        }
        detail::sort(out + first, last - first, by_group{});
        return outcome::good;
    }

    /// The slow test of one row: the job holds something elsewhere, or the amount is 0 or
    /// unlimited.
    [[nodiscard, gnu::noinline]] static bool is_good(grant const& g, holding_range owned, grant_rules const& by,
                                                     checked_grant& out) noexcept {
        if (by.rule_for(g) != check_rule::passed) return false;
        job_sum sum{.group = out.group()};
        for (auto const& h : owned) {
            if (h.what.resource != out.resource()) continue;
            sum.hold(h.what.amount);
            if (h.what.node == g.node) out.held = h.what.amount;
        }
        sum.add(out);
        return by.rule_for_sum(g, sum) == check_rule::passed;
    }

    /// Validates the rows of a job on several nodes. Rows and holdings are both sorted by node and
    /// resource.
    template <class Rows>
    [[nodiscard]] outcome accept_several(Rows const& rows, holding_range owned, here& at, checked_grant* out,
                                         std::size_t first, std::size_t last) noexcept {
        job_id const job = at.by.id_of(rows.job(first));
        bool const active = at.by.is_active(rows[first]);
        for (auto const& h : owned) sums_[static_cast<std::size_t>(h.what.resource)].hold(h.what.amount);
        auto reply = outcome::good;
        holding const* next = owned.first;
        setting before{job, 0, resource_id{}, 0};
        for (std::size_t i = first; i < last && reply == outcome::good; ++i) {
            grant const& g = rows[i];
            setting const what{job, g.node, static_cast<resource_id>(g.resource), g.amount};
            if (i > first && !ledger::before(before, what)) reply = outcome::not_in_order;
            if (!at.go_to(g) || g.group != 0 ||
                !(is_plain(g, at.bounds.least, active) || at.by.rule_for(g) == check_rule::passed))
                reply = outcome::not_good;
            if (reply != outcome::good) break;
            while (next != owned.last && ledger::before(next->what, what)) ++next;
            out[i] = {job, next != owned.last && ledger::same_place(next->what, what) ? next->what.amount : 0, &g};
            job_sum& its = sums_[g.resource];
            its.group = out[i].group();
            its.add(out[i]);
            if (!at.reservation(out[i])) reply = outcome::not_good;
            before = what;
        }
        // The sums are complete now, so the bounds can be tested.
        for (std::size_t i = first; i < last && reply == outcome::good; ++i)
            if (at.by.rule_for_sum(*out[i].asked, sums_[out[i].asked->resource]) != check_rule::passed)
                reply = outcome::not_good;
        forget(owned, out + first, reply == outcome::good ? last - first : 0);
        if (reply == outcome::good) detail::sort(out + first, last - first, by_group{});
        return reply;
    }

    /// True if the amount needs no rule besides the sum.
    [[nodiscard]] static bool is_plain(grant const& g, std::int64_t least, bool active) noexcept {
        return g.amount == 0 || (active && g.amount >= least && g.amount <= max_amount);
    }

    /// Empties the sums that were used; all of them after a failure, when it is not known which.
    void forget(holding_range owned, checked_grant const* rows, std::size_t size) noexcept {
        if (size == 0) return sums_.reset(sums_.size());
        for (auto const& h : owned) sums_[static_cast<std::size_t>(h.what.resource)] = {};
        for (std::size_t i = 0; i < size; ++i) sums_[static_cast<std::size_t>(rows[i].resource())] = {};
    }

    /// After all releases: true if every growth fits the capacity.
    [[nodiscard]] bool fits(grant_rules const& by, checked_grant const* rows, std::size_t size) noexcept {
        bool fit = true;
        for (checked_grant const* g = rows; g != rows + size; ++g)
            fit &=
                g->growth() <= 0 || reservations_.at(g->node(), g->resource()) <= by.capacity(g->node(), g->resource());
        return fit;
    }
};

}  // namespace ration::detail
