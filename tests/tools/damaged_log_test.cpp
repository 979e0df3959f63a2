// SPDX-License-Identifier: BSL-1.0
// Decisions of an event log with damage, as `ration replay` shows them to policies: no line takes more memory than a
// run can, no policy is shown a table that it was not bound for, and what cannot be is a sentence.
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "events/events.hpp"
#include "events/json_reader.hpp"
#include "policies/policy_registry.hpp"
#include "replay/recorded_tick.hpp"
#include "support/catch.hpp"
#include "support/mutations.hpp"
#include "unit/host.hpp"

using namespace ration;
using namespace ration::program;

namespace {

/// A decision as `ration run --log` writes it: three jobs that hold something on one node.
[[nodiscard]] std::string good_line() {
    unit::host on(3);
    for (std::uint64_t row = 0; row < 3; ++row)
        on.held.set({.job = {row + 1}, .node = 0, .resource = resource_id::cpu, .amount = 100}, {});
    show_holdings(on.held, on.store, on.columns);
    auto const data = on.store.view();
    std::vector<grant> const grants{{.job = 0, .amount = 100}, {.job = 2, .amount = unlimited}};
    return to_json({seconds(1), decision{.number = 1,
                                         .seed = 9,
                                         .budget = milliseconds(100),
                                         .took = {1234},
                                         .schema = on.store.schema(),
                                         .shown = &data,
                                         .left = &data,
                                         .status = 0,
                                         .grants = grants}});
}

[[nodiscard]] std::string repeated(std::string_view text, std::size_t times) {
    std::string out;
    for (std::size_t i = 0; i < times; ++i) out += text;
    return out;
}

[[nodiscard]] std::string message_of(nlohmann::json const& line) {
    recorded_tick tick;
    auto const read = tick.load(line);
    return read ? std::string() : read.failure().text;
}

[[nodiscard]] nlohmann::json with(nlohmann::json line, char const* path, nlohmann::json value) {
    line[nlohmann::json::json_pointer(path)] = std::move(value);
    return line;
}

/// Policies bound to the first tick, as replay does.
struct asked_policies {
    std::vector<std::unique_ptr<any_policy>> all;
    std::vector<grant> space;

    explicit asked_policies(recorded_tick const& first) {
        limits const most{.jobs = max_jobs, .nodes = first.store().rows(table_id::nodes)};
        for (auto const* const name : {"equal_share", "tradl", "loss_delta_ratio", "fifo", "none"}) {
            diagnostics problems;
            auto policy = make_policy({}, name, policy_log::for_good(), problems);
            REQUIRE(policy != nullptr);
            if (policy->bind(first.store().schema(), most)) all.push_back(std::move(policy));
        }
        REQUIRE(all.size() >= 3);
        space.resize(most.grants());
    }
    void ask(recorded_tick const& tick) {
        for (auto& policy : all) {
            grants out(space);
            static_cast<void>(policy->decide(tick.data(), out));
            REQUIRE(out.rows().size() <= space.size());
        }
    }
};

}  // namespace

TEST_CASE("recorded_tick: a decision that ration wrote is shown as it was") {
    recorded_tick tick;
    REQUIRE(tick.load(nlohmann::json::parse(good_line())));
    CHECK(tick.store().rows(table_id::jobs) == 3);
    CHECK(tick.store().rows(table_id::held) == 3);
    CHECK(tick.grants().size() == 2);
    CHECK(tick.job_id(2) == 3);
    CHECK(tick.job_id(3) == 0);
}

TEST_CASE("recorded_tick: tables that no run can have are refused before they take memory") {
    auto const line = nlohmann::json::parse(good_line());
    REQUIRE(message_of(line).empty());
    for (nlohmann::json const& rows : {nlohmann::json(1ULL << 61), nlohmann::json(513), nlohmann::json(-1),
                                       nlohmann::json(1e300), nlohmann::json("3"), nlohmann::json()})
        CHECK(message_of(with(line, "/rows/0", rows)).find("a run has at most 512") != std::string::npos);
    CHECK(message_of(with(line, "/rows/1", 1025)).find("a run has at most 1024") != std::string::npos);
    recorded_tick tick;  // columns that are there already do not grow either
    REQUIRE(tick.load(line));
    CHECK_FALSE(tick.load(with(with(line, "/rows/0", 1ULL << 61), "/columns", nlohmann::json::object())));
    CHECK(tick.store().rows(table_id::jobs) == 3);
}

TEST_CASE("recorded_tick: values of another type are refused with their column") {
    auto const line = nlohmann::json::parse(good_line());
    for (nlohmann::json const& value :
         {nlohmann::json(0.5), nlohmann::json("1"), nlohmann::json(), nlohmann::json::array()})
        CHECK(message_of(with(line, "/columns/jobs~1id/1", value)) ==
              "column jobs/id has not one value of its type for each of its 3 rows");
    CHECK(message_of(with(line, "/columns/jobs~1id", {{"a", 1}, {"b", 2}, {"c", 3}})) ==
          "column jobs/id has not one value of its type for each of its 3 rows");
}

TEST_CASE("recorded_tick: ids that do not ascend are refused: policies look them up by halves") {
    auto const line = nlohmann::json::parse(good_line());
    CHECK(message_of(with(line, "/columns/jobs~1id/1", 1)) == "column jobs/id has to ascend");
    CHECK(message_of(with(line, "/columns/held~1job/0", 9)) == "column held/job has to ascend");
}

TEST_CASE("recorded_tick: 3000 damaged decisions are shown to policies, or refused with a sentence") {
    constexpr std::string_view pieces[] = {"-1",
                                           "1e300",
                                           "9223372036854775807",
                                           "18446744073709551615",
                                           "\"nan\"",
                                           "\"inf\"",
                                           "null",
                                           "[]",
                                           "{}",
                                           "0",
                                           "4294967295",
                                           ",",
                                           "1",
                                           "true"};
    auto const line = good_line();
    support::mutations change(3, pieces);
    auto tick = std::make_unique<recorded_tick>();
    REQUIRE(tick->load(nlohmann::json::parse(line)));
    asked_policies policies(*tick);
    int shown = 0, refused = 0;
    for (int round = 0; round < 3000; ++round) {
        auto text = line;
        change.damage(text);
        auto const damaged = nlohmann::json::parse(text, nullptr, false);
        if (damaged.is_discarded()) continue;
        auto const loaded = tick->load(damaged);
        if (loaded && tick->store().rows(table_id::nodes) == 1) {
            policies.ask(*tick);
            ++shown;
        } else if (!loaded) {
            REQUIRE(loaded.failure().text.size() > 8);
            ++refused;
        }
    }
    CHECK(shown > 100);
    CHECK(refused > 50);
}

TEST_CASE("parse_json: up to 64 levels, wherever they are") {
    CHECK(parse_json(repeated("[", 64) + repeated("]", 64)).is_array());
    CHECK(parse_json(repeated("[", 65) + repeated("]", 65)).is_discarded());
    CHECK(parse_json(repeated("{\"a\":", 100'000)).is_discarded());
    CHECK(parse_json("[" + repeated("[],{},", 1000) + "\"\\\"[[" + repeated("[", 100) + "\"]").is_array());
    CHECK(parse_json("[\"a\\\\\"," + repeated("[", 100) + repeated("]", 100) + "]").is_discarded());
    CHECK(parse_json("no JSON").is_discarded());
}
