// SPDX-License-Identifier: BSL-1.0
/// none: no limits, the baseline. Every job may use what it can get; only the operating system
/// divides the machine.
#pragma once

#include <cstdint>

#include <ration/job.hpp>
#include <ration/policy.hpp>

namespace ration::policies {

/// Gives each job that holds nothing an unlimited share, and writes no further grant for it. As a
/// fallback it therefore keeps every present limit. O(jobs); no state.
struct none {
    /// Declares the class as a policy.
    using policy_concept = policy_tag;
    /// The columns that `decide` reads. A host that lacks one of them refuses the policy.
    using inputs = columns<in<std::uint32_t, "jobs/state">, in<std::int64_t, "jobs/held.cpu">>;
    /// Texts of the reason codes, in their order.
    static constexpr std::string_view reasons[] = {"", "no policy: the operating system shares the machine out"};
    /// Identity of the policy, and the texts of its reason codes.
    static constexpr meta about{
        .id = "ration.none", .version = "1.0.0", .summary = "no limits: the baseline", .reasons = reasons};

    /// Writes a grant for each running job that holds no CPU.
    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        auto const state = t.get<"jobs/state">();
        auto const held = t.get<"jobs/held.cpu">();
        for (std::size_t row = 0; row < t.jobs(); ++row)
            if (static_cast<job_state>(state[row]) == job_state::running && held[row] == 0 &&
                !out.set(row, 0, resource_id::cpu, unlimited, 1))
                return status::capacity;
        return status::ok;
    }
};

static_assert(Policy<none>);

}  // namespace ration::policies
