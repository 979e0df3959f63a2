// SPDX-License-Identifier: BSL-1.0
/// gang: all learners of a job at once, or none. Source: K. R. Jayaram et al., "FfDL: A Flexible Multi-tenant Deep
/// Learning Platform", Middleware 2019.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <ration/parameter.hpp>
#include <ration/policies/detail/learners.hpp>
#include <ration/policy.hpp>

namespace ration::policies {

/// Parameters of `gang`; each member has its unit and its default.
struct gang_parameters {
    std::int64_t learner = 0;  ///< devices of one learner at most; 0 = as many as the largest node has
    learner_placement placement = learner_placement::pack;
    bool backfill = true;  ///< later jobs that fit pass one that does not

    static constexpr parameter_note notes[] = {
        {.name = "learner",
         .meaning = "devices of one learner at most, 0 = as many as the largest node has",
         .least = 0},
        {.name = "placement",
         .meaning = "a learner comes onto the fullest node on which it fits (pack) or the emptiest (spread)"},
        {.name = "backfill", .meaning = "later jobs that fit pass one that does not"}};

    /// What is wrong with the values and what to write instead, as a sentence; empty when nothing is.
    [[nodiscard]] constexpr std::string_view problem() const noexcept {
        return learner >= 0 ? std::string_view{} : "learner is a number of devices: write 0 or more";
    }
};

/// A job of k devices is ceil(k / learner) learners, each of which needs its devices on one node. In the order of
/// submission each job is started as a whole if all of its learners fit, and else waits without holding anything: no
/// two jobs can wait for each other. Jobs keep what they have until they end. One that loses a learner with its node is
/// stopped and queued again.
///
/// FfDL's own gang scheduler searches for the best joint placement of the learners by biased sampling, which is not
/// published in full; here they are placed one after the other. With `backfill` off the first job that does not fit
/// holds back all others, as in FfDL's queue. O(jobs + nodes) and O(nodes) for each learner; no state.
class gang {
public:
    using policy_concept = policy_tag;
    using parameters = gang_parameters;
    using inputs = detail::learner_columns<>;
    static constexpr meta about{.id = "ration.gang",
                                .version = "1.0.0",
                                .summary = "all learners of a job at once, or none",
                                .reasons = detail::learners::reasons};

    gang() = default;
    explicit gang(gang_parameters const& p) noexcept : parameters_(p) {}

    [[nodiscard]] status prepare(limits const& most) noexcept {
        jobs_.reserve(most);
        return status::ok;
    }

    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        if (!jobs_.begin(t, parameters_.learner, parameters_.placement, true)) return status::ok;
        for (std::uint32_t const row : jobs_.queue())
            if (!jobs_.start(t, row, true) && !parameters_.backfill && jobs_.can_run(t, row)) break;
        return jobs_.finish(out);
    }

private:
    gang_parameters parameters_;
    detail::learners jobs_;
};

static_assert(Policy<gang>);

}  // namespace ration::policies
