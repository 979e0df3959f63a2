// SPDX-License-Identifier: BSL-1.0
// Limits each job to 0.24 cores, and aborts at each tick from the fifth on.
#include <cstdlib>

#include <ration/job.hpp>
#include <ration/plugin/export.hpp>

namespace {

struct limits_then_aborts {
    using policy_concept = ration::policy_tag;
    using inputs = ration::columns<ration::in<std::uint32_t, "jobs/state">>;
    static constexpr std::string_view reasons[] = {"", "0.24 cores"};
    static constexpr ration::meta about{.id = "org.example.limits-then-aborts",
                                        .version = "1.0.0",
                                        .summary = "limits, then aborts",
                                        .reasons = reasons};

    ration::status decide(ration::tick<inputs> const& t, ration::grants& out) noexcept {
        if (t.number() >= 5) std::abort();
        auto const state = t.get<"jobs/state">();
        for (std::size_t job = 0; job < t.jobs(); ++job)
            if (static_cast<ration::job_state>(state[job]) == ration::job_state::running &&
                !out.set(job, 0, ration::resource_id::cpu, 240, 1))
                return ration::status::capacity;
        return ration::status::ok;
    }
};

}  // namespace

RATION_EXPORT_POLICY(limits_then_aborts)
