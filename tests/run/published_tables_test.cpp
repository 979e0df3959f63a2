// SPDX-License-Identifier: BSL-1.0
#include "run/published_tables.hpp"

#include <nlohmann/json.hpp>
#include <string>

#include <ration/host/holdings.hpp>
#include <ration/host/standard_columns.hpp>

#include "events/events.hpp"
#include "support/allocations.hpp"
#include "support/catch.hpp"

using namespace ration;
using program::published_tables;

namespace {

constexpr std::size_t most_jobs = 4;

/// Grants nothing, and keeps the address of its table of jobs, to be compared with that of the host.
class onlooker final : public any_policy {
    static constexpr meta about_{.id = "test.onlooker", .version = "1.0.0"};

public:
    std::size_t asked = 0, reported = 0;
    table_view const* jobs = nullptr;

    [[nodiscard]] meta const& about() const noexcept override { return about_; }
    [[nodiscard]] result<void> bind(std::span<column_info const>, limits const&) noexcept override { return {}; }
    [[nodiscard]] bool reads(std::string_view column) const noexcept override { return column == "jobs/id"; }
    [[nodiscard]] status decide(tick_data const& t, grants&) noexcept override {
        ++asked;
        jobs = &t.data[table_id::jobs];
        return status::deadline;
    }
    void on_events(std::span<ration::event const> events) noexcept override { reported += events.size(); }
};

/// Two jobs on one node, and what a policy is shown of them.
struct scene {
    snapshot_store store;
    standard_columns columns;
    ledger held;
    onlooker policy;
    published_tables shown{policy};

    scene() {
        auto declared = standard_columns::declare(store, standard_resources);
        REQUIRE(declared);
        columns = *declared;
        REQUIRE(store.resize(table_id::nodes, 1));
        REQUIRE(store.resize(table_id::jobs, 2));
        store[columns.id][0] = 7;
        store[columns.id][1] = 9;
        store[columns.resources[0].capacity][0] = 4000;
        held.reset(1, std::size(standard_resources), most_jobs * std::size(standard_resources));
        REQUIRE(shown.bind(store.schema(), {.jobs = most_jobs, .nodes = 1}));
    }

    void ask() {
        show_holdings(held, store, columns);
        grants none{std::span<grant>()};
        CHECK(shown.decide({.data = store.view()}, none) == status::deadline);
    }
    void give(std::uint64_t job, std::int64_t millicores) {
        held.set({{job}, 0, resource_id::cpu, millicores}, {});
        show_changes(held, store, columns);
    }
    template <class T>
    [[nodiscard]] T then(column<T> c, std::size_t row) const {
        auto const tables = shown.last();
        REQUIRE(row < tables[c.table].rows);
        return static_cast<T const*>(tables[c.table].slot[c.slot])[row];
    }
    [[nodiscard]] nlohmann::json written() const {
        auto const was = shown.last(), is = store.view();
        return nlohmann::json::parse(program::to_json(
            {{},
             program::decision{
                 .budget = {}, .took = {}, .schema = store.schema(), .shown = &was, .left = &is, .grants = {}}}));
    }
};

}  // namespace

TEST_CASE("what grants change is kept as the policy was shown it", "[published_tables]") {
    scene s;
    s.give(7, 1000);
    s.ask();
    s.give(7, 3000);
    s.give(9, 500);
    auto const& cpu = s.columns.resources[0];
    CHECK(s.then(cpu.held, 0) == 1000);
    CHECK(s.then(cpu.held, 1) == 0);
    CHECK(s.then(cpu.free, 0) == 3000);
    CHECK(s.shown.last()[table_id::held].rows == 1);
    CHECK(s.then(s.columns.held_job, 0) == 7);
    CHECK(s.then(s.columns.held_amount, 0) == 1000);
    CHECK(s.then(s.columns.id, 1) == 9);
    s.ask();
    CHECK(s.then(cpu.held, 0) == 3000);
    CHECK(s.then(cpu.free, 0) == 500);
    CHECK(s.shown.last()[table_id::held].rows == 2);
}

TEST_CASE("the policy itself reads the tables of the host, and hears all that it would hear", "[published_tables]") {
    scene s;
    s.ask();
    CHECK(s.policy.asked == 1);
    CHECK(s.policy.jobs == &s.store.view()[table_id::jobs]);
    ration::event const two[2];
    s.shown.on_events(two);
    CHECK(s.policy.reported == 2);
    CHECK(s.shown.reads("jobs/id"));
    CHECK_FALSE(s.shown.reads("jobs/loss"));
    CHECK(s.shown.about().id == "test.onlooker");
}

TEST_CASE("nothing is allocated after bind", "[published_tables]") {
    scene s;
    REQUIRE(s.store.resize(table_id::jobs, most_jobs));
    for (std::size_t row = 0; row < most_jobs; ++row) s.store[s.columns.id][row] = row + 1;
    for (std::uint64_t job = 1; job <= most_jobs; ++job)
        for (std::size_t r = 0; r < std::size(standard_resources); ++r)
            s.held.set({{job}, 0, static_cast<resource_id>(r), 1}, {});
    show_holdings(s.held, s.store, s.columns);
    auto const before = allocations();
    grants none{std::span<grant>()};
    for (int i = 0; i < 3; ++i) (void)s.shown.decide({.data = s.store.view()}, none);
    CHECK(allocations() == before);
    CHECK(s.shown.last()[table_id::held].rows == most_jobs * std::size(standard_resources));
}

TEST_CASE("a decision is written with what was shown, and what its grants changed", "[published_tables]") {
    scene s;
    s.give(7, 1000);
    s.ask();
    auto quiet = s.written();
    CHECK(quiet["columns_after"].empty());
    CHECK(quiet["rows"] == nlohmann::json::parse("[2, 1, 1, 0]"));
    s.give(7, 3000);
    auto const same_rows = s.written();
    CHECK(same_rows["columns"] == quiet["columns"]);
    CHECK(same_rows["columns_after"] ==
          nlohmann::json::parse(R"({"jobs/held.cpu":[3000,0],"nodes/free.cpu":[1000],"held/amount":[3000]})"));
    s.give(9, 500);
    auto const more = s.written();
    CHECK(more["columns"] == quiet["columns"]);
    CHECK(more["rows"] == quiet["rows"]);
    CHECK(more["columns_after"]["held/job"] == nlohmann::json::parse("[7, 9]"));
    CHECK(more["columns_after"]["held/resource"] == nlohmann::json::parse("[0, 0]"));
    CHECK(more["columns_after"]["jobs/held.cpu"] == nlohmann::json::parse("[3000, 500]"));
}
