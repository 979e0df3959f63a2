// SPDX-License-Identifier: BSL-1.0
// A gang on two nodes: each job that runs gets what it asks for, half of it on each, or nothing. A half may be less
// than the job accepts; only the sum is not.
#include <array>

#include <ration/job.hpp>
#include <ration/plugin/export.hpp>

namespace {

class halves {
public:
    using policy_concept = ration::policy_tag;
    static constexpr ration::meta about{
        .id = "org.example.halves", .version = "1.0.0", .summary = "half of each job on each of two nodes"};
    using inputs =
        ration::columns<ration::in<std::uint32_t, "jobs/state">, ration::in<std::int64_t, "jobs/min.gpu">,
                        ration::in<std::int64_t, "jobs/max.gpu">, ration::in<std::int64_t, "jobs/request.gpu">,
                        ration::in<std::int64_t, "nodes/capacity.gpu">>;

    [[nodiscard]] ration::status decide(ration::tick<inputs> const& t, ration::grants& out) noexcept {
        if (t.nodes() == 0) return ration::status::ok;
        auto const capacity = t.get<"nodes/capacity.gpu">();
        auto const state = t.get<"jobs/state">();
        auto const asked = t.get<"jobs/request.gpu">(), least = t.get<"jobs/min.gpu">(), most = t.get<"jobs/max.gpu">();
        std::size_t const nodes = t.nodes() > 1 ? 2 : 1;
        std::array<std::int64_t, 2> left{capacity[0], capacity[nodes - 1]};
        for (std::size_t job = 0; job < t.jobs(); ++job) {
            if (!ration::is_active(static_cast<ration::job_state>(state[job]))) continue;
            std::int64_t const all = ration::within(asked[job], {least[job], most[job]});
            std::array<std::int64_t, 2> part{all, 0};
            if (nodes == 2) part = {all - all / 2, all / 2};
            if (part[0] > left[0] || part[1] > left[1]) part = {};
            for (std::size_t node = 0; node < nodes; ++node) {
                left[node] -= part[node];
                if (!out.set(job, node, ration::resource_id::gpu, part[node])) return ration::status::capacity;
            }
        }
        return ration::status::ok;
    }
};

}  // namespace

RATION_EXPORT_POLICY(halves)
