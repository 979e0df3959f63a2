// SPDX-License-Identifier: BSL-1.0
// Tenants: the sums that the engine keeps, and the limits that no grant may exceed.
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include <ration/host/tenants.hpp>

#include "random.hpp"
#include "rig.hpp"
#include "support/catch.hpp"

using namespace unit;
using ration::check_rule;
using ration::no_tenant;
using ration::tenant_description;
using ration::unlimited;

namespace {

constexpr auto gpu = static_cast<std::uint16_t>(resource_id::gpu);
constexpr std::size_t gpu_index = gpu;

[[nodiscard]] ration::grant devices(std::uint32_t job, std::int64_t amount, std::uint32_t group = 0) {
    return {.job = job, .node = 0, .resource = gpu, .reason = 0, .group = group, .amount = amount};
}

/// A root with two tenants, and a separate tenant.
[[nodiscard]] std::vector<tenant_description> family() {
    std::vector<tenant_description> all(4);
    for (std::size_t t = 0; t < all.size(); ++t) all[t].id = 10 + t;
    all[1].parent = all[2].parent = 0;
    return all;
}

/// An engine whose jobs 0 to 3 belong to the tenants 1, 2, 3 and 0.
struct owned_jobs {
    host on{4};
    ration::fake::backend backend{{resource_id::cpu, resource_id::memory, resource_id::gpu}};
    scripted policy, fallback;
    ration::engine<ration::fake::backend> engine;

    explicit owned_jobs(std::vector<tenant_description> const& tenants, ration::nanoseconds half_life = {})
        : engine(backend, policy, fallback, on.store, on.columns, ration::standard_resources,
                 {.settle = rig::at_once, .half_life = half_life}) {
        must(ration::fill_tenants(on.store, on.columns, tenants));
        for (std::size_t row = 0; row < 4; ++row) {
            backend.add(on.id(row));
            on.store[on.columns.tenant][row] = static_cast<std::uint32_t>((row + 1) % 4);
            on.set_bounds(row, resource_id::gpu, 0, 100);
        }
        must(engine.bind({.jobs = 4, .nodes = 1}));
    }

    ration::tick_report tick(double second, std::vector<ration::grant> answer = {}) {
        policy.answer = std::move(answer);
        return engine.tick(ration::seconds(second));
    }
    [[nodiscard]] ration::tenant_resource_columns const& of(resource_id r) const { return on.of(r).of_tenants; }
    [[nodiscard]] std::vector<std::int64_t> held() const {
        auto const all = on.store[of(resource_id::gpu).held];
        return {all.begin(), all.end()};
    }
    [[nodiscard]] double usage(std::size_t tenant) const { return on.store[of(resource_id::gpu).usage][tenant]; }
};

using amounts = std::vector<std::int64_t>;

[[nodiscard]] std::optional<check_rule> first_rule(ration::tick_report const& report) {
    if (report.rejected.empty()) return std::nullopt;
    return report.rejected[0].rule;
}

}  // namespace

TEST_CASE("tenants: a tenant holds what its jobs and the tenants below it hold", "[tenants]") {
    owned_jobs all(family());
    all.tick(1, {devices(0, 1), devices(1, 20), devices(2, 300), devices(3, 4000)});
    CHECK(all.held() == amounts{21, 1, 20, 0});  // 300 and 4000 are above the maximum of 100
    all.tick(2, {devices(2, 30), devices(3, 40), devices(0, 0)});
    CHECK(all.held() == amounts{60, 0, 20, 30});
    all.engine.release(all.on.id(1));
    all.tick(3);
    CHECK(all.held() == amounts{40, 0, 0, 30});
}

TEST_CASE("tenants: demand is of active jobs, and unlimited where one has no bound", "[tenants]") {
    owned_jobs all(family());
    all.tick(1);
    auto const demand = all.on.store[all.of(resource_id::gpu).demand];
    CHECK(amounts(demand.begin(), demand.end()) == amounts{300, 100, 100, 100});
    all.on.set_bounds(1, resource_id::gpu, 0, unlimited);
    all.on.set_state(0, job_state::done);
    all.tick(2);
    CHECK(amounts(demand.begin(), demand.end()) == amounts{unlimited, 0, unlimited, 100});
    all.on.set_bounds(1, resource_id::gpu, 0, 7);
    all.tick(3);
    CHECK(amounts(demand.begin(), demand.end()) == amounts{107, 0, 7, 100});
    auto const& numbers = all.on.columns.tenants;
    CHECK(all.on.store[numbers.running][0] == 2);
    all.on.set_state(1, job_state::queued);
    all.tick(4);
    CHECK(all.on.store[numbers.running][0] == 1);
    CHECK(all.on.store[numbers.waiting][0] == 1);
    CHECK(all.on.store[numbers.waiting][3] == 0);
}

TEST_CASE("tenants: a job that changes its tenant takes along what it holds", "[tenants]") {
    owned_jobs all(family());
    all.tick(1, {devices(0, 5)});
    all.on.store[all.on.columns.tenant][0] = 3;
    all.tick(2);
    CHECK(all.held() == amounts{0, 0, 0, 5});
    all.on.store[all.on.columns.tenant][0] = 99;  // no such tenant
    all.tick(3);
    CHECK(all.held() == amounts{0, 0, 0, 0});
}

TEST_CASE("tenants: usage grows with what is held, and halves in the half-life", "[tenants]") {
    double const half = 100, per_second = half / std::log(2.0);
    owned_jobs all(family(), ration::seconds(half));
    all.tick(0, {devices(0, 4)});
    CHECK(all.usage(1) == 0);
    all.tick(30);
    all.tick(50, {devices(0, 0)});  // the moments at which it is looked at make no difference
    double const then = 4 * per_second * (1 - std::exp2(-50 / half));
    CHECK(all.usage(1) == Catch::Approx(then).epsilon(1e-12));
    CHECK(all.usage(0) == Catch::Approx(then).epsilon(1e-12));
    all.tick(150);
    CHECK(all.usage(1) == Catch::Approx(then / 2).epsilon(1e-12));
    CHECK(all.usage(2) == 0);
}

TEST_CASE("tenants: without a half-life usage is the amount-seconds", "[tenants]") {
    owned_jobs all(family());
    all.tick(0, {devices(1, 3)});
    all.tick(10, {devices(1, 5)});
    all.tick(14);
    CHECK(all.usage(2) == Catch::Approx(50));
}

TEST_CASE("tenants: a job that ends between two ticks is charged until the next one", "[tenants]") {
    owned_jobs all(family());
    all.tick(0, {devices(1, 3)});
    all.engine.release(all.on.id(1));
    all.on.set_state(1, job_state::done);
    all.tick(10);
    CHECK(all.usage(2) == Catch::Approx(30));
    all.tick(20);
    CHECK(all.usage(2) == Catch::Approx(30));
}

TEST_CASE("tenants: no grant exceeds the limit of a tenant or of one above it", "[tenants]") {
    auto tenants = family();
    tenants[0].limit[gpu_index] = 10;
    tenants[1].limit[gpu_index] = 4;
    owned_jobs all(tenants);
    SECTION("of its own") {
        CHECK(first_rule(all.tick(1, {devices(0, 5)})) == check_rule::over_tenant_limit);
        CHECK(all.held() == amounts{0, 0, 0, 0});
        CHECK_FALSE(first_rule(all.tick(2, {devices(0, 4)})));
        CHECK(all.held() == amounts{4, 4, 0, 0});
    }
    SECTION("of one above it: the earlier group stays") {
        auto const report = all.tick(1, {devices(0, 4), devices(1, 7), devices(2, 90)});
        CHECK(first_rule(report) == check_rule::over_tenant_limit);
        CHECK(report.rejected.size() == 1);
        CHECK(all.held() == amounts{4, 4, 0, 90});
    }
    SECTION("a swap below one limit fits") {
        all.tick(1, {devices(1, 10)});
        CHECK_FALSE(first_rule(all.tick(2, {devices(0, 3), devices(1, 7)})));
        CHECK(all.held() == amounts{10, 3, 7, 0});
    }
    SECTION("and not if its release is refused") {
        all.tick(1, {devices(1, 10)});
        all.backend.fail(ration::fake::call::apply, 1, {.code = ration::errc::io});
        all.tick(2, {devices(0, 3), devices(1, 7)});
        CHECK(all.held() == amounts{10, 0, 10, 0});
    }
    SECTION("a tenant above a lowered limit may shrink, and not grow") {
        all.tick(1, {devices(0, 2), devices(1, 8)});
        all.on.store[all.of(resource_id::gpu).limit][0] = 5;
        CHECK(first_rule(all.tick(2, {devices(0, 3)})) == check_rule::over_tenant_limit);
        CHECK_FALSE(first_rule(all.tick(3, {devices(1, 7)})));
        CHECK(all.held() == amounts{9, 2, 7, 0});
    }
}

TEST_CASE("tenants: rows of one group are refused together", "[tenants]") {
    auto tenants = family();
    tenants[1].limit[gpu_index] = 4;
    owned_jobs all(tenants);
    auto const report = all.tick(1, {devices(2, 5, 1), devices(0, 5, 1)});
    CHECK(report.rejected.size() == 2);
    CHECK(all.held() == amounts{0, 0, 0, 0});
}

TEST_CASE("tenants: a policy that reads none of their columns pays for none of their sums", "[tenants]") {
    owned_jobs all(family());
    all.policy.reads_all = all.fallback.reads_all = false;
    must(all.engine.bind({.jobs = 4, .nodes = 1}));
    all.tick(1, {devices(0, 5)});
    CHECK(all.held() == amounts{0, 0, 0, 0});
    all.on.store[all.of(resource_id::gpu).limit][1] = 5;  // a limit needs them
    all.tick(2);
    CHECK(all.held() == amounts{5, 5, 0, 0});
}

TEST_CASE("tenants: no limit of the CPU is more than any limit of a tenant", "[tenants]") {
    auto tenants = family();
    tenants[0].limit[static_cast<std::size_t>(resource_id::cpu)] = 500;
    owned_jobs all(tenants);
    CHECK(first_rule(all.tick(1, {cpu(0, unlimited)})) == check_rule::over_tenant_limit);
    CHECK_FALSE(first_rule(all.tick(2, {cpu(0, 500), cpu(2, unlimited)})));
    CHECK(first_rule(all.tick(3, {cpu(1, 10)})) == check_rule::over_tenant_limit);  // also the smallest grant
}

TEST_CASE("fill_tenants: the column of an invalid value is named", "[tenants]") {
    host on(1);
    auto const subject = [&](auto change) {
        auto all = family();
        change(all);
        auto const made = ration::fill_tenants(on.store, on.columns, all);
        return made ? std::string() : std::string(made.failure().subject.view());
    };
    CHECK(subject([](auto&) {}).empty());
    CHECK(subject([](auto& all) { all[1].parent = 1; }) == "tenants/parent");
    CHECK(subject([](auto& all) { all[1].parent = 2; }) == "tenants/parent");
    CHECK(subject([](auto& all) { all[3].id = 0; }) == "tenants/id");
    CHECK(subject([](auto& all) { all[3].weight = 0; }) == "tenants/weight");
    CHECK(subject([](auto& all) { all[3].weight = std::numeric_limits<double>::quiet_NaN(); }) == "tenants/weight");
    CHECK(subject([](auto& all) { all[3].quota[0] = -1; }) == "tenants/quota");
    CHECK(subject([](auto& all) { all[3].limit[1] = ration::max_amount + 1; }) == "tenants/limit");
    CHECK(subject([](auto& all) { all[3].lend[2] = -5; }) == "tenants/lend");
    must(ration::fill_tenants(on.store, on.columns, family()));
    auto lent = family();
    lent[3].quota[0] = 7;
    must(ration::fill_tenants(on.store, on.columns, lent));
    CHECK(on.store[on.of(resource_id::cpu).of_tenants.lend][3] == 7);  // all of its quota
}

TEST_CASE("tenants: a host's parent that is not before its child counts as none", "[tenants]") {
    owned_jobs all(family());
    all.on.store[all.on.columns.tenants.parent][1] = 2;
    all.on.store[all.on.columns.tenants.parent][2] = 1;
    all.tick(1, {devices(0, 5)});
    CHECK(all.held() == amounts{0, 5, 0, 0});
}

namespace {

/// Random jobs of random tenants, whose sums are compared with those over all jobs.
struct random_life {
    static constexpr std::size_t most = 40;
    bool follows;
    host on{0, 2};
    rng any;
    ration::detail::tenant_sums sums;
    std::uint64_t last_id = 0;

    random_life(std::uint64_t seed, bool marks, ration::nanoseconds half_life = {}) : follows(marks), any(seed) {
        if (marks) on.store.changes().follow();
        auto tenants = family();
        tenants[3].parent = 2;
        must(ration::fill_tenants(on.store, on.columns, tenants));
        on.held.reset(2, on.columns.resources.size(), most * 4);
        sums.prepare(on.store, on.columns, {.jobs = most, .tenants = tenants.size()}, half_life, true);
        on.store.changes().mark_everything();
    }
    void mark(std::size_t row) { on.store.changes().mark(table_id::jobs, row, ration::all_columns); }
    void change_one() {
        std::size_t const rows = on.store.rows(table_id::jobs);
        if (rows < most && (rows == 0 || any.one_in(3))) {
            must(on.store.resize(table_id::jobs, rows + 1));
            on.store[on.columns.id][rows] = ++last_id;
            on.store[on.columns.tenant][rows] = static_cast<std::uint32_t>(any.below(5));
            on.set_bounds(rows, resource_id::gpu, 0,
                          any.one_in(9) ? unlimited : static_cast<std::int64_t>(any.below(9)));
            return mark(rows);
        }
        std::size_t const row = any.below(rows);
        mark(row);
        if (any.one_in(3)) on.set_state(row, static_cast<job_state>(any.below(5)));
        if (any.one_in(2))
            on.held.set({on.id(row), static_cast<std::uint32_t>(any.below(2)), resource_id::gpu,
                         static_cast<std::int64_t>(any.below(4))},
                        {});
    }
    void remove_some() {
        bool gone[most] = {};
        for (std::size_t row = 0; row < on.store.rows(table_id::jobs); ++row)
            if (gone[row] = any.one_in(4); gone[row]) on.held.release(on.id(row));
        on.store.erase_rows(table_id::jobs, gone);
    }
    void step(double second) {
        for (std::size_t i = 0; i < 4; ++i) change_one();
        if (any.one_in(6)) remove_some();
        ration::show_holdings(on.held, on.store, on.columns);
        sums.begin(on.store, on.columns, ration::seconds(second));
        on.store.changes().clear();
    }
    [[nodiscard]] bool is_below(std::uint32_t tenant, std::uint32_t top) const {
        while (tenant < 4 && tenant != top) tenant = on.store[on.columns.tenants.parent][tenant];
        return tenant == top;
    }
    [[nodiscard]] bool is_right(std::uint32_t tenant) const {
        std::int64_t held = 0, demand = 0;
        std::uint32_t waiting = 0, running = 0;
        bool bounded = true;
        for (std::size_t row = 0; row < on.store.rows(table_id::jobs); ++row) {
            if (!is_below(on.store[on.columns.tenant][row], tenant)) continue;
            held += on.store[on.of(resource_id::gpu).held][row];
            auto const state = static_cast<job_state>(on.store[on.columns.state][row]);
            if (!ration::is_active(state)) continue;
            ++(state == job_state::queued ? waiting : running);
            std::int64_t const its = on.store[on.of(resource_id::gpu).maximum][row];
            bounded = bounded && its != unlimited;
            demand += its == unlimited ? 0 : its;
        }
        auto const& c = on.of(resource_id::gpu).of_tenants;
        auto const& numbers = on.columns.tenants;
        return on.store[c.held][tenant] == held && on.store[c.demand][tenant] == (bounded ? demand : unlimited) &&
               on.store[numbers.waiting][tenant] == waiting && on.store[numbers.running][tenant] == running;
    }
};

}  // namespace

TEST_CASE("tenants: the sums are those over all jobs, with a list of changes and without", "[tenants]") {
    for (bool const follows : {true, false})
        for (std::uint64_t seed = 1; seed <= 5; ++seed) {
            random_life life(seed, follows);
            for (int tick = 0; tick < 200; ++tick) {
                life.step(tick);
                for (std::uint32_t tenant = 0; tenant < 4; ++tenant) {
                    INFO("seed " << seed << ", tick " << tick << ", tenant " << tenant << ", list " << follows);
                    REQUIRE(life.is_right(tenant));
                }
            }
        }
}

TEST_CASE("tenants: usage is the same to the bit, with a list of changes and without", "[tenants]") {
    for (auto const half_life : {ration::nanoseconds{}, ration::seconds(30)}) {
        random_life listed(7, true, half_life), compared(7, false, half_life);
        auto const usage_of = [](random_life& life, std::size_t tenant) {
            return life.on.store[life.on.of(resource_id::gpu).of_tenants.usage][tenant];
        };
        for (int tick = 0; tick < 300; ++tick) {
            for (auto* const life : {&listed, &compared}) life->step(tick);
            for (std::size_t tenant = 0; tenant < 4; ++tenant)
                REQUIRE(usage_of(listed, tenant) == usage_of(compared, tenant));
        }
        CHECK(usage_of(listed, 0) > 0);
    }
}

TEST_CASE("tenants: limits that a host fills in again count at once", "[tenants]") {
    random_life life(1, true);
    life.step(1);
    CHECK(life.sums.limits_of() == nullptr);
    auto tenants = family();
    tenants[1].limit[gpu_index] = 3;
    must(ration::fill_tenants(life.on.store, life.on.columns, tenants));
    life.step(2);
    REQUIRE(life.sums.limits_of() != nullptr);
    CHECK(life.sums.limit(1, resource_id::gpu) == 3);
    life.step(3);  // without a mark
    CHECK(life.sums.limit(1, resource_id::gpu) == 3);
}
