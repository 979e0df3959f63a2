// SPDX-License-Identifier: BSL-1.0
// ROBUS: a cache whose items serve several tenants at once, shared fairly. Source: M. Kunjir et al., "ROBUS: Fair Cache
// Allocation for Data-parallel Workloads", SIGMOD 2017.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "robus_batches.hpp"
#include "scene.hpp"

namespace published {

struct robus_scale {
    std::uint64_t seeds = 5;
    std::size_t batches = 8, turns = 200;
    /// The part of all items that the cache of a control holds; below 1 the control breaks.
    double control_part = 1;
};

namespace robus {

inline constexpr char const* mode_names[] = {"pf", "mmf", "optimum", "partition", "serial"};
/// The row of SimpleMMF, behind those of the modes.
inline constexpr std::size_t theirs = std::size(mode_names);

/// The service in all batches of a seed, by mode.
struct seed_sums {
    std::vector<double> bytes = std::vector<double>(theirs + 1), worst = bytes;
    std::size_t left_core = 0, below_part = 0;  // batches of pf
    std::size_t mmf_left_core = 0, below_theirs = 0;
};

[[nodiscard]] inline seed_sums run_seed(std::vector<std::size_t> const& ranking_of, std::uint64_t seed,
                                        std::size_t batches) {
    std::mt19937_64 random(seed);
    seed_sums all;
    for (std::size_t b = 0; b < batches; ++b) {
        auto const of = published_batch(ranking_of, random);
        std::vector<decided> by;
        for (std::size_t m = 0; m < theirs; ++m) by.push_back(decide(static_cast<cache_mode>(m), of));
        by.push_back(simple_mmf(of));
        for (std::size_t m = 0; m <= theirs; ++m) {
            all.bytes[m] += by[m].bytes;
            all.worst[m] += least(by[m].served) / static_cast<double>(batches);
        }
        double const part = 1 / static_cast<double>(ranking_of.size());
        all.left_core += can_leave(of, by[0].served);
        all.mmf_left_core += can_leave(of, by[1].served);
        for (std::size_t const m : {0U, 1U}) all.below_part += least(by[m].served) < part - 1e-5;
        all.below_theirs += least(by[1].served) < least(by[theirs].served) - 1e-4;
    }
    return all;
}

/// Four tenants on the published data sets.
inline void published_data_sets(findings& found, robus_scale const& scale) {
    struct {
        char const* name;
        std::vector<std::size_t> ranking_of;
    } const settings[] = {{"alike", {2, 2, 2, 2}}, {"all different", {0, 1, 2, 3}}, {"one opposite", {2, 2, 2, 3}}};
    found.print("| popularity | mode | bytes from the cache, of the optimum's | worst tenant |\n|---|---|--:|--:|\n");
    bool orders_bytes = true, orders_worst = true, has_most = true;
    seed_sums totals;
    for (auto const& s : settings) {
        std::vector<std::vector<double>> bytes(theirs + 1), worst(theirs + 1);
        for (std::uint64_t seed = 1; seed <= scale.seeds; ++seed) {
            auto const one = run_seed(s.ranking_of, seed, scale.batches);
            for (std::size_t m = 0; m <= theirs; ++m) {
                bytes[m].push_back(one.bytes[m] / one.bytes[2]);
                worst[m].push_back(one.worst[m]);
            }
            orders_bytes = orders_bytes && one.bytes[0] > one.bytes[4] && one.bytes[1] > one.bytes[4] &&
                           one.bytes[4] > one.bytes[3];
            orders_worst = orders_worst && one.worst[1] >= one.worst[0] && one.worst[0] >= one.worst[2];
            has_most = has_most && one.bytes[0] >= 0.8 * one.bytes[2];
            totals.left_core += one.left_core;
            totals.mmf_left_core += one.mmf_left_core;
            totals.below_part += one.below_part;
            totals.below_theirs += one.below_theirs;
        }
        for (std::size_t m = 0; m <= theirs; ++m)
            found.print("| %s | %s | %s | %s |\n", s.name, m == theirs ? "their SimpleMMF" : mode_names[m],
                        over_seeds(bytes[m]).text(2).c_str(), over_seeds(worst[m]).text(2).c_str());
    }
    found.expect(has_most, "published data sets: pf reads at least 80 % of the optimum's bytes");
    found.expect(orders_bytes, "published data sets: pf and mmf read more than serial, and serial more than partition");
    found.expect(orders_worst, "published data sets: the worst tenant has most with mmf, then pf, then the optimum");
    found.expect(totals.below_part == 0,
                 "published data sets: with pf and mmf each tenant is served at least 1/N in each batch");
    found.expect(totals.left_core == 0, "published data sets: with pf no group of tenants gains by leaving");
    found.expect(totals.mmf_left_core > 0, "published data sets: with mmf the same test finds groups that may gain");
    found.expect(totals.below_theirs == 0,
                 "published data sets: the worst tenant of mmf is not below their SimpleMMF's");
}

/// The shortfall of the tenants' service against the distributions, on average over the batches: the largest error.
[[nodiscard]] inline double drawn_error(std::uint64_t seed, std::size_t batches, double& by_turns) {
    std::mt19937_64 random(seed), draws(seed + 1000);
    auto cache = cache_for(cache_mode::pf, published_batch({0, 1, 2, 3}, random));
    std::vector<double> missing(4);
    for (std::size_t b = 0; b < batches; ++b) {
        static_cast<void>(decide(cache, published_batch({0, 1, 2, 3}, random)));
        auto const& all = cache.configurations();
        double left = uniform(draws);
        std::size_t drawn = 0;
        while (drawn + 1 < all.size() && (left -= all.share(drawn)) >= 0) ++drawn;
        for (std::size_t t = 0; t < 4; ++t) missing[t] += cache.expected(t) - all.served(drawn)[t];
    }
    double by_draws = 0;
    by_turns = 0;
    for (std::size_t t = 0; t < 4; ++t) {
        by_draws = std::max(by_draws, std::abs(missing[t]) / static_cast<double>(batches));
        by_turns = std::max(by_turns, std::abs(cache.deficit(t)) / static_cast<double>(batches));
    }
    return by_draws;
}

inline void turns(findings& found, robus_scale const& scale) {
    found.print("\n| pf, all different, %zu batches | largest error of a tenant |\n|---|--:|\n", scale.turns);
    std::vector<double> draws, by_turns;
    bool is_smaller = true;
    for (std::uint64_t seed = 1; seed <= scale.seeds; ++seed) {
        double turn = 0;
        draws.push_back(drawn_error(seed, scale.turns, turn));
        by_turns.push_back(turn);
        is_smaller = is_smaller && turn < draws.back();
    }
    found.print("| random configurations (theirs) | %s |\n", over_seeds(draws).text(4).c_str());
    found.print("| turns by deficit | %s |\n", over_seeds(by_turns).text(4).c_str());
    found.expect(is_smaller, "turns: the error is smaller than with random configurations");
}

/// The true service of the tenant if it states these reads, as a part of its best.
[[nodiscard]] inline double served_in_truth(std::uint32_t tenant, batch const& truth, batch const& stated) {
    auto cache = cache_for(cache_mode::pf, stated);
    cache.choose(stated.demand());
    auto const& all = cache.configurations();
    double sum = 0;
    for (std::size_t c = 0; c < all.size(); ++c)
        for (std::size_t i = 0; i < truth.item.size(); ++i)
            if (truth.tenant[i] == tenant && all.holds(c, truth.item[i])) sum += all.share(c) * truth.benefit[i];
    return sum;
}

/// The statement of the tenant on a read with this number, where `others` other tenants read the same item.
struct misreport {
    char const* name;
    double (*stated)(std::size_t read, std::size_t others);
    bool is_blind = false;  ///< the reads of others are unknown to the tenant
};
inline constexpr misreport misreports[] = {
    {"hides a fifth of its reads", [](std::size_t read, std::size_t) { return read % 5 == 0 ? 0.0 : 1.0; }, true},
    {"trebles half of its reads", [](std::size_t read, std::size_t) { return read % 2 == 0 ? 3.0 : 1.0; }, true},
    {"hides what any other reads", [](std::size_t, std::size_t others) { return others > 0 ? 0.0 : 1.0; }},
    {"hides what three others read", [](std::size_t, std::size_t others) { return others >= 3 ? 0.0 : 1.0; }},
    {"trebles what two others read at most", [](std::size_t, std::size_t others) { return others <= 2 ? 3.0 : 1.0; }},
};

/// The relative gain of each tenant by the misreport.
[[nodiscard]] inline std::vector<double> gains_by(misreport const& by, batch const& truth) {
    std::vector<std::vector<bool>> reads(truth.bytes.size(), std::vector<bool>(truth.weights.size()));
    for (std::size_t i = 0; i < truth.item.size(); ++i) reads[truth.item[i]][truth.tenant[i]] = true;
    std::vector<double> gains;
    for (std::uint32_t t = 0; t < truth.weights.size(); ++t) {
        auto stated = truth;
        for (std::size_t i = 0; i < truth.item.size(); ++i) {
            auto const& readers = reads[truth.item[i]];
            auto const others = static_cast<std::size_t>(std::ranges::count(readers, true)) - 1;
            if (truth.tenant[i] == t) stated.benefit[i] *= by.stated(i, others);
        }
        gains.push_back(served_in_truth(t, truth, stated) / served_in_truth(t, truth, truth) - 1);
    }
    return gains;
}

inline void many_tenants(findings& found, robus_scale const& scale) {
    std::vector<double> bytes, worst;
    std::map<std::string, std::vector<double>> mean, most;
    for (std::uint64_t seed = 1; seed <= scale.seeds; ++seed) {
        std::mt19937_64 random(seed);
        auto const of = large_batch(random);
        auto const pf = decide(cache_mode::pf, of);
        bytes.push_back(pf.bytes / decide(cache_mode::optimum, of).bytes);
        worst.push_back(least(pf.served));
        for (auto const& one : misreports) {
            auto const gains = gains_by(one, of);
            double sum = 0;
            for (double const gain : gains) sum += 100 * gain / static_cast<double>(gains.size());
            mean[one.name].push_back(sum);
            most[one.name].push_back(100 * *std::ranges::max_element(gains));
        }
    }
    found.print("\n| pf, 20 tenants and 200 items | |\n|---|--:|\n");
    found.print("| bytes from the cache, of the optimum's | %s |\n", over_seeds(bytes).text(3).c_str());
    found.print("| worst tenant | %s |\n", over_seeds(worst).text(3).c_str());
    found.print("\n| a tenant of these 20 | gains on average, %% | gains at most, %% |\n|---|--:|--:|\n");
    for (auto const& one : misreports)
        found.print("| %s | %s | %s |\n", one.name, over_seeds(mean[one.name]).text(2).c_str(),
                    over_seeds(most[one.name]).text(1).c_str());
    for (auto const& one : misreports)
        if (one.is_blind)
            found.expect(over_seeds(mean[one.name]).median < 1,
                         std::string("20 tenants: one that ") + one.name + " gains less than 1 % on average");
    found.expect(*std::ranges::min_element(bytes) >= 0.9, "20 tenants: pf reads at least 90 % of the optimum's bytes");
    found.expect(*std::ranges::min_element(worst) >= 0.05 - 1e-5, "20 tenants: each is served at least 1/20");
}

/// The largest difference between what two modes serve a tenant.
[[nodiscard]] inline double difference(cache_mode a, cache_mode b, batch const& of) {
    auto const first = decide(a, of).served, second = decide(b, of).served;
    double most = 0;
    for (std::size_t t = 0; t < first.size(); ++t) most = std::max(most, std::abs(first[t] - second[t]));
    return most;
}

/// Where no mode, or no sharing, can make a difference.
inline void controls(findings& found, robus_scale const& scale) {
    double alike = 0, whole = 0;
    for (std::uint64_t seed = 1; seed <= scale.seeds; ++seed) {
        std::mt19937_64 random(seed);
        auto same = published_batch({0}, random);
        same.weights.resize(4, 1);
        for (std::uint32_t t = 1; t < 4; ++t)
            for (std::size_t i = 0; i < 5; ++i) same.add(t, same.item[i]);
        auto all = published_batch({0, 1, 2, 3}, random);
        double sum = 0;
        for (auto const size : all.bytes) sum += static_cast<double>(size);
        all.capacity = static_cast<std::int64_t>(sum * scale.control_part);
        for (auto const mode : {cache_mode::pf, cache_mode::mmf, cache_mode::serial})
            alike = std::max(alike, difference(mode, cache_mode::optimum, same));
        for (auto const mode : {cache_mode::pf, cache_mode::mmf, cache_mode::optimum})
            whole = std::max(whole, 1 - least(decide(mode, all).served));
    }
    // Four tenants with four items each, and a cache for eight
    batch apart{.bytes = std::vector<std::int64_t>(16, 1000), .weights = std::vector<double>(4, 1), .capacity = 8000};
    for (std::uint32_t i = 0; i < 16; ++i) apart.add(i / 4, i);
    found.expect(alike <= 1e-9, "control: tenants that read the same are served the same by all modes but partition");
    found.expect(whole <= 1e-5, "control: a cache that holds everything serves everything");
    found.expect(difference(cache_mode::pf, cache_mode::partition, apart) <= 1e-5 &&
                     std::abs(least(decide(cache_mode::pf, apart).served) - 0.5) <= 1e-5,
                 "control: without common items pf serves each tenant as a partition does");
}

}  // namespace robus

[[nodiscard]] inline findings robus_scenario(robus_scale const& scale = {}) {
    findings found;
    robus::published_data_sets(found, scale);
    robus::turns(found, scale);
    robus::many_tenants(found, scale);
    robus::controls(found, scale);
    return found;
}

/// The time of a decision for 20 tenants and 200 items; only the program claims it, because it depends on the machine.
inline void add_decision_time(findings& found) {
    std::mt19937_64 random(1);
    std::vector<double> milliseconds;
    auto cache = robus::cache_for(robus::cache_mode::pf, robus::large_batch(random));
    for (int i = 0; i < 101; ++i) {
        auto const of = robus::large_batch(random);
        std::clock_t const before = std::clock();
        cache.choose(of.demand());
        milliseconds.push_back(1e3 * static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC);
    }
    over_seeds const time(milliseconds);
    found.print("\npf, 20 tenants and 200 items: %s ms of CPU time for a batch\n", time.text(2).c_str());
    found.expect(time.median <= 5, "20 tenants: half of the batches take at most 5 ms of CPU time");
}

}  // namespace published
