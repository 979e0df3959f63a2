// SPDX-License-Identifier: BSL-1.0
// Which plugins get the list of changed rows, and from which hosts.
#include <csignal>
#include <cstring>
#include <initializer_list>
#include <vector>

#include <ration/plugin/export.hpp>

#include "loaded.hpp"

using namespace plugin_test;

namespace {

/// What the policy grants the first job when the host lists these rows; the list of nodes is empty. -1: no answer.
[[nodiscard]] std::int64_t granted(loaded& l, std::initializer_list<std::size_t> rows = {1, 2}) {
    auto& log = l.on.store.changes();
    log.follow();
    log.clear();
    for (std::size_t const row : rows) log.mark(table_id::jobs, row, held_columns);
    grants out(l.space);
    tick_data const data{
        .now = seconds(1), .budget = milliseconds(500), .data = l.on.store.view(), .changes = log.view()};
    if (l.policy->decide(data, out) != status::ok) return -1;
    REQUIRE(out.size() == 1);
    return out.rows()[0].amount;
}
constexpr std::int64_t listed = 100 + 1 + 2, any_row = 1;

/// What it grants in a tick without a list.
[[nodiscard]] std::int64_t granted_without_list(loaded& l) { return l.tick() == status::ok ? l.amount() : -1; }

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
    CHECK(granted(follower) == listed);
    CHECK(granted_without_list(follower) == any_row);
    loaded counter("counter", options(isolation::in_process));
    CHECK_FALSE(counter.policy->follows_changes());
}

TEST_CASE("worker_policy: passes the list of changed rows after its first answer", "[changes]") {
    loaded follower("follower", options(isolation::worker));
    CHECK(follower.policy->follows_changes());
    CHECK(granted(follower) == any_row);
    CHECK(granted(follower) == listed);
    CHECK(granted(follower, {}) == 100);
    CHECK(granted_without_list(follower) == any_row);
    CHECK(granted(follower) == listed);
    REQUIRE(follower.policy->bind(follower.on.store.schema(), {.jobs = 3, .nodes = 1}));
    CHECK(granted(follower) == any_row);
    CHECK(granted(follower) == listed);
    loaded counter("counter", options(isolation::worker));
    CHECK_FALSE(counter.policy->follows_changes());
}

TEST_CASE("worker_policy: any row has changed for a worker that was started again", "[changes]") {
    loaded follower("follower", options(isolation::worker));
    CHECK(granted(follower) == any_row);
    ::kill(static_cast<plugin::worker_policy&>(follower.policy->policy()).pid(), SIGKILL);
    CHECK(granted(follower) == -1);
    std::int64_t first = -1;
    for (int i = 0; i < 2000 && first < 0; ++i) {
        ::usleep(1000);
        first = granted(follower);
    }
    CHECK(first == any_row);
    CHECK(granted(follower) == listed);
}

TEST_CASE("worker_policy: any row has changed after a tick without an answer", "[changes]") {
    loaded follower("follower", options(isolation::worker));
    CHECK(granted(follower) == any_row);
    CHECK(granted(follower, {0}) == -1);
    CHECK(granted(follower) == any_row);
    CHECK(granted(follower) == listed);
}

TEST_CASE("worker_policy: a list with a row that the table lacks is not passed on", "[changes]") {
    loaded follower("follower", options(isolation::worker));
    CHECK(granted(follower) == any_row);
    CHECK(granted(follower, {1, 3}) == any_row);
    CHECK(granted(follower, {1, 1000}) == any_row);
    CHECK(granted(follower) == listed);
}

TEST_CASE("change_lists: a host writes no list that cannot be one of its table", "[changes]") {
    plugin::change_lists const lists(0, {.jobs = 4, .nodes = 1});
    std::vector<std::byte> input(lists.end());
    std::uint32_t row[] = {2, 0}, groups[] = {all_columns, held_columns};
    std::int64_t const at[] = {-1, -1};
    table_changes list{.everything = 0, .moved = 0, .count = 2, .row = row, .groups = groups, .at = at};
    CHECK(lists.write(table_id::jobs, list, 3, input.data()).everything == 0);
    CHECK(lists.write(table_id::jobs, list, 2, input.data()).everything == 1);
    CHECK(lists.write(table_id::held, list, 3, input.data()).everything == 1);
    row[0] = 1;
    CHECK(lists.write(table_id::nodes, list, 2, input.data()).everything == 1);
    list.count = 5;
    CHECK(lists.write(table_id::jobs, list, 4, input.data()).everything == 1);
}

TEST_CASE("change_lists: a worker uses no list that cannot be one of its table", "[changes][hostile]") {
    plugin::change_lists const lists(64, {.jobs = 4, .nodes = 1});
    std::vector<std::byte> input(lists.end());
    auto const write = [&](std::uint32_t row) { std::memcpy(input.data() + 64 + 4, &row, sizeof row); };
    write(2);
    auto const seen = [&](plugin::listed_changes const& sent, table_id t = table_id::jobs) {
        return lists.read(t, sent, 3, input.data());
    };
    auto const good = seen({.count = 2, .everything = 0, .moved = 7});
    REQUIRE(good.everything == 0);
    CHECK(good.moved == 1);
    CHECK(good.count == 2);
    CHECK(good.row[1] == 2);
    CHECK(seen({.count = 4, .everything = 0, .moved = 0}).everything == 1);
    CHECK(seen({.count = ~std::uint64_t{0}, .everything = 0, .moved = 0}).everything == 1);
    CHECK(seen({.count = 2, .everything = 2, .moved = 0}).everything == 1);
    CHECK(seen({.count = 1, .everything = 0, .moved = 0}, table_id::held).everything == 1);
    CHECK(lists.read(table_id::nodes, {.count = 2, .everything = 0, .moved = 0}, 100, input.data()).everything == 1);
    write(3);
    CHECK(seen({.count = 2, .everything = 0, .moved = 0}).everything == 1);
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
