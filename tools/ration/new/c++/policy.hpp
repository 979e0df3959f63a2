// SPDX-License-Identifier: BSL-1.0
/// The rule. It reads the columns in `inputs` and adds grants to `out`; ration does everything else.
#pragma once

#include <cstdint>

#include <ration/ration.hpp>

struct my_policy {
    using policy_concept = ration::policy_tag;
    using inputs = ration::columns<ration::in<std::uint32_t, "jobs/state">, ration::in<std::uint32_t, "jobs/tier">,
                                   ration::in<std::int64_t, "jobs/min.cpu">, ration::in<std::int64_t, "jobs/max.cpu">,
                                   ration::in<std::int64_t, "nodes/capacity.cpu">>;
    static constexpr std::string_view reasons[] = {"", "on its way to the first tier", "has reached its first tier"};
    static constexpr ration::meta about{.id = "org.example.my-policy",
                                        .version = "0.1.0",
                                        .summary = "more CPU for jobs below their first tier",
                                        .reasons = reasons};

    /// The weight of a job when the CPU is divided.
    static constexpr std::int64_t weight(std::uint32_t tier) noexcept { return tier == 0 ? 2 : 1; }

    ration::status decide(ration::tick<inputs> const& t, ration::grants& out) noexcept {
        auto const state = t.get<"jobs/state">(), tier = t.get<"jobs/tier">();
        auto const least = t.get<"jobs/min.cpu">(), most = t.get<"jobs/max.cpu">(),
                   capacity = t.get<"nodes/capacity.cpu">();
        auto const runs = [&](std::size_t job) {
            return static_cast<ration::job_state>(state[job]) == ration::job_state::running;
        };
        std::int64_t all = 0;
        for (std::size_t job = 0; job < t.jobs(); ++job) all += runs(job) ? weight(tier[job]) : 0;
        for (std::size_t job = 0; job < t.jobs(); ++job) {
            if (!runs(job)) continue;
            std::int64_t const share = capacity[0] / all * weight(tier[job]);
            // 0 pauses the job
            std::int64_t const amount = share < least[job] ? 0 : ration::cpu_limit(share, {least[job], most[job]});
            if (!out.set(job, 0, ration::resource_id::cpu, amount, tier[job] == 0 ? 1 : 2))
                return ration::status::capacity;
        }
        return ration::status::ok;
    }
};
static_assert(ration::Policy<my_policy>);
