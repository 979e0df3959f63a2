// SPDX-License-Identifier: BSL-1.0
// The longest answer that a policy can give: equal_share without a look at what is held.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ration/job.hpp>
#include <ration/policy.hpp>

namespace plugin_bench {

/// 1/n of the CPU for each job: a grant for every job on every tick, whether it holds as much or not.
struct every_row {
    using policy_concept = ration::policy_tag;
    using inputs =
        ration::columns<ration::in<std::uint32_t, "jobs/state">, ration::in<std::int64_t, "jobs/min.cpu">,
                        ration::in<std::int64_t, "jobs/max.cpu">, ration::in<std::int64_t, "nodes/capacity.cpu">>;
    static constexpr ration::meta about{.id = "ration.bench.every-row", .version = "1.0.0"};

    [[nodiscard]] ration::status decide(ration::tick<inputs> const& t, ration::grants& out) noexcept {
        auto const state = t.get<"jobs/state">();
        std::int64_t n = 0;
        for (auto const s : state) n += static_cast<ration::job_state>(s) == ration::job_state::running;
        if (n == 0) return ration::status::ok;
        std::int64_t const share = t.get<"nodes/capacity.cpu">()[0] / n;
        auto const least = t.get<"jobs/min.cpu">(), most = t.get<"jobs/max.cpu">();
        for (std::size_t row = 0; row < t.jobs(); ++row) {
            if (static_cast<ration::job_state>(state[row]) != ration::job_state::running) continue;
            if (!out.set(row, 0, ration::resource_id::cpu, ration::within(share, {least[row], most[row]}), 1))
                return ration::status::capacity;
        }
        return ration::status::ok;
    }
};

}  // namespace plugin_bench
