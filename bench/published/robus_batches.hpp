// SPDX-License-Identifier: BSL-1.0
// Batches of reads for ROBUS: the published data sets and rankings, and a larger synthetic cache.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include <ration/policies/shared_cache.hpp>

namespace published::robus {

using ration::policies::cache_demand;
using ration::policies::cache_mode;
using ration::policies::cache_sharing;

/// From 0 to below 1; the same on every machine.
[[nodiscard]] inline double uniform(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

/// The reads of one batch, and the cache for it.
struct batch {
    std::vector<std::int64_t> bytes{};
    std::vector<double> weights{}, benefit{};
    std::vector<std::uint32_t> tenant{}, item{};
    std::int64_t capacity = 0;

    /// The tenant reads the whole item.
    void add(std::uint32_t of, std::uint32_t what) {
        tenant.push_back(of);
        item.push_back(what);
        benefit.push_back(static_cast<double>(bytes[what]));
    }
    [[nodiscard]] cache_demand demand() const { return {bytes, weights, tenant, item, benefit, capacity}; }
};

/// The published configuration: 20 data sets, in MB, a cache of 1000 MB, and five queries of each tenant in a batch.
inline constexpr std::array<double, 20> megabytes{1253, 628, 1090, 552, 490, 245, 220, 110, 22,  11,
                                                  22,   11,  14,   7,   13,  6.5, 5,   2.6, 0.6, 0.3};
/// For each ranking the data sets, the most popular one first.
inline constexpr std::array<std::array<std::uint32_t, 20>, 4> rankings{
    {{12, 14, 7, 4, 11, 2, 19, 13, 20, 16, 10, 1, 8, 18, 6, 5, 17, 3, 15, 9},
     {5, 13, 18, 3, 14, 1, 16, 19, 6, 11, 10, 9, 8, 7, 12, 20, 4, 17, 2, 15},
     {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20},
     {20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1}}};

/// A place from 0 to `places` - 1, by Zipf's law with exponent 1.
[[nodiscard]] inline std::size_t zipf(std::size_t places, std::mt19937_64& random) {
    double sum = 0;
    for (std::size_t i = 1; i <= places; ++i) sum += 1 / static_cast<double>(i);
    double left = uniform(random) * sum;
    std::size_t place = 0;
    while (place + 1 < places && (left -= 1 / static_cast<double>(place + 1)) >= 0) ++place;
    return place;
}

/// A batch of the published configuration; one ranking for each tenant.
[[nodiscard]] inline batch published_batch(std::vector<std::size_t> const& ranking_of, std::mt19937_64& random) {
    batch of{.weights = std::vector<double>(ranking_of.size(), 1), .capacity = 1'000'000'000};
    for (double const size : megabytes) of.bytes.push_back(static_cast<std::int64_t>(size * 1e6));
    for (std::uint32_t t = 0; t < ranking_of.size(); ++t)
        for (int query = 0; query < 5; ++query) of.add(t, rankings[ranking_of[t]][zipf(20, random)] - 1);
    return of;
}

/// 20 tenants that read 40 times each among 200 items of 1 KB to 1.1 MB; five tenants each prefer the same ones. The
/// cache holds a fifth of all items.
[[nodiscard]] inline batch large_batch(std::mt19937_64& random) {
    batch of{.weights = std::vector<double>(20, 1)};
    for (int i = 0; i < 200; ++i) {
        of.bytes.push_back(static_cast<std::int64_t>(1000 * std::exp(7 * uniform(random))));
        of.capacity += of.bytes.back() / 5;
    }
    for (std::uint32_t t = 0; t < 20; ++t)
        for (int read = 0; read < 40; ++read)
            of.add(t, static_cast<std::uint32_t>(200 * std::pow(uniform(random), 2) + 50 * (t % 4)) % 200);
    return of;
}

/// The decision of one batch.
struct decided {
    std::vector<double> served{};  // by tenant, of its best; 1 for one that reads nothing which fits
    double bytes = 0;              // read from the cache by all
};
[[nodiscard]] inline decided decide(cache_sharing& cache, batch const& of) {
    cache.choose(of.demand());
    decided d;
    for (std::size_t t = 0; t < of.weights.size(); ++t) {
        d.served.push_back(cache.most(t) > 0 ? cache.expected(t) : 1);
        d.bytes += cache.expected(t) * cache.most(t);
    }
    return d;
}
[[nodiscard]] inline cache_sharing cache_for(cache_mode mode, batch const& of) {
    cache_sharing cache(mode);
    cache.prepare({of.bytes.size(), of.weights.size()});
    return cache;
}
[[nodiscard]] inline decided decide(cache_mode mode, batch const& of) {
    auto cache = cache_for(mode, of);
    return decide(cache, of);
}
[[nodiscard]] inline double least(std::vector<double> const& served) { return *std::ranges::min_element(served); }

/// ROBUS' SimpleMMF by multiplicative weights, with the search of this project instead of all subsets, and 1000 rounds
/// instead of 12 800.
[[nodiscard]] inline decided simple_mmf(batch const& of) {
    std::size_t const n = of.weights.size();
    ration::policies::detail::cache_welfare welfare;
    ration::policies::detail::cache_configurations all;
    welfare.reserve({of.bytes.size(), n});
    auto const demand = of.demand();
    welfare.start(demand);
    all.clear(n, of.bytes.size());
    constexpr int rounds = 1000;
    std::vector<double> price(n, 1.0 / static_cast<double>(n));
    decided d{.served = std::vector<double>(n)};
    for (int round = 0; round < rounds; ++round) {
        auto const items = welfare.best(
            [&](std::uint32_t t) { return welfare.most(t) > 0 ? price[t] / welfare.most(t) : 0; }, of.capacity);
        auto const served = all.served(all.add(items, welfare));
        double sum = 0;
        for (std::size_t t = 0; t < n; ++t) {
            double const of_best = welfare.most(t) > 0 ? served[t] : 1;
            d.served[t] += of_best / rounds;
            sum += price[t] *= std::exp(-0.1 * of_best);
        }
        for (double& one : price) one /= sum;
    }
    for (std::size_t t = 0; t < n; ++t) d.bytes += d.served[t] * welfare.most(t);
    return d;
}

/// True if a group of tenants could serve all its members better by more than 0.01 %, with the whole cache for its part
/// of the time. The mean gain of the members bounds the least one, and the best configuration for that mean is
/// searched.
[[nodiscard]] inline bool can_leave(batch const& of, std::vector<double> const& served) {
    std::size_t const n = of.weights.size();
    ration::policies::detail::cache_welfare welfare;
    welfare.reserve({of.bytes.size(), n});
    auto const demand = of.demand();
    welfare.start(demand);
    double readers = 0;
    for (std::size_t t = 0; t < n; ++t) readers += welfare.most(t) > 0;
    std::vector<double> factor(n);
    for (std::size_t members = 1; members < std::size_t{1} << n; ++members) {
        for (std::size_t t = 0; t < n; ++t) {
            bool const counts = (members >> t & 1) != 0 && welfare.most(t) > 0;
            factor[t] = counts ? 1 / std::max(served[t], 1e-9) / welfare.most(t) : 0;
        }
        double sum = 0;
        auto const items = welfare.best([&](std::uint32_t t) { return factor[t]; }, of.capacity);
        for (std::size_t i = 0; i < of.item.size(); ++i)
            if (std::ranges::find(items, of.item[i]) != items.end()) sum += factor[of.tenant[i]] * of.benefit[i];
        if (sum / readers > 1 + 1e-4) return true;
    }
    return false;
}

}  // namespace published::robus
