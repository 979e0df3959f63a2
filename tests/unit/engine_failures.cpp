// SPDX-License-Identifier: BSL-1.0
// When a backend fails: what is taken back, what is booked, and who may still grow.
#include <ration/policies/equal_share.hpp>

#include "rig.hpp"
#include "support/allocations.hpp"
#include "support/catch.hpp"

using namespace unit;
using ration::errc;
using ration::fake::call;

namespace {

constexpr ration::error broken_io{.code = errc::io, .operation = "scripted", .subject = "", .system = 5, .remedy = ""};

/// The operations of one kind, as (job, value that they lead to).
[[nodiscard]] std::vector<std::pair<std::uint64_t, std::int64_t>> done(rig& r, call what) {
    std::vector<std::pair<std::uint64_t, std::int64_t>> out;
    for (auto const& d : r.backend.history())
        if (d.what == what) out.emplace_back(d.op.job.value, what == call::undo ? d.op.old_value : d.op.new_value);
    return out;
}

}  // namespace

TEST_CASE("engine: a group whose apply fails is rolled back in reverse, and nothing of it is booked",
          "[engine][failure]") {
    rig r(3);
    r.tick_with({cpu(0, 100), cpu(1, 100), cpu(2, 100)});
    r.backend.clear_history();
    r.backend.fail(call::apply, 3, broken_io);
    auto const report = r.tick_with({cpu(0, 200, 1), cpu(1, 300, 1), cpu(2, 400, 1)}, 2);
    CHECK(done(r, call::undo) == std::vector<std::pair<std::uint64_t, std::int64_t>>{{2, 100}, {1, 100}});
    for (std::size_t row = 0; row < 3; ++row) {
        CHECK(r.in_effect(row) == 100);
        CHECK(r.booked(row) == 100);
    }
    REQUIRE(report.failed.size() == 3);
    CHECK(report.failed[0].failure.at == 2);
    CHECK(report.failed[0].failure.cause.system == 5);
    CHECK(report.failed[0].failure.rolled_back);
    CHECK(report.changes.empty());
    CHECK(report.operations.empty());
    CHECK(r.tick(3).changes.size() == 3);  // and the next tick tries again
}

TEST_CASE("engine: a value that reads back different is undone as well", "[engine][failure]") {
    rig r(2);
    r.tick_with({cpu(0, 100), cpu(1, 100)});
    r.backend.clear_history();
    r.backend.fail(call::verify, 2, broken_io);
    auto const report = r.tick_with({cpu(0, 200, 1), cpu(1, 300, 1)}, 2);
    CHECK(done(r, call::undo) == std::vector<std::pair<std::uint64_t, std::int64_t>>{{2, 100}, {1, 100}});
    CHECK(r.in_effect(1) == 100);
    CHECK(report.failed.size() == 2);
    CHECK(report.failed[1].failure.at == 1);
}

TEST_CASE("engine: an undo that fails does not stop the others and is told", "[engine][failure]") {
    rig r(3);
    r.tick_with({cpu(0, 100), cpu(1, 100), cpu(2, 100)});
    r.backend.clear_history();
    r.backend.fail(call::apply, 3, broken_io);
    r.backend.fail(call::undo, 1, broken_io);
    auto const report = r.tick_with({cpu(0, 200, 1), cpu(1, 300, 1), cpu(2, 400, 1)}, 2);
    CHECK_FALSE(report.failed[0].failure.rolled_back);
    CHECK(r.in_effect(0) == 100);
    CHECK(r.in_effect(1) == 300);
    CHECK(done(r, call::undo).size() == 2);
    CHECK(r.booked(1) == 100);
}

TEST_CASE("engine: one group's failure leaves the others alone", "[engine][failure]") {
    rig r(3);
    r.backend.fail(call::apply, 2, broken_io);
    auto const report = r.tick_with({cpu(0, 200), cpu(1, 300), cpu(2, 400)});
    CHECK(r.booked(0) == 200);
    CHECK(r.booked(1) == 0);
    CHECK(r.booked(2) == 400);
    CHECK(report.failed.size() == 1);
    REQUIRE(report.changes.size() == 2);
    CHECK(report.changes[1].first_operation == 1);
    CHECK(report.operations.size() == 2);
    CHECK(report.operations[1].job.value == 3);
    CHECK(r.free() == 400);
}

TEST_CASE("engine: a job that the backend does not know fails by itself", "[engine][failure]") {
    rig r(2);
    r.backend.remove(r.on.id(0));
    auto const report = r.tick_with({cpu(0, 200), cpu(1, 300)});
    REQUIRE(report.failed.size() == 1);
    CHECK(report.failed[0].failure.cause.code == errc::not_found);
    CHECK(report.failed[0].failure.rolled_back);
    CHECK(r.booked(0) == 0);
    CHECK(r.booked(1) == 300);
}

TEST_CASE("engine: a group that cannot be planned as a whole is not begun", "[engine][failure]") {
    rig r(2);
    r.backend.fail(call::plan, 2, broken_io);
    auto const report = r.tick_with({cpu(0, 200, 1), cpu(1, 300, 1)});
    CHECK(r.backend.history().empty());
    CHECK(report.failed.size() == 2);
    CHECK(report.failed[0].failure.at == 1);
    CHECK(report.changes.empty());
    CHECK(report.operations.empty());
}

TEST_CASE("engine: nobody is given what was not given back", "[engine][failure]") {
    rig r(3);
    r.tick_with({cpu(0, 900)});
    r.backend.fail(call::apply, 1, broken_io);  // job 1 was to shrink
    auto const report = r.tick_with({cpu(0, 200), cpu(1, 700), cpu(2, 100)}, 2);
    CHECK(r.in_effect(0) == 900);
    CHECK(r.booked(1) == 0);
    CHECK(r.booked(2) == 100);  // there was room for this one all along
    REQUIRE(report.deferred.size() == 1);
    CHECK(report.deferred[0].why == ration::deferral::no_room);
    CHECK(report.deferred[0].grant.job_row() == 1);
    CHECK(r.free() == 0);
    CHECK(r.tick(3).changes.size() == 2);
    CHECK(r.booked(1) == 700);
}

TEST_CASE("engine: a group that gives here and takes there waits for its room", "[engine][failure]") {
    rig r(2);
    r.tick_with({cpu(0, 900), memory(0, 100), memory(1, 900)});
    // Job 1 (group 1) takes cpu that job 2's group gives back, which takes memory that group 1 gives back: neither can
    // go first.
    auto const report = r.tick_with({cpu(0, 100, 1), memory(0, 800, 1), cpu(1, 800, 2), memory(1, 100, 2)}, 2);
    CHECK(report.deferred.size() == 4);
    CHECK(report.changes.empty());
    // As one group they may: within it, what gives back comes first.
    CHECK(r.tick_with({cpu(0, 100, 1), memory(0, 800, 1), cpu(1, 800, 1), memory(1, 100, 1)}, 3).changes.size() == 4);
    CHECK(r.free() == 100);
}

TEST_CASE("engine: a tick that finds no memory changes nothing of the group, says so, and the next one does it",
          "[engine][failure]") {
    std::size_t failures = 0;
    for (refusals const which : {refusals::one, refusals::all})
        for (std::size_t after = 0;; ++after) {
            INFO("allocation " << after);
            host on(2);
            ration::fake::backend backend{{resource_id::cpu, resource_id::memory}};
            ration::policy_adapter<ration::policies::equal_share> policy, fallback;
            ration::engine engine(backend, policy, fallback, on.store, on.columns, ration::standard_resources,
                                  {.settle = rig::at_once});
            for (std::size_t row = 0; row < 2; ++row) backend.add(on.id(row));
            must(engine.bind({.jobs = 2, .nodes = 1}));
            failing_memory memory(after, which);
            auto const report = engine.tick(ration::seconds(1));
            memory.stop();
            for (auto const& failed : report.failed) CHECK(failed.failure.cause.code == errc::no_memory);
            CHECK(report.failed.size() + report.changes.size() == 2);
            CHECK(report.failed.empty() == !memory.struck());
            bool rolled_back = true;  // without any memory the fake cannot record, and so not undo
            for (auto const& failed : report.failed) rolled_back = rolled_back && failed.failure.rolled_back;
            CHECK((rolled_back || which == refusals::all));
            for (std::size_t row = 0; row < 2 && rolled_back; ++row) {
                auto const booked = engine.holdings().amount(on.id(row), 0, resource_id::cpu);
                auto const in_effect = backend.amount(on.id(row), resource_id::cpu).value();
                CHECK(in_effect == (booked == 0 ? ration::unlimited : booked));  // never granted: no limit was set
            }
            auto const next = engine.tick(ration::seconds(2));
            CHECK(next.failed.empty());
            for (std::size_t row = 0; row < 2; ++row)
                CHECK(backend.amount(on.id(row), resource_id::cpu) ==
                      engine.holdings().amount(on.id(row), 0, resource_id::cpu));
            if (!memory.struck()) break;
            ++failures;
        }
    CHECK(failures > 4);
}
