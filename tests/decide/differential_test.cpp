// SPDX-License-Identifier: BSL-1.0
// The grants of `ration decide` are those of the same policy in process, whether tables come whole or by their changes.
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include <ration/assert.hpp>
#include <ration/testing/synthetic_life.hpp>

#include "decide/cluster_requests.hpp"
#include "decide/in_process.hpp"
#include "decide/session.hpp"
#include "policies/policy_registry.hpp"
#include "support/catch.hpp"

using namespace ration;
using namespace ration::program;
using namespace ration::program::testing;

namespace {

constexpr std::size_t most_jobs = 24, ticks = 60;

struct life_result {
    std::size_t grants = 0, differences = 0;
    std::string first;
};

/// A seeded life under the grants of the policy; every seventh request sends the whole tables again.
[[nodiscard]] life_result live(known_policy const& known, std::uint64_t seed) {
    diagnostics problems;
    ration::testing::synthetic_cluster cluster(
        {.nodes = {{16'000, 1 << 20, 8, 8000, 1 << 20, 4096}, {8'000, 1 << 20, 4, 4000, 1 << 20, 4096}},
         .jobs = most_jobs,
         .holdings = 1000,
         .node_types = 2});
    // A request has no table of tenants
    RATION_ASSERT(cluster.store().resize(table_id::tenants, 0), "rows cannot be removed");
    ration::testing::synthetic_life life(cluster, most_jobs, {.seed = seed, .first_jobs = 6});
    asked_in_process direct(cluster, known.make(nullptr, problems), {.jobs = 64, .nodes = 8});
    decide_session session(known.make(nullptr, problems));
    cluster_requests requests(cluster);
    life_result out;
    for (std::uint64_t tick = 0; tick < ticks; ++tick) {
        life.step();
        auto const line = tick % 7 == 0 ? requests.whole(tick + seed) : requests.changed(tick + seed);
        auto const text = session.answer(line);
        auto const answer = nlohmann::json::parse(text);
        bool const decided = direct.decide(tick, tick + seed);
        bool const same = decided ? answer.value("grants", nlohmann::json()) == direct.accepted() &&
                                        answer.at("rejected").size() == direct.rejected()
                                  : answer.contains("error");
        if (!same && ++out.differences == 1)
            out.first = "request " + line + "\nanswer " + text + "\nnot " + direct.accepted().dump();
        if (!decided) continue;
        out.grants += direct.accepted().size();
        direct.apply();
    }
    return out;
}

}  // namespace

TEST_CASE("ration decide: each policy answers as in process over a random life", "[decide]") {
    for (auto const& known : known_policies()) {
        if (known.name == "save_by_age") continue;  // a request has no settings but batch
        INFO(known.name);
        auto const lived = live(known, 7);
        INFO(lived.first);
        CHECK(lived.differences == 0);
        CHECK(lived.grants > ticks / 4);
    }
}
