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
#include <ration/policies/detail/sparse_permutation.hpp>
#include <ration/policies/detail/waiting_rows.hpp>
#include <ration/resource.hpp>
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

/// Jobs that start as in FfDL: in learners of at most `learner` devices, each on one node. `begin` is O(changes log
/// jobs), or O(jobs + nodes) without a list of changes.
class learners {
    placement places_;
    device_requests requests_;
    waiting_rows waiting_;  // jobs that lack devices, after the plan so far
    sparse_permutation swapped_;
    buffer<std::uint32_t> planned_;  // rows of the last plan
    std::size_t most_jobs_ = 0;
    std::int64_t learner_ = 1;
    std::int64_t most_free_ = unbounded;  // an upper bound of the free devices of every node
    // Of the nodes without jobs; the second is beside the whole learners.
    std::int64_t largest_node_ = 1, slots_ = 0, largest_rest_ = 0;
    bool has_largest_ = false, has_slots_ = false;  // they are those of the present nodes
    bool is_skipped_ = false;                       // the last tick was not followed
    learner_placement where_ = learner_placement::pack;

    static constexpr std::int64_t unbounded = max_amount;

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
        requests_.reserve(most);
        waiting_.reserve(most_jobs_ = most.jobs);
        planned_.reserve(most.jobs);
        swapped_.reserve(most.jobs);
        has_largest_ = has_slots_ = false;
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
        if (learner == 0 && !has_largest_) find_largest_node(t.template get<"nodes/capacity.gpu">());
        learner_ = learner == 0 ? largest_node_ : learner;
        where_ = where;
        places_.start(t, node_lost_devices);
        most_free_ = unbounded;
        for (std::size_t i = 0, n = places_.touched(); i < n; ++i) stop_if_lame(t, places_.touched_row(i), whole);
        return true;
    }

    /// Starts learners one at a time: `draw(jobs)` is the index of the next job among those that are still in the
    /// queue. A job leaves it when it is complete, or when its next learner does not fit.
    template <class Tick, class Draw>
    void start_in_turns(Tick const& t, Draw const& draw) noexcept {
        swapped_.begin(waiting_.size());
        for (std::size_t left = waiting_.size(); left > 0 && !none_fits();) {
            std::size_t const drawn = draw(left), row = waiting_.nth(swapped_[drawn]);
            if (learner_of(waiting_.lack(row)) <= largest_free()) {
                std::int64_t const lacks = start(t, row, false) ? wanted(t, row) - places_.held(t, row) : 0;
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
            if (!others_pass && can_run(wanted(t, row), t.template get<"nodes/capacity.gpu">())) return;
            most = lacks - 1;
        }
    }

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
                if (have > before) most_free_ = unbounded;
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
        most_free_ = unbounded;
        waiting_.set(row, 0);
    }
    /// True if the job had some of its learners, but not all, at the begin of the tick.
    template <class Tick>
    [[nodiscard]] static bool is_incomplete(Tick const& t, std::size_t row) noexcept {
        std::int64_t const held = t.template get<"jobs/held.gpu">()[row];
        return held > 0 && held < wanted(t, row);
    }

    /// Writes the grants. Returns `status::capacity` if they do not fit.
    [[nodiscard]] status finish(grants& out) noexcept { return places_.finish(out); }

private:
    /// The requested devices of the job; 0 if it is not active.
    template <class Tick>
    [[nodiscard]] static std::int64_t wanted(Tick const& t, std::size_t row) noexcept {
        return wanted_by(t.template get<"jobs/state">()[row], t.template get<"jobs/request.gpu">()[row]);
    }

    /// The devices of the next learner of a job that lacks this number.
    [[nodiscard]] std::int64_t learner_of(std::int64_t lacks) const noexcept {
        return lacks < learner_ ? lacks : learner_;
    }
    /// The most free devices of a node.
    [[nodiscard]] std::int64_t largest_free() const noexcept {
        std::size_t const node = places_.emptiest();
        return node == placement::nowhere ? 0 : places_.free(node);
    }
    [[nodiscard]] bool none_fits() const noexcept { return learner_of(waiting_.least()) > largest_free(); }

    /// Takes in what has changed since the last tick.
    template <class Tick>
    void follow(Tick const& t) noexcept {
        planned_.clear();
        for (std::size_t i = 0; i < places_.touched(); ++i) planned_.push_back(places_.touched_row(i));
        bool const moved = requests_.follow(t, planned_.view());
        places_.follow(t, is_skipped_);
        if (is_skipped_ || !has_same_capacity(t)) has_largest_ = has_slots_ = false;
        is_skipped_ = false;
        if (moved || waiting_.room() <= t.jobs())
            return waiting_.fill(t.jobs(), most_jobs_, [&](std::size_t row) noexcept { return lack(row); });
        for (std::uint32_t const row : planned_) waiting_.set(row, lack(row));
        for (std::uint32_t const row : requests_.renewed()) waiting_.set(row, lack(row));
    }
    /// The devices that the job lacks at the begin of the tick.
    [[nodiscard]] std::int64_t lack(std::size_t row) const noexcept {
        return requests_.wanted(row) > requests_.held(row) ? requests_.wanted(row) - requests_.held(row) : 0;
    }

    void find_largest_node(std::span<std::int64_t const> capacities) noexcept {
        largest_node_ = 1;
        for (std::int64_t const c : capacities) largest_node_ = c > largest_node_ ? c : largest_node_;
        has_largest_ = true;
    }
    /// Counts the whole learners for which the nodes have room.
    void count_slots(std::span<std::int64_t const> capacities) noexcept {
        slots_ = largest_rest_ = 0;
        for (std::int64_t const c : capacities) {
            if (c <= 0) continue;
            slots_ += c / learner_;
            largest_rest_ = c % learner_ > largest_rest_ ? c % learner_ : largest_rest_;
        }
        has_slots_ = true;
    }
    /// True if a job of this number of devices fits on empty nodes.
    [[nodiscard]] bool can_run(std::int64_t asked, std::span<std::int64_t const> capacities) noexcept {
        if (!has_slots_) count_slots(capacities);
        std::int64_t const whole = asked / learner_, rest = asked % learner_;
        return slots_ > whole || (slots_ == whole && largest_rest_ >= rest);
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
        if (held > 0 && (whole || held < t.template get<"jobs/min.gpu">()[row]))
            places_.resize(t, row, 0, node_lost_devices);
        waiting_.set(row, wanted(t, row) - places_.held(t, row));
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
/// O(log jobs) for each job that changes or is drawn, until no learner of a job in the queue fits on a node; with
/// `give_up`, O(jobs). State: the tick's random seed, and, with `give_up`, the time since which each job is incomplete.
template <learner_placement Where>
class one_learner_at_a_time {
public:
    /// Declares the class as a policy.
    using policy_concept = policy_tag;
    /// The parameters that a user can set.
    using parameters = learner_parameters;
    /// The columns that `decide` reads.
    using inputs = learner_columns<>;
    /// What it remembers of jobs is renewed for the changed ones only.
    static constexpr bool follows_changes = true;

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
        std::uint64_t state = t.seed();
        jobs_.start_in_turns(t, [&](std::size_t jobs) noexcept {
            // The generator of MMIX (Knuth); its high bits are the random ones
            state = state * 6364136223846793005u + 1442695040888963407u;
            return static_cast<std::size_t>((state >> 32) * jobs >> 32);
        });
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
