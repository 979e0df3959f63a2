// SPDX-License-Identifier: BSL-1.0
#include <map>
#include <vector>

#include <ration/host/snapshot_store.hpp>

#include "host.hpp"
#include "random.hpp"
#include "support/catch.hpp"

using namespace ration;

namespace {

constexpr auto jobs = table_id::jobs, nodes = table_id::nodes;

/// The listed rows and their groups.
[[nodiscard]] std::map<std::uint32_t, std::uint32_t> listed(table_changes const& changes) {
    std::map<std::uint32_t, std::uint32_t> all;
    for (std::size_t i = 0; i < changes.count; ++i) all[changes.row[i]] = changes.groups[i];
    CHECK(all.size() == changes.count);  // no row is listed twice
    return all;
}

using rows = std::map<std::uint32_t, std::uint32_t>;

/// Tables of 30 rows.
[[nodiscard]] change_log log_of_tables() {
    change_log log;
    log.resize(jobs, 30);
    log.resize(nodes, 30);
    return log;
}

}  // namespace

TEST_CASE("change_log: without a host that follows its changes, any row may have changed", "[change_log]") {
    change_log log = log_of_tables();
    log.clear();
    log.mark(jobs, 3, held_columns);
    CHECK(log.view() == nullptr);
    CHECK(log.of(jobs).everything == 1);
    CHECK(log.of(jobs).count == 0);
}

TEST_CASE("change_log: lists each row once, with all of its groups", "[change_log]") {
    change_log log = log_of_tables();
    log.follow();
    CHECK(log.of(jobs).everything == 1);  // until the policy was asked once
    log.mark(jobs, 3, held_columns);
    log.clear();
    CHECK(log.of(jobs).everything == 0);
    log.mark(jobs, 3, held_columns);
    log.mark(nodes, 1, capacity_columns);
    log.mark(jobs, 3, state_columns);
    log.mark(jobs, 0, progress_columns, 17);
    CHECK(listed(log.of(jobs)) == rows{{3, held_columns | state_columns}, {0, progress_columns}});
    CHECK(listed(log.of(nodes)) == rows{{1, capacity_columns}});
    CHECK(log.of(jobs).at[0] == -1);
    CHECK(log.of(jobs).at[1] == 17);
    log.mark(jobs, 0, held_columns, 99);  // no progress: the time stays
    CHECK(log.of(jobs).at[1] == 17);
    log.clear();
    CHECK(log.of(jobs).count == 0);
    log.mark(jobs, 3, held_columns);
    CHECK(listed(log.of(jobs)) == rows{{3, held_columns}});
}

TEST_CASE("change_log: everything includes what was listed, and what follows", "[change_log]") {
    change_log log = log_of_tables();
    log.follow();
    log.clear();
    log.mark(jobs, 3, held_columns);
    log.mark_all(jobs);
    log.mark(jobs, 4, held_columns);
    CHECK(log.of(jobs).everything == 1);
    CHECK(log.of(jobs).moved == 1);
    CHECK(log.of(jobs).count == 0);
    log.clear();
    log.mark(jobs, 3, state_columns);
    CHECK(listed(log.of(jobs)) == rows{{3, state_columns}});
}

TEST_CASE("change_log: a row that the table does not have stands for any row, and takes no memory", "[change_log]") {
    change_log log = log_of_tables();
    log.follow();
    log.clear();
    log.mark(jobs, 29, held_columns);
    CHECK(log.of(jobs).everything == 0);
    log.mark(jobs, 30, held_columns);
    CHECK(log.of(jobs).everything == 1);
    log.clear();
    log.mark(jobs, ~std::size_t{0}, held_columns);
    CHECK(log.of(jobs).everything == 1);
    CHECK(log.of(jobs).count == 0);
    CHECK(log.of(nodes).everything == 0);
}

TEST_CASE("change_log: removed rows leave the list, and later rows move up", "[change_log]") {
    unit::rng random(5);
    for (int round = 0; round < 200; ++round) {
        change_log log = log_of_tables();
        log.follow();
        log.clear();
        std::size_t const count = 1 + random.below(20);
        std::vector<std::uint32_t> marked(count);
        for (std::size_t row = 0; row < count; ++row)
            if (random.one_in(2)) log.mark(jobs, row, marked[row] = 1 + static_cast<std::uint32_t>(random.below(31)));
        bool gone[20] = {};
        rows expected;
        std::uint32_t kept = 0;
        for (std::size_t row = 0; row < count; ++row) {
            gone[row] = random.one_in(3);
            if (!gone[row] && marked[row] != 0) expected[kept] = marked[row];
            kept += !gone[row];
        }
        log.note_removed(jobs, gone, count);
        CHECK(log.of(jobs).moved == 1);
        REQUIRE(listed(log.of(jobs)) == expected);
        log.mark(jobs, kept, 2);  // a new row behind them
        expected[kept] = 2;
        REQUIRE(listed(log.of(jobs)) == expected);
    }
}

TEST_CASE("snapshot_store: marks new rows, and everything when rows are taken away one by one", "[change_log]") {
    snapshot_store store;
    auto const id = store.declare<std::uint64_t>("jobs/id");
    REQUIRE(id);
    store.changes().follow();
    store.changes().clear();
    REQUIRE(store.resize(jobs, 2));
    CHECK(listed(store.changes().of(jobs)) == rows{{0, all_columns}, {1, all_columns}});
    store.changes().clear();
    bool const gone[] = {true, false};
    store.erase_rows(jobs, gone);
    CHECK(store.changes().of(jobs).moved == 1);
    CHECK(store.changes().of(jobs).everything == 0);
    store.changes().clear();
    store.erase_row(jobs, 0);
    CHECK(store.changes().of(jobs).everything == 1);
}

TEST_CASE("show_changes: marks all nodes when the ledger has more changes than it lists", "[change_log]") {
    unit::host on(2, 2);
    on.store.changes().follow();
    show_changes(on.held, on.store, on.columns);
    on.store.changes().clear();
    on.hold(0, resource_id::gpu, 1, 1);
    show_changes(on.held, on.store, on.columns);
    CHECK(listed(on.store.changes().of(nodes)) == rows{{1, held_columns}});
    on.store.changes().clear();
    for (std::int64_t i = 0; !on.held.changes().everything; ++i) on.hold(0, resource_id::gpu, 2 + i % 2, 1);
    show_changes(on.held, on.store, on.columns);
    CHECK(listed(on.store.changes().of(nodes)) == rows{{0, held_columns}, {1, held_columns}});
    CHECK(listed(on.store.changes().of(jobs)) == rows{{0, held_columns}, {1, held_columns}});
}
