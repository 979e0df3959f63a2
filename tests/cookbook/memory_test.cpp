// SPDX-License-Identifier: BSL-1.0
#include "memory.hpp"

#include "kitchen.hpp"

using namespace cookbook;
using Amounts = std::vector<std::int64_t>;

namespace {

std::vector<ration::capacities> const four_cores{{.cpu = 4000}};

void deadlines(ration::snapshot_store& store, std::uint64_t) {
    auto const due = store.declare<std::int64_t>("jobs/due");
    auto const id = store.find<std::uint64_t>("jobs/id");
    for (std::size_t row = 0; row < store.rows(ration::table_id::jobs); ++row)
        store[*due][row] = static_cast<std::int64_t>(store[*id][row] % 5) - 1;
}

}  // namespace

TEST_CASE("recipes that remember keep the laws", "[cookbook]") {
    auto const stuck = ration::testing::policy_laws([] { return half_for_the_stuck{}; }, {.allocations = allocations});
    if (!stuck) FAIL(stuck.failure().operation << ": " << stuck.failure().subject.view());
    auto const first = ration::testing::policy_laws([] { return earliest_due_first{}; },
                                                    {.fill = deadlines, .allocations = allocations});
    if (!first) FAIL(first.failure().operation << ": " << first.failure().subject.view());
}

TEST_CASE("memory: who has not come further for a minute has half, also when rows have moved and after a restart",
          "[cookbook]") {
    half_for_the_stuck policy;
    std::vector<trainee> jobs{{.number = 1, .best = 3}, {.number = 2, .best = 2}, {.number = 3, .best = 1}};
    auto const at = [&](double seconds) {
        return amounts(policy, jobs, resource_id::cpu, {{.cpu = 3000}}, {.now = ration::seconds(seconds)});
    };
    CHECK(at(0) == Amounts{1000, 1000, 1000});
    jobs[1].best = 1.5;
    CHECK(at(30) == Amounts{1000, 1000, 1000});
    CHECK(at(60) == Amounts{500, 1000, 500});
    jobs.erase(jobs.begin());
    CHECK(at(61) == Amounts{1500, 750});

    std::vector<std::byte> saved(policy.save({}));
    REQUIRE(policy.save(saved) == saved.size());
    policy = {};
    REQUIRE(policy.load(std::span(saved).first(saved.size() - 1)) == status::state);
    saved.push_back({});
    REQUIRE(policy.load(saved) == status::state);
    saved.pop_back();
    REQUIRE(policy.load(saved) == status::ok);
    CHECK(at(62) == Amounts{1500, 750});
}

TEST_CASE("memory: a loaded state leaves room for all jobs, so that a tick allocates nothing", "[cookbook]") {
    half_for_the_stuck policy;
    std::vector<std::byte> const none = [] {
        half_for_the_stuck fresh;
        std::vector<std::byte> saved(fresh.save({}));
        CHECK(fresh.save(saved) == saved.size());
        return saved;
    }();
    REQUIRE(policy.prepare({.jobs = 64, .nodes = 1}) == status::ok);
    REQUIRE(policy.load(none) == status::ok);
    ration::snapshot_store store;
    REQUIRE(ration::standard_columns::declare(store, ration::standard_resources));
    REQUIRE((store.resize(ration::table_id::jobs, 64) && store.resize(ration::table_id::nodes, 1)));
    auto const id = store.find<std::uint64_t>("jobs/id");
    for (std::size_t row = 0; row < 64; ++row) store[*id][row] = row + 1;
    auto const bound = ration::bind_columns<half_for_the_stuck::inputs>(store.schema());
    REQUIRE(bound);
    std::array<ration::grant, 64> space{};
    grants out(space);
    ration::tick_data const data{.number = 1, .seed = 1, .now = {}, .budget = {}, .data = store.view()};
    std::size_t const before = allocations();
    status const reply = policy.decide(tick<half_for_the_stuck::inputs>(data, *bound), out);
    CHECK(allocations() == before);
    CHECK(reply == status::ok);
}

TEST_CASE("deadline: the earliest has all that it takes; none comes last", "[cookbook]") {
    earliest_due_first policy;
    std::vector<trainee> const jobs{{.number = 1, .due = -1},
                                    {.number = 2, .due = 200, .cpu = {0, 1500}},
                                    {.number = 3, .due = 100, .cpu = {0, 2000}}};
    CHECK(amounts(policy, jobs, resource_id::cpu, four_cores) == Amounts{500, 1500, 2000});
    CHECK(amounts(policy, {{.number = 1, .due = 5}, {.number = 2, .due = 6, .cpu = {100, 4000}}}, resource_id::cpu,
                  four_cores) == Amounts{4000, 0});
}
