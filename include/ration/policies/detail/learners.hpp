// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// The common part of `gang`, `pack` and `spread`: jobs that start in learners.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <ration/buffer.hpp>
#include <ration/policies/detail/device_requests.hpp>
#include <ration/policies/detail/empty_nodes.hpp>
#include <ration/policies/detail/learner_nodes.hpp>
#include <ration/policies/detail/placement.hpp>
#include <ration/policies/detail/sparse_permutation.hpp>
#include <ration/policies/detail/tenant_gate.hpp>
#include <ration/policies/detail/waiting_rows.hpp>
#include <ration/resource.hpp>

namespace ration::policies {

namespace detail {

/// The columns of jobs with learners, and those that a policy adds.
template <class... More>
using learner_columns = tenant_columns<More...>;

/// Jobs that start as in FfDL: in learners of at most `learner` devices, each on one node. `begin` is O(changes log
/// jobs), or O(jobs + nodes) without a list of changes.
class learners {
    placement places_;
    device_requests requests_;
    waiting_rows waiting_;  // jobs that lack devices, after the plan so far
    sparse_permutation swapped_;
    buffer<std::uint32_t> planned_;  // rows of the last plan
    std::size_t most_jobs_ = 0;
    learner_nodes nodes_;
    empty_nodes empty_;
    std::int64_t most_starts_ = unbounded;  // learners of more devices do not fit together
    bool is_skipped_ = false;               // the last tick was not followed
    bool is_whole_ = false;                 // a job runs with all of its learners, or not

    static constexpr std::int64_t unbounded = max_amount;

public:
    /// Reason codes of the grants.
    enum reason : std::uint16_t { unexplained, fits, not_all_fit, node_lost_devices, gives_up, made_room };
    /// Texts of the reason codes, in their order.
    static constexpr std::string_view reasons[] = {"",
                                                   "there is a node on which its learner fits",
                                                   "its other learners fit nowhere",
                                                   "a node of its lost devices",
                                                   "its other learners fit nowhere for too long",
                                                   "stopped for a job within the quota of its tenant"};

    /// Allocates for the largest tables.
    void reserve(limits const& most) noexcept {
        places_.reserve(most);
        requests_.reserve(most);
        waiting_.reserve(most_jobs_ = most.jobs);
        planned_.reserve(most.jobs);
        swapped_.reserve(most.jobs);
        empty_.forget();
    }

    /// Starts a tick. Returns false if no job lacks devices, or if no device is free and, without `frees`, none will
    /// be. `learner` is the size of one in devices; 0 = that of the largest node. A job that loses a learner with its
    /// node keeps the others, unless `whole` is set or the rest is below its minimum.
    template <class Tick>
    [[nodiscard]] bool begin(Tick const& t, std::int64_t learner, learner_placement where, bool whole,
                             bool frees = false) noexcept {
        if (t.changes(table_id::nodes).everything != 0 && !frees) {
            auto const supplied = supply_of(t);
            if (supplied.free == 0 && !supplied.is_overdrawn) {
                requests_.skip();
                is_skipped_ = true;
                return false;
            }
        }
        follow(t);
        if (places_.spare() == 0 && !places_.is_overdrawn() && !frees) return false;
        if (waiting_.size() == 0 && !places_.is_overdrawn()) return false;
        nodes_.begin(learner == 0 ? empty_.largest(t.template get<"nodes/capacity.gpu">()) : learner, where);
        is_whole_ = whole;
        places_.start(t, node_lost_devices);
        most_starts_ = unbounded;
        for (std::size_t i = 0, n = places_.touched(); i < n; ++i) stop_if_lame(t, places_.touched_row(i));
        return true;
    }

    /// Starts learners one at a time: `draw(jobs)` is the index of the next job among those that are still in the
    /// queue. A job leaves it when it is complete, when its next learner does not fit, or if it is not `admitted`.
    template <class Tick, class Draw, class Admitted>
    void start_in_turns(Tick const& t, Draw const& draw, Admitted const& admitted) noexcept {
        swapped_.begin(waiting_.size());
        for (std::size_t left = waiting_.size(); left > 0 && !none_fits();) {
            std::size_t const drawn = draw(left), row = waiting_.nth(swapped_[drawn]);
            if (nodes_.next(waiting_.lack(row)) <= largest_free() && admitted(row)) {
                std::int64_t const lacks = start(t, row, false) ? requests_.wanted(row) - places_.held(t, row) : 0;
                // It keeps its index until the next tick.
                waiting_.set_lack(row, lacks);
                if (lacks > 0) continue;
            }
            --left;
            swapped_.set(drawn, swapped_[left]);
        }
    }

    /// Starts all missing learners of each job in the order of submission. A job that does not fit blocks all later
    /// ones, unless `others_pass` or it does not even fit on empty nodes.
    ///
    /// Nodes only fill, and of two jobs the one that lacks less fits if the other does: it can take the place of a
    /// whole learner. So after a failure only jobs that lack less can start. O(log jobs) for each start and each
    /// failure.
    template <class Tick>
    void start_in_order(Tick const& t, bool others_pass) noexcept {
        for (std::int64_t most = others_pass ? places_.spare() : unbounded; most > 0;) {
            std::size_t const row = waiting_.first(most);
            if (row == waiting_.none) return;
            std::int64_t const lacks = waiting_.lack(row);
            if (start(t, row, true)) {
                waiting_.set(row, 0);
                if (others_pass && places_.spare() < most) most = places_.spare();
                continue;
            }
            if (!others_pass) measure(t);
            if (!others_pass && empty_.have_room(requests_.wanted(row))) return;
            most = lacks - 1;
        }
    }

    /// Reads the capacities of the nodes, after `begin`: `capacity` and `waits` depend on them. O(nodes) if they may
    /// have changed.
    template <class Tick>
    void measure(Tick const& t) noexcept {
        empty_.count(t.template get<"nodes/capacity.gpu">(), nodes_.size());
    }
    /// The devices of all nodes.
    [[nodiscard]] std::int64_t capacity() const noexcept { return empty_.capacity(); }
    /// The devices that are free, after the plan so far.
    [[nodiscard]] std::int64_t spare() const noexcept { return places_.spare(); }
    /// The devices that jobs request and hold, after the plan so far, as long as `start_in_turns` and `start_in_order`
    /// are not part of it.
    [[nodiscard]] device_requests const& requests() const noexcept { return requests_; }
    /// The devices that count as held by its tenant: all that it requests if one of its learners runs, and others may
    /// follow.
    [[nodiscard]] std::int64_t committed(std::size_t row) const noexcept {
        std::int64_t const wanted = requests_.wanted(row), held = requests_.held(row);
        return is_whole_ || held == 0 || held > wanted ? held : wanted;
    }
    /// True if the job lacks learners, has not given up in this tick, and would fit on empty nodes.
    [[nodiscard]] bool waits(std::size_t row) const noexcept {
        return waiting_.contains(row) && empty_.have_room(requests_.wanted(row));
    }
    /// False if the learners that `start` would start surely do not fit.
    template <class Tick>
    [[nodiscard]] bool may_fit(Tick const& t, std::size_t row) const noexcept {
        return next_part(t, row, is_whole_) <= most_starts_;
    }
    /// Starts as many learners as the rule requires at once. Returns false, without an effect, if they do not fit.
    template <class Tick>
    bool start(Tick const& t, std::size_t row) noexcept {
        return start_and_note(t, row, is_whole_);
    }
    /// Starts all missing learners, in the same way.
    template <class Tick>
    bool start_whole(Tick const& t, std::size_t row) noexcept {
        return start_and_note(t, row, true);
    }
    /// Frees the learners of the job, so that `put_back` can return them.
    template <class Tick>
    void stop(Tick const& t, std::size_t row) noexcept {
        places_.keep(t, row);
        places_.resize(t, row, 0, made_room);
        nodes_.forget();
        most_starts_ = unbounded;
        note(t, row);
    }
    /// Undoes the last `stop` of the job. Returns false, without an effect, if its devices are not free.
    template <class Tick>
    bool put_back(Tick const& t, std::size_t row) noexcept {
        if (!places_.revert(row)) return false;
        note(t, row);
        return true;
    }
    /// Frees the learners of the job, and removes it from the queue of this tick.
    template <class Tick>
    void withdraw(Tick const& t, std::size_t row) noexcept {
        places_.resize(t, row, 0, gives_up);
        nodes_.forget();
        most_starts_ = unbounded;
        requests_.plan(row, 0);
        waiting_.set(row, 0);
    }

    /// Writes the grants. Returns `status::capacity` if they do not fit.
    template <class Tick>
    [[nodiscard]] status finish(Tick const& t, grants& out) noexcept {
        return places_.finish(t, out);
    }

private:
    /// The devices of the learners that start together: of all missing ones, or of one, or of as many as the minimum of
    /// the job needs. After a failure, all that are not smaller fail too: nodes only fill, and the smaller one could
    /// take the place of a whole learner.
    template <class Tick>
    [[nodiscard]] std::int64_t next_part(Tick const& t, std::size_t row, bool all) const noexcept {
        std::int64_t const held = places_.held(t, row), lacks = requests_.wanted(row) - held;
        std::int64_t const needs = t.template get<"jobs/min.gpu">()[row] - held;
        std::int64_t const learner = nodes_.size();
        if (all || lacks <= learner || needs >= lacks) return lacks;
        std::int64_t const part = needs > learner ? (needs + learner - 1) / learner * learner : learner;
        return part < lacks ? part : lacks;
    }
    /// Starts these learners. Returns false, without an effect, if they do not fit.
    template <class Tick>
    [[nodiscard]] bool start(Tick const& t, std::size_t row, bool all) noexcept {
        std::int64_t const part = next_part(t, row, all);
        places_.keep(t, row);
        for (std::int64_t left = part; left > 0; left -= nodes_.next(left)) {
            std::size_t const node = nodes_.find(places_, nodes_.next(left));
            if (node == placement::nowhere) {
                if (left == part) return false;
                places_.revert(row);
                places_.explain(row, not_all_fit);
                nodes_.forget();
                return false;
            }
            places_.put(t, row, node, nodes_.next(left), fits);
        }
        return part > 0;
    }
    /// The same for `gated_jobs`.
    template <class Tick>
    [[nodiscard]] bool start_and_note(Tick const& t, std::size_t row, bool all) noexcept {
        std::int64_t const part = next_part(t, row, all);
        bool const has_started = start(t, row, all);
        if (has_started)
            note(t, row);
        else
            most_starts_ = part - 1;
        return has_started;
    }
    /// Takes in what the plan has changed.
    template <class Tick>
    void note(Tick const& t, std::size_t row) noexcept {
        requests_.plan(row, requests_.wanted(row) > 0 ? places_.held(t, row) : 0);
        waiting_.set(row, requests_.lack(row));
    }
    /// The most free devices of a node.
    [[nodiscard]] std::int64_t largest_free() const noexcept {
        std::size_t const node = places_.emptiest();
        return node == placement::nowhere ? 0 : places_.free(node);
    }
    [[nodiscard]] bool none_fits() const noexcept { return nodes_.next(waiting_.least()) > largest_free(); }

    /// Takes in what has changed since the last tick.
    template <class Tick>
    void follow(Tick const& t) noexcept {
        planned_.clear();
        for (std::size_t i = 0; i < places_.touched(); ++i) planned_.push_back(places_.touched_row(i));
        bool const moved = requests_.follow(t, planned_.view());
        places_.follow(t, is_skipped_);
        if (is_skipped_ || !has_same_capacity(t)) empty_.forget();
        is_skipped_ = false;
        if (moved || waiting_.room() <= t.jobs())
            return waiting_.fill(t.jobs(), most_jobs_, [&](std::size_t row) noexcept { return requests_.lack(row); });
        for (std::uint32_t const row : planned_) waiting_.set(row, requests_.lack(row));
        for (std::uint32_t const row : requests_.renewed()) waiting_.set(row, requests_.lack(row));
    }
    /// Stops a job that lost a learner, if it cannot run without, and queues it.
    template <class Tick>
    void stop_if_lame(Tick const& t, std::uint32_t row) noexcept {
        std::int64_t const held = places_.held(t, row);
        if (held > 0 && (is_whole_ || held < t.template get<"jobs/min.gpu">()[row]))
            places_.resize(t, row, 0, node_lost_devices);
        note(t, row);
    }
};

}  // namespace detail
}  // namespace ration::policies
