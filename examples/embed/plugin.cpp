// SPDX-License-Identifier: BSL-1.0
// The scheduler of scheduler.hpp with any policy from a file: embed.plugin
// /absolute/path/to/policy.so
#include <string_view>

#include <ration/allocation_host.hpp>
#include <ration/plugin/host/host.hpp>
#include <ration/plugin/host/worker_main.hpp>

#include "adapt_job.hpp"

int main(int argc, char** argv) {
    std::string_view const given = argc == 2 ? argv[1] : "";
    // The process in which the policy may crash: this program again
    if (given == "--worker") return ration::plugin::worker_main();
    auto const policy =
        ration::plugin::open(std::string(given), {.worker = {.program = {"/proc/self/exe", {"--worker"}}}});
    if (!policy) {
        auto const& why = policy.failure();
        std::fprintf(stderr, "%s %s: %s\n", why.operation, why.subject.c_str(), why.remedy);
        return 1;
    }
    ration::allocation_host host(**policy);

    auto with = campus::afternoon();
    ration::capacities const machine[] = {{.cpu = static_cast<std::int64_t>(1000 * with.cores())}};
    int missing = 0;
    with.run([&](campus::job_list const& running, int second) {
        auto const answer = host.allocate(ration::adapted(running), machine, {.now = ration::seconds(second)});
        if (!answer) return void(++missing);  // what is in force stays
        for (auto const& g : answer->granted)
            with.limit(static_cast<int>(g.job.value), static_cast<double>(g.amount()) / 1000);
    });
    with.report("with the policy of the file");
    std::printf("  %d answers are missing\n", missing);
}
