// SPDX-License-Identifier: BSL-1.0
// Opens a plugin in both places and prints what its first three ticks grant, for hosts and plugins of different minor versions.
#include <cstdio>
#include <cstring>

#include <ration/plugin/host.hpp>
#include <ration/plugin/host/worker_main.hpp>

#include <ration/snapshot.hpp>

using namespace ration;

namespace {

int complain(error const& why) {
    std::printf("%s: %s\n", why.subject.c_str(), why.remedy);
    return 1;
}

int three_ticks(char const* path, plugin::isolation where) {
    auto policy = plugin::open(path, {.where = where, .config = {}, .worker = {.program = {"/proc/self/exe", {"worker"}}}, .strikes = {}});
    if (!policy) return complain(policy.failure());
    snapshot_store store;
    auto const id = store.declare<std::uint64_t>("jobs/id");
    if (!id || !store.resize(table_id::jobs, 1)) return 1;
    store.at(*id, 0) = 7;
    if (auto const bound = (*policy)->bind(store.schema(), {1, 1}); !bound) return complain(bound.failure());
    for (std::uint64_t number = 0; number < 3; ++number) {
        grant space[8];
        grants out(space);
        if ((*policy)->decide({.number = number, .seed = 0, .now = {}, .budget = seconds(1), .data = store.view()}, out) != status::ok) return 1;
        std::printf(" %lld", static_cast<long long>(space[0].amount));
    }
    return 0;
}

}  // namespace

int main(int count, char** words) {
    if (count == 2 && std::strcmp(words[1], "worker") == 0) return plugin::worker_main();
    std::printf("host minor %u: in process", RATION_ABI_MINOR);
    if (int const failed = three_ticks(words[1], plugin::isolation::in_process)) return failed;
    std::printf(", worker");
    if (int const failed = three_ticks(words[1], plugin::isolation::worker)) return failed;
    std::printf("\n");
}
