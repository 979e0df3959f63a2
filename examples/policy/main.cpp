// SPDX-License-Identifier: BSL-1.0
// A policy of one's own: all jobs share the CPU, and each job below its first tier gets twice as much as another one.
#include <iostream>

#include <ration/ration.hpp>

// [policy]
struct first_things_first {
    using policy_concept = ration::policy_tag;
    static constexpr ration::meta about{.id = "org.example.first", .version = "1.0.0"};
    using inputs =
        ration::columns<ration::in<std::uint32_t, "jobs/tier">, ration::in<std::int64_t, "nodes/capacity.cpu">>;

    ration::status decide(ration::tick<inputs> const& t, ration::grants& out) noexcept {
        auto const tier = t.get<"jobs/tier">();
        std::int64_t parts = 0;
        for (auto const reached : tier) parts += reached == 0 ? 2 : 1;
        for (std::size_t job = 0; job < t.jobs(); ++job) {
            std::int64_t const share = t.get<"nodes/capacity.cpu">()[0] * (tier[job] == 0 ? 2 : 1) / parts;
            if (!out.set(job, 0, ration::resource_id::cpu, ration::cpu_limit(share, {})))
                return ration::status::capacity;
        }
        return ration::status::ok;
    }
};
static_assert(ration::Policy<first_things_first>);
// [policy]

int main() {
    ration::snapshot_store store;
    auto const tier = *store.declare<std::uint32_t>("jobs/tier");
    auto const capacity = *store.declare<std::int64_t>("nodes/capacity.cpu");
    if (!store.resize(ration::table_id::jobs, 3) || !store.resize(ration::table_id::nodes, 1)) return 1;
    store[tier][0] = 1;  // the first job has reached Acceptable
    store[capacity][0] = 8000;

    ration::policy_adapter<first_things_first> policy;
    if (!policy.bind(store.schema(), {.jobs = 3, .nodes = 1})) return 1;
    ration::grant space[3];
    ration::grants answer(space);
    if (policy.decide({.data = store.view()}, answer) != ration::status::ok) return 1;
    for (auto const& g : answer.rows()) std::cout << "job " << g.job << ": " << g.amount << " millicores\n";
}
