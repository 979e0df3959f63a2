// SPDX-License-Identifier: BSL-1.0
// Writes an answer that is wrong, leaves its host the time to fetch that, and writes another one over it: as many
// millicores as a job has made steps.
#include <chrono>

#include <ration/plugin/export.hpp>

namespace test_policies {

struct redo {
    using policy_concept = ration::policy_tag;
    using inputs = ration::columns<ration::in<std::uint64_t, "jobs/step">>;
    static constexpr ration::meta about{.id = "org.example.test-redo", .version = "1.0.0", .summary = "answers twice"};

    [[nodiscard]] ration::status decide(ration::tick<inputs> const& t, ration::grants& out) noexcept {
        auto const steps = t.get<"jobs/step">();
        for (std::size_t row = 0; row < steps.size(); ++row)
            if (!out.set(row, 0, ration::resource_id::memory, static_cast<std::int64_t>(2 * t.number() + row)))
                return ration::status::capacity;
        using clock = std::chrono::steady_clock;
        for (auto const begun = clock::now(); clock::now() - begun < std::chrono::microseconds(100);) {
        }
        out.clear();
        for (std::size_t row = 0; row < steps.size(); ++row)
            if (!out.set(row, 0, ration::resource_id::cpu, static_cast<std::int64_t>(steps[row])))
                return ration::status::capacity;
        return ration::status::ok;
    }
};

}  // namespace test_policies

RATION_EXPORT_POLICY(test_policies::redo)
