// SPDX-License-Identifier: BSL-1.0
// Small shared caches, and exhaustive search over all their configurations.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <ration/policies/shared_cache.hpp>

#include "random.hpp"

namespace unit {

using ration::policies::cache_demand;
using ration::policies::cache_mode;
using ration::policies::cache_sharing;

/// The benefit of each tenant from each item, and the sizes.
struct cache_case {
    std::vector<std::vector<double>> benefit;  // by tenant, by item
    std::vector<std::int64_t> bytes;
    std::int64_t capacity = 1;
    std::vector<double> weights{};

    [[nodiscard]] std::size_t tenants() const { return benefit.size(); }
    [[nodiscard]] std::size_t configurations() const { return std::size_t{1} << bytes.size(); }
    [[nodiscard]] double part(std::size_t tenant) const {
        double sum = 0;
        for (std::size_t t = 0; t < tenants(); ++t) sum += weight(t);
        return weight(tenant) / sum;
    }
    [[nodiscard]] double weight(std::size_t tenant) const { return weights.empty() ? 1 : weights[tenant]; }

    [[nodiscard]] bool fits(std::size_t set) const {
        std::int64_t sum = 0;
        for (std::size_t i = 0; i < bytes.size(); ++i) sum += (set >> i & 1) != 0 ? bytes[i] : 0;
        return sum <= capacity;
    }
    [[nodiscard]] double served(std::size_t tenant, std::size_t set) const {
        double sum = 0;
        for (std::size_t i = 0; i < bytes.size(); ++i) sum += (set >> i & 1) != 0 ? benefit[tenant][i] : 0;
        return sum;
    }
    /// The largest sum of factor * benefit, over all configurations that fit.
    [[nodiscard]] double best(std::vector<double> const& factor) const {
        double most = 0;
        for (std::size_t set = 0; set < configurations(); ++set) {
            double sum = 0;
            for (std::size_t t = 0; t < tenants(); ++t) sum += factor[t] * served(t, set);
            if (fits(set)) most = std::max(most, sum);
        }
        return most;
    }
    [[nodiscard]] double best_alone(std::size_t tenant) const {
        std::vector<double> only(tenants());
        only[tenant] = 1;
        return best(only);
    }
};

/// For each configuration that fits what it serves each tenant, as a part of its best.
[[nodiscard]] inline std::vector<std::vector<double>> all_served(cache_case const& of) {
    std::vector<double> alone;
    for (std::size_t t = 0; t < of.tenants(); ++t) alone.push_back(of.best_alone(t));
    std::vector<std::vector<double>> all;
    for (std::size_t set = 0; set < of.configurations(); ++set) {
        if (!of.fits(set)) continue;
        all.emplace_back();
        for (std::size_t t = 0; t < of.tenants(); ++t) all.back().push_back(of.served(t, set) / alone[t]);
    }
    return all;
}

/// The rows of a demand, which point into this.
struct cache_rows {
    std::vector<std::int64_t> bytes;
    std::vector<double> weights, benefit;
    std::vector<std::uint32_t> tenant, item;
    std::int64_t capacity = 0;

    explicit cache_rows(cache_case const& of) : bytes(of.bytes), capacity(of.capacity) {
        for (std::uint32_t t = 0; t < of.tenants(); ++t) {
            weights.push_back(of.weight(t));
            for (std::uint32_t i = 0; i < of.bytes.size(); ++i)
                if (of.benefit[t][i] > 0) add(t, i, of.benefit[t][i]);
        }
    }
    void add(std::uint32_t t, std::uint32_t i, double b) {
        tenant.push_back(t);
        item.push_back(i);
        benefit.push_back(b);
    }
    [[nodiscard]] cache_demand demand() const { return {bytes, weights, tenant, item, benefit, capacity}; }
};

/// What each tenant is served of its best, in the mean of the distribution.
[[nodiscard]] inline std::vector<double> served_by(cache_mode mode, cache_case const& of) {
    cache_sharing cache(mode);
    cache.prepare({of.bytes.size(), of.tenants()});
    cache_rows const rows(of);
    cache.choose(rows.demand());
    std::vector<double> all;
    for (std::size_t t = 0; t < of.tenants(); ++t) all.push_back(cache.expected(t));
    return all;
}

/// True if some tenants together could all have more, with their part of the cache, from one configuration.
[[nodiscard]] inline bool leaves_core(cache_case const& of, std::vector<double> const& served) {
    auto const all = all_served(of);
    for (std::size_t members = 1; members < std::size_t{1} << of.tenants(); ++members) {
        double part = 0;
        for (std::size_t t = 0; t < of.tenants(); ++t) part += (members >> t & 1) != 0 ? of.part(t) : 0;
        for (auto const& one : all) {
            bool all_gain = true;
            for (std::size_t t = 0; t < of.tenants(); ++t)
                if ((members >> t & 1) != 0) all_gain = all_gain && part * one[t] > served[t] * (1 + 1e-5);
            if (all_gain) return true;
        }
    }
    return false;
}

/// True if one configuration serves all tenants better.
[[nodiscard]] inline bool is_wasteful(cache_case const& of, std::vector<double> const& served) {
    for (auto const& one : all_served(of)) {
        bool all_gain = true;
        for (std::size_t t = 0; t < of.tenants(); ++t) all_gain = all_gain && one[t] > served[t] * (1 + 1e-5);
        if (all_gain) return true;
    }
    return false;
}

/// True if a tenant would have more from its part of the cache, by time.
[[nodiscard]] inline bool lacks_incentive(cache_case const& of, std::vector<double> const& served) {
    for (std::size_t t = 0; t < of.tenants(); ++t)
        if (served[t] < of.part(t) - 1e-5) return true;
    return false;
}

[[nodiscard]] inline cache_case random_case(std::uint64_t seed) {
    rng random(seed);
    cache_case of;
    std::size_t const items = 1 + random.below(8), tenants = 1 + random.below(5);
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < items; ++i) {
        of.bytes.push_back(static_cast<std::int64_t>(1 + random.below(40)));
        sum += of.bytes.back();
    }
    of.capacity = std::max<std::int64_t>(*std::min_element(of.bytes.begin(), of.bytes.end()),
                                         static_cast<std::int64_t>(random.uniform() * static_cast<double>(sum)));
    for (std::size_t t = 0; t < tenants; ++t) {
        of.benefit.emplace_back();
        for (std::size_t i = 0; i < items; ++i)
            of.benefit.back().push_back(random.one_in(2) ? static_cast<double>(random.below(20)) : 0);
        // Each tenant reads something that fits
        std::size_t const smallest =
            static_cast<std::size_t>(std::min_element(of.bytes.begin(), of.bytes.end()) - of.bytes.begin());
        of.benefit.back()[smallest] += 1;
        of.weights.push_back(static_cast<double>(1 + random.below(4)));
    }
    return of;
}

}  // namespace unit
