// SPDX-License-Identifier: BSL-1.0
// drf: the tenant with the least dominant share is next.
#include <ration/policies/drf.hpp>
#include <ration/testing/found_changes.hpp>

#include "cluster_random.hpp"
#include "support/catch.hpp"

using namespace unit;
using ration::policies::drf;

namespace {

void submit(cluster<drf>& c, std::uint32_t tenant, std::int64_t devices, std::int64_t millicores) {
    c.submit({.request = devices, .tenant = tenant, .weight = 5});  // among the jobs of its tenant: makes no difference
    c.store[c.columns.resources[0].minimum][c.jobs() - 1] = millicores;
}
void set_cpu(cluster<drf>& c, std::int64_t millicores) {
    for (auto& capacity : c.store[c.columns.resources[0].capacity]) capacity = millicores;
}
/// How many of its jobs run.
[[nodiscard]] int running(cluster<drf> const& c, std::uint32_t tenant) {
    int n = 0;
    for (std::size_t row = 0; row < c.jobs(); ++row)
        n += c.store[c.columns.get<"jobs/tenant">()][row] == tenant && c.devices_of(c.id_of(row)) > 0;
    return n;
}

}  // namespace

// The paper's own example: 9 CPUs and 18 of the other resource; tasks of <1, 4> and of <3, 1>. It ends with 3 and 2 of
// them.
TEST_CASE("drf: equalises dominant shares", "[drf]") {
    for (bool const backfill : {false, true}) {
        cluster<drf> c({18}, drf({.backfill = backfill}));
        set_cpu(c, 9000);
        for (int i = 0; i < 9; ++i) submit(c, 1, 4, 1000);
        for (int i = 0; i < 9; ++i) submit(c, 2, 1, 3000);
        c.decide();
        CHECK(running(c, 1) == 3);
        CHECK(running(c, 2) == 2);
        CHECK(c.fault.empty());
    }
}

TEST_CASE("drf: with one resource tenants get the same, however many jobs they have", "[drf]") {
    cluster<drf> c({8});
    set_cpu(c, 9000);
    for (int i = 0; i < 12; ++i) submit(c, 7, 1, 0);
    submit(c, 3, 1, 0);
    submit(c, 3, 1, 0);
    submit(c, 3, 1, 0);
    submit(c, 3, 1, 0);
    submit(c, 3, 1, 0);
    c.decide();
    CHECK(running(c, 7) == 4);
    CHECK(running(c, 3) == 4);
}

TEST_CASE("drf: a tenant of three times the weight gets three times as much", "[drf]") {
    cluster<drf> c({8});
    set_cpu(c, 9000);
    c.set_tenants({{.id = 1}, {.id = 2}, {.id = 3, .weight = 3}});
    for (int i = 0; i < 8; ++i) {
        submit(c, 1, 1, 0);
        submit(c, 2, 1, 0);
    }
    c.decide();
    CHECK(running(c, 1) == 2);
    CHECK(running(c, 2) == 6);
}

TEST_CASE("drf: a tenant without a row has the weight 1", "[drf]") {
    cluster<drf> c({4});
    set_cpu(c, 9000);
    c.set_tenants({{.id = 1, .weight = 3}});
    for (std::uint32_t const tenant : {0, 0, 0, 0, 1, 1, 1}) submit(c, tenant, 1, 0);
    CHECK(c.decide() == counts{1, 1, 1, 0, 1, 0, 0});
}

TEST_CASE("drf: who came late is next as soon as something is free; nobody is stopped", "[drf]") {
    cluster<drf> c({4});
    set_cpu(c, 9000);
    for (int i = 0; i < 6; ++i) submit(c, 1, 1, 0);
    c.decide();
    submit(c, 2, 1, 0);
    submit(c, 2, 1, 0);
    submit(c, 2, 1, 0);
    c.decide();
    CHECK(c.answer.empty());
    c.end(1);
    CHECK(c.decide() == counts{1, 1, 1, 0, 0, 1, 0, 0});
    c.end(2);
    CHECK(c.decide() == counts{1, 1, 0, 0, 1, 1, 0});
    c.end(3);
    CHECK(c.decide() == counts{1, 1, 0, 1, 1, 0});  // 1 and 2: tenant 1 has less
}

TEST_CASE("drf: when the next job does not fit, others are tried, unless told otherwise", "[drf]") {
    cluster<drf> lenient({4}), strict({4}, drf({.backfill = false}));
    for (auto* c : {&lenient, &strict}) {
        set_cpu(*c, 9000);
        submit(*c, 1, 3, 0);
        submit(*c, 2, 2, 0);
        submit(*c, 2, 1, 0);
    }
    CHECK(lenient.decide() == counts{3, 0, 1});
    CHECK(strict.decide() == counts{3, 0, 0});
}

TEST_CASE("drf: CPU bounds what runs as devices do", "[drf]") {
    cluster<drf> c({8});
    set_cpu(c, 5000);
    for (int i = 0; i < 4; ++i) submit(c, 1, 1, 2000);
    c.decide();
    CHECK(running(c, 1) == 2);
}

TEST_CASE("drf: feasible answers in any cluster", "[drf]") {
    for (std::uint64_t seed = 1; seed <= random_seeds; ++seed) {
        INFO("seed " << seed);
        CHECK(trouble(seed, drf{}, true) == "");
        CHECK(trouble(seed, drf({.backfill = false}), true) == "");
    }
}

namespace {

/// A policy that gets lists of changes, beside fresh ones without. No answer comes into force.
struct listed_drf {
    cluster<drf>& host;
    ration::testing::found_changes found{false};
    drf policy{};

    explicit listed_drf(cluster<drf>& c) : host(c) { REQUIRE(prepare(policy) == ration::status::ok); }

    [[nodiscard]] static ration::status prepare(drf& p) { return p.prepare({.jobs = 8, .nodes = 2, .tenants = 4}); }
    [[nodiscard]] std::vector<ration::grant> answer_of(drf& p, ration::table_changes const* const* changes) const {
        std::vector<ration::grant> rows(64);
        ration::grants out(rows);
        ration::tick_data const data{.data = host.store.view(), .changes = changes};
        CHECK(p.decide(ration::tick<drf::inputs>(data, host.bound), out) == ration::status::ok);
        rows.resize(out.rows().size());
        return rows;
    }
    /// Asks with a list, or without.
    std::vector<ration::grant> ask(bool with_list = true) {
        host.show();
        drf fresh;
        REQUIRE(prepare(fresh) == ration::status::ok);
        auto const* const changes = found.between(host.store.view(), host.store.schema());
        auto const rows = answer_of(policy, with_list ? changes : nullptr);
        CHECK(rows == answer_of(fresh, nullptr));
        return rows;
    }
};

}  // namespace

// The rows of the second answer are planned, and not in the list of the third tick.
TEST_CASE("drf: plans again what was planned after the loss of a node and did not come into force", "[drf]") {
    cluster<drf> c({4, 4});
    set_cpu(c, 9000);
    submit(c, 1, 3, 100);
    submit(c, 2, 3, 100);
    c.decide();
    listed_drf listed(c);
    CHECK(listed.ask().empty());
    CHECK(listed.ask().empty());
    c.capacity(0) = 1;
    submit(c, 3, 2, 100);
    auto const after_loss = listed.ask();
    CHECK(after_loss.size() == 3);  // one job is stopped, and another starts on two nodes
    CHECK(listed.ask() == after_loss);
}

TEST_CASE("drf: starts a job that fits again after a tick without a list on a smaller node", "[drf]") {
    cluster<drf> c({6});
    set_cpu(c, 9000);
    submit(c, 1, 1, 100);
    listed_drf listed(c);
    CHECK(listed.ask().size() == 1);
    CHECK(listed.ask().size() == 1);
    c.capacity(0) = 4;
    CHECK(listed.ask(false).size() == 1);
    submit(c, 2, 5, 100);
    c.capacity(0) = 6;
    CHECK(listed.ask().size() == 2);
}
