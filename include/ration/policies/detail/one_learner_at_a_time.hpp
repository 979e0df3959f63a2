// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// The rule of `pack` and `spread`: learners start one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include <ration/job_memory.hpp>
#include <ration/parameter.hpp>
#include <ration/policies/detail/gated_jobs.hpp>
#include <ration/policies/detail/learners.hpp>
#include <ration/policy.hpp>
#include <ration/state.hpp>

namespace ration::policies {

/// Parameters of `pack` and `spread`.
struct learner_parameters {
    std::int64_t learner = 0;                   ///< most devices of one learner; 0 = as many as the largest node has
    double give_up = 0;                         ///< seconds after which an incomplete job frees its learners; 0 = never
    tenant_rule tenants = tenant_rule::ignore;  ///< use of the quotas of tenants

    static constexpr parameter_note notes[] = {
        {.name = "learner",
         .meaning = "devices of one learner at most, 0 = as many as the largest node has",
         .least = 0},
        {.name = "give_up",
         .meaning = "seconds after which a job that lacks learners frees those that it has, 0 = never, 1000000 at most",
         .least = 0,
         .most = 1e6},
        detail::tenants_note};

    /// The error in the values and its fix, as a sentence; empty if the values are valid.
    [[nodiscard]] constexpr std::string_view problem() const noexcept {
        if (learner < 0) return "learner is a number of devices: write 0 or more";
        return give_up >= 0 && give_up <= 1e6 ? std::string_view{}
                                              : "give_up is a time in seconds: write a number from 0 to 1000000";
    }
};

namespace detail {

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
/// With `tenants`, the quota of a tenant admits a job as a whole when its first learner starts, and later jobs count
/// all of its learners as held. Its other learners follow as above, as long as its tenant stays within its limit: the
/// request can grow, and the limit shrink. With `reclaim`, a job within the quota starts whole
/// if jobs of borrowers then suffice to free devices.
///
/// The random order models pods that are created at the same time; this is an interpretation.
/// O(log jobs) for each job that changes or is drawn, until no learner of a job in the queue fits on a node; with
/// `give_up`, O(jobs); with `tenants`, as `fifo`. State: the tick's random seed, and, with `give_up`, the time since
/// which each job is incomplete.
template <learner_placement Where>
class one_learner_at_a_time {
public:
    /// Declares the class as a policy.
    using policy_concept = policy_tag;
    /// The parameters that a user can set.
    using parameters = learner_parameters;
    /// The columns that `decide` reads.
    using inputs = learner_columns<>;
    /// The policy renews its own figures of changed jobs only.
    static constexpr bool follows_changes = true;

    /// With the default parameters.
    one_learner_at_a_time() = default;
    /// With these parameters. Precondition: `p.problem()` is empty.
    explicit one_learner_at_a_time(learner_parameters const& p) noexcept : parameters_(p) {}

    /// Allocates for the largest tables.
    [[nodiscard]] status prepare(limits const& most) noexcept {
        jobs_.reserve(most);
        gate_.reserve(most);
        incomplete_.reserve(most_jobs_ = most.jobs);
        return status::ok;
    }

    /// Writes the grants of one tick.
    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        std::size_t const late = parameters_.give_up > 0 ? latest_to_give_up(t) : t.jobs();
        bool const has_quotas = parameters_.tenants != tenant_rule::ignore && t.tenants() > 0;
        bool const frees = late < t.jobs() || (has_quotas && parameters_.tenants == tenant_rule::reclaim);
        if (!jobs_.begin(t, parameters_.learner, Where, false, frees)) return status::ok;
        if (late < t.jobs()) jobs_.withdraw(t, late);
        if (has_quotas) {
            gate_.start(t, jobs_, parameters_.tenants, true);
            start_in_turns(t, [&](std::size_t row) noexcept { return gate_.may_continue(jobs_, row); });
        } else {
            start_in_turns(t, [](std::size_t) noexcept { return true; });
        }
        return jobs_.finish(t, out);
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

        [[nodiscard]] static auto fields(auto& self) noexcept { return std::tie(self.at); }
        [[nodiscard]] static bool sane() noexcept { return true; }
    };

    /// The last job that freed its learners, and the time.
    struct surrender {
        nanoseconds at{-1};
        std::uint64_t job = 0;

        [[nodiscard]] static auto fields(auto& self) noexcept { return std::tie(self.at, self.job); }
        [[nodiscard]] static bool sane() noexcept { return true; }
    };

    learner_parameters parameters_;
    learners jobs_;
    gated_jobs gate_;
    surrender last_;
    job_memory<since> incomplete_;
    std::size_t most_jobs_ = 0;

    /// The learners of the admitted jobs, in a random order.
    template <class Admitted>
    void start_in_turns(tick<inputs> const& t, Admitted const& admitted) noexcept {
        std::uint64_t state = t.seed();
        auto const draw = [&](std::size_t jobs) noexcept {
            // The generator of MMIX (Knuth); its high bits are the random ones
            state = state * 6364136223846793005u + 1442695040888963407u;
            return static_cast<std::size_t>((state >> 32) * jobs >> 32);
        };
        jobs_.start_in_turns(t, draw, admitted);
    }

    /// True if the job has some of its learners, but not all, at the begin of the tick.
    [[nodiscard]] static bool is_incomplete(tick<inputs> const& t, std::size_t row) noexcept {
        std::int64_t const held = t.template get<"jobs/held.gpu">()[row];
        return held > 0 && held < wanted_in(t, row);
    }

    /// The row of the job that frees its learners now; the number of rows if there is none. A tick
    /// that is asked again at the same time gets the same job.
    [[nodiscard]] std::size_t latest_to_give_up(tick<inputs> const& t) noexcept {
        auto const ids = t.template get<"jobs/id">();
        incomplete_.follow(ids);
        std::size_t late = t.jobs();
        for (std::size_t row = 0; row < t.jobs(); ++row) {
            auto& from = incomplete_[row].at;
            if (!is_incomplete(t, row))
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
