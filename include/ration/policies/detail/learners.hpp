// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// The common part of `gang`, `pack` and `spread`: jobs that start in learners.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include <ration/buffer.hpp>
#include <ration/job_memory.hpp>
#include <ration/parameter.hpp>
#include <ration/policies/detail/rigid_jobs.hpp>
#include <ration/state.hpp>

namespace ration::policies {

/// The node for a learner: the fullest or the emptiest on which it fits.
enum class learner_placement : std::uint8_t { pack, spread };
/// The words of `learner_placement` in a configuration, in the order of its values.
inline constexpr std::string_view learner_placement_names[] = {"pack", "spread"};
/// Found by the adapter of parameters (adapt/parameters.hpp).
[[nodiscard]] constexpr std::span<std::string_view const> words_of(learner_placement) noexcept {
    return learner_placement_names;
}

/// Parameters of `pack` and `spread`.
struct learner_parameters {
    std::int64_t learner = 0;  ///< most devices of one learner; 0 = as many as the largest node has
    double give_up = 0;        ///< seconds after which an incomplete job frees its learners; 0 = never

    static constexpr parameter_note notes[] = {
        {.name = "learner",
         .meaning = "devices of one learner at most, 0 = as many as the largest node has",
         .least = 0},
        {.name = "give_up",
         .meaning = "seconds after which a job that lacks learners frees those that it has, 0 = never, 1000000 at most",
         .least = 0,
         .most = 1e6}};

    /// What is wrong with the values and what to write instead, as a sentence; empty when nothing is.
    [[nodiscard]] constexpr std::string_view problem() const noexcept {
        if (learner < 0) return "learner is a number of devices: write 0 or more";
        return give_up >= 0 && give_up <= 1e6 ? std::string_view{}
                                              : "give_up is a time in seconds: write a number from 0 to 1000000";
    }
};

namespace detail {

/// The columns of jobs with learners, and those that a policy adds.
template <class... More>
using learner_columns = rigid_columns<in<std::int64_t, "jobs/min.gpu">, More...>;

/// Jobs that start as in FfDL: in learners of at most `learner` devices, each on one node.
class learners {
    placement places_;
    buffer<std::uint32_t> queue_;
    std::int64_t learner_ = 1;
    std::int64_t most_free_ = 0;  // an upper bound of the free devices of every node
    learner_placement where_ = learner_placement::pack;

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

    /// Starts a tick. Returns false if no job lacks devices, or if no device is free and, without
    /// `frees`, none will be. `learner` is the size of one in devices; 0 = that of the largest
    /// node. A job that loses a learner with its node keeps the others, unless `whole` is set or
    /// the rest is below its minimum.
    template <class Tick>
    [[nodiscard]] bool begin(Tick const& t, std::int64_t learner, learner_placement where, bool whole,
                             bool frees = false) noexcept {
        auto const supplied = supply_of(t);
        if (supplied.free == 0 && !supplied.is_overdrawn && !frees) return false;
        auto const asked = t.template get<"jobs/request.gpu">(), held = t.template get<"jobs/held.gpu">();
        queue_.clear();
        for (std::size_t row = 0; row < t.jobs(); ++row)
            if (asked[row] > held[row] && wanted(t, row) > 0) queue_.push_back(static_cast<std::uint32_t>(row));
        if (queue_.empty() && !supplied.is_overdrawn) return false;
        learner_ = learner;
        where_ = where;
        if (learner_ == 0) learner_ = largest_node(t);
        places_.begin(t, node_lost_devices);
        most_free_ = capacity_of(t);
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
            if (size <= 0 || node == placement::nowhere) {
                // The devices that were taken are free again, so the bound no longer holds.
                if (have > before) most_free_ = capacity_of(t);
                places_.resize(t, row, before, not_all_fit);
                return false;
            }
            places_.put(t, row, node, size, fits);
            have += size;
        }
        return true;
    }
    /// Frees the learners of the job, and removes it from the queue of this tick.
    template <class Tick>
    void withdraw(Tick const& t, std::size_t row) noexcept {
        places_.resize(t, row, 0, gives_up);
        most_free_ = capacity_of(t);
        std::size_t kept = 0;
        for (std::uint32_t const queued : queue_)
            if (queued != row) queue_[kept++] = queued;
        queue_.resize(kept);
    }
    /// True if the job had some of its learners, but not all, at the begin of the tick.
    template <class Tick>
    [[nodiscard]] static bool is_incomplete(Tick const& t, std::size_t row) noexcept {
        std::int64_t const held = t.template get<"jobs/held.gpu">()[row];
        return held > 0 && held < wanted(t, row);
    }
    /// True if the job has all its learners now.
    template <class Tick>
    [[nodiscard]] bool is_complete(Tick const& t, std::size_t row) const noexcept {
        return places_.held(t, row) >= wanted(t, row);
    }
    /// True if the job fits on empty nodes.
    template <class Tick>
    [[nodiscard]] bool can_run(Tick const& t, std::size_t row) const noexcept {
        std::int64_t const asked = wanted(t, row), whole = asked / learner_, rest = asked % learner_;
        std::int64_t slots = 0, largest_rest = 0;
        for (std::int64_t const c : t.template get<"nodes/capacity.gpu">()) {
            if (c <= 0) continue;
            slots += c / learner_;
            largest_rest = c % learner_ > largest_rest ? c % learner_ : largest_rest;
        }
        return slots > whole || (slots == whole && largest_rest >= rest);
    }

    /// Writes the grants. Returns `status::capacity` if they do not fit.
    [[nodiscard]] status finish(grants& out) noexcept { return places_.finish(out); }

private:
    /// The requested devices of the job; 0 if it is not active.
    template <class Tick>
    [[nodiscard]] static std::int64_t wanted(Tick const& t, std::size_t row) noexcept {
        return wanted_by(t.template get<"jobs/state">()[row], t.template get<"jobs/request.gpu">()[row]);
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
        if (devices > most_free_) return placement::nowhere;
        std::size_t const node = where_ == learner_placement::pack ? places_.tightest(devices) : places_.emptiest();
        if (node != placement::nowhere && places_.free(node) >= devices) return node;
        most_free_ = devices - 1;  // until learners are freed, nodes only fill
        return placement::nowhere;
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

/// The rule of `pack` and `spread`: a job of k devices has ceil(k / learner) learners. The learners
/// of all queued jobs start in random order, each on the fullest or the emptiest node on which it
/// fits, and stay until their job ends. So a job can hold devices while it waits for further
/// learners, and jobs can wait for each other; `gang` is the rule without that. A job never holds
/// less than its minimum: that many learners start together. A learner that is lost with its node
/// is queued again.
///
/// With `give_up` such a deadlock is temporary. Among the jobs that have been incomplete for that
/// long, the one submitted last frees its learners, and is queued again at the next call. It is
/// intended for jobs that make no step before they are complete.
///
/// The random order models pods that are created at the same time; this is an interpretation.
/// O(jobs + nodes), and O(nodes) for each learner. State: the tick's random seed, and, with
/// `give_up`, the time since which each job is incomplete.
template <learner_placement Where>
class one_learner_at_a_time {
public:
    /// Declares the class as a policy.
    using policy_concept = policy_tag;
    /// The parameters that a user can set.
    using parameters = learner_parameters;
    /// The columns that `decide` reads.
    using inputs = learner_columns<>;

    /// With the default parameters.
    one_learner_at_a_time() = default;
    /// With these parameters. Precondition: `p.problem()` is empty.
    explicit one_learner_at_a_time(learner_parameters const& p) noexcept : parameters_(p) {}

    /// Allocates for the largest tables.
    [[nodiscard]] status prepare(limits const& most) noexcept {
        jobs_.reserve(most);
        incomplete_.reserve(most_jobs_ = most.jobs);
        return status::ok;
    }

    /// Writes the grants of one tick.
    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        std::size_t const late = parameters_.give_up > 0 ? latest_to_give_up(t) : t.jobs();
        if (!jobs_.begin(t, parameters_.learner, Where, false, late < t.jobs())) return status::ok;
        if (late < t.jobs()) jobs_.withdraw(t, late);
        auto& queue = jobs_.queue();
        std::uint64_t state = t.seed();
        while (!queue.empty() && !jobs_.is_full()) {
            // The generator of MMIX (Knuth); its high bits are the random ones
            state = state * 6364136223846793005u + 1442695040888963407u;
            auto const drawn = static_cast<std::size_t>((state >> 32) * queue.size() >> 32);
            if (jobs_.start(t, queue[drawn], false) && !jobs_.is_complete(t, queue[drawn])) continue;
            queue[drawn] = queue.back();
            queue.resize(queue.size() - 1);
        }
        return jobs_.finish(out);
    }

    /// Writes the state if it fits, and returns its size in bytes.
    [[nodiscard]] std::size_t save(std::span<std::byte> space) const noexcept {
        state_writer out(space);
        out.put(last_);
        incomplete_.save(out);
        return out.needed();
    }
    /// Restores it; `status::state`, without an effect, for invalid bytes.
    [[nodiscard]] status load(std::span<std::byte const> saved) noexcept {
        state_reader in(saved);
        surrender last;
        auto incomplete = job_memory<since>{};
        incomplete.reserve(most_jobs_);
        if (!in.get(last) || !incomplete.load(in) || !in.finished()) return status::state;
        last_ = last;
        incomplete_ = std::move(incomplete);
        return status::ok;
    }

private:
    /// The time at which a job was first seen incomplete; -1 = it has all learners or none.
    struct since {
        nanoseconds at{-1};

        [[nodiscard]] static auto fields(auto& self) noexcept { return std::tie(self.at.count); }
        [[nodiscard]] bool sane() const noexcept { return at.count >= -1; }
    };

    /// The last job that freed its learners, and the time.
    struct surrender {
        nanoseconds at{-1};
        std::uint64_t job = 0;

        [[nodiscard]] static auto fields(auto& self) noexcept { return std::tie(self.at.count, self.job); }
        [[nodiscard]] bool sane() const noexcept { return at.count >= -1; }
    };

    learner_parameters parameters_;
    learners jobs_;
    surrender last_;
    job_memory<since> incomplete_;
    std::size_t most_jobs_ = 0;

    /// The row of the job that frees its learners now; the number of rows if there is none. A tick
    /// that is asked again at the same time gets the same job.
    [[nodiscard]] std::size_t latest_to_give_up(tick<inputs> const& t) noexcept {
        auto const ids = t.template get<"jobs/id">();
        incomplete_.follow(ids);
        std::size_t late = t.jobs();
        for (std::size_t row = 0; row < t.jobs(); ++row) {
            auto& from = incomplete_[row].at;
            if (!learners::is_incomplete(t, row))
                from = nanoseconds{-1};
            else if (from.count < 0)
                from = t.now();
            if (from.count >= 0 && to_seconds(t.now() - from) >= parameters_.give_up) late = row;
        }
        if (t.now() == last_.at) {
            std::size_t const row = lower_bound(ids, last_.job);
            return row < t.jobs() && ids[row] == last_.job ? row : t.jobs();
        }
        if (late < t.jobs()) last_ = {t.now(), ids[late]};
        return late;
    }
};

}  // namespace detail
}  // namespace ration::policies
