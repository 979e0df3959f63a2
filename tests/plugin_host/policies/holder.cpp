// SPDX-License-Identifier: BSL-1.0
// Counts in how many rows of the table held each column has the values that the test wrote there: jobs 7 i + 1, amounts
// i + 5.
#include <ration/plugin/export.hpp>

namespace test_policies {

struct holder {
    using policy_concept = ration::policy_tag;
    using inputs = ration::columns<ration::in<std::uint64_t, "held/job">, ration::in<std::int64_t, "held/amount">>;
    static constexpr ration::meta about{
        .id = "org.example.test-holder", .version = "1.0.0", .summary = "says what it saw of the holdings"};

    [[nodiscard]] ration::status decide(ration::tick<inputs> const& t, ration::grants& out) noexcept {
        auto const job = t.get<"held/job">();
        auto const amount = t.get<"held/amount">();
        std::int64_t jobs = 0, amounts = 0;
        for (std::size_t i = 0; i < job.size(); ++i) jobs += job[i] == 7 * i + 1;
        for (std::size_t i = 0; i < amount.size(); ++i) amounts += amount[i] == static_cast<std::int64_t>(i + 5);
        bool const written =
            out.set(0, 0, ration::resource_id::cpu, jobs) && out.set(1, 0, ration::resource_id::cpu, amounts);
        return written ? ration::status::ok : ration::status::capacity;
    }
};

}  // namespace test_policies

RATION_EXPORT_POLICY(test_policies::holder)
