// SPDX-License-Identifier: BSL-1.0
// phase_limits: limits from the demand that is expected, and from the one that was measured.
#include <cmath>
#include <cstdint>
#include <vector>

#include <ration/policies/phase_limits.hpp>
#include <ration/testing/policy_laws.hpp>

#include "host.hpp"
#include "support/allocations.hpp"
#include "support/catch.hpp"

using namespace unit;
using ration::unlimited;
using ration::policies::phase_limits;

namespace {

constexpr double nothing_known = std::numeric_limits<double>::quiet_NaN();

/// Jobs on a node of 4000 millicores and 10^10 bytes. Grants come into force at once.
struct phased {
    host on;
    ration::column<double> cpu_ahead = must(on.store.declare<double>("jobs/expected.cpu")),
                           memory_ahead = must(on.store.declare<double>("jobs/expected.memory")),
                           throttled = must(on.store.declare<double>("jobs/throttled.cpu"));
    ration::column<std::uint32_t> phase = must(on.store.declare<std::uint32_t>("jobs/phase"));
    phase_limits policy;
    ration::binding<phase_limits::inputs> bound = must(ration::bind_columns<phase_limits::inputs>(on.store.schema()));
    std::vector<ration::grant> last;
    double now = 0;

    explicit phased(std::size_t jobs, ration::policies::phase_limits_parameters const& p = {.interval = 10})
        : on(jobs), policy(p) {
        on.set_capacity(resource_id::cpu, 4000);
        on.set_capacity(resource_id::memory, 10'000'000'000);
        static_cast<void>(policy.prepare({.jobs = jobs, .nodes = 1}));
        for (std::size_t row = 0; row < jobs; ++row) expect(row, nothing_known, nothing_known);
    }
    void expect(std::size_t row, double millicores, double bytes) {
        on.store[cpu_ahead][row] = millicores;
        on.store[memory_ahead][row] = bytes;
    }
    void use(std::size_t row, double millicores, double bytes = 0) {
        on.store[on.of(resource_id::cpu).used][row] = millicores;
        on.store[on.of(resource_id::memory).used][row] = bytes;
    }
    /// One tick a second.
    void pass(int seconds) {
        for (int i = 0; i < seconds; ++i, now += 1) decide();
    }
    void decide(std::size_t space = 16) {
        std::vector<ration::grant> rows(space);
        ration::grants out(rows);
        ration::tick_data const data{.now = ration::seconds(now), .data = on.store.view()};
        REQUIRE(policy.decide(ration::tick<phase_limits::inputs>(data, bound), out) == ration::status::ok);
        rows.resize(out.rows().size());
        last = rows;
        for (auto const& g : last) on.store[on.of(static_cast<resource_id>(g.resource)).held][g.job] = g.amount;
    }
    /// It is done, and its CPU is free.
    void end(std::size_t row) {
        on.set_state(row, job_state::done);
        on.store[on.of(resource_id::cpu).held][row] = 0;
    }
    [[nodiscard]] std::int64_t cpu(std::size_t row) { return on.store[on.of(resource_id::cpu).held][row]; }
    [[nodiscard]] std::int64_t memory(std::size_t row) { return on.store[on.of(resource_id::memory).held][row]; }
    [[nodiscard]] int reason() const { return last.empty() ? -1 : static_cast<int>(last.back().reason); }
};

}  // namespace

TEST_CASE("phase_limits: no limit without a known phase, and before a whole interval", "[phase_limits]") {
    phased p(1);
    p.use(0, 500);
    p.pass(1);
    CHECK(p.cpu(0) == unlimited);
    CHECK(p.reason() == phase_limits::phase_unknown);
    p.pass(25);
    CHECK(p.cpu(0) == unlimited);
    p.expect(0, 800, nothing_known);
    p.pass(4);
    CHECK(p.cpu(0) == unlimited);
    p.pass(1);
    CHECK(p.cpu(0) == 841);  // 1.05 times 800, rounded up
    CHECK(p.reason() == phase_limits::phase_ahead);
    CHECK(p.memory(0) == 0);
}

TEST_CASE("phase_limits: the larger one of the expected demand and that of the last interval", "[phase_limits]") {
    phased p(1);
    p.expect(0, 800, nothing_known);
    p.use(0, 1200);
    p.pass(5);
    p.use(0, 100);
    p.pass(6);
    CHECK(p.cpu(0) == 1261);
    CHECK(p.reason() == phase_limits::last_interval);
    p.pass(10);
    CHECK(p.cpu(0) == 841);
}

TEST_CASE("phase_limits: a limit grows at once, and falls at the end of the interval", "[phase_limits]") {
    phased p(1);
    p.expect(0, 400, nothing_known);
    p.pass(11);
    CHECK(p.cpu(0) == 421);
    p.expect(0, 1000, nothing_known);
    p.pass(1);
    CHECK(p.cpu(0) == 1051);
    CHECK(p.reason() == phase_limits::phase_ahead);
    p.use(0, 1040);  // nearly all of the limit
    p.pass(1);
    CHECK(p.cpu(0) == 1093);
    CHECK(p.reason() == phase_limits::last_interval);
    p.expect(0, 200, nothing_known);
    p.use(0, 100);
    p.pass(6);
    CHECK(p.cpu(0) == 1093);
    p.pass(12);
    CHECK(p.cpu(0) == 211);
}

TEST_CASE("phase_limits: a limit that holds its job back is removed for one interval", "[phase_limits]") {
    phased p(1);
    p.expect(0, 400, nothing_known);
    p.pass(11);
    p.on.store[p.throttled][0] = 0.04;
    p.pass(1);
    CHECK(p.cpu(0) == 421);
    p.on.store[p.throttled][0] = 0.06;
    p.pass(1);
    CHECK(p.cpu(0) == unlimited);
    CHECK(p.reason() == phase_limits::throttled);
    p.on.store[p.throttled][0] = 0;
    p.use(0, 900);
    p.pass(9);
    CHECK(p.cpu(0) == unlimited);
    p.pass(1);
    CHECK(p.cpu(0) == 946);
}

TEST_CASE("phase_limits: a job that its own bounds throttle gets limits from its phases", "[phase_limits]") {
    phased p(1);
    p.expect(0, 400, nothing_known);
    p.on.store[p.throttled][0] = 0.5;
    p.pass(11);
    CHECK(p.cpu(0) == 421);
}

TEST_CASE("phase_limits: limits stay within the bounds, and reserve the node in the order of the jobs",
          "[phase_limits]") {
    phased p(4);
    p.on.set_bounds(0, resource_id::cpu, 100, 1500);
    p.on.set_bounds(1, resource_id::cpu, 300, unlimited);
    p.expect(0, 3000, nothing_known);
    p.expect(1, 5, nothing_known);
    p.expect(2, 2500, nothing_known);  // 1500 and 300 leave 2200
    p.expect(3, 2000, nothing_known);
    p.pass(11);
    CHECK(p.cpu(0) == 1500);
    CHECK(p.cpu(1) == 300);
    CHECK(p.cpu(2) == unlimited);
    CHECK(p.cpu(3) == 2101);
    p.on.set_state(0, job_state::done);
    p.pass(1);
    CHECK(p.cpu(2) == unlimited);  // as long as the 1500 are held
    CHECK(p.cpu(3) == unlimited);
    CHECK(p.reason() == phase_limits::no_room);
    p.end(0);  // leaves its 1500 to the next one that waits for a limit
    p.pass(1);
    CHECK(p.cpu(2) == 2626);
    CHECK(p.cpu(3) == unlimited);
    p.end(1);
    p.end(2);
    p.pass(1);
    CHECK(p.cpu(3) == 2101);
}

TEST_CASE("phase_limits: memory has limits with limit_memory only", "[phase_limits]") {
    for (bool const limits : {false, true}) {
        phased p(1, {.interval = 10, .limit_memory = limits});
        p.expect(0, 400, 1e9);
        p.use(0, 100, 2e8);
        p.pass(11);
        CHECK(p.memory(0) == (limits ? 1'100'000'001 : 0));
        p.use(0, 100, 1.05e9);
        p.pass(1);
        CHECK(p.memory(0) == (limits ? 1'155'000'001 : 0));
    }
}

TEST_CASE("phase_limits: says which parameter is invalid", "[phase_limits]") {
    using parameters = ration::policies::phase_limits_parameters;
    CHECK(parameters{}.problem().empty());
    CHECK(parameters{.interval = 0}.problem() ==
          "interval is a time in seconds: write a number above 0 and at most 100000");
    CHECK(parameters{.cpu_margin = -0.1}.problem() == "cpu_margin is a part: write a number from 0 to 10");
    CHECK(parameters{.memory_margin = 11}.problem() == "memory_margin is a part: write a number from 0 to 10");
}

TEST_CASE("phase_limits: keeps the laws with limits of memory", "[phase_limits][laws]") {
    auto const kept = ration::testing::policy_laws([] { return phase_limits({.interval = 4, .limit_memory = true}); },
                                                   {.ticks = 400, .allocations = allocations});
    if (!kept) FAIL(kept.failure().operation << ": " << kept.failure().subject.view());
}
