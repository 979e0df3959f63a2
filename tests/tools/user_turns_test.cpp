// SPDX-License-Identifier: BSL-1.0
// The time of a turn among users of which some have more work than can be done.
#include "run/user_turns.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include <ration/process/proc.hpp>

#include "support/catch.hpp"

using namespace ration::program;
using ration::nanoseconds;
using items = std::vector<user_turns::item>;

namespace {

/// Works in turns on items that always have more, but for some.
struct fixture {
    user_turns turns{};
    items all{};
    std::vector<std::size_t> empty{};
    std::map<std::size_t, int> pieces{};
    nanoseconds now{};

    void work() {
        turns.divide(all, now, [&](std::size_t slot) {
            ++pieces[slot];
            if (std::ranges::find(empty, slot) != empty.end()) return false;
            auto const began = ration::process::now();
            while (ration::process::now() - began < ration::milliseconds(1)) {
            }
            return true;
        });
    }
    void turn() {
        now = now + ration::milliseconds(20);
        work();
    }
};

}  // namespace

TEST_CASE("all items with little work are served") {
    fixture f{.all = {{1, 0}, {1, 1}, {2, 2}}, .empty = {0, 1, 2}};
    for (int turn = 0; turn < 30; ++turn) f.turn();
    for (std::size_t slot = 0; slot < 3; ++slot) CHECK(f.pieces[slot] >= 10);  // one in each turn, on a busy machine
}

TEST_CASE("many items of one user do not delay those of another") {
    fixture f;
    for (std::size_t slot = 0; slot < 16; ++slot) f.all.push_back({1000, slot});
    f.all.push_back({1001, 16});
    for (int turn = 0; turn < 34; ++turn) f.turn();
    for (std::size_t slot = 0; slot < 16; ++slot) CHECK(f.pieces[slot] > 0);  // an item in each turn
    CHECK(f.pieces[16] >= 17);                                                // at least in every second turn
}

TEST_CASE("a user for whom no time was left is the first one of the next turn") {
    fixture f;
    for (uid_t user = 0; user < 30; ++user) f.all.push_back({user, user});
    for (int turn = 0; turn < 30; ++turn) f.turn();
    for (std::size_t user = 0; user < 30; ++user) CHECK(f.pieces[user] > 0);
}

TEST_CASE("a turn has its time once") {
    fixture f{.all = {{0, 0}}};
    f.turn();
    auto const before = f.pieces;
    f.work();
    CHECK(f.pieces == before);
    f.turn();
    CHECK(f.pieces != before);
}
