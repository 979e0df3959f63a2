// SPDX-License-Identifier: BSL-1.0
// The search for the fastest candidate, on speeds of the test.
#include "measure/successive_halving.hpp"

#include <algorithm>
#include <functional>

#include "support/catch.hpp"

using namespace ration::program;

namespace {

/// Measures until the search is over. Returns the candidates in the order of their measurements.
std::vector<std::size_t> measure(successive_halving& search, std::function<double(std::size_t)> const& speed) {
    std::vector<std::size_t> order;
    while (auto const candidate = search.next()) {
        order.push_back(*candidate);
        if (double const found = speed(*candidate); found > 0)
            search.add(found);
        else
            search.fail();
        REQUIRE(order.size() < 10'000);
    }
    return order;
}

[[nodiscard]] std::size_t rounds_of(successive_halving const& search, std::size_t candidate) {
    for (auto const& one : search.ranking())
        if (one.index == candidate) return one.speeds.size();
    return 0;
}

}  // namespace

TEST_CASE("successive_halving: each round keeps the fastest third, and the finalists get their own rounds") {
    successive_halving search(27, {.repeat = 4});
    auto const order = measure(search, [](std::size_t i) { return 100.0 + static_cast<double>(i); });
    CHECK(order.size() == 27 + 9 + 3 * 4);
    CHECK(search.runs() == order.size());
    auto const ranking = search.ranking();
    CHECK((ranking[0].index == 26 && ranking[1].index == 25));
    // The present setting is the slowest one, and stays nevertheless
    CHECK((ranking[2].index == 0 && ranking[2].speeds.size() == 6));
    CHECK((rounds_of(search, 20) == 2 && rounds_of(search, 1) == 1));
}

TEST_CASE("successive_halving: rounds go through the candidates in turns, every second one backwards") {
    successive_halving search(3, {.repeat = 2});
    auto const order = measure(search, [](std::size_t) { return 1.0; });
    REQUIRE(order.size() == 6);
    CHECK(std::equal(order.begin(), order.begin() + 3, order.rbegin()));
    CHECK(order.front() == 0);
}

TEST_CASE("successive_halving: drift of the machine does not change the ranking") {
    double machine = 1;
    auto const drifting = [&machine](std::size_t i) { return (machine *= 0.999) * (i == 7 ? 1.5 : 1.0); };
    successive_halving search(40, {});
    measure(search, drifting);
    CHECK(search.ranking().front().index == 7);
    auto const ranking = search.ranking();
    auto const present = std::ranges::find(ranking, std::size_t{0}, &halving_candidate::index);
    CHECK(ratio_of(ranking.front(), *present, 5).mean == Approx(1.5).epsilon(0.02));
}

TEST_CASE("successive_halving: a seed decides the order and the part that enters") {
    auto const order = [](std::uint64_t seed) {
        successive_halving search(200, {.seed = seed, .runs = 30});
        return measure(search, [](std::size_t i) { return 1.0 + static_cast<double>(i % 17); });
    };
    CHECK(order(3) == order(3));
    CHECK(order(3) != order(4));
    CHECK(order(3).size() <= 30);
    CHECK(order(3).size() > 25);
    CHECK(std::ranges::count(order(3), std::size_t{0}) > 5);
}

TEST_CASE("successive_halving: a failed candidate is not measured again") {
    successive_halving search(9, {.repeat = 2});
    auto const order = measure(search, [](std::size_t i) { return i % 2 == 0 ? 0.0 : static_cast<double>(i); });
    for (std::size_t const even : {0, 2, 4, 6, 8}) CHECK(std::ranges::count(order, even) == 1);
    auto const ranking = search.ranking();
    CHECK((ranking.front().index == 7 && ranking.back().failed && !ranking[3].failed));
    successive_halving none(4, {});
    CHECK(measure(none, [](std::size_t) { return 0.0; }).size() == 4);
}

TEST_CASE("ratio_of: only the newest common rounds count") {
    halving_candidate const base{.index = 0, .speeds = {1, 10, 10, 10}};
    halving_candidate const fast{.index = 1, .speeds = {9, 19, 20, 21}};
    auto const found = ratio_of(fast, base, 3);
    CHECK(found.mean == Approx(2).epsilon(0.01));
    CHECK((found.low < found.mean && found.mean < found.high && found.low > 1.5));
    CHECK(ratio_of(fast, base, 4).mean > 2.5);
}
