// SPDX-License-Identifier: BSL-1.0
// Grants the first job 1 where any row may have changed, and otherwise 100 and the sum of the listed rows of jobs.
// Fails where row 0 is listed.
#pragma once

#include <ration/policy.hpp>

namespace test_policies {

struct follower {
    using policy_concept = ration::policy_tag;
    using inputs = ration::columns<>;
    static constexpr bool follows_changes = true;
    static constexpr ration::meta about{
        .id = "org.example.test-follower", .version = "1.0.0", .summary = "adds up the listed rows"};

    [[nodiscard]] ration::status decide(ration::tick<inputs> const& t, ration::grants& out) noexcept {
        auto const& changed = t.changes(ration::table_id::jobs);
        std::int64_t sum = changed.everything != 0 ? 1 : 100;
        for (std::size_t i = 0; i < changed.count; ++i) {
            if (changed.row[i] == 0) return ration::status::internal;
            sum += changed.row[i];
        }
        return out.set(0, 0, ration::resource_id::cpu, sum) ? ration::status::ok : ration::status::capacity;
    }
};

}  // namespace test_policies
