// SPDX-License-Identifier: BSL-1.0
// A policy for one pool that gives its first job two devices, all that it accepts from step 25 on, two from step 50 on,
// and so on.
#include <algorithm>
#include <cstdint>

#include <ration/job.hpp>
#include <ration/plugin/export.hpp>

namespace {

using namespace ration;

class breather {
public:
    using policy_concept = policy_tag;
    using inputs =
        columns<in<std::uint32_t, "jobs/state">, in<std::uint64_t, "jobs/step">, in<std::int64_t, "jobs/min.gpu">,
                in<std::int64_t, "jobs/max.gpu">, in<std::int64_t, "nodes/capacity.gpu">>;
    static constexpr meta about{.id = "org.example.breather", .version = "1.0.0", .summary = "resizes a job"};

    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        if (t.jobs() == 0 || !is_active(static_cast<job_state>(t.get<"jobs/state">()[0]))) return status::ok;
        auto const least = t.get<"jobs/min.gpu">()[0], most = t.get<"jobs/max.gpu">()[0];
        if (least == most) return status::ok;  // it cannot change now
        bool const is_large = t.get<"jobs/step">()[0] / 25 % 2 == 1;
        auto const wanted = is_large ? most : std::clamp<std::int64_t>(2, least, most);
        return out.set(0, 0, resource_id::gpu, wanted) ? status::ok : status::capacity;
    }
};

}  // namespace

RATION_EXPORT_POLICY(breather)
