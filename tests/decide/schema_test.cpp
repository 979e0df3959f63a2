// SPDX-License-Identifier: BSL-1.0
// The schemas of `ration decide` have the keys, ranges and words of the program, and fit requests and answers.
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include <ration/host/check_rule.hpp>
#include <ration/testing/synthetic_life.hpp>

#include "decide/cluster_requests.hpp"
#include "decide/json_schema.hpp"
#include "decide/request.hpp"
#include "decide/row_key.hpp"
#include "decide/session.hpp"
#include "policies/policy_registry.hpp"
#include "support/catch.hpp"

using namespace ration;
using namespace ration::program;
using namespace ration::program::testing;
using json = nlohmann::json;

namespace {

[[nodiscard]] json_schema schema_of(std::string const& name) {
    return json_schema(json::parse(std::ifstream(std::string(RATION_DECIDE_SCHEMAS) + '/' + name + ".schema.json")));
}

/// A value of the key as the request would have it, in an array where it is one.
[[nodiscard]] json in_form(row_key const& key, json value) {
    return key.shape == column_shape::vector ? json::array({std::move(value)}) : value;
}
[[nodiscard]] json number_of(row_key const& key, double value) {
    if (key.type == column_type::f64 || key.type == column_type::f32) return value;
    return static_cast<std::int64_t>(value);
}

/// Whether the row with this value fits the schema, and whether ration takes it.
void check_value(json_schema const& schema, std::string const& table, row_key const& key, json const& value) {
    INFO(key.name << " = " << value);
    json const row{{"id", 1}, {key.name, in_form(key, value)}};
    bool const fits = schema.misfit({{table, {{"changed", json::array({row})}}}}).empty();
    CHECK(fits == static_cast<bool>(read_value(key, value)));
}

}  // namespace

TEST_CASE("decide schema: rows have the keys and the ranges of the program", "[decide]") {
    auto const schema = schema_of("request");
    for (auto const* const table : {"jobs", "nodes"}) {
        auto const keys = keys_of(std::string(table) == "jobs" ? table_id::jobs : table_id::nodes);
        auto const& shown = schema.root()["$defs"][std::string(table) == "jobs" ? "job" : "node"]["properties"];
        CHECK(shown.size() == keys.size() + 1);  // id
        for (auto const& key : keys) {
            CHECK(shown.contains(key.name));
            for (json const& word :
                 {json("unlimited"), json("nan"), json("running"), json("x"), json(nullptr), json(true), json(0.5)})
                check_value(schema, table, key, word);
            for (double const bound : {key.least, key.most}) check_value(schema, table, key, number_of(key, bound));
            double const beyond = key.most * 2 + 1;
            check_value(schema, table, key, number_of(key, beyond));
            check_value(schema, table, key, number_of(key, key.least - (key.least == 0 ? 1 : std::abs(key.least))));
        }
    }
}

TEST_CASE("decide schema: an answer has the rules of check", "[decide]") {
    auto const schema = schema_of("answer");
    json rules = json::array();
    for (int rule = 1; rule <= static_cast<int>(check_rule::over_tenant_limit); ++rule)
        rules.push_back(name_of_rule(static_cast<check_rule>(rule)));
    CHECK(schema.root()["oneOf"][0]["properties"]["rejected"]["items"]["properties"]["rule"]["enum"] == rules);
}

TEST_CASE("decide schema: requests and answers of a life fit, and damaged ones do not", "[decide]") {
    auto const requests_schema = schema_of("request"), answers_schema = schema_of("answer");
    ration::testing::synthetic_cluster cluster(
        {.nodes = {{8000, 1 << 20, 4, 4000, 1 << 20, 64}}, .jobs = 6, .holdings = 99});
    ration::testing::synthetic_life life(cluster, 6, {.first_jobs = 4});
    cluster_requests requests(cluster);
    diagnostics problems;
    decide_session session(known_policies()[1].make(nullptr, problems));
    for (std::uint64_t tick = 0; tick < 20; ++tick) {
        life.step();
        auto const line = tick % 5 == 0 ? requests.whole(tick) : requests.changed(tick);
        CHECK(requests_schema.misfit(json::parse(line)).empty());
        CHECK(answers_schema.misfit(json::parse(session.answer(line))).empty());
    }
    CHECK(answers_schema.misfit(json::parse(session.answer("{"))).empty());
    auto const request = json::parse(requests.whole(1));
    auto const refused = [&](auto damage) {
        auto damaged = request;
        damage(damaged);
        return !requests_schema.misfit(damaged).empty();
    };
    CHECK(refused([](json& r) { r["jobs"][0]["stat"] = 1; }));
    CHECK(refused([](json& r) { r["nodes"][0].erase("id"); }));
    CHECK(refused([](json& r) { r["held"] = 9; }));
    CHECK(refused(
        [](json& r) { r["held"] = json::array({{{"job", 1}, {"node", 1}, {"resource", "disk"}, {"amount", 1}}}); }));
    CHECK_FALSE(answers_schema.misfit(json{{"number", 0}}).empty());
}
