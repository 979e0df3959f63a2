// SPDX-License-Identifier: BSL-1.0
// The sequence of random numbers: the values that SplitMix64 publishes, and what is derived from them.
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include <ration/host/rng_sequence.hpp>

#include "support/catch.hpp"

using ration::rng_sequence;

TEST_CASE("rng_sequence: the numbers are those of SplitMix64", "[rng]") {
    rng_sequence rng(1234567);  // the published test vector
    CHECK(rng.any() == 6457827717110365317u);
    CHECK(rng.any() == 3203168211198807973u);
    CHECK(rng.any() == 9817491932198370423u);
    CHECK(rng.any() == 4593380528125082431u);
    CHECK(rng.any() == 16408922859458223821u);
}

TEST_CASE("rng_sequence: below() stays below its bound, and reaches every number", "[rng]") {
    rng_sequence rng(1);
    std::array<int, 5> seen{};
    for (int i = 0; i < 1000; ++i) ++seen[rng.below(seen.size())];
    for (int const times : seen) CHECK((times > 150 && times < 250));
    int once = 0;
    for (int i = 0; i < 1000; ++i) once += rng.once_in(4);
    CHECK((once > 200 && once < 300));
}

TEST_CASE("rng_sequence: shuffle() keeps the elements, and depends on the seed alone", "[rng]") {
    std::vector<int> const sorted{0, 1, 2, 3, 4, 5, 6, 7};
    auto one = sorted, same = sorted, other = sorted;
    rng_sequence(3).shuffle(one);
    rng_sequence(3).shuffle(same);
    rng_sequence(4).shuffle(other);
    CHECK(one == same);
    CHECK(one != other);
    CHECK(one != sorted);
    std::ranges::sort(one);
    CHECK(one == sorted);
}
