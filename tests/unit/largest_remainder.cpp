// SPDX-License-Identifier: BSL-1.0
// Whole units divided by weight: worked by hand, and what must hold of every division.
#include <random>
#include <vector>

#include <ration/policies/detail/largest_remainder.hpp>

#include "support/catch.hpp"

using ration::policies::detail::claim;
using ration::policies::detail::largest_remainder;

namespace {

/// The units by rank. `rooms` empty: room without end.
[[nodiscard]] std::vector<std::int64_t> divided(std::int64_t units, std::vector<double> const& weights,
                                                std::vector<std::int64_t> const& rooms = {}) {
    std::vector<claim> claims;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        auto const rank = static_cast<std::uint32_t>(i);
        claims.push_back(
            {.row = rank, .rank = rank, .room = rooms.empty() ? INT64_MAX : rooms[i], .weight = weights[i]});
    }
    largest_remainder(claims, units);
    std::vector<std::int64_t> by_rank(weights.size());
    for (auto const& c : claims) by_rank[c.rank] = c.units;
    return by_rank;
}
using units = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("largest_remainder: the whole parts first, then the largest fractions", "[largest_remainder]") {
    CHECK(divided(10, {5, 3, 2}) == units{5, 3, 2});
    CHECK(divided(10, {46, 34, 20}) == units{5, 3, 2});  // 4.6, 3.4, 2.0
    CHECK(divided(3, {1, 1, 8}) == units{0, 0, 3});      // 0.3, 0.3, 2.4
    CHECK(divided(0, {1, 2}) == units{0, 0});
    CHECK(divided(7, {3}) == units{7});
    CHECK(divided(7, {}) == units{});
}

TEST_CASE("largest_remainder: equal fractions go to the first ranks, also when rounding makes them differ",
          "[largest_remainder]") {
    CHECK(divided(2, {1, 1, 1}) == units{1, 1, 0});
    CHECK(divided(5, {1, 1}) == units{3, 2});
    CHECK(divided(4, {0.1, 0.2, 0.3}) == units{1, 1, 2});  // 2/3, 4/3, 2: the first fraction is the larger
    CHECK(divided(5, {0.1, 0.1 * (1 - 1e-12), 0.1 * (1 + 1e-12)}) == units{2, 2, 1});
}

TEST_CASE("largest_remainder: what one has no room for goes to the others by their weights", "[largest_remainder]") {
    CHECK(divided(10, {8, 1, 1}, {4, 100, 100}) == units{4, 3, 3});
    CHECK(divided(10, {8, 1, 1}, {0, 100, 100}) == units{0, 5, 5});
    CHECK(divided(12, {6, 4, 2}, {2, 5, 100}) == units{2, 5, 5});  // the second is full only when the first has been
    CHECK(divided(10, {1, 1}, {2, 3}) == units{2, 3});             // the rest stays
}

TEST_CASE("largest_remainder: no weight is no claim, unless nobody else has room", "[largest_remainder]") {
    CHECK(divided(6, {0, 1}) == units{0, 6});
    CHECK(divided(6, {0, 0, 1}, {100, 100, 2}) == units{2, 2, 2});
    CHECK(divided(5, {0, 0}) == units{3, 2});
}

TEST_CASE(
    "every division: all that there is room for, nobody beyond it, within one of the quota, no smaller for more weight",
    "[largest_remainder]") {
    std::mt19937 rng(7);
    for (int round = 0; round < 20'000; ++round) {
        std::size_t const n = 1 + rng() % 8;
        bool const bounded = rng() % 2 == 0;
        auto const whole = static_cast<std::int64_t>(rng() % 40);
        std::vector<double> weights(n);
        units rooms(n, INT64_MAX);
        double sum = 0;
        std::int64_t all_room = 0;
        for (std::size_t i = 0; i < n; ++i) {
            weights[i] = static_cast<double>(rng() % 1000) / 1000 + 0.001;
            sum += weights[i];
            if (bounded) all_room += rooms[i] = static_cast<std::int64_t>(rng() % 10);
        }
        auto const got = divided(whole, weights, rooms);
        std::int64_t given = 0;
        bool kept = true;
        for (std::size_t i = 0; i < n; ++i) {
            given += got[i];
            kept = kept && got[i] >= 0 && got[i] <= rooms[i];
            if (!bounded)
                kept =
                    kept && std::abs(static_cast<double>(got[i]) - static_cast<double>(whole) * weights[i] / sum) < 1;
            for (std::size_t k = 0; k < n; ++k)
                kept = kept && (weights[i] <= weights[k] || got[i] >= got[k] || got[i] == rooms[i]);
        }
        INFO("round " << round);
        REQUIRE(kept);
        REQUIRE(given == (bounded && all_room < whole ? all_room : whole));
    }
}
