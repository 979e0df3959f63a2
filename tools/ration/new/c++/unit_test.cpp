// SPDX-License-Identifier: BSL-1.0
// The rule by itself: a snapshot in, grants out; no plugin, no process, no clock.
#include <cstdio>

#include "policy.hpp"

int main() {
    ration::snapshot_store store;
    auto const state = *store.declare<std::uint32_t>("jobs/state");
    auto const tier = *store.declare<std::uint32_t>("jobs/tier");
    auto const least = *store.declare<std::int64_t>("jobs/min.cpu");
    auto const most = *store.declare<std::int64_t>("jobs/max.cpu");
    auto const capacity = *store.declare<std::int64_t>("nodes/capacity.cpu");
    if (!store.resize(ration::table_id::jobs, 3) || !store.resize(ration::table_id::nodes, 1)) return 1;
    store[capacity][0] = 3000;  // three cores
    for (std::size_t job = 0; job < 3; ++job) {
        store[state][job] =
            static_cast<std::uint32_t>(job < 2 ? ration::job_state::running : ration::job_state::queued);
        store[tier][job] = job == 0 ? 1 : 0;  // the first has reached its first tier
        store[least][job] = 1;
        store[most][job] = 100'000;
    }

    ration::policy_adapter<my_policy> policy;
    if (auto const bound = policy.bind(store.schema(), {.jobs = 3, .nodes = 1}); !bound) {
        std::printf("%s %s: declare it above, and say what the jobs have\n", bound.failure().operation,
                    bound.failure().subject.c_str());
        return 1;
    }
    ration::grant space[3];
    ration::grants answer(space);
    if (policy.decide({.data = store.view()}, answer) != ration::status::ok || answer.rows().size() != 2) {
        std::printf("decide gave no answer, or another one than a grant for each of the two jobs that run\n");
        return 1;
    }

    std::int64_t const expected[] = {1000, 2000};
    for (auto const& g : answer.rows())
        if (g.amount != expected[g.job]) {
            std::printf("job %u: %lld millicores, expected %lld\n", g.job, static_cast<long long>(g.amount),
                        static_cast<long long>(expected[g.job]));
            return 1;
        }
    return 0;
}
