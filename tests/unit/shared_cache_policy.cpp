// SPDX-License-Identifier: BSL-1.0
// The policy shared_cache on an engine whose jobs are the items of a cache.
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <ration/fake/backend.hpp>
#include <ration/host/engine.hpp>
#include <ration/host/tenants.hpp>
#include <ration/policies/shared_cache.hpp>

#include "answer.hpp"
#include "support/allocations.hpp"
#include "support/catch.hpp"

using namespace unit;
using ration::check_rule;
using ration::policies::cache_mode;
using ration::policies::shared_cache;
using ration::policies::shared_cache_parameters;

namespace {

/// A host whose jobs are items, with what each tenant reads of them.
struct item_host : host {
    ration::column<double> benefit;

    item_host(std::vector<std::int64_t> const& bytes, std::size_t tenants, std::int64_t capacity) : host(bytes.size()) {
        // [host]
        benefit = must(store.declare<double>("jobs/benefit", static_cast<std::uint32_t>(tenants)));
        set_capacity(resource_id::cache, capacity);
        for (std::size_t row = 0; row < bytes.size(); ++row)
            set_bounds(row, resource_id::cache, bytes[row], bytes[row]);
        // [host]
        std::vector<ration::tenant_description> all(tenants);
        for (std::size_t t = 0; t < tenants; ++t) all[t].id = t + 1;
        must(ration::fill_tenants(store, columns, all));
    }
    void read(std::size_t tenant, std::size_t item, double bytes) { (&store.at(benefit, item))[tenant] = bytes; }
};

struct item_engine {
    item_host& on;
    ration::fake::backend backend{{resource_id::cache}};
    ration::policy_adapter<shared_cache> policy, fallback;
    ration::engine<ration::fake::backend> engine;

    explicit item_engine(item_host& host, shared_cache_parameters const& with = {.round = 10})
        : on(host), policy(shared_cache(with)),
          engine(backend, policy, fallback, on.store, on.columns, ration::standard_resources,
                 {.settle = {.dead_band = 0, .dwell = {}, .grace = {}}}) {
        for (std::size_t row = 0; row < on.store.rows(table_id::jobs); ++row) backend.add(on.id(row));
        must(engine.bind({.jobs = on.store.rows(table_id::jobs), .nodes = 1, .tenants = 8}));
    }
    /// The bytes that each item holds after a tick at this time.
    std::vector<std::int64_t> after(double second) {
        auto const report = engine.tick(ration::seconds(second));
        CHECK(report.rejected.empty());
        std::vector<std::int64_t> held;
        for (std::size_t row = 0; row < on.store.rows(table_id::jobs); ++row)
            held.push_back(engine.holdings().amount(on.id(row), 0, resource_id::cache));
        return held;
    }
};

using amounts = std::vector<std::int64_t>;

/// Two tenants read the first item, and each also a separate one; two of the three items fit.
[[nodiscard]] item_host three_items() {
    item_host h({40, 40, 40}, 2, 80);
    for (std::size_t t = 0; t < 2; ++t) {
        h.read(t, 0, 40);
        h.read(t, 1 + t, 40);
    }
    return h;
}

}  // namespace

TEST_CASE("shared_cache: an item that two tenants read is held and counted once", "[shared_cache]") {
    item_host h({60, 60}, 2, 64);
    for (std::size_t t = 0; t < 2; ++t) h.read(t, 1, 60);
    item_engine e(h);
    CHECK(e.after(0) == amounts{0, 60});
    CHECK(e.engine.holdings().sum(0, resource_id::cache) == 60);
    CHECK(h.store[h.of(resource_id::cache).free][0] == 4);
}

TEST_CASE("shared_cache: the tenants' own items take turns by rounds, and the common item stays", "[shared_cache]") {
    auto h = three_items();
    item_engine e(h);
    auto const first = e.after(0);
    CHECK(first[0] == 40);
    CHECK(first[1] + first[2] == 40);
    CHECK(e.after(9) == first);  // within the round
    auto const second = e.after(10);
    CHECK(second == amounts{40, first[2], first[1]});
    CHECK(e.after(20) == first);
}

TEST_CASE("shared_cache: weights of tenants set the turns", "[shared_cache]") {
    item_host h({50, 50}, 2, 50);
    for (std::size_t t = 0; t < 2; ++t) h.read(t, t, 50);
    h.store.at(h.columns.get<"tenants/weight">(), 0) = 3;
    item_engine e(h);
    std::int64_t first = 0;
    for (int round = 0; round < 40; ++round) first += e.after(10 * round)[0] / 50;
    CHECK(first == 30);
}

TEST_CASE("shared_cache: without tenants nothing is held", "[shared_cache]") {
    auto h = three_items();
    item_engine e(h);
    CHECK(e.after(0)[0] == 40);
    must(ration::fill_tenants(h.store, h.columns, {}));
    CHECK(e.after(10) == amounts{0, 0, 0});
}

TEST_CASE("shared_cache: an item that ended is released and not chosen", "[shared_cache]") {
    item_host h({50, 50}, 1, 50);
    h.read(0, 0, 50);
    h.read(0, 1, 20);
    item_engine e(h);
    CHECK(e.after(0) == amounts{50, 0});
    h.set_state(0, job_state::done);
    CHECK(e.after(10)[1] == 50);
    CHECK(e.engine.holdings().sum(0, resource_id::cache) == 50);
}

// The bounds of an item are its bytes, so a host needs no further rule.
TEST_CASE("check: an item is granted whole, and the items of a node fit together", "[shared_cache][check]") {
    item_host const h({40, 30, 20}, 1, 64);
    answer a(h);
    auto const cache = static_cast<std::uint16_t>(resource_id::cache);
    auto const grant = [&](std::uint32_t item, std::int64_t bytes) {
        return ration::grant{.job = item, .resource = cache, .amount = bytes};
    };
    a.check({grant(0, 39)});
    CHECK(a.rule_of(0) == check_rule::below_minimum);
    a.check({grant(0, 41)});
    CHECK(a.rule_of(0) == check_rule::above_maximum);
    a.check({grant(3, 40)});
    CHECK(a.rule_of(0) == check_rule::unknown_job);
    a.check({grant(0, 40), grant(0, 40)});
    CHECK_FALSE(a.rejected.empty());
    a.check({grant(0, 40), grant(1, 30)});
    CHECK(a.rule_of(1) == check_rule::over_capacity);
    a.check({grant(0, 40), grant(2, 20)});
    CHECK(a.rejected.empty());
}

namespace {

/// The policy alone, asked tick by tick.
struct asked_alone {
    item_host on = three_items();
    shared_cache policy{shared_cache_parameters{.round = 2}};
    ration::binding<shared_cache::inputs> bound = must(ration::bind_columns<shared_cache::inputs>(on.store.schema()));
    std::vector<ration::grant> space = std::vector<ration::grant>(8);

    asked_alone() { static_cast<void>(policy.prepare({.jobs = 3, .nodes = 1, .tenants = 2})); }
    std::vector<ration::grant> ask(std::uint64_t number) {
        ration::tick_data const data{
            .number = number, .now = ration::seconds(static_cast<double>(number)), .data = on.store.view()};
        ration::grants out(space);
        CHECK(policy.decide({data, bound}, out) == ration::status::ok);
        return {out.rows().begin(), out.rows().end()};
    }
};

}  // namespace

TEST_CASE("shared_cache: a tick that is asked again is answered the same, and so are those after it",
          "[shared_cache]") {
    asked_alone once, twice;
    for (std::uint64_t tick = 1; tick < 20; ++tick) {
        auto const answer = once.ask(tick);
        CHECK(twice.ask(tick) == answer);
        CHECK(twice.ask(tick) == answer);
    }
}

TEST_CASE("shared_cache: the saved state is all that it remembers", "[shared_cache]") {
    for (std::uint64_t saved_at = 1; saved_at < 5; ++saved_at) {
        asked_alone one;
        for (std::uint64_t tick = 1; tick <= saved_at; ++tick) one.ask(tick);
        std::vector<std::byte> state(one.policy.save({}));
        REQUIRE(one.policy.save(state) == state.size());
        asked_alone later, again;  // asked from the next tick on, and for the same one first
        for (auto* other : {&later, &again}) REQUIRE(other->policy.load(state) == ration::status::ok);
        CHECK(again.ask(saved_at) == one.ask(saved_at));
        for (std::uint64_t tick = saved_at + 1; tick < saved_at + 9; ++tick) {
            auto const answer = one.ask(tick);
            CHECK(later.ask(tick) == answer);
            CHECK(again.ask(tick) == answer);
        }
        state.pop_back();
        CHECK(later.policy.load(state) == ration::status::state);
    }
}

TEST_CASE("shared_cache: a deficit follows its tenant to another row, and a new tenant has none", "[shared_cache]") {
    asked_alone stays, moves, fresh, replaced;
    auto const first = stays.ask(1);
    CHECK(moves.ask(1) == first);
    replaced.ask(1);
    auto const with_ids = [](asked_alone& one, std::uint64_t first_id, std::uint64_t second_id) {
        std::array<ration::tenant_description, 2> all{};
        all[0].id = first_id;
        all[1].id = second_id;
        must(ration::fill_tenants(one.on.store, one.on.columns, all));
    };
    with_ids(moves, 2, 1);
    for (std::size_t const item : {1U, 2U}) {
        auto* const reads = &moves.on.store.at(moves.on.benefit, item);
        std::swap(reads[0], reads[1]);
    }
    with_ids(replaced, 3, 4);
    auto const second = stays.ask(3);
    CHECK(second != first);  // the turn of the other tenant
    CHECK(moves.ask(3) == second);
    CHECK(replaced.ask(3) == fresh.ask(3));
}

TEST_CASE("shared_cache: decide allocates nothing after prepare", "[shared_cache]") {
    asked_alone one;
    ration::grants out(one.space);
    for (std::uint64_t tick = 1; tick < 5; ++tick) {
        ration::tick_data const data{
            .number = tick, .now = ration::seconds(static_cast<double>(tick)), .data = one.on.store.view()};
        ration::tick<shared_cache::inputs> const asked(data, one.bound);
        out.clear();
        std::size_t const before = allocations();
        auto const reply = one.policy.decide(asked, out);
        std::size_t const after = allocations();
        CHECK(reply == ration::status::ok);
        CHECK(after == before);
    }
}

TEST_CASE("shared_cache: a round that is not a time is refused", "[shared_cache]") {
    CHECK(shared_cache_parameters{}.problem().empty());
    for (double const round : {-1.0, 1e7, std::numeric_limits<double>::quiet_NaN()})
        CHECK(shared_cache_parameters{.round = round}.problem() ==
              "round is a time in seconds: write a number from 0 to 1000000");
}
