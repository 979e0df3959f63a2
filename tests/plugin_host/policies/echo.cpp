// SPDX-License-Identifier: BSL-1.0
// Grants each job as many millicores as it has made steps: an answer shows which columns the policy saw.
#include <ration/plugin/export.hpp>

namespace test_policies {

struct echo {
    using policy_concept = ration::policy_tag;
    using inputs = ration::columns<ration::in<std::uint64_t, "jobs/step">>;
    static constexpr ration::meta about{
        .id = "org.example.test-echo", .version = "1.0.0", .summary = "says what it saw"};

    [[nodiscard]] ration::status decide(ration::tick<inputs> const& t, ration::grants& out) noexcept {
        auto const steps = t.get<"jobs/step">();
        for (std::size_t row = 0; row < steps.size(); ++row)
            if (!out.set(row, 0, ration::resource_id::cpu, static_cast<std::int64_t>(steps[row])))
                return ration::status::capacity;
        return ration::status::ok;
    }
};

}  // namespace test_policies

RATION_EXPORT_POLICY(test_policies::echo)
