// SPDX-License-Identifier: BSL-1.0
#include <cstdint>
#include <string>

#include <ration/host/snapshot_store.hpp>
#include <ration/host/standard_columns.hpp>

#include "host.hpp"
#include "support/allocations.hpp"
#include "support/catch.hpp"

using ration::errc;
using ration::snapshot_store;
using unit::column;
using unit::must;
using unit::table_id;

namespace {

[[nodiscard]] bool on_a_line(void const* p) { return reinterpret_cast<std::uintptr_t>(p) % 64 == 0; }

template <class T>
[[nodiscard]] errc refused(ration::result<T> const& r) {
    return r ? errc{} : r.failure().code;
}

}  // namespace

TEST_CASE("snapshot_store: columns are declared once and found again", "[snapshot]") {
    snapshot_store store;
    auto const a = must(store.declare<double>("jobs/a"));
    auto const wide = must(store.declare<std::int64_t>("nodes/wide", 3));
    CHECK(a.table == table_id::jobs);
    CHECK(wide.table == table_id::nodes);
    CHECK(wide.width == 3);
    CHECK(must(store.declare<double>("jobs/a")).slot == a.slot);
    CHECK(must(store.declare<double>("jobs/b")).slot != a.slot);
    CHECK(must(store.find<std::int64_t>("nodes/wide")).width == 3);
    CHECK(store.schema().size() == 3);
    CHECK(ration::find_column(store.schema(), "jobs/b")->name == "jobs/b");
    CHECK(ration::find_column(store.schema(), "jobs/c") == nullptr);
}

TEST_CASE("snapshot_store: a column that cannot be is refused by its name", "[snapshot]") {
    snapshot_store store;
    must(store.declare<double>("jobs/a"));
    CHECK(refused(store.declare<float>("jobs/a")) == errc::conflict);
    CHECK(refused(store.declare<double>("jobs/a", 2)) == errc::conflict);
    CHECK(refused(store.declare<double>("a")) == errc::invalid_value);
    CHECK(refused(store.declare<double>("jobs/")) == errc::invalid_value);
    CHECK(refused(store.declare<double>("jobs/b", 0)) == errc::invalid_value);
    CHECK(refused(store.declare<double>("jobs/" + std::string(43, 'x'))) == errc::invalid_value);
    CHECK(refused(store.declare<double>("jobs/" + std::string(42, 'x'))) == errc{});
    CHECK(refused(store.find<double>("jobs/b")) == errc::not_found);
    CHECK(refused(store.find<float>("jobs/a")) == errc::conflict);
    CHECK(store.find<double>("jobs/b").failure().subject == "jobs/b");
}

TEST_CASE("snapshot_store: every column begins on a line of its own and is padded with zeros", "[snapshot]") {
    snapshot_store store;
    auto const narrow = must(store.declare<std::uint32_t>("jobs/narrow"));
    auto const wide = must(store.declare<double>("jobs/wide", 5));
    for (std::size_t const rows : {1u, 7u, 16u, 17u, 100u}) {
        must(store.resize(table_id::jobs, rows));
        for (auto& v : store[narrow]) v = 0xFFFFFFFF;
        for (auto& v : store[wide]) v = -1;
        auto const view = store.view();
        CHECK(view[table_id::jobs].rows == rows);
        auto const* const first = static_cast<std::uint32_t const*>(view[table_id::jobs].slot[narrow.slot]);
        auto const* const second = static_cast<double const*>(view[table_id::jobs].slot[wide.slot]);
        CHECK(on_a_line(first));
        CHECK(on_a_line(second));
        for (std::size_t i = rows; i % 16 != 0; ++i) CHECK(first[i] == 0);
        for (std::size_t i = rows * 5; i % 8 != 0; ++i) CHECK(second[i] == 0);
    }
}

TEST_CASE("snapshot_store: rows that come are zero, also where others were before", "[snapshot]") {
    snapshot_store store;
    auto const c = must(store.declare<std::int64_t>("jobs/c", 2));
    must(store.resize(table_id::jobs, 3));
    for (std::size_t i = 0; i < 6; ++i) store[c][i] = static_cast<std::int64_t>(i + 1);
    must(store.resize(table_id::jobs, 1));
    CHECK(store[c].size() == 2);
    must(store.resize(table_id::jobs, 3));
    CHECK(store[c][0] == 1);
    CHECK(store[c][1] == 2);
    for (std::size_t i = 2; i < 6; ++i) CHECK(store[c][i] == 0);
    must(store.resize(table_id::jobs, 200));
    CHECK(store[c][0] == 1);
    for (std::size_t i = 2; i < 400; ++i) REQUIRE(store[c][i] == 0);
}

TEST_CASE("snapshot_store: a column declared late has a zero for every row there is", "[snapshot]") {
    snapshot_store store;
    must(store.resize(table_id::nodes, 20));
    auto const c = must(store.declare<double>("nodes/late"));
    REQUIRE(store[c].size() == 20);
    for (double const v : store[c]) CHECK(v == 0);
    CHECK(store.view()[table_id::nodes].slot[c.slot] == store[c].data());
}

TEST_CASE("snapshot_store: an erased row leaves and the later ones move up", "[snapshot]") {
    snapshot_store store;
    auto const a = must(store.declare<std::uint32_t>("jobs/a"));
    auto const b = must(store.declare<double>("jobs/b", 2));
    must(store.resize(table_id::jobs, 4));
    for (std::uint32_t row = 0; row < 4; ++row) {
        store[a][row] = row;
        store[b][2 * row] = row;
        store[b][2 * row + 1] = row + 0.5;
    }
    store.erase_row(table_id::jobs, 1);
    REQUIRE(store.rows(table_id::jobs) == 3);
    CHECK(store[a][0] == 0);
    CHECK(store[a][1] == 2);
    CHECK(store[a][2] == 3);
    CHECK(store[b][2] == 2);
    CHECK(store[b][5] == 3.5);
    store.erase_row(table_id::jobs, 2);
    must(store.resize(table_id::jobs, 4));
    CHECK(store[a][1] == 2);
    CHECK(store[a][2] == 0);
    CHECK(store[a][3] == 0);
    for (int i = 0; i < 4; ++i) store.erase_row(table_id::jobs, 0);
    CHECK(store.rows(table_id::jobs) == 0);
}

TEST_CASE(
    "snapshot_store: a store that is moved takes its columns along, and a view stays with the store that it is of",
    "[snapshot]") {
    snapshot_store old;
    auto const id = must(old.declare<std::uint64_t>("jobs/id"));
    must(old.resize(table_id::jobs, 2));
    old.at(id, 1) = 7;
    auto const before = old.view();

    snapshot_store fresh(std::move(old));
    auto const& jobs = fresh.view()[table_id::jobs];
    REQUIRE(jobs.rows == 2);
    CHECK(jobs.slots == 1);
    CHECK(static_cast<std::uint64_t const*>(jobs.slot[id.slot])[1] == 7);
    CHECK(fresh.find<std::uint64_t>("jobs/id"));
    CHECK(before[table_id::jobs].rows == 0);
    CHECK(before[table_id::jobs].slot == nullptr);
}

TEST_CASE("snapshot_store: an omitted column has one row for all, and is not in the schema", "[snapshot]") {
    snapshot_store store;
    auto const id = must(store.declare<std::uint64_t>("jobs/id"));
    must(store.omit("jobs/loss", ration::column_type::f64, 3));
    CHECK(store.omit("jobs/id", ration::column_type::u64).failure().code == errc::conflict);
    CHECK(store.declare<float>("jobs/loss").failure().code == errc::conflict);
    auto const loss = must(store.declare<double>("jobs/loss"));
    CHECK(loss.width == 0);
    REQUIRE(store.schema().size() == 1);
    CHECK(!store.find<double>("jobs/loss"));
    must(store.resize(table_id::jobs, 40));
    for (std::size_t row = 0; row < 40; ++row) store.at(id, row) = row;
    store.at(loss, 39) = 0.5;
    CHECK(&store.at(loss, 39) == &store.at(loss, 0));
    bool gone[40] = {true, true};
    store.erase_rows(table_id::jobs, gone);
    store.erase_row(table_id::jobs, 0);
    must(store.resize(table_id::jobs, 60));
    CHECK(store.at(id, 0) == 3);
    CHECK(store.at(loss, 59) == 0.5);
    (&store.at(loss, 0))[2] = 7;  // a row has the width that was asked for
    snapshot_store other;
    other.swap(store);
    CHECK(must(other.declare<double>("jobs/loss")).width == 0);
}

TEST_CASE("snapshot_store: tables are independent of each other", "[snapshot]") {
    snapshot_store store;
    auto const j = must(store.declare<double>("jobs/x"));
    auto const n = must(store.declare<double>("nodes/x"));
    must(store.resize(table_id::jobs, 2));
    CHECK(store[j].size() == 2);
    CHECK(store[n].empty());
    CHECK(store.rows(table_id::held) == 0);
}

TEST_CASE("snapshot_store: a table at its largest size ever does not allocate again", "[snapshot]") {
    snapshot_store store;
    must(store.declare<double>("jobs/x", 3));
    must(store.declare<std::uint32_t>("jobs/y"));
    must(store.resize(table_id::jobs, 100));
    auto const before = allocations();
    for (std::size_t const rows : {0u, 1u, 50u, 100u, 3u}) {
        must(store.resize(table_id::jobs, rows));
        static_cast<void>(store.view());
    }
    store.erase_row(table_id::jobs, 0);
    CHECK(allocations() == before);
}

TEST_CASE("snapshot_store: a table that finds no memory stays as it was", "[snapshot]") {
    snapshot_store store;
    auto const a = must(store.declare<double>("jobs/a"));
    auto const b = must(store.declare<double>("jobs/b"));
    must(store.resize(table_id::jobs, 8));
    for (std::size_t i = 0; i < 8; ++i) {
        store[a][i] = 1;
        store[b][i] = 2;
    }
    for (std::size_t const granted : {0u, 1u}) {
        {
            scarce_memory const scarce(granted);
            CHECK(refused(store.resize(table_id::jobs, 1000 * (granted + 1))) == errc::no_capacity);
        }
        CHECK(store.rows(table_id::jobs) == 8);
        auto const view = store.view();
        CHECK(view[table_id::jobs].slot[a.slot] == store[a].data());
        CHECK(view[table_id::jobs].slot[b.slot] == store[b].data());
        for (std::size_t i = 0; i < 8; ++i) CHECK((store[a][i] == 1 && store[b][i] == 2));
    }
    must(store.resize(table_id::jobs, 3000));
    CHECK(store[b][7] == 2);
}

TEST_CASE("snapshot_store: a column that finds no memory is not declared", "[snapshot]") {
    snapshot_store store;
    must(store.resize(table_id::jobs, 8));
    {
        scarce_memory const scarce(0);
        CHECK(refused(store.declare<double>("jobs/a")) == errc::no_capacity);
    }
    CHECK(store.schema().empty());
    must(store.declare<double>("jobs/a"));
}

TEST_CASE("snapshot_store: rows that go leave the others in order, whole, and what comes after them blank",
          "[snapshot]") {
    snapshot_store store;
    auto const id = must(store.declare<std::uint64_t>("jobs/id"));
    auto const pair = must(store.declare<double>("jobs/pair", 2));
    must(store.resize(ration::table_id::jobs, 6));
    for (std::size_t row = 0; row < 6; ++row) {
        store.at(id, row) = row + 1;
        store[pair][2 * row] = static_cast<double>(row);
        store[pair][2 * row + 1] = -static_cast<double>(row);
    }
    bool const gone[] = {true, false, true, true, false, false};
    store.erase_rows(ration::table_id::jobs, gone);
    REQUIRE(store.rows(ration::table_id::jobs) == 3);
    std::uint64_t const left[] = {2, 5, 6};
    for (std::size_t row = 0; row < 3; ++row) {
        CHECK(store.at(id, row) == left[row]);
        CHECK(store[pair][2 * row] == static_cast<double>(left[row] - 1));
        CHECK(store[pair][2 * row + 1] == -static_cast<double>(left[row] - 1));
    }
    must(store.resize(ration::table_id::jobs, 6));
    for (std::size_t row = 3; row < 6; ++row)
        CHECK((store.at(id, row) == 0 && store[pair][2 * row] == 0 && store[pair][2 * row + 1] == 0));
    bool const nobody[6] = {};
    store.erase_rows(ration::table_id::jobs, nobody);
    CHECK(store.rows(ration::table_id::jobs) == 6);
    CHECK(store.at(id, 2) == 6);
}

TEST_CASE("snapshot_store: the standard columns are those of the catalogue", "[standard]") {
    snapshot_store store;
    must(ration::standard_columns::declare(store, ration::standard_resources));
    for (auto const& c : store.schema()) {
        std::size_t const standard = ration::index_in_catalogue(c.name.view());
        INFO(c.name.c_str());
        REQUIRE(standard < ration::catalogue_size);
        CHECK(ration::catalogue[standard].type == c.type);
        CHECK(ration::catalogue[standard].shape == ration::column_shape::scalar);
        CHECK(c.width == 1);
    }
    std::size_t expected = 0;
    for (auto const& c : ration::catalogue)
        if (c.offer == ration::column_offer::by_every_host)
            expected += ration::is_family(c.name) ? std::size(ration::standard_resources) : 1;
    CHECK(store.schema().size() == expected);
    CHECK(ration::find_column(store.schema(), "jobs/used.gpu.sm") != nullptr);
}

TEST_CASE("snapshot_store: the standard columns say which name is taken or too long", "[standard]") {
    snapshot_store taken;
    must(taken.declare<float>("jobs/weight"));
    auto const refusal = ration::standard_columns::declare(taken, ration::standard_resources);
    REQUIRE_FALSE(refusal);
    CHECK(refusal.failure().code == errc::conflict);
    CHECK(refusal.failure().subject == "jobs/weight");

    snapshot_store store;
    std::string const long_name(40, 'x');
    ration::resource_info const odd[] = {{long_name, "units"}};
    CHECK(refused(ration::standard_columns::declare(store, odd)) == errc::invalid_value);
}
