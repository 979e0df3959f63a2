// SPDX-License-Identifier: BSL-1.0
#include <random>
#include <vector>

#include <ration/buffer.hpp>

#include "support/catch.hpp"

using ration::buffer;

namespace {

bool same(buffer<int> const& ours, std::vector<int> const& theirs) {
    return ours.size() == theirs.size() && std::equal(ours.begin(), ours.end(), theirs.begin());
}

}  // namespace

TEST_CASE("buffer: does what a vector does", "[buffer]") {
    std::mt19937 rng(1);
    buffer<int> ours;
    std::vector<int> theirs;
    for (int round = 0; round < 5000; ++round) {
        int const value = static_cast<int>(rng() % 1000);
        std::size_t const at = theirs.empty() ? 0 : rng() % theirs.size();
        switch (rng() % 6) {
            case 0:
                ours.push_back(value);
                theirs.push_back(value);
                break;
            case 1:
                ours.insert(at, value);
                theirs.insert(theirs.begin() + static_cast<std::ptrdiff_t>(at), value);
                break;
            case 2:
                ours.erase(at, theirs.size());
                theirs.erase(theirs.begin() + static_cast<std::ptrdiff_t>(at), theirs.end());
                break;
            case 3:
                ours.resize(theirs.size() + 3);
                theirs.resize(theirs.size() + 3);
                break;
            case 4:
                ours.reserve(at + 10);
                theirs.reserve(at + 10);
                break;
            default:
                if (theirs.empty()) break;
                ours.erase(at, at + 1);
                theirs.erase(theirs.begin() + static_cast<std::ptrdiff_t>(at));
        }
        REQUIRE(same(ours, theirs));
    }
}

TEST_CASE("buffer: copies of a buffer are independent, moved-from ones are empty", "[buffer]") {
    buffer<int> a(3);
    a[1] = 7;
    buffer<int> b = a;
    b[1] = 8;
    CHECK(a[1] == 7);
    buffer<int> c = std::move(a);
    CHECK(c[1] == 7);
    CHECK(a.empty());
    a = b;
    CHECK(a[1] == 8);
    a.reset(2);
    CHECK(a[1] == 0);
    CHECK(a.view().size() == 2);
}

TEST_CASE("buffer: an element of the buffer itself may be inserted or appended while it grows", "[buffer]") {
    buffer<int> a;
    for (int i = 0; i < 8; ++i) a.push_back(i);
    a.push_back(a[3]);
    a.insert(0, a[8]);
    CHECK(a[0] == 3);
    CHECK(a[9] == 3);
}
