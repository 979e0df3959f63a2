// SPDX-License-Identifier: BSL-1.0
/// equal_share: 1/n of the machine for each of n jobs, independent of their progress. The baseline
/// for policies that use progress.
#pragma once

#include <cstdint>

#include <ration/job.hpp>
#include <ration/policies/detail/one_node_grants.hpp>
#include <ration/policy.hpp>

namespace ration::policies {

/// Every running job holds capacity/n of the CPU of node 0: at least `least_cpu`, and within its
/// bounds. CPU that a job cannot use is not given to others; the hard limit is intended, since this
/// is a baseline. A job whose minimum does not fit keeps what it holds. Writes only changes. O(jobs); no state.
struct equal_share {
    /// Declares the class as a policy.
    using policy_concept = policy_tag;
    /// The columns that `decide` reads. A host that lacks one of them refuses the policy.
    using inputs =
        columns<in<std::uint32_t, "jobs/state">, in<std::int64_t, "jobs/min.cpu">, in<std::int64_t, "jobs/max.cpu">,
                in<std::int64_t, "jobs/held.cpu">, in<std::int64_t, "nodes/capacity.cpu">>;
    /// Texts of the reason codes, in their order.
    static constexpr std::string_view reasons[] = {"", "one n-th of the machine for each of n jobs"};
    /// Identity of the policy, and the texts of its reason codes.
    static constexpr meta about{
        .id = "ration.equal-share", .version = "1.0.0", .summary = "1/n of the CPU for each job", .reasons = reasons};

    /// Writes a grant for each running job whose limit changes. Flattened, since the loop is nearly all of a tick.
    [[nodiscard, gnu::flatten]] status decide(tick<inputs> const& t, grants& out) noexcept {
        auto const state = t.get<"jobs/state">();
        // Queued jobs get no share, since they cannot use one.
        std::int64_t n = 0;
        for (auto const s : state) n += static_cast<job_state>(s) == job_state::running;
        if (n == 0 || t.nodes() == 0) return status::ok;
        std::int64_t const share = t.get<"nodes/capacity.cpu">()[0] / n;
        auto const least = t.get<"jobs/min.cpu">(), most = t.get<"jobs/max.cpu">(), held = t.get<"jobs/held.cpu">();
        auto const choose = [&](std::size_t row) noexcept {
            return detail::chosen_amount{.amount = cpu_limit(share, {least[row], most[row]}),
                                         .reason = 1,
                                         .is_set = static_cast<job_state>(state[row]) == job_state::running};
        };
        return detail::grant_on_first_node(resource_id::cpu, held, t.get<"nodes/capacity.cpu">()[0], choose, out);
    }
};

static_assert(Policy<equal_share>);

}  // namespace ration::policies
