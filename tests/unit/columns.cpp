// SPDX-License-Identifier: BSL-1.0
#include <ration/host/any_policy.hpp>
#include <ration/policy.hpp>

#include "host.hpp"
#include "support/catch.hpp"

using ration::bind_columns;
using ration::columns;
using ration::errc;
using ration::in;
using ration::in_rows;
using ration::snapshot_store;
using unit::must;
using unit::table_id;

namespace {

using two = columns<in<double, "jobs/a">, in_rows<std::int64_t, "nodes/b">>;

struct refusing {
    using policy_concept = ration::policy_tag;
    using inputs = columns<>;
    static constexpr ration::meta about{.id = "org.example.refusing", .version = "1.0.0"};
    ration::status prepare(ration::limits const&) noexcept { return ration::status::no_memory; }
    ration::status decide(ration::tick<inputs> const&, ration::grants&) noexcept { return ration::status::ok; }
};

}  // namespace

TEST_CASE("columns: declared columns are found wherever the host keeps them", "[bind]") {
    snapshot_store store;
    must(store.declare<double>("jobs/other"));
    must(store.declare<std::int64_t>("nodes/b", 2));
    must(store.declare<double>("jobs/a"));
    auto const bound = must(bind_columns<two>(store.schema()));
    CHECK(bound.column[0].table == table_id::jobs);
    CHECK(bound.column[0].slot == 1);
    CHECK(bound.column[1].table == table_id::nodes);
    CHECK(bound.column[1].width == 2);
}

TEST_CASE("columns: a column that the host does not offer is named", "[bind]") {
    snapshot_store store;
    must(store.declare<double>("jobs/a"));
    auto const bound = bind_columns<two>(store.schema());
    REQUIRE_FALSE(bound);
    CHECK(bound.failure().code == errc::not_found);
    CHECK(bound.failure().subject == "nodes/b");
    CHECK_FALSE(std::string_view(bound.failure().remedy).empty());
}

TEST_CASE("columns: a column of another type or shape is named", "[bind]") {
    snapshot_store other_type;
    must(other_type.declare<float>("jobs/a"));
    must(other_type.declare<std::int64_t>("nodes/b", 2));
    CHECK(bind_columns<two>(other_type.schema()).failure().code == errc::conflict);
    CHECK(bind_columns<two>(other_type.schema()).failure().subject == "jobs/a");

    snapshot_store vector_for_scalar;
    must(vector_for_scalar.declare<double>("jobs/a", 3));
    must(vector_for_scalar.declare<std::int64_t>("nodes/b", 2));
    CHECK(bind_columns<two>(vector_for_scalar.schema()).failure().code == errc::conflict);

    snapshot_store vector_of_one;  // a vector that happens to be one value wide is still a vector
    must(vector_of_one.declare<double>("jobs/a"));
    must(vector_of_one.declare<std::int64_t>("nodes/b", 1));
    CHECK(bind_columns<two>(vector_of_one.schema()));
}

TEST_CASE("columns: a tick reads the columns as they were declared", "[tick]") {
    snapshot_store store;
    auto const b = must(store.declare<std::int64_t>("nodes/b", 2));
    auto const a = must(store.declare<double>("jobs/a"));
    must(store.resize(table_id::jobs, 2));
    must(store.resize(table_id::nodes, 3));
    store[a][1] = 2.5;
    for (std::size_t i = 0; i < 6; ++i) store[b][i] = static_cast<std::int64_t>(i);
    auto const bound = must(bind_columns<two>(store.schema()));
    ration::tick_data const data{
        .number = 4, .seed = 5, .now = ration::seconds(6), .budget = ration::milliseconds(7), .data = store.view()};
    ration::tick<two> const t(data, bound);
    CHECK(t.number() == 4);
    CHECK(t.seed() == 5);
    CHECK(t.now() == ration::seconds(6));
    CHECK(t.budget() == ration::milliseconds(7));
    CHECK(t.jobs() == 2);
    CHECK(t.nodes() == 3);
    REQUIRE(t.get<"jobs/a">().size() == 2);
    CHECK(t.get<"jobs/a">()[1] == 2.5);
    auto const rows = t.get<"nodes/b">();
    REQUIRE(rows.size() == 3);
    CHECK(rows.width() == 2);
    REQUIRE(rows[2].size() == 2);
    CHECK(rows[2][0] == 4);
    CHECK(rows[2][1] == 5);
}

TEST_CASE("columns: a tick of empty tables reads empty columns", "[tick]") {
    snapshot_store store;
    must(store.declare<double>("jobs/a"));
    must(store.declare<std::int64_t>("nodes/b", 2));
    auto const bound = must(bind_columns<two>(store.schema()));
    ration::tick_data const data{.number = 0, .seed = 0, .now = {}, .budget = {}, .data = store.view()};
    ration::tick<two> const t(data, bound);
    CHECK(t.get<"jobs/a">().empty());
    CHECK(t.get<"nodes/b">().size() == 0);
}

TEST_CASE("columns: a policy that cannot prepare does not bind", "[bind]") {
    ration::policy_adapter<refusing> policy;
    auto const bound = policy.bind({}, {.jobs = 1, .nodes = 1});
    REQUIRE_FALSE(bound);
    CHECK(bound.failure().code == errc::no_capacity);
    CHECK(bound.failure().subject == "org.example.refusing");
}
