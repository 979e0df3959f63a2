// SPDX-License-Identifier: BSL-1.0
// The scheduler of scheduler.hpp, by itself and with a policy that is compiled in: four lines of adapt_job.hpp and six
// here.
#include <ration/policies/tradl.hpp>

#include "adapt_job.hpp"

int main() {
    auto without = campus::afternoon();
    without.run([](campus::job_list const&, int) {});
    without.report("without a policy");

    auto with = campus::afternoon();
    // [ask]
    ration::policies::tradl policy;
    ration::capacities const machine[] = {{.cpu = static_cast<std::int64_t>(1000 * with.cores())}};
    with.run([&](campus::job_list const& running, int second) {
        auto const answer =
            ration::allocate(policy, ration::adapted(running), machine, {.now = ration::seconds(second)});
        if (!answer) return;  // what is in force stays
        for (auto const& g : answer->granted)
            with.limit(static_cast<int>(g.job.value), static_cast<double>(g.amount()) / 1000);
    });
    // [ask]
    with.report("with tradl");
}
