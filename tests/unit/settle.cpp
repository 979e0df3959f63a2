// SPDX-License-Identifier: BSL-1.0
#include <array>
#include <limits>
#include <set>

#include <ration/host/settle.hpp>

#include "host.hpp"
#include "support/catch.hpp"

using namespace unit;
using ration::checked_grant;
using ration::deferral;
using ration::deferred_grant;
using ration::holding;
using ration::job_estimate;
using ration::milliseconds;
using ration::nanoseconds;
using ration::seconds;
using ration::settle_rules;
using ration::unlimited;

namespace {

constexpr settle_rules rules{.dead_band = 0.01, .dwell = seconds(1), .grace = seconds(2)};
constexpr std::int64_t capacity = 1000;
constexpr nanoseconds now = seconds(100);

/// Why a change of a holding that is old, of a job that started long ago, has to wait.
[[nodiscard]] constexpr deferral wait(std::int64_t held, std::int64_t amount, job_estimate const& job = {},
                                      nanoseconds since = {}) {
    holding const h{{{1}, 0, resource_id::cpu, held}, since};
    ration::grant const asked{.resource = static_cast<std::uint16_t>(resource_id::cpu), .amount = amount};
    return reason_to_wait(rules, {.job = {1}, .held = held, .asked = &asked}, held == 0 ? nullptr : &h, capacity, job,
                          now);
}

}  // namespace

TEST_CASE("settle: deferral: in force already", "[settle]") {
    CHECK(wait(500, 500) == deferral::unchanged);
    CHECK(wait(0, 0) == deferral::unchanged);
    CHECK(wait(unlimited, unlimited) == deferral::unchanged);
    CHECK(wait(500, 500, {}, now) == deferral::unchanged);  // whatever other reasons there are
}

TEST_CASE("settle: what releases and what is the first of its kind never waits", "[settle]") {
    job_estimate const young{.started = now, .restart_cost = 1000};
    CHECK(wait(500, 0, young, now) == deferral::none);
    CHECK(wait(0, 1, young, now) == deferral::none);
    CHECK(wait(0, unlimited, young, now) == deferral::none);
    CHECK(wait(1, 0) == deferral::none);
}

TEST_CASE("settle: deferral: dead band, up and down", "[settle]") {
    CHECK(wait(500, 509) == deferral::dead_band);
    CHECK(wait(500, 510) == deferral::none);  // exactly the band acts
    CHECK(wait(500, 491) == deferral::dead_band);
    CHECK(wait(500, 490) == deferral::none);
    CHECK(wait(500, unlimited) == deferral::none);
    CHECK(wait(unlimited, 999) == deferral::none);
}

TEST_CASE("settle: no dead band lets every change through", "[settle]") {
    constexpr settle_rules none{.dead_band = 0, .dwell = {}, .grace = {}};
    holding const h{{{1}, 0, resource_id::cpu, 500}, now};
    ration::grant const asked{.amount = 501};
    checked_grant const more{.job = {1}, .held = 500, .asked = &asked};
    CHECK(reason_to_wait(none, more, &h, capacity, {.started = now}, now) == deferral::none);
    CHECK(reason_to_wait(none, more, &h, 0, {.started = now}, now) == deferral::none);
}

TEST_CASE("settle: deferral: dwell", "[settle]") {
    CHECK(wait(500, 600, {}, now - milliseconds(999)) == deferral::dwell);
    CHECK(wait(500, 600, {}, now - seconds(1)) == deferral::none);
    CHECK(wait(unlimited, 600, {}, now - milliseconds(999)) == deferral::dwell);
}

TEST_CASE("settle: deferral: grace", "[settle]") {
    CHECK(wait(500, 600, {.started = now - milliseconds(1999)}) == deferral::grace);
    CHECK(wait(500, 600, {.started = now - seconds(2)}) == deferral::none);
    CHECK(wait(500, 600, {.started = {-1}}) == deferral::none);
}

TEST_CASE("settle: deferral: a restart that costs more than it gains", "[settle]") {
    job_estimate job{
        .started = {}, .remaining_seconds = 100, .speedup_held = 1, .speedup_granted = 2, .restart_cost = 50};
    CHECK(gain_of(job) == Catch::Approx(0).margin(1e-9));
    CHECK(wait(1, 200, job) == deferral::none);  // a change without a loss does not wait
    job.restart_cost = 50.01;
    CHECK(wait(1, 200, job) == deferral::restart_cost);
    CHECK(wait(200, 1, job) == deferral::none);  // what shrinks is for the others' good
    job.remaining_seconds = std::numeric_limits<double>::quiet_NaN();
    CHECK(wait(1, 200, job) == deferral::none);  // unknown: the policy decides
    job.remaining_seconds = 0;
    CHECK(wait(1, 200, job) == deferral::restart_cost);
    job.restart_cost = 0;
    CHECK(wait(1, 200, job) == deferral::none);
}

TEST_CASE("settle: the reasons are asked in their order", "[settle]") {
    job_estimate const young{.started = now, .restart_cost = 1000};
    CHECK(wait(500, 505, young, now) == deferral::dead_band);
    CHECK(wait(500, 600, young, now) == deferral::dwell);
    CHECK(wait(500, 600, young) == deferral::grace);
}

namespace {

/// Settles a list of grants. A grant is in a group if its `group` is not 0.
struct settling {
    ration::ledger held;
    ration::settler settler;
    std::array<ration::grant, 16> asked{};
    ration::buffer<ration::checked_grant> grants;
    ration::buffer<ration::deferred_grant> deferred;
    nanoseconds started{};

    explicit settling() {
        held.reset(1, 2, 16);
        settler.prepare(1, 2, 16);
    }
    /// Job holds `amount` since the given time.
    void hold(std::uint64_t job, std::int64_t amount, nanoseconds since = {}) {
        held.set({{job}, 0, resource_id::cpu, amount}, since);
    }
    void grant(std::uint32_t job, std::int64_t amount, std::uint32_t group = 0, resource_id r = resource_id::cpu) {
        asked[grants.size()] = {
            .job = job, .resource = static_cast<std::uint16_t>(r), .group = group, .amount = amount};
        grants.push_back({.job = {job}, .held = held.amount({job}, 0, r), .asked = &asked[grants.size()]});
    }
    void settle() {
        settler.settle(
            rules, held, now, grants, deferred, [&](checked_grant const&) { return job_estimate{.started = started}; },
            [](std::uint32_t, resource_id) { return capacity; });
    }
    [[nodiscard]] deferral why(std::uint32_t row) const {
        for (auto const& d : deferred)
            if (d.grant.asked == &asked[row]) return d.why;
        return deferral::none;
    }
    [[nodiscard]] bool goes(std::uint32_t row) const {
        for (auto const& g : grants)
            if (g.asked == &asked[row]) return true;
        return false;
    }
};

}  // namespace

TEST_CASE("settle: what changes nothing is in neither list", "[settle]") {
    settling s;
    s.hold(1, 300);
    s.grant(1, 300);
    s.grant(2, 100);
    s.settle();
    CHECK(s.grants.size() == 1);
    CHECK(s.goes(1));
    CHECK(s.deferred.empty());
}

TEST_CASE("settle: deferral: another grant of the group waits", "[settle]") {
    settling s;
    s.hold(1, 300, now);  // too recent
    s.hold(2, 100);
    s.grant(1, 200, 9);
    s.grant(2, 150, 9);
    s.grant(3, 100);
    s.settle();
    CHECK(s.why(0) == deferral::dwell);
    CHECK(s.why(1) == deferral::group_deferred);
    CHECK(s.goes(2));
    CHECK(s.grants.size() == 1);
}

TEST_CASE("settle: a grant that is in force already holds up nobody in its group", "[settle]") {
    settling s;
    s.hold(1, 300, now);
    s.hold(2, 100);
    s.grant(1, 300, 9);
    s.grant(2, 150, 9);
    s.settle();
    CHECK(s.goes(1));
    CHECK(s.grants.size() == 1);
    CHECK(s.deferred.empty());
}

TEST_CASE("settle: deferral: no room while another one keeps what it was to give back", "[settle]") {
    settling s;
    s.hold(1, 900, now);  // was to give back 500, but changed just now
    s.grant(1, 400);
    s.grant(2, 600);
    s.grant(3, 100);
    s.settle();
    CHECK(s.why(0) == deferral::dwell);
    CHECK(s.why(1) == deferral::no_room);
    CHECK(s.goes(2));
}

TEST_CASE("settle: a group that finds no room keeps together", "[settle]") {
    settling s;
    s.hold(1, 900, now);
    s.grant(1, 400);
    s.grant(2, 600, 9);
    s.grant(3, 10, 9, resource_id::memory);
    s.settle();
    CHECK(s.why(1) == deferral::no_room);
    CHECK(s.why(2) == deferral::no_room);
    CHECK(s.grants.empty());
}

TEST_CASE("settle: each settling starts anew", "[settle]") {
    settling s;
    s.hold(1, 300, now);
    s.grant(1, 200);
    s.settle();
    CHECK(s.deferred.size() == 1);
    s.grants.clear();
    s.settle();
    CHECK(s.deferred.empty());
}

TEST_CASE("settle: every deferral has words of its own", "[settle]") {
    std::set<std::string_view> words;
    for (int why = 0; why <= static_cast<int>(deferral::no_room); ++why)
        words.insert(name_of(static_cast<deferral>(why)));
    CHECK(words.size() == 8);
    CHECK_FALSE(words.contains("unknown"));
    CHECK(name_of(static_cast<deferral>(8)) == "unknown");
}
