// SPDX-License-Identifier: BSL-1.0
// Dice: the same bits everywhere, and the specified distributions.
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include <ration/sim/rng.hpp>

#include "support/catch.hpp"

using namespace ration::sim;
using Catch::Approx;

namespace {

/// The distance between the two, counted in representable numbers.
[[nodiscard]] std::int64_t apart(double a, double b) {
    return std::llabs(std::bit_cast<std::int64_t>(a) - std::bit_cast<std::int64_t>(b));
}

}  // namespace

TEST_CASE("the bits of the rng are these, with every compiler", "[rng]") {
    rng const d(1, 2);
    CHECK(d.bits(0) == 0xbd512c585506b514);
    CHECK(d.bits(1) == 0xec29aae65d8b3396);
    CHECK(std::bit_cast<std::uint64_t>(d.uniform(2)) == 0x3fe6b79ceabc1c03);
    CHECK(std::bit_cast<std::uint64_t>(d.exponential(3)) == 0x3fbfba632054924d);
    CHECK(std::bit_cast<std::uint64_t>(d.normal(4)) == 0xbff360be780d64ea);
    CHECK(std::bit_cast<std::uint64_t>(d.normal(17)) == 0x3ff28c5b02fd2073);
    CHECK(std::bit_cast<std::uint64_t>(exact::pow(3.7, -2.2)) == 0x3facc9fa1d9340d9);
    static_assert(rng(1, 2).bits(7) != rng(1, 3).bits(7));
    static_assert(rng(1, 2).bits(7) != rng(2, 1).bits(7));
}

TEST_CASE("logarithm and exponential are within 4 units in the last place", "[rng]") {
    rng const d(5);
    for (std::uint64_t i = 0; i < 20'000; ++i) {
        double const x = std::ldexp(d.uniform(3 * i) + 0.5, static_cast<int>(d.below(600, 3 * i + 1)) - 300);
        INFO(x);
        REQUIRE(apart(exact::log(x), std::log(x)) <= 4);
        double const y = (d.uniform(3 * i + 2) - 0.5) * 1300;
        INFO(y);
        REQUIRE(apart(exact::exp(y), std::exp(y)) <= 4);
    }
    CHECK(exact::log(1) == 0);
    CHECK(exact::exp(0) == 1);
    CHECK(exact::exp(-1000) == 0);
    CHECK(std::isinf(exact::exp(1000)));
    CHECK(exact::pow(2, 10) == Approx(1024).epsilon(1e-14));
}

TEST_CASE("uniform: all tenths equally often, never 0 or 1, streams independent", "[rng]") {
    constexpr std::uint64_t throws = 200'000;
    for (std::uint64_t stream : {0, 1, 77}) {
        rng const d(3, stream), other(3, stream + 1);
        std::vector<int> tenths(10);
        double both = 0, neighbours = 0;
        for (std::uint64_t i = 0; i < throws; ++i) {
            double const u = d.uniform(i);
            REQUIRE((u > 0 && u < 1));
            ++tenths[static_cast<std::size_t>(u * 10)];
            both += (u - 0.5) * (other.uniform(i) - 0.5);
            neighbours += (u - 0.5) * (d.uniform(i + 1) - 0.5);
        }
        for (int const count : tenths) CHECK(std::abs(count - 20'000) < 5 * 134);  // five standard deviations
        double const deviation = std::sqrt(static_cast<double>(throws)) / 12;
        CHECK(std::fabs(both) < 5 * deviation);
        CHECK(std::fabs(neighbours) < 5 * deviation);
    }
}

TEST_CASE("below: every value, and none beyond", "[rng]") {
    std::vector<int> seen(7);
    for (std::uint64_t i = 0; i < 70'000; ++i) {
        auto const v = rng(9).below(7, i);
        REQUIRE(v < 7);
        ++seen[v];
    }
    for (int const count : seen) CHECK(std::abs(count - 10'000) < 5 * 93);
    CHECK(rng(9).below(1, 3) == 0);
}

TEST_CASE("exponential and normal have their moments and their tails", "[rng]") {
    constexpr std::uint64_t throws = 200'000;
    rng const d(11);
    double mean = 0, square = 0, waited = 0;
    int above_one = 0, beyond_two = 0, below_minus_three = 0;
    for (std::uint64_t i = 0; i < throws; ++i) {
        double const e = d.exponential(i), n = d.normal(throws + i);
        REQUIRE((e > 0 && std::isfinite(e) && std::isfinite(n)));
        waited += e;
        above_one += e > 1;
        mean += n;
        square += n * n;
        beyond_two += n > 2;
        below_minus_three += n < -3;
    }
    double const count = static_cast<double>(throws);
    CHECK(waited / count == Approx(1).margin(5 / std::sqrt(count)));
    CHECK(above_one / count == Approx(std::exp(-1)).margin(0.006));
    CHECK(mean / count == Approx(0).margin(5 / std::sqrt(count)));
    CHECK(square / count == Approx(1).margin(5 * std::sqrt(2 / count)));
    CHECK(beyond_two / count == Approx(0.02275).margin(0.0017));
    CHECK(below_minus_three / count == Approx(0.00135).margin(0.0005));
}

TEST_CASE("normal is the inverse of the normal distribution", "[rng]") {
    rng const d(13);
    for (std::uint64_t i = 0; i < 20'000; ++i) {
        double const u = d.uniform(i), x = d.normal(i);
        REQUIRE(0.5 * std::erfc(-x / std::sqrt(2)) == Approx(u).epsilon(1e-7));
    }
}
