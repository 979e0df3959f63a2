// SPDX-License-Identifier: BSL-1.0
// Which plugins get the list of changed rows, and from which hosts.
#include <ration/plugin/export.hpp>

#include "loaded.hpp"

using namespace plugin_test;

namespace {

/// What the policy grants the first job when the host lists the rows 1 and 2.
[[nodiscard]] std::int64_t granted(any_policy& policy, unit::host& on, bool lists) {
    on.store.changes().follow();
    on.store.changes().clear();
    on.store.changes().mark(table_id::jobs, 1, held_columns);
    on.store.changes().mark(table_id::jobs, 2, state_columns);
    std::array<grant, 16> space{};
    grants out(space);
    auto const reply = policy.decide({.now = seconds(1),
                                      .budget = milliseconds(500),
                                      .data = on.store.view(),
                                      .changes = lists ? on.store.changes().view() : nullptr},
                                     out);
    REQUIRE(reply == status::ok);
    REQUIRE(out.size() == 1);
    return out.rows()[0].amount;
}

/// Grants 1 where any row may have changed, otherwise 0.
struct reader {
    using policy_concept = policy_tag;
    using inputs = columns<>;
    static constexpr bool follows_changes = true;
    static constexpr meta about{.id = "org.example.test-reader", .version = "1.0.0"};
    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        return out.set(0, 0, resource_id::cpu, t.changes(table_id::jobs).everything) ? status::ok : status::capacity;
    }
};

}  // namespace

TEST_CASE("in_process_policy: passes the list of changed rows to a plugin that follows it", "[changes]") {
    loaded follower("follower", options(isolation::in_process));
    CHECK(follower.policy->follows_changes());
    CHECK(granted(*follower.policy, follower.on, true) == 100 + 1 + 2);
    CHECK(granted(*follower.policy, follower.on, false) == 1);
    loaded counter("counter", options(isolation::in_process));
    CHECK_FALSE(counter.policy->follows_changes());
}

TEST_CASE("worker_policy: has no list of changed rows, and asks for none", "[changes]") {
    loaded follower("follower", options(isolation::worker));
    CHECK_FALSE(follower.policy->follows_changes());
    CHECK(granted(*follower.policy, follower.on, true) == 1);
}

TEST_CASE("export: the tick of an older host has no list of changed rows", "[changes]") {
    auto const plugin = plugin::exported<reader>::table(nullptr);
    CHECK((plugin.flags & RATION_F_FOLLOWS_CHANGES) != 0);
    ration_host host{};
    host.struct_size = sizeof host;
    host.extension = [](void*, char const*) -> void const* { return nullptr; };
    void* self = nullptr;
    REQUIRE(plugin.create(&host, "", 0, &self, nullptr, 0) == RATION_OK);
    ration_changes const nothing{sizeof nothing, 0, 0, 0, nullptr, nullptr, nullptr};
    ration_changes const* const all[] = {&nothing, &nothing, &nothing};
    for (bool const is_old : {true, false}) {
        std::array<ration_grant, 4> space{};
        ration_out out{sizeof out, 0, space.size(), 0, 0, space.data()};
        ration_tick t{};
        t.struct_size = is_old ? offsetof(ration_tick, changes) : sizeof t;
        t.changes = all;
        REQUIRE(plugin.decide(self, &t, &out) == RATION_OK);
        CHECK(space[0].amount == (is_old ? 1 : 0));
    }
    plugin.destroy(self);
}
