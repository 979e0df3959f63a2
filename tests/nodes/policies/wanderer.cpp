// SPDX-License-Identifier: BSL-1.0
// A policy that moves its first job to the next node every fifteen steps, with one or two devices.
#include <algorithm>
#include <cstdint>

#include <ration/job.hpp>
#include <ration/plugin/export.hpp>

namespace {

using namespace ration;

class wanderer {
public:
    using policy_concept = policy_tag;
    using inputs = columns<in<std::uint32_t, "jobs/state">, in<std::uint64_t, "jobs/step">,
                           in<std::int64_t, "jobs/min.gpu">, in<std::int64_t, "jobs/max.gpu">,
                           in<std::int64_t, "nodes/capacity.gpu">, in<std::int64_t, "nodes/free.gpu">>;
    static constexpr meta about{.id = "org.example.wanderer", .version = "1.0.0", .summary = "moves a job about"};

    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        if (t.jobs() == 0 || t.nodes() == 0 || !is_active(static_cast<job_state>(t.get<"jobs/state">()[0])))
            return status::ok;
        auto const least = t.get<"jobs/min.gpu">()[0], most = t.get<"jobs/max.gpu">()[0];
        if (least == most) return status::ok;  // it cannot change now
        auto const turn = t.get<"jobs/step">()[0] / 15;
        auto const here = turn % t.nodes();
        for (std::size_t node = 0; node < t.nodes(); ++node) {
            auto const wanted =
                node == here ? std::clamp<std::int64_t>(1 + static_cast<std::int64_t>(turn % 3 == 0), least, most) : 0;
            if (!out.set(0, node, resource_id::gpu, wanted)) return status::capacity;
        }
        return status::ok;
    }
};

}  // namespace

RATION_EXPORT_POLICY(wanderer)
