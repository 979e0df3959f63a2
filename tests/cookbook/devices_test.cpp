// SPDX-License-Identifier: BSL-1.0
#include "devices.hpp"

#include "kitchen.hpp"

using namespace cookbook;
using Amounts = std::vector<std::int64_t>;

namespace {

std::vector<ration::capacities> const eight{{.gpu = 8}};

template <class Policy>
void keeps_the_laws(std::size_t nodes = 1) {
    // [laws]
    ration::testing::policy_law_options const options{.most = {.jobs = 8, .nodes = nodes}, .allocations = allocations};
    auto const kept = ration::testing::policy_laws([] { return Policy{}; }, options);
    if (!kept) FAIL(Policy::about.id << ": " << kept.failure().operation << ": " << kept.failure().subject.view());
    // [laws]
}

}  // namespace

TEST_CASE("recipes that give out devices keep the laws", "[cookbook]") {
    keeps_the_laws<while_it_pays>();
    keeps_the_laws<equal_devices_best_batch>();
    keeps_the_laws<whole_or_not>(2);
    keeps_the_laws<short_queue>();
    keeps_the_laws<by_lot>();
}

TEST_CASE("speedup: devices as long as the next one is worth half of the first", "[cookbook]") {
    // [by-hand]
    while_it_pays policy;
    std::vector<double> const good{0, 1, 1.9, 2.7, 3.3}, poor{0, 1, 1.4};
    CHECK(amounts(policy, {{.number = 1, .speedup = good}, {.number = 2, .speedup = poor}}, resource_id::gpu, eight) ==
          Amounts{4, 1});
    // [by-hand]
    CHECK(amounts(policy,
                  {{.number = 1, .gpu = {2, 2}, .speedup = good}, {.number = 2, .gpu = {2, 4}, .speedup = poor}},
                  resource_id::gpu, eight) == Amounts{2, 0});
    CHECK(amounts(policy, {{.number = 1, .speedup = good}, {.number = 2, .speedup = good}}, resource_id::gpu,
                  {{.gpu = 5}}) == Amounts{4, 1});
}

TEST_CASE("batch: the devices and the batch that goes with them, or neither", "[cookbook]") {
    equal_devices_best_batch policy;
    std::vector<std::int64_t> const batches{0, 32, 64, 96, 128};
    std::vector<trainee> const jobs{{.number = 1, .batches = batches},
                                    {.number = 2, .batch = {0, 100}, .batches = batches}};
    CHECK(amounts(policy, jobs, resource_id::gpu, eight) == Amounts{4, 0});
    CHECK(amounts(policy, jobs, resource_id::batch, eight) == Amounts{128, 0});
    CHECK(amounts(policy, {jobs[0], {.number = 2, .batches = batches}}, resource_id::batch, {{.gpu = 4}}) ==
          Amounts{64, 64});
}

TEST_CASE("gang: a job of several nodes has all of its devices or none, and who fits passes who does not",
          "[cookbook]") {
    whole_or_not policy;
    std::vector<ration::capacities> const nodes{{.gpu = 8}, {.gpu = 8}};
    std::vector<trainee> const jobs{{.number = 1, .asked = 12, .gpu = {12, 12}},
                                    {.number = 2, .asked = 6, .gpu = {6, 6}},
                                    {.number = 3, .asked = 4, .gpu = {4, 4}}};
    CHECK(amounts(policy, jobs, resource_id::gpu, nodes) == Amounts{12, -1, 4});
    ration::setting const held[] = {{{1}, 0, resource_id::gpu, 8}, {{1}, 1, resource_id::gpu, 4}};
    CHECK(amounts(policy, jobs, resource_id::gpu, nodes, {.held = held}) == Amounts{-1, -1, 4});
}

TEST_CASE("queue: the fourth that has to wait is dropped on its arrival, and stays so", "[cookbook]") {
    short_queue policy;
    std::vector<trainee> jobs;
    for (std::uint64_t number = 1; number <= 5; ++number) jobs.push_back({.number = number});
    CHECK(amounts(policy, jobs, resource_id::gpu, {{.gpu = 1}}) == Amounts{1, 0, 0, 0, 0});
    jobs.erase(jobs.begin(), jobs.begin() + 3);
    auto const answer = ration::allocate(policy, jobs, std::vector<ration::capacities>{{.gpu = 8}});
    REQUIRE(answer);
    REQUIRE(answer->granted.size() == 2);
    CHECK(answer->granted[0].amount() == 1);
    CHECK(answer->granted[1].amount() == 0);
    CHECK(policy.about.reason(answer->granted[1].reason()) == "dropped: three others waited when it came");
}

TEST_CASE("queue: who was told to wait is not dropped when others have to wait again", "[cookbook]") {
    short_queue policy;
    std::vector<trainee> jobs;
    for (std::uint64_t number = 1; number <= 5; ++number) jobs.push_back({.number = number});
    CHECK(amounts(policy, jobs, resource_id::gpu, {{.gpu = 2}}) == Amounts{1, 1, 0, 0, 0});
    CHECK(amounts(policy, jobs, resource_id::gpu, {{.gpu = 1}}) == Amounts{1, 0, 0, 0, 0});
    CHECK(amounts(policy, jobs, resource_id::gpu, {{.gpu = 8}}) == Amounts{1, 1, 1, 1, 1});
}

TEST_CASE("rng: who is drawn depends on the seed alone, and each has the same chance", "[cookbook]") {
    by_lot policy;
    std::vector<trainee> const jobs{{.number = 1}, {.number = 2}, {.number = 3}};
    std::array<int, 3> drawn{};
    for (std::uint64_t seed = 1; seed <= 900; ++seed) {
        auto const given = amounts(policy, jobs, resource_id::gpu, {{.gpu = 1}}, {.seed = seed});
        CHECK(given == amounts(policy, jobs, resource_id::gpu, {{.gpu = 1}}, {.seed = seed}));
        for (std::size_t i = 0; i < 3; ++i) drawn[i] += given[i] == 1;
    }
    CHECK(drawn[0] + drawn[1] + drawn[2] == 900);
    for (int const times : drawn) CHECK((times > 240 && times < 360));
}
