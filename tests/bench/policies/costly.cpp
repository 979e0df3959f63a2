// SPDX-License-Identifier: BSL-1.0
// Policies with one thing that `ration bench` has to see. COSTLY=1: takes its time. 2: takes three pieces of the heap
// on each tick. 3: never comes back. 4: gives all devices to the last job, whatever it accepts. 5: keeps the rules, and
// helps no job. 0: nothing; one device for each job.
#include <chrono>
#include <cstdlib>

#include <ration/plugin/export.hpp>

namespace {

using namespace ration;

struct costly {
    using policy_concept = policy_tag;
    using inputs = columns<in<std::int64_t, "jobs/max.gpu">, in<std::int64_t, "nodes/capacity.gpu">>;
    static constexpr meta about{.id = "test.costly", .version = "1.0.0"};

    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        if constexpr (COSTLY == 1) {
            using clock = std::chrono::steady_clock;
            for (auto const end = clock::now() + std::chrono::milliseconds(2); clock::now() < end;) {
            }
        }
        if constexpr (COSTLY == 2)
            for (int i = 0; i < 3; ++i) {
                void* const volatile taken = std::malloc(100);
                std::free(taken);
            }
        if constexpr (COSTLY == 3)
            for (std::uint64_t volatile i = 0;;) i = i + 1;
        if constexpr (COSTLY == 4)
            return out.set(t.jobs() - 1, 0, resource_id::gpu, 1000) ? status::ok : status::capacity;
        std::int64_t left = COSTLY == 5 ? 0 : t.get<"nodes/capacity.gpu">()[0];
        for (std::size_t row = 0; row < t.jobs(); ++row, left -= left > 0)
            if (!out.set(row, 0, resource_id::gpu, left > 0)) return status::capacity;
        return status::ok;
    }
};

}  // namespace

RATION_EXPORT_POLICY(costly)
