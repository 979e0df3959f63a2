// SPDX-License-Identifier: BSL-1.0
// Sharing a cache: each mode against exhaustive search, the examples in which a mode lacks a property, and turns.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "cache_cases.hpp"
#include "support/allocations.hpp"
#include "support/catch.hpp"

using namespace unit;

namespace {

using served = std::vector<double>;

constexpr std::uint64_t random_cases = 300;

/// All but the last of the tenants read A, the last one reads B, and one of both fits.
[[nodiscard]] cache_case all_but_one(std::size_t tenants) {
    cache_case of{.benefit = {}, .bytes = {1, 1}};
    for (std::size_t t = 0; t + 1 < tenants; ++t) of.benefit.push_back({1, 0});
    of.benefit.push_back({0, 1});
    return of;
}

void check_near(served const& is, served const& expected, double within = 1e-5) {
    REQUIRE(is.size() == expected.size());
    for (std::size_t t = 0; t < is.size(); ++t) {
        INFO("tenant " << t << " is served " << is[t] << ", expected " << expected[t]);
        CHECK(std::abs(is[t] - expected[t]) <= within);
    }
}

/// The level of max-min fairness between two bounds, by multiplicative weights over all configurations: ROBUS'
/// SimpleMMF.
struct level_bounds {
    double least = 0, most = 1e9;
};
[[nodiscard]] level_bounds level_of(cache_case const& of) {
    std::size_t const n = of.tenants();
    std::vector<double> price(n, 1.0 / static_cast<double>(n)), mean(n);
    level_bounds found;
    auto all = all_served(of);
    for (auto& one : all)
        for (std::size_t t = 0; t < n; ++t) one[t] /= of.part(t);
    constexpr int rounds = 1000;
    for (int round = 0; round < rounds; ++round) {
        auto const priced = [&](std::vector<double> const& one) {
            return std::inner_product(one.begin(), one.end(), price.begin(), 0.0);
        };
        auto const& best = *std::max_element(all.begin(), all.end(),
                                             [&](auto const& a, auto const& b) { return priced(a) < priced(b); });
        found.most = std::min(found.most, priced(best));
        double sum = 0;
        for (std::size_t t = 0; t < n; ++t) {
            mean[t] += best[t] / rounds;
            sum += price[t] *= std::exp(-0.05 * best[t] * of.part(t));
        }
        for (double& one : price) one /= sum;
    }
    found.least = *std::min_element(mean.begin(), mean.end());
    return found;
}

}  // namespace

TEST_CASE("knapsack: the best selection of all", "[shared_cache]") {
    for (std::uint64_t seed = 1; seed <= random_cases; ++seed) {
        auto const of = random_case(seed);
        ration::policies::detail::knapsack search;
        search.reserve(of.bytes.size());
        for (std::uint32_t i = 0; i < of.bytes.size(); ++i)
            if (of.benefit[0][i] > 0) search.add(i, of.benefit[0][i], of.bytes[i]);
        std::size_t set = 0;
        for (std::uint32_t const item : search.solve(of.capacity)) set |= std::size_t{1} << item;
        INFO("seed " << seed);
        CHECK(of.fits(set));
        CHECK(of.served(0, set) == of.best_alone(0));
    }
}

TEST_CASE("shared cache: optimum has the largest sum of benefits of all configurations", "[shared_cache]") {
    for (std::uint64_t seed = 1; seed <= random_cases; ++seed) {
        auto const of = random_case(seed);
        auto const is = served_by(cache_mode::optimum, of);
        double sum = 0;
        for (std::size_t t = 0; t < of.tenants(); ++t) sum += is[t] * of.best_alone(t);
        INFO("seed " << seed);
        CHECK(sum == Approx(of.best(std::vector<double>(of.tenants(), 1))));
    }
}

// The condition of optimality: no configuration, and so no mean of some, has a larger sum of weight / served * served.
// It implies the core and that no distribution serves all better.
TEST_CASE("shared cache: pf meets the condition of optimality for every configuration", "[shared_cache]") {
    for (std::uint64_t seed = 1; seed <= random_cases; ++seed) {
        auto const of = random_case(seed);
        auto const is = served_by(cache_mode::pf, of);
        std::vector<double> factor;
        for (std::size_t t = 0; t < of.tenants(); ++t) factor.push_back(of.part(t) / is[t] / of.best_alone(t));
        INFO("seed " << seed);
        CHECK(of.best(factor) <= 1 + 1e-5);
        CHECK_FALSE(lacks_incentive(of, is));
        CHECK_FALSE(leaves_core(of, is));
    }
}

TEST_CASE("shared cache: mmf reaches the largest common level of any distribution", "[shared_cache]") {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        auto const of = random_case(seed);
        auto const is = served_by(cache_mode::mmf, of);
        double level = 1e9;
        for (std::size_t t = 0; t < of.tenants(); ++t) level = std::min(level, is[t] / of.part(t));
        auto const bounds = level_of(of);
        INFO("seed " << seed);
        CHECK(level >= bounds.least - 1e-6);
        CHECK(level <= bounds.most + 1e-6);
        CHECK_FALSE(lacks_incentive(of, is));
        CHECK_FALSE(is_wasteful(of, is));
    }
}

TEST_CASE("shared cache: mmf raises tenants above the common level where that costs no other tenant",
          "[shared_cache]") {
    // The first two compete for A and B; the third is served by D, which fits beside either of them.
    cache_case const of{.benefit = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, .bytes = {2, 2, 1}, .capacity = 3};
    check_near(served_by(cache_mode::mmf, of), {0.5, 0.5, 1});
    // Three compete for one place, two for a smaller one, and the last one is served by what is left
    cache_case const levels{.benefit = {{1, 0, 0, 0, 0, 0},
                                        {0, 1, 0, 0, 0, 0},
                                        {0, 0, 1, 0, 0, 0},
                                        {0, 0, 0, 1, 0, 0},
                                        {0, 0, 0, 0, 1, 0},
                                        {0, 0, 0, 0, 0, 1}},
                            .bytes = {40, 40, 40, 20, 20, 10},
                            .capacity = 70};
    check_near(served_by(cache_mode::mmf, levels), {1.0 / 3, 1.0 / 3, 1.0 / 3, 0.5, 0.5, 1});
}

namespace {

/// Twenty tenants that read some of two hundred items each.
[[nodiscard]] cache_case large_case() {
    rng random(3);
    cache_case of{.benefit = std::vector<served>(20, served(200)), .bytes = {}};
    for (std::size_t i = 0; i < 200; ++i) {
        of.bytes.push_back(static_cast<std::int64_t>(1 + random.below(1000)));
        of.capacity += of.bytes.back() / 6;
        for (auto& one : of.benefit)
            if (random.one_in(5)) one[i] = random.uniform() * static_cast<double>(of.bytes.back());
    }
    return of;
}
/// After `prepare` for this number of tenants.
[[nodiscard]] served served_with_room_for(std::size_t tenants, cache_mode mode, cache_case const& of) {
    cache_sharing cache(mode);
    cache.prepare({of.bytes.size(), tenants});
    cache_rows const rows(of);
    cache.choose(rows.demand());
    served all;
    for (std::size_t t = 0; t < of.tenants(); ++t) all.push_back(cache.expected(t));
    return all;
}

}  // namespace

// The room for configurations depends on the number of tenants that prepare was called with.
TEST_CASE("shared cache: the room for configurations does not change what is served", "[shared_cache]") {
    auto const of = large_case();
    for (auto const mode : {cache_mode::pf, cache_mode::mmf})
        check_near(served_with_room_for(20, mode, of), served_with_room_for(200, mode, of), 0.01);
}

TEST_CASE("shared cache: N - 1 tenants read A and one reads B", "[shared_cache]") {
    for (std::size_t n : {2U, 3U, 4U, 10U}) {
        auto const of = all_but_one(n);
        double const many = static_cast<double>(n - 1) / static_cast<double>(n);
        served pf(n, many), mmf(n, 0.5), optimum(n, 1);
        pf.back() = 1 - many;
        optimum.back() = 0;
        check_near(served_by(cache_mode::pf, of), pf);
        check_near(served_by(cache_mode::mmf, of), mmf);
        if (n > 2) check_near(served_by(cache_mode::optimum, of), optimum);
    }
    auto of = all_but_one(2);
    of.weights = {3, 1};
    check_near(served_by(cache_mode::pf, of), {0.75, 0.25});
    check_near(served_by(cache_mode::mmf, of), {0.75, 0.25});
    check_near(served_by(cache_mode::serial, of), {0.75, 0.25});
}

TEST_CASE("shared cache: which mode lacks which property", "[shared_cache]") {
    auto const many = all_but_one(4);
    CHECK(lacks_incentive(many, served_by(cache_mode::optimum, many)));
    CHECK(leaves_core(many, served_by(cache_mode::mmf, many)));  // three of four could have 3/4 instead of 1/2
    CHECK_FALSE(lacks_incentive(many, served_by(cache_mode::mmf, many)));
    CHECK_FALSE(leaves_core(many, served_by(cache_mode::pf, many)));

    // Both read C nearly as often as their own item
    cache_case const compromise{.benefit = {{10, 0, 9}, {0, 10, 9}}, .bytes = {1, 1, 1}};
    check_near(served_by(cache_mode::serial, compromise), {0.5, 0.5});
    CHECK(is_wasteful(compromise, served_by(cache_mode::serial, compromise)));
    check_near(served_by(cache_mode::pf, compromise), {0.9, 0.9});

    // One item for all is larger than each tenant's part of the cache
    cache_case const same{.benefit = {{1}, {1}, {1}}, .bytes = {3}, .capacity = 3};
    check_near(served_by(cache_mode::partition, same), {0, 0, 0});
    check_near(served_by(cache_mode::pf, same), {1, 1, 1});
}

namespace {

/// What the first tenant is served of its best if it states other benefits than it has.
[[nodiscard]] double served_after_misreport(cache_mode mode, cache_case const& of, std::vector<double> const& stated) {
    auto misreport = of;
    misreport.benefit[0] = stated;
    cache_sharing cache(mode);
    cache.prepare({of.bytes.size(), of.tenants()});
    cache_rows const rows(misreport);
    cache.choose(rows.demand());
    double sum = 0;
    auto const& all = cache.configurations();
    for (std::size_t c = 0; c < all.size(); ++c)
        for (std::size_t i = 0; i < of.bytes.size(); ++i)
            if (all.holds(c, i)) sum += all.share(c) * of.benefit[0][i];
    return sum / of.best_alone(0);
}

}  // namespace

TEST_CASE("shared cache: a tenant gains by a misreport with pf, mmf and optimum, and never with serial",
          "[shared_cache]") {
    cache_case const of{.benefit = {{2, 1}, {0, 1}}, .bytes = {1, 1}};
    CHECK(served_by(cache_mode::pf, of)[0] == Approx(0.5).epsilon(1e-4));
    CHECK(served_after_misreport(cache_mode::pf, of, {2, 0}) ==
          Approx(0.75));  // it hides that it reads B, and has B too
    CHECK(served_after_misreport(cache_mode::mmf, of, {2, 0}) > served_by(cache_mode::mmf, of)[0] + 0.05);
    auto const many = all_but_one(4);
    auto other = many;
    std::swap(other.benefit.front(), other.benefit.back());
    CHECK(served_after_misreport(cache_mode::optimum, other, {0, 9}) == 1);

    for (std::uint64_t seed = 1; seed <= random_cases; ++seed) {
        auto const truth = random_case(seed);
        rng random(seed);
        auto stated = truth.benefit[0];
        for (double& one : stated) one = static_cast<double>(random.below(20));
        INFO("seed " << seed);
        CHECK(served_after_misreport(cache_mode::serial, truth, stated) <=
              served_after_misreport(cache_mode::serial, truth, truth.benefit[0]) + 1e-9);
    }
}

TEST_CASE("shared cache: the turns serve each tenant as the distribution does", "[shared_cache]") {
    for (auto const mode : {cache_mode::pf, cache_mode::mmf, cache_mode::serial})
        for (std::uint64_t seed = 1; seed <= 20; ++seed) {
            auto const of = random_case(seed);
            cache_rows const rows(of);
            cache_sharing cache(mode);
            cache.prepare({of.bytes.size(), of.tenants()});
            served sum(of.tenants());
            constexpr int batches = 300;
            for (int b = 0; b < batches; ++b) {
                std::size_t set = 0;
                for (std::uint32_t const item : cache.choose(rows.demand())) set |= std::size_t{1} << item;
                CHECK(of.fits(set));
                for (std::size_t t = 0; t < of.tenants(); ++t) sum[t] += of.served(t, set) / of.best_alone(t);
            }
            double const most = static_cast<double>(cache.configurations().size()) / batches;
            for (std::size_t t = 0; t < of.tenants(); ++t) {
                INFO("seed " << seed << " tenant " << t << " served " << sum[t] / batches << " of "
                             << cache.expected(t));
                CHECK(std::abs(sum[t] / batches - cache.expected(t)) <= most);
            }
        }
}

TEST_CASE("shared cache: the turns keep the bound of the deficits while the reads change", "[shared_cache]") {
    cache_sharing cache;
    cache.prepare({8, 4});
    std::uint64_t seed = 0;
    for (int batch = 1; batch <= 1000; ++batch) {
        cache_case of;
        do of = random_case(++seed);
        while (of.tenants() != 4);
        cache_rows const rows(of);
        cache.choose(rows.demand());
        double squares = 0;
        for (std::size_t t = 0; t < 4; ++t) squares += cache.deficit(t) * cache.deficit(t);
        REQUIRE(squares <= 4 * batch);
    }
}

TEST_CASE("shared cache: reads that cannot be served count for nothing", "[shared_cache]") {
    cache_case of{.benefit = {{1, 0, 5}, {0, 1, 0}, {0, 0, 7}}, .bytes = {1, 1, 9}};
    cache_rows rows(of);
    rows.add(7, 0, 100);  // no such tenant
    rows.add(1, 9, 100);  // no such item
    rows.add(1, 0, -3);
    rows.add(1, 0, std::nan(""));
    for (auto const mode :
         {cache_mode::pf, cache_mode::mmf, cache_mode::serial, cache_mode::optimum, cache_mode::partition}) {
        cache_sharing cache(mode);
        cache.prepare({3, 3});
        cache.choose(rows.demand());
        INFO("mode " << static_cast<int>(mode));
        CHECK(cache.most(0) == 1);
        CHECK(cache.most(2) == 0);  // its item is larger than the cache
        CHECK(cache.expected(2) == 0);
        if (mode == cache_mode::pf || mode == cache_mode::mmf)
            check_near({cache.expected(0), cache.expected(1)}, {0.5, 0.5});
        cache_demand const nothing{rows.bytes, rows.weights, {}, {}, {}, 1};
        CHECK(cache.choose(nothing).empty());
    }
}

TEST_CASE("shared cache: the call of the page", "[shared_cache]") {
    // Two tenants read the same 40 bytes, and the second one others
    std::vector<std::int64_t> const bytes{40, 30};
    std::vector<double> const weights{1, 1}, benefit{40, 40, 30};
    std::vector<std::uint32_t> const tenant{0, 1, 1}, item{0, 0, 1};
    // [choose]
    cache_sharing cache(cache_mode::pf);
    cache.prepare({.items = 2, .tenants = 2});  // allocates; choose does not
    // One element of tenant, item and benefit for each read
    auto const items = cache.choose({bytes, weights, tenant, item, benefit, 64});
    // [choose]
    REQUIRE(items.size() == 1);
    CHECK(items[0] == 0);
}

TEST_CASE("shared cache: choose allocates nothing after prepare", "[shared_cache]") {
    for (auto const mode :
         {cache_mode::pf, cache_mode::mmf, cache_mode::serial, cache_mode::optimum, cache_mode::partition}) {
        cache_sharing cache(mode);
        cache.prepare({8, 5});
        for (std::uint64_t seed = 1; seed <= random_cases; ++seed) {
            cache_rows const rows(random_case(seed));
            auto const demand = rows.demand();
            std::size_t const before = allocations();
            cache.choose(demand);
            std::size_t const after = allocations();
            REQUIRE(after == before);
        }
    }
}
