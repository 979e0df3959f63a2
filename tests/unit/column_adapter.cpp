// SPDX-License-Identifier: BSL-1.0
// A scheduler's own jobs: the table made of them, and the one call.
#include <string>
#include <vector>

#include <ration/allocate.hpp>
#include <ration/policies/equal_share.hpp>
#include <ration/policies/none.hpp>
#include <ration/policies/tradl.hpp>

#include "host.hpp"
#include "numbers.hpp"
#include "support/catch.hpp"

using namespace unit;
using ration::allocate;
using ration::capacities;
using ration::errc;
using ration::fill;
using ration::unlimited;

namespace {

struct training {
    using job_concept = ration::job_tag;
    std::uint64_t number = 0;
    double loss = not_a_number;
    float cores = 0;
    job_state now = job_state::running;
    std::int64_t least = 0;
    ration::two_tier_target wanted = must(ration::two_tier_target::make({.acceptable = 120, .objective = 110}));

    [[nodiscard]] job_id id() const noexcept { return {number}; }
    [[nodiscard]] ration::bounds bounds_of(resource_id r) const noexcept {
        return r == resource_id::cpu ? ration::bounds{least, 4000} : ration::bounds{};
    }
    [[nodiscard]] ration::job_progress progress() const noexcept { return {.step = number * 10, .value = loss}; }
    [[nodiscard]] ration::two_tier_target const& target() const noexcept { return wanted; }

    [[nodiscard]] double used() const noexcept { return cores * 1000.0; }
    using supplies = ration::columns<ration::from<double, "jobs/used.cpu", &training::used>,
                                     ration::from<std::uint32_t, "jobs/state", &training::now>,
                                     ration::from<float, "jobs/cores", &training::cores>>;
};

struct filled {
    ration::snapshot_store store;
    ration::standard_columns columns = must(ration::standard_columns::declare(store, ration::standard_resources));
};

/// Reads what it is shown and hands it on.
struct spy {
    using policy_concept = ration::policy_tag;
    using inputs =
        ration::columns<ration::in<std::int64_t, "jobs/held.cpu">, ration::in<std::int64_t, "nodes/free.cpu">,
                        ration::in<std::int64_t, "nodes/capacity.gpu">>;
    static constexpr ration::meta about{.id = "org.example.spy", .version = "1.0.0"};
    std::int64_t held = 0, free = 0, gpus = 0;
    ration::nanoseconds now{};
    std::uint64_t number = 0, seed = 0;
    std::size_t prepared_for = 0;
    ration::status answers = ration::status::ok;

    ration::status prepare(ration::limits const& most) noexcept {
        prepared_for = most.jobs;
        return answers;
    }
    ration::status decide(ration::tick<inputs> const& t, ration::grants& out) noexcept {
        held = t.get<"jobs/held.cpu">()[0];
        free = t.get<"nodes/free.cpu">()[0];
        gpus = t.get<"nodes/capacity.gpu">()[1];
        now = t.now();
        number = t.number();
        seed = t.seed();
        while (out.add({.job = 99, .amount = 1})) {
        }
        return answers;
    }
};

}  // namespace

TEST_CASE("column_adapter: a jobs table is made of a scheduler's own jobs", "[supply]") {
    filled f;
    training const jobs[] = {{.number = 7, .loss = 115},
                             {.number = 3, .loss = 200, .cores = 1.5f, .now = job_state::queued}};
    must(fill(f.store, f.columns, std::span<training const>(jobs)));
    auto const& c = f.columns;
    REQUIRE(f.store.rows(table_id::jobs) == 2);
    CHECK(f.store[c.id][0] == 3);  // in ascending order of the ids
    CHECK(f.store[c.id][1] == 7);
    CHECK(f.store[c.step][1] == 70);
    CHECK(f.store[c.loss][0] == 200);
    CHECK(f.store[c.tier][0] == 0);
    CHECK(f.store[c.tier][1] == 1);
    CHECK(f.store[c.tiers][0] == 2);
    CHECK(f.store[c.resources[0].maximum][0] == 4000);
    CHECK(f.store[c.resources[1].maximum][0] == unlimited);
    CHECK(f.store[c.state][0] == static_cast<std::uint32_t>(job_state::queued));
    CHECK(f.store[c.state][1] == static_cast<std::uint32_t>(job_state::running));
    CHECK(f.store[c.resources[0].used][0] == 1500);
    CHECK(f.store[must(f.store.find<float>("jobs/cores"))][0] == 1.5f);
}

TEST_CASE("column_adapter: a job without a value of its metric reaches no tier", "[supply]") {
    filled f;
    training const jobs[] = {{.number = 1}};
    must(fill(f.store, f.columns, std::span<training const>(jobs)));
    CHECK(f.store[f.columns.loss][0] == 0);  // columns are finite
    CHECK(f.store[f.columns.tier][0] == 0);
}

TEST_CASE("column_adapter: the table follows the jobs from call to call", "[supply]") {
    filled f;
    std::vector<training> jobs{{.number = 1}, {.number = 2}, {.number = 3}};
    must(fill(f.store, f.columns, std::span<training const>(jobs)));
    jobs.erase(jobs.begin());
    must(fill(f.store, f.columns, std::span<training const>(jobs)));
    CHECK(f.store.rows(table_id::jobs) == 2);
    CHECK(f.store[f.columns.id][0] == 2);
    must(fill(f.store, f.columns, std::span<training const>()));
    CHECK(f.store.rows(table_id::jobs) == 0);
}

TEST_CASE("column_adapter: jobs that cannot make a table are refused", "[supply]") {
    filled twice;
    training const same[] = {{.number = 4}, {.number = 2}, {.number = 4}};
    CHECK(fill(twice.store, twice.columns, std::span<training const>(same)).failure().code == errc::already_exists);

    filled taken;  // the host has a column of that name already, and means something else
    must(taken.store.declare<double>("jobs/cores"));
    training const one[] = {{.number = 1}};
    auto const clash = fill(taken.store, taken.columns, std::span<training const>(one));
    REQUIRE_FALSE(clash);
    CHECK(clash.failure().code == errc::conflict);
    CHECK(clash.failure().subject == "jobs/cores");
}

TEST_CASE("column_adapter: one call asks a policy and proves its answer", "[allocate]") {
    std::vector<training> jobs{{.number = 9, .loss = 300, .cores = 2}, {.number = 4, .loss = 119, .cores = 2}};
    capacities const machine[] = {{.cpu = 4000}};
    ration::policies::tradl policy;
    auto const answer = must(allocate(policy, jobs, machine));
    REQUIRE(answer.granted.size() == 2);
    CHECK(answer.granted[0].what() == ration::setting{{4}, 0, resource_id::cpu, 1333});
    CHECK(answer.granted[0].reason() == ration::policies::tradl::at_fair_share);
    CHECK(answer.granted[1].amount() == unlimited);
    CHECK(answer.rejected.empty());
    CHECK(answer.asked.size() == 2);
}

TEST_CASE("column_adapter: a policy keeps its memory from call to call", "[allocate]") {
    std::vector<training> jobs{{.number = 1, .loss = 119, .cores = 3}, {.number = 2, .loss = 300, .cores = 1}};
    capacities const machine[] = {{.cpu = 4000}};
    ration::policies::tradl policy;
    CHECK(must(allocate(policy, jobs, machine)).granted[0].amount() == 1000);
    jobs[0].cores = 1;
    jobs[1].cores = 3;
    CHECK(must(allocate(policy, jobs, machine, {.now = ration::seconds(1)})).granted[0].amount() == 1000);
}

namespace {

/// Grants each running job 900 millicores, whether the node has them or not.
struct promises_too_much {
    using policy_concept = ration::policy_tag;
    using inputs = ration::columns<ration::in<std::uint32_t, "jobs/state">>;
    static constexpr ration::meta about{.id = "org.example.promises", .version = "1.0.0"};
    static ration::status decide(ration::tick<inputs> const& t, ration::grants& out) noexcept {
        for (std::size_t row = 0; row < t.jobs(); ++row)
            if (t.get<"jobs/state">()[row] == 1 && !out.set(row, 0, resource_id::cpu, 900))
                return ration::status::capacity;
        return ration::status::ok;
    }
};

}  // namespace

TEST_CASE("column_adapter: what is refused is told beside what is granted", "[allocate]") {
    std::vector<training> jobs{{.number = 1, .least = 900}, {.number = 2, .least = 900}};
    capacities const small[] = {{.cpu = 1000}};
    promises_too_much policy;
    auto const answer = must(allocate(policy, jobs, small));
    REQUIRE(answer.granted.size() == 1);
    CHECK(answer.granted[0].what() == ration::setting{{1}, 0, resource_id::cpu, 900});
    REQUIRE(answer.rejected.size() == 1);
    CHECK(answer.rejected[0].rule == ration::check_rule::over_capacity);
    CHECK(answer.asked[answer.rejected[0].row].amount == 900);
}

TEST_CASE("column_adapter: a policy is shown what is held, of the jobs that are still there", "[allocate]") {
    std::vector<training> jobs{{.number = 5}, {.number = 8}};
    capacities const nodes[] = {{.cpu = 1000}, {.cpu = 1000, .gpu = 8}};
    ration::setting const held[] = {{{5}, 0, resource_id::cpu, 300},
                                    {{5}, 1, resource_id::cpu, 100},
                                    {{7}, 0, resource_id::cpu, 400},
                                    {{8}, 0, resource_id::cpu, 200}};
    spy policy;
    auto const answer =
        allocate(policy, jobs, nodes, {.now = ration::seconds(3), .held = held, .number = 4, .seed = 5});
    CHECK(policy.held == 400);
    CHECK(policy.free == 500);  // job 7 has gone, and with it what it held
    CHECK(policy.gpus == 8);
    CHECK(policy.now == ration::seconds(3));
    CHECK(policy.number == 4);
    CHECK(policy.seed == 5);
    CHECK(policy.prepared_for == 2);
    REQUIRE_FALSE(answer);  // it had no end of grants
    CHECK(answer.failure().subject == "org.example.spy");
}

TEST_CASE("column_adapter: what is held counts against the capacity", "[allocate]") {
    std::vector<training> jobs{{.number = 1}, {.number = 2, .now = job_state::queued}};
    capacities const machine[] = {{.cpu = 1000}};
    ration::setting const held[] = {{{2}, 0, resource_id::cpu, 101}};
    promises_too_much policy;
    CHECK(must(allocate(policy, jobs, machine)).granted.size() == 1);
    CHECK(must(allocate(policy, jobs, machine, {.held = held})).rejected.size() == 1);
}

TEST_CASE("column_adapter: settings that cannot be held are refused", "[allocate]") {
    std::vector<training> jobs{{.number = 1}};
    capacities const machine[] = {{.cpu = 1000}};
    ration::policies::none policy;
    for (auto const& bad : {ration::setting{{1}, 1, resource_id::cpu, 1}, ration::setting{{1}, 0, resource_id{6}, 1},
                            ration::setting{{1}, 0, resource_id::cpu, -1},
                            ration::setting{{1}, 0, resource_id::cpu, ration::max_amount + 1}}) {
        ration::setting const held[] = {bad};
        auto const answer = allocate(policy, jobs, machine, {.held = held});
        REQUIRE_FALSE(answer);
        CHECK(answer.failure().code == errc::invalid_value);
    }
    ration::setting const fine[] = {{{1}, 0, resource_id::cpu, unlimited}};
    // The policy `none` grants nothing where something is held
    CHECK(must(allocate(policy, jobs, machine, {.held = fine})).granted.empty());
}

TEST_CASE("column_adapter: a policy that cannot answer is named", "[allocate]") {
    std::vector<training> jobs{{.number = 1}};
    capacities const nodes[] = {{}, {}};
    spy policy;
    policy.answers = ration::status::no_memory;
    CHECK(allocate(policy, jobs, nodes).failure().code == errc::no_capacity);
    std::vector<training> const twice{{.number = 1}, {.number = 1}};
    CHECK(allocate(policy, twice, nodes).failure().code == errc::already_exists);
}

TEST_CASE("column_adapter: no jobs and no nodes are an answer too", "[allocate]") {
    ration::policies::equal_share policy;
    CHECK(must(allocate(policy, std::vector<training>{}, {})).granted.empty());
    CHECK(must(allocate(policy, std::vector<training>{{.number = 1}}, {})).granted.empty());
}

namespace {

/// Grants each job some CPU and memory on each node, and counts how often it is asked.
struct grants_everywhere {
    using policy_concept = ration::policy_tag;
    using inputs = ration::columns<ration::in<std::uint64_t, "jobs/id">>;
    static constexpr ration::meta about{.id = "org.example.grants-everywhere", .version = "1.0.0"};
    int asked = 0;

    [[nodiscard]] ration::status decide(ration::tick<inputs> const& t, ration::grants& out) noexcept {
        ++asked;
        for (std::size_t job = 0; job < t.jobs(); ++job)
            for (std::size_t node = 0; node < t.nodes(); ++node)
                for (auto const r : {resource_id::cpu, resource_id::memory})
                    if (!out.set(job, node, r, 10)) return ration::status::capacity;
        return ration::status::ok;
    }
};

}  // namespace

TEST_CASE("allocate: asks again for an answer that is longer than usual", "[adapter]") {
    std::vector<training> jobs(40);
    for (std::size_t i = 0; i < jobs.size(); ++i) jobs[i].number = i + 1;
    std::vector<capacities> const nodes(40, {.cpu = 80'000, .memory = 80'000});
    grants_everywhere policy;
    auto const answer = must(allocate(policy, jobs, nodes));
    CHECK(policy.asked == 3);
    CHECK(answer.asked.size() == 3200);
    CHECK(answer.granted.size() + answer.rejected.size() == 3200);
}
