// SPDX-License-Identifier: BSL-1.0
// The least loss, and the sums that can be reached, against the whole table of them.
#include <algorithm>
#include <random>
#include <vector>

#include <ration/policies/detail/loss_dp.hpp>
#include <ration/policies/detail/reachable_sums.hpp>

#include "numbers.hpp"
#include "support/catch.hpp"

using ration::policies::detail::extent;
using ration::policies::detail::lossy_choice;
using unit::infinite;

namespace {

using counts = std::vector<std::int64_t>;

/// Jobs with choices that lose something, and the table of L(j, k) in full.
struct losses {
    std::int64_t devices;
    double idle;
    std::vector<std::vector<lossy_choice>> choices;
    std::vector<extent> extents;
    std::vector<std::vector<double>> table;  // [jobs so far][devices]

    losses(std::mt19937& rng, std::size_t jobs, std::int64_t number_of_devices, std::int64_t longest,
           unsigned different)
        : devices(number_of_devices), idle(static_cast<double>(rng() % 3)) {
        for (std::size_t j = 0; j < jobs; ++j) {
            std::vector<lossy_choice> of;
            for (std::int64_t x = rng() % 2; x <= longest; x += 1 + rng() % static_cast<unsigned>(longest))
                of.push_back({x, static_cast<double>(rng() % different)});
            if (of.empty()) of.push_back({0, 1});
            choices.push_back(of);
            extents.push_back({of.front().devices, of.back().devices});
        }
        tabulate(idle);
    }
    /// L(0, k) is `for_each_idle` for each of k devices: no job takes them.
    void tabulate(double for_each_idle) {
        table.assign(1, {});
        for (std::int64_t k = 0; k <= devices; ++k)
            table[0].push_back(k == 0 ? 0 : for_each_idle * static_cast<double>(k));
        for (auto const& of : choices) {
            std::vector<double> row(table[0].size(), infinite);
            for (std::size_t k = 0; k < row.size(); ++k)
                for (auto const& c : of)
                    if (c.devices <= static_cast<std::int64_t>(k))
                        row[k] = std::min(row[k], c.loss + table.back()[k - static_cast<std::size_t>(c.devices)]);
            table.push_back(row);
        }
    }
    [[nodiscard]] auto each() const {
        return [this](std::size_t j) { return std::span<lossy_choice const>(choices[j]); };
    }
    [[nodiscard]] double least() const { return table.back().back(); }
    [[nodiscard]] counts best() const {
        counts all(choices.size());
        std::int64_t left = devices;
        for (std::size_t j = choices.size(); j-- > 0; left -= all[j])
            for (auto const& c : choices[j])
                if (c.devices <= left && c.loss + table[j][static_cast<std::size_t>(left - c.devices)] ==
                                             table[j + 1][static_cast<std::size_t>(left)]) {
                    all[j] = c.devices;
                    break;
                }
        return all;
    }
};

}  // namespace

TEST_CASE("loss_dp: the least loss is that of the whole table, and so are the choices", "[loss_dp]") {
    std::mt19937 rng(9);
    ration::policies::detail::loss_dp dp;
    dp.reserve(120, 300);
    int impossible = 0;
    for (int round = 0; round < 1500; ++round) {
        losses const p(rng, rng() % 120, rng() % 3 == 0 ? rng() % 20 : rng() % 300, 1 + rng() % 12, 1 + rng() % 8);
        counts found(p.choices.size());
        auto const take = [&](std::size_t j, std::int64_t x) { found[j] = x; };
        INFO("round " << round << ", jobs " << p.choices.size() << ", devices " << p.devices);
        for (double const limit : {infinite, p.least(), p.least() + 3}) {
            REQUIRE(dp.least(p.extents, p.devices, p.idle, limit, 1'000'000'000, p.each()) == p.least());
            if (p.least() == infinite) continue;
            dp.trace(p.extents, p.devices, p.each(), take);
            REQUIRE(found == p.best());
        }
        if (p.least() > 0 && p.least() < infinite)
            REQUIRE_FALSE(dp.least(p.extents, p.devices, p.idle, p.least() - 1, 1'000'000'000, p.each()) < infinite);
        impossible += p.least() == infinite;
    }
    CHECK(impossible > 10);
    CHECK(impossible < 1000);
}

TEST_CASE("loss_dp: vectors of any width find the same", "[loss_dp]") {
    using namespace ration::policies::detail;
    using loop = void (*)(double const*, double*, std::int64_t, std::int64_t, std::span<lossy_choice const>) noexcept;
    std::vector<loop> loops = {min_plus, min_plus_of_two};
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2")) loops.push_back(min_plus_of_four);
    if (__builtin_cpu_supports("avx512f")) loops.push_back(min_plus_of_eight);
#endif
    std::mt19937 rng(11);
    constexpr std::int64_t before = 50;
    for (int round = 0; round < 300; ++round) {
        std::int64_t const first = rng() % 20, last = first + rng() % 200 - 1;
        std::vector<double> from(before + 300 + min_plus_lanes);
        for (double& f : from) f = rng() % 5 == 0 ? infinite : rng() % 1000;
        std::vector<lossy_choice> choices;
        for (std::int64_t x = 0; x < before; x += 1 + rng() % 9)
            choices.push_back({x, static_cast<double>(rng() % 1000)});
        std::vector<double> wanted;
        for (std::int64_t k = first; k <= last; ++k) {
            wanted.push_back(infinite);
            for (auto const& c : choices)
                wanted.back() =
                    std::min(wanted.back(), c.loss + from[static_cast<std::size_t>(before + k - c.devices)]);
        }
        for (loop const each : loops) {
            std::vector<double> to(from.size(), -1);
            each(from.data() + before, to.data() + before, first, last, choices);
            REQUIRE(std::equal(wanted.begin(), wanted.end(), to.begin() + before + first));
            REQUIRE(std::count(to.begin(), to.begin() + before + first, -1) == before + first);
            REQUIRE(std::count(to.begin() + before + std::max(first, last + min_plus_lanes), to.end(), -1) ==
                    to.end() - (to.begin() + before + std::max(first, last + min_plus_lanes)));
        }
    }
}

TEST_CASE("loss_dp: sums are reached by the choices that reach them, the last job taking the fewest", "[loss_dp]") {
    std::mt19937 rng(10);
    ration::policies::detail::reachable_sums sums;
    sums.reserve(40, 700);
    int reached = 0;
    for (int round = 0; round < 1500; ++round) {
        losses p(rng, rng() % 40, rng() % 700, 1 + rng() % (round % 2 == 0 ? 8 : 200), 1);
        for (auto& of : p.choices)
            // Whole words
            if (rng() % 3 == 0 && of.back().devices < 128) of.push_back({of.back().devices < 64 ? 64 : 128, 0});
        p.tabulate(infinite);
        INFO("round " << round << ", jobs " << p.choices.size() << ", devices " << p.devices);
        REQUIRE(sums.find(p.choices.size(), p.devices, 1'000'000'000, p.each()) == (p.least() == 0));
        if (p.least() != 0) continue;
        counts found(p.choices.size());
        sums.trace(p.choices.size(), p.devices, p.each(), [&](std::size_t j, std::int64_t x) { found[j] = x; });
        REQUIRE(found == p.best());
        ++reached;
    }
    CHECK(reached > 300);
    CHECK(reached < 1200);
}
