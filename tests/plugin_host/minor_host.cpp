// SPDX-License-Identifier: BSL-1.0
// For hosts and plugins of different minor versions: opens a plugin in both places and prints what its first three
// ticks grant, or, with the word `new`, uses what only the newer version has.
#include <cstdio>
#include <cstring>

#include <ration/host/snapshot_store.hpp>
#include <ration/plugin/host/host.hpp>
#include <ration/plugin/host/worker_main.hpp>

using namespace ration;

namespace {

int complain(error const& why) {
    std::printf("%s: %s\n", why.subject.c_str(), why.remedy);
    return 1;
}

int three_ticks(char const* path, plugin::isolation where) {
    auto policy = plugin::open(
        path, {.where = where, .config = {}, .worker = {.program = {"/proc/self/exe", {"worker"}}}, .strikes = {}});
    if (!policy) return complain(policy.failure());
    snapshot_store store;
    auto const id = store.declare<std::uint64_t>("jobs/id");
    if (!id || !store.resize(table_id::jobs, 1)) return 1;
    store.at(*id, 0) = 7;
    if (auto const bound = (*policy)->bind(store.schema(), {1, 1}); !bound) return complain(bound.failure());
    for (std::uint64_t number = 0; number < 3; ++number) {
        grant space[8];
        grants out(space);
        if ((*policy)->decide({.number = number, .seed = 0, .now = {}, .budget = seconds(1), .data = store.view()},
                              out) != status::ok)
            return 1;
        std::printf(" %lld", static_cast<long long>(space[0].amount));
    }
    return 0;
}

#if RATION_ABI_MINOR >= 1
/// Uses any plugin as a newer host does: a new field, a new event, and a new function where the plugin has it.
[[nodiscard]] char const* use_what_is_new(ration_policy const& policy, void* self, ration_tick& tick) {
    tick.incarnation = 7;
    ration_event const idle{RATION_EV_IDLE, RATION_NO_SLOT, 0, 1, 0, 0};
    static_cast<void>(policy.on_event(self, &idle, 1, sizeof idle));
    if (policy.idle == nullptr) return "no idle of the plugin";
    static_cast<void>(policy.idle(self));
    static_cast<void>(policy.idle(self));
    return "idle";
}
#else
[[nodiscard]] char const* use_what_is_new(ration_policy const&, void*, ration_tick&) { return "no idle"; }
#endif

int one_tick_with_what_is_new(char const* path) {
    auto file = plugin::plugin_file::open(path);
    if (!file) return complain(file.failure());
    auto const code = plugin::library::load(std::move(file).value());
    if (!code) return complain(code.failure());
    auto const& policy = code->table();
    ration_host const host{sizeof host, RATION_ABI_MINOR, nullptr, nullptr, nullptr};
    void* self = nullptr;
    if (policy.create(&host, nullptr, 0, &self, nullptr, 0) != RATION_OK) return 1;
    ration_tick tick{};
    tick.struct_size = sizeof tick;
    char const* const used = use_what_is_new(policy, self, tick);
    grant space[1];
    ration_out out{sizeof out, 0, 1, 0, 0, reinterpret_cast<ration_grant*>(space)};
    if (policy.decide(self, &tick, &out) != RATION_OK) return 1;
    policy.destroy(self);
    std::printf("host minor %u: grants %lld, %s\n", RATION_ABI_MINOR, static_cast<long long>(space[0].amount), used);
    return 0;
}

}  // namespace

int main(int count, char** words) {
    if (count == 2 && std::strcmp(words[1], "worker") == 0) return plugin::worker_main();
    if (count == 3) return one_tick_with_what_is_new(words[1]);
    std::printf("host minor %u: in process", RATION_ABI_MINOR);
    if (int const failed = three_ticks(words[1], plugin::isolation::in_process)) return failed;
    std::printf(", worker");
    if (int const failed = three_ticks(words[1], plugin::isolation::worker)) return failed;
    std::printf("\n");
}
