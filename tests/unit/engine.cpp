// SPDX-License-Identifier: BSL-1.0
// The loop: what goes in, what comes out, in which order.
#include <array>
#include <optional>

#include "rig.hpp"
#include "support/catch.hpp"

using namespace unit;
using ration::errc;
using ration::milliseconds;
using ration::seconds;
using ration::status;
using ration::tick_mode;
using ration::unlimited;
using ration::fake::call;

namespace {

constexpr ration::error broken{.code = ration::errc::io, .operation = "scripted"};

}  // namespace

TEST_CASE("engine: a grant comes into force, is read back and is booked", "[engine]") {
    rig r(2);
    auto const report = r.tick_with({cpu(0, 400), cpu(1, 600)});
    CHECK(r.in_effect(0) == 400);
    CHECK(r.in_effect(1) == 600);
    CHECK(r.booked(0) == 400);
    CHECK(r.shown(1) == 600);
    CHECK(r.free() == 0);
    CHECK(r.engine.holdings().find({1}, 0, resource_id::cpu)->since == seconds(1));
    REQUIRE(report.changes.size() == 2);
    CHECK(report.changes[1].first_operation == 1);
    CHECK(report.changes[1].operations == 1);
    REQUIRE(report.operations.size() == 2);
    CHECK(report.operations[1].job.value == 2);
    CHECK(report.operations[1].new_value == "600");
    CHECK(report.failed.empty());
    auto const history = r.backend.history();
    REQUIRE(history.size() == 4);
    CHECK(history[0].what == call::apply);
    CHECK(history[1].what == call::verify);
    CHECK(history[0].op == history[1].op);
}

TEST_CASE("engine: what is in force already touches the backend no more", "[engine]") {
    rig r(1);
    r.tick_with({cpu(0, 400)});
    r.backend.clear_history();
    auto const report = r.tick(2);
    CHECK(r.backend.history().empty());
    CHECK(report.changes.empty());
    CHECK(report.deferred.empty());
    CHECK(r.engine.holdings().find({1}, 0, resource_id::cpu)->since == seconds(1));
}

TEST_CASE("engine: a tick says who asked, what was answered and what was refused", "[engine]") {
    rig r(1, {.settle = rig::at_once, .budget = milliseconds(50), .seed = 77});
    r.tick_with({});
    auto const report = r.tick_with({cpu(0, -1), cpu(9, 5)}, 2);
    CHECK(report.number == 1);
    CHECK(report.now == seconds(2));
    CHECK(report.policy_status == status::ok);
    CHECK_FALSE(report.fell_back);
    CHECK(report.grants.size() == 2);
    CHECK(report.rejected.size() == 2);
    CHECK(report.changes.empty());
    REQUIRE(r.policy.asked.size() == 2);
    CHECK(r.policy.asked[1].number == 1);
    CHECK(r.policy.asked[1].seed == 78);
    CHECK(r.policy.asked[1].now == seconds(2));
    CHECK(r.policy.asked[1].budget == milliseconds(50));
    CHECK(r.fallback.asked.empty());
}

TEST_CASE("engine: a policy that fails is replaced for the tick by the fallback", "[engine]") {
    rig r(1);
    r.fallback.answer = {cpu(0, 100)};
    r.policy.reports = status::internal;
    auto const report = r.tick_with({cpu(0, 900)});
    CHECK(report.fell_back);
    CHECK(report.policy_status == status::internal);
    CHECK(r.in_effect(0) == 100);
    CHECK(report.grants.size() == 1);
    r.policy.reports = status::ok;
    CHECK_FALSE(r.tick(2).fell_back);
    CHECK(r.in_effect(0) == 900);
    CHECK(r.fallback.asked.size() == 1);
}

TEST_CASE("engine: a policy that overflows is refused as a whole, even if it says it is well", "[engine]") {
    rig r(1);
    r.fallback.answer = {cpu(0, 100)};
    auto const report = r.tick_with(std::vector<ration::grant>(7, cpu(0, 5)));  // 1 job x 1 node x 6 resources
    CHECK(report.policy_status == status::ok);
    CHECK(report.fell_back);
    CHECK(r.in_effect(0) == 100);
}

TEST_CASE("engine: when the fallback fails as well, what holds stays", "[engine]") {
    rig r(1);
    r.tick_with({cpu(0, 400)});
    r.policy.reports = r.fallback.reports = status::no_memory;
    r.fallback.answer = {cpu(0, 100)};
    auto const report = r.tick(2);
    CHECK(report.fell_back);
    CHECK(report.grants.empty());
    CHECK(r.in_effect(0) == 400);
    r.fallback.reports = status::ok;
    r.fallback.answer.assign(7, cpu(0, 5));
    CHECK(r.tick(3).grants.empty());
    CHECK(r.booked(0) == 400);
}

TEST_CASE("engine: a plan on paper changes nothing", "[engine]") {
    rig r(2);
    r.tick_with({cpu(0, 800)});
    r.backend.clear_history();
    r.policy.answer = {cpu(0, 300), cpu(1, 700)};
    auto const report = r.tick(2, tick_mode::plan_only);
    CHECK(report.changes.size() == 2);  // job 1 relies on what job 0 would give back
    CHECK(report.operations.size() == 2);
    CHECK(report.deferred.empty());
    CHECK(r.backend.history().empty());
    CHECK(r.in_effect(0) == 800);
    CHECK(r.booked(0) == 800);
    CHECK(r.shown(1) == 0);
    CHECK(r.tick(3).changes.size() == 2);
    CHECK(r.in_effect(1) == 700);
}

TEST_CASE("engine: what gives back comes before what takes", "[engine]") {
    rig r(3);
    r.tick_with({cpu(1, 500), cpu(2, 500)});
    r.backend.clear_history();
    r.tick_with({cpu(0, 600), cpu(1, 300), cpu(2, 100)}, 2);
    auto const history = r.backend.history();
    REQUIRE(history.size() == 6);
    CHECK(history[0].op.job.value == 2);
    CHECK(history[2].op.job.value == 3);
    CHECK(history[4].op.job.value == 1);
    std::int64_t promised = 1000;
    for (auto const& done : history) {
        if (done.what == call::apply)
            promised += done.op.new_value - (done.op.old_value == unlimited ? 0 : done.op.old_value);
        CHECK(promised <= 1000);
    }
}

TEST_CASE("engine: what gives back comes before what takes within a group too", "[engine]") {
    rig r(2);
    r.tick_with({cpu(1, 1000)});
    r.backend.clear_history();
    auto const report = r.tick_with({cpu(0, 600, 1), cpu(1, 300, 1)}, 2);
    REQUIRE(report.changes.size() == 2);
    CHECK(r.backend.history()[0].op.job.value == 2);
    CHECK(report.operations[report.changes[0].first_operation].job.value == 2);
}

TEST_CASE("engine: no limit is never more than the job accepts", "[engine]") {
    rig r(2);
    r.on.set_bounds(0, resource_id::cpu, 0, 700);
    r.tick_with({cpu(0, unlimited), cpu(1, unlimited)});
    CHECK(r.in_effect(0) == 700);
    CHECK(r.in_effect(1) == unlimited);
    CHECK(r.booked(0) == unlimited);
    CHECK(r.shown(0) == unlimited);
    CHECK(r.free() == 1000);
}

TEST_CASE("engine: a released job's share returns to the others at the next tick", "[engine]") {
    rig r(2);
    r.tick_with({cpu(0, 800), cpu(1, 200)});
    r.on.set_state(0, job_state::done);
    r.engine.release(r.on.id(0));
    auto const report = r.tick_with({cpu(1, 1000)}, 2);
    CHECK(report.rejected.empty());
    CHECK(r.in_effect(1) == 1000);
    CHECK(r.shown(0) == 0);
    CHECK(r.free() == 0);
}

TEST_CASE("engine: a job that outlived an earlier host is taken over with what it holds", "[engine]") {
    rig r(2);
    r.engine.reattach({r.on.id(0), 0, resource_id::cpu, 800}, seconds(0));
    auto const report = r.tick_with({cpu(1, 300)});
    CHECK(report.rejected.size() == 1);
    CHECK(r.shown(0) == 800);
    CHECK(r.free() == 200);
}

TEST_CASE("engine: use is a rate made of the backend's counters", "[engine]") {
    rig r(2);
    r.backend.set_usage(r.on.id(0), {.cpu_time = {}, .memory = {5000}, .throttled = {}, .processes = 1});
    r.tick(0);
    r.backend.set_usage(r.on.id(0), {.cpu_time = seconds(1.5), .memory = {6000}, .throttled = {}, .processes = 1});
    r.tick(1);
    CHECK(r.on.store[r.on.of(resource_id::cpu).used][0] == Catch::Approx(1500));  // millicores
    CHECK(r.on.store[r.on.of(resource_id::memory).used][0] == 6000);
    CHECK(r.on.store[r.on.of(resource_id::cpu).used][1] == 0);

    r.backend.fail(call::observe, 1, broken);  // job 1 cannot be seen for once: its last use is kept
    r.backend.set_usage(r.on.id(0), {.cpu_time = seconds(9), .memory = {1}, .throttled = {}, .processes = 1});
    r.tick(2);
    CHECK(r.on.store[r.on.of(resource_id::cpu).used][0] == Catch::Approx(1500));
    CHECK(r.on.store[r.on.of(resource_id::memory).used][0] == 6000);
}

TEST_CASE("engine: a host with the column sees the part of the time that a limit held a job back", "[engine]") {
    rig r(1);
    auto const throttled = must(r.on.store.declare<double>("jobs/throttled.cpu"));
    must(r.engine.bind({.jobs = 1, .nodes = 1}));
    r.backend.set_usage(r.on.id(0), {.cpu_time = {}, .memory = {}, .throttled = seconds(7), .processes = 1});
    r.tick(1);
    CHECK(r.on.store[throttled][0] == 0);
    r.backend.set_usage(r.on.id(0), {.cpu_time = {}, .memory = {}, .throttled = seconds(7.5), .processes = 1});
    r.tick(3);
    CHECK(r.on.store[throttled][0] == Catch::Approx(0.25));
}

TEST_CASE("engine: a tick observes each running job exactly once", "[engine]") {
    rig r(3);
    r.on.set_state(2, job_state::queued);
    for (int second = 1; second <= 5; ++second) {
        r.tick_with({cpu(0, 100 * second), cpu(1, 50 * second)}, second);
        CHECK(r.backend.observations(r.on.id(0)) == static_cast<std::uint32_t>(second));
        CHECK(r.backend.observations(r.on.id(1)) == static_cast<std::uint32_t>(second));
        CHECK(r.backend.observations(r.on.id(2)) == 0);
    }
}

TEST_CASE("engine: a host's own observations replace those of the backend", "[engine]") {
    rig r(3);
    r.on.set_state(2, job_state::queued);
    using seen = std::optional<ration::observation>;
    auto const used = [](double cpu_seconds, std::int64_t resident) {
        return seen({.cpu_time = seconds(cpu_seconds), .memory = {resident}, .throttled = {}, .processes = 1});
    };
    r.engine.tick(seconds(0), std::array{used(0, 10), used(0, 20), used(0, 30)});
    r.engine.tick(seconds(1), std::array{used(0.5, 11), seen(), used(9, 31)});
    CHECK(r.on.store[r.on.of(resource_id::cpu).used][0] == Catch::Approx(500));  // millicores
    CHECK(r.on.store[r.on.of(resource_id::memory).used][0] == 11);
    CHECK(r.on.store[r.on.of(resource_id::memory).used][1] == 20);  // not seen: the last known use
    CHECK(r.on.store[r.on.of(resource_id::memory).used][2] == 0);   // not running
    for (std::size_t row = 0; row < 3; ++row) CHECK(r.backend.observations(r.on.id(row)) == 0);

    r.policy.answer = {cpu(0, 300)};
    CHECK(r.engine.tick(seconds(2), std::array{seen(), seen(), seen()}, tick_mode::plan_only).changes.size() == 1);
    CHECK(r.booked(0) == 0);
}

TEST_CASE("engine: only running jobs are observed", "[engine]") {
    rig r(1);
    r.on.set_state(0, job_state::queued);
    r.backend.fail(call::observe, 1, broken);
    r.tick(0);
    r.on.set_state(0, job_state::running);
    r.backend.set_usage(r.on.id(0), {.cpu_time = {}, .memory = {7}, .throttled = {}, .processes = 1});
    r.tick(1);  // this is the call that fails
    CHECK(r.on.store[r.on.of(resource_id::memory).used][0] == 0);
    r.tick(2);
    CHECK(r.on.store[r.on.of(resource_id::memory).used][0] == 7);
}

TEST_CASE("engine: settle's rules hold in the engine", "[engine]") {
    rig r(1, {.settle = {.dead_band = 0.1, .dwell = seconds(5), .grace = {}}});
    r.tick_with({cpu(0, 400)}, 10);
    CHECK(r.tick_with({cpu(0, 450)}, 20).deferred[0].why == ration::deferral::dead_band);
    CHECK(r.tick_with({cpu(0, 600)}, 14).deferred[0].why == ration::deferral::dwell);
    CHECK(r.tick_with({cpu(0, 600)}, 15).deferred.empty());
    CHECK(r.in_effect(0) == 600);
}

TEST_CASE("engine: an engine that cannot bind says which policy lacks what", "[engine]") {
    rig r(1);
    r.fallback.binds = false;
    auto const bound = r.engine.bind({.jobs = 1, .nodes = 1});
    REQUIRE_FALSE(bound);
    CHECK(bound.failure().subject == "jobs/rare");
}

TEST_CASE("engine: refuses columns that were declared for other resources", "[engine]") {
    host h(1);
    ration::fake::backend backend;
    scripted policy, fallback;
    for (std::size_t const count : {1u, 2u, 5u}) {
        ration::engine<ration::fake::backend> e(backend, policy, fallback, h.store, h.columns,
                                                std::span(ration::standard_resources).first(count), {});
        auto const bound = e.bind({.jobs = 1, .nodes = 1});
        REQUIRE_FALSE(bound);
        CHECK(bound.failure().code == errc::invalid_value);
    }
    ration::snapshot_store small;
    auto const only_cpu =
        must(ration::standard_columns::declare(small, std::span(ration::standard_resources).first(1)));
    ration::engine<ration::fake::backend> e(backend, policy, fallback, small, only_cpu,
                                            std::span(ration::standard_resources).first(1), {});
    CHECK_FALSE(e.bind({.jobs = 1, .nodes = 1}));
}
