// SPDX-License-Identifier: BSL-1.0
/// none: no policy at all, the baseline. Every job may use what it can get; the operating system alone shares the
/// machine out.
#pragma once

#include <cstdint>

#include <ration/job.hpp>
#include <ration/policy.hpp>

namespace ration::policies {

/// Gives each job that holds nothing an unlimited share, and never says anything of it again. As a fallback it
/// therefore leaves every limit that is in force as it is. O(jobs); no state.
struct none {
    using policy_concept = policy_tag;
    using inputs = columns<in<std::uint32_t, "jobs/state">, in<std::int64_t, "jobs/held.cpu">>;
    static constexpr std::string_view reasons[] = {"", "no policy: the operating system shares the machine out"};
    static constexpr meta about{
        .id = "ration.none", .version = "1.0.0", .summary = "no limits: the baseline", .reasons = reasons};

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
