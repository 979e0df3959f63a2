// SPDX-License-Identifier: BSL-1.0
/// gang, pack and spread as they were before they followed changes: each tick reads all jobs and all nodes.
///
/// A baseline of scale.cpp. The rules are the same, so both give the same schedules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <ration/buffer.hpp>
#include <ration/policies/detail/learners.hpp>
#include <ration/policy.hpp>

namespace ration::bench {

/// Jobs that start as in FfDL: in learners of at most `learner` devices, each on one node.
class all_learners {
    policies::detail::placement places_;
    buffer<std::uint32_t> queue_;
    std::int64_t learner_ = 1;
    std::int64_t most_free_ = 0;  // an upper bound of the free devices of every node
    policies::learner_placement where_ = policies::learner_placement::pack;

public:
    /// Reason codes of the grants.
    enum reason : std::uint16_t { unexplained, fits, not_all_fit, node_lost_devices, gives_up };
    /// Texts of the reason codes, in their order.
    static constexpr std::string_view reasons[] = {"", "there is a node on which its learner fits",
                                                   "its other learners fit nowhere", "a node of its lost devices",
                                                   "its other learners fit nowhere for too long"};

    /// Allocates for the largest tables.
    void reserve(limits const& most) noexcept {
        places_.reserve(most);
        queue_.reserve(most.jobs);
    }

    /// Starts a tick. Returns false if no job lacks devices, or if no device is free. `learner` is the size of one in
    /// devices; 0 = that of the largest node. A job that loses a learner with its node keeps the others, unless `whole`
    /// is set or the rest is below its minimum.
    template <class Tick>
    [[nodiscard]] bool begin(Tick const& t, std::int64_t learner, policies::learner_placement where,
                             bool whole) noexcept {
        auto const supplied = policies::detail::supply_of(t);
        if (supplied.free == 0 && !supplied.is_overdrawn) return false;
        auto const asked = t.template get<"jobs/request.gpu">(), held = t.template get<"jobs/held.gpu">();
        queue_.clear();
        for (std::size_t row = 0; row < t.jobs(); ++row)
            if (asked[row] > held[row] && wanted(t, row) > 0) queue_.push_back(static_cast<std::uint32_t>(row));
        if (queue_.empty() && !supplied.is_overdrawn) return false;
        learner_ = learner;
        where_ = where;
        if (learner_ == 0) learner_ = largest_node(t);
        places_.begin(t, node_lost_devices);
        most_free_ = policies::detail::capacity_of(t);
        for (std::size_t i = 0, n = places_.touched(); i < n; ++i) stop_if_lame(t, places_.touched_row(i), whole);
        return true;
    }

    /// Jobs that lacked devices at the begin of the tick, in the order of submission.
    [[nodiscard]] buffer<std::uint32_t>& queue() noexcept { return queue_; }
    /// True if no device is free.
    [[nodiscard]] bool is_full() const noexcept { return places_.spare() == 0; }

    /// Starts learners of the job: all missing ones, or one, or as many as its minimum needs.
    /// Returns false, without an effect, if not all of these fit.
    template <class Tick>
    [[nodiscard]] bool start(Tick const& t, std::size_t row, bool all) noexcept {
        std::int64_t const before = places_.held(t, row), asked = wanted(t, row);
        std::int64_t const least = t.template get<"jobs/min.gpu">()[row], needed = all             ? asked
                                                                                   : least < asked ? least
                                                                                                   : asked;
        for (std::int64_t have = before; have == before || have < needed;) {
            std::int64_t const size = asked - have < learner_ ? asked - have : learner_;
            std::size_t const node = node_for(size);
            if (size <= 0 || node == policies::detail::placement::nowhere) {
                // The devices that were taken are free again, so the bound no longer holds.
                if (have > before) most_free_ = policies::detail::capacity_of(t);
                places_.resize(t, row, before, not_all_fit);
                return false;
            }
            places_.put(t, row, node, size, fits);
            have += size;
        }
        return true;
    }
    /// True if the job has all its learners now.
    template <class Tick>
    [[nodiscard]] bool is_complete(Tick const& t, std::size_t row) const noexcept {
        return places_.held(t, row) >= wanted(t, row);
    }
    /// Writes the grants. Returns `status::capacity` if they do not fit.
    template <class Tick>
    [[nodiscard]] status finish(Tick const& t, grants& out) noexcept {
        return places_.finish(t, out);
    }

private:
    /// The requested devices of the job; 0 if it is not active.
    template <class Tick>
    [[nodiscard]] static std::int64_t wanted(Tick const& t, std::size_t row) noexcept {
        return policies::detail::wanted_in(t, row);
    }
    /// The devices of the largest node; at least 1.
    template <class Tick>
    [[nodiscard]] static std::int64_t largest_node(Tick const& t) noexcept {
        std::int64_t largest = 1;
        for (std::int64_t const c : t.template get<"nodes/capacity.gpu">()) largest = c > largest ? c : largest;
        return largest;
    }
    /// The node for a learner of this size, or `nowhere`.
    [[nodiscard]] std::size_t node_for(std::int64_t devices) noexcept {
        if (devices > most_free_) return policies::detail::placement::nowhere;
        std::size_t const node =
            where_ == policies::learner_placement::pack ? places_.tightest(devices) : places_.emptiest();
        if (node != policies::detail::placement::nowhere && places_.free(node) >= devices) return node;
        most_free_ = devices - 1;  // until learners are freed, nodes only fill
        return policies::detail::placement::nowhere;
    }

    /// Stops a job that lost a learner, if it cannot run without, and queues it.
    template <class Tick>
    void stop_if_lame(Tick const& t, std::uint32_t row, bool whole) noexcept {
        std::int64_t const held = places_.held(t, row);
        if (held == 0 || (!whole && held >= t.template get<"jobs/min.gpu">()[row])) {
            requeue(row);
            return;
        }
        places_.resize(t, row, 0, node_lost_devices);
        requeue(row);
    }
    /// Inserts the job into the queue, which is sorted by row.
    void requeue(std::uint32_t row) noexcept {
        std::size_t place = 0;
        while (place < queue_.size() && queue_[place] < row) ++place;
        if (place == queue_.size() || queue_[place] != row) queue_.insert(place, row);
    }
};

/// All learners of a job at once, or none; jobs that fit pass others.
class full_gang {
    all_learners jobs_;

public:
    using policy_concept = policy_tag;
    using inputs = policies::detail::learner_columns<>;
    static constexpr meta about{.id = "ration.bench.full-gang", .version = "1.0.0"};

    [[nodiscard]] status prepare(limits const& most) noexcept {
        jobs_.reserve(most);
        return status::ok;
    }
    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        if (!jobs_.begin(t, 0, policies::learner_placement::pack, true)) return status::ok;
        for (std::uint32_t const row : jobs_.queue()) static_cast<void>(jobs_.start(t, row, true));
        return jobs_.finish(t, out);
    }
};

/// Learners one at a time, in random order.
template <policies::learner_placement Where>
class full_learners {
    all_learners jobs_;

public:
    using policy_concept = policy_tag;
    using inputs = policies::detail::learner_columns<>;
    static constexpr meta about{.id = "ration.bench.full-learners", .version = "1.0.0"};

    [[nodiscard]] status prepare(limits const& most) noexcept {
        jobs_.reserve(most);
        return status::ok;
    }
    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        if (!jobs_.begin(t, 0, Where, false)) return status::ok;
        auto& queue = jobs_.queue();
        std::uint64_t state = t.seed();
        while (!queue.empty() && !jobs_.is_full()) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            auto const drawn = static_cast<std::size_t>((state >> 32) * queue.size() >> 32);
            if (jobs_.start(t, queue[drawn], false) && !jobs_.is_complete(t, queue[drawn])) continue;
            queue[drawn] = queue.back();
            queue.resize(queue.size() - 1);
        }
        return jobs_.finish(t, out);
    }
};

}  // namespace ration::bench
