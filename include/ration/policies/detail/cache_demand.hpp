// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private, include "ration/policies/shared_cache.hpp"
/// The reads of tenants in one batch, and the configurations of a cache that serve them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ration/buffer.hpp>
#include <ration/policies/detail/knapsack.hpp>

namespace ration::policies {

/// The input of one batch. The last three spans have one element for each read. Its benefit counts if the item is
/// cached, such as the bytes that the tenant then reads from the cache.
struct cache_demand {
    std::span<std::int64_t const> bytes;    ///< size of each item
    std::span<double const> weights;        ///< of each tenant; above 0
    std::span<std::uint32_t const> tenant;  ///< of each read
    std::span<std::uint32_t const> item;    ///< of each read
    std::span<double const> benefit;        ///< of each read
    std::int64_t capacity = 0;              ///< bytes of the cache
};

/// The largest input that a cache has to serve.
struct cache_limits {
    std::size_t items = 0, tenants = 0;
};

namespace detail {

/// Finds the items that serve a weighting of the tenants best. A read of an unknown tenant or item, or without a
/// positive benefit, does not count. Neither does an item that is larger than the cache.
class cache_welfare {
    cache_demand of_;
    buffer<double> values_;  // by item
    buffer<double> most_;    // by tenant: its benefit from the best configuration for it alone; 0 = it reads nothing
    knapsack search_;

public:
    /// Allocates for the largest input.
    void reserve(cache_limits const& most) noexcept {
        values_.reserve(most.items);
        most_.reserve(most.tenants);
        search_.reserve(most.items);
    }

    /// Begins a batch; the spans of `demand` have to stay valid.
    void start(cache_demand const& demand) noexcept {
        of_ = demand;
        most_.reset(tenants());
        for (std::uint32_t t = 0; t < tenants(); ++t)
            for (std::uint32_t const item : best_alone(t, of_.capacity)) most_[t] += values_[item];
    }

    [[nodiscard]] std::size_t tenants() const noexcept { return of_.weights.size(); }
    [[nodiscard]] std::size_t items() const noexcept { return of_.bytes.size(); }
    [[nodiscard]] cache_demand const& demand() const noexcept { return of_; }
    /// The tenant's benefit from the best configuration for it alone.
    [[nodiscard]] double most(std::size_t tenant) const noexcept { return most_[tenant]; }

    /// The items with the largest sum of benefits, where `factor(tenant)` multiplies the benefit of a tenant.
    template <class Factor>
    [[nodiscard]] std::span<std::uint32_t const> best(Factor const& factor, std::int64_t capacity) noexcept {
        values_.reset(items());
        for (std::size_t i = 0; i < of_.item.size(); ++i)
            if (counts(i)) values_[of_.item[i]] += factor(of_.tenant[i]) * of_.benefit[i];
        search_.clear();
        for (std::uint32_t i = 0; i < items(); ++i)
            if (values_[i] > 0 && of_.bytes[i] > 0 && of_.bytes[i] <= capacity)
                search_.add(i, values_[i], of_.bytes[i]);
        return search_.solve(capacity);
    }
    /// The items that serve one tenant best.
    [[nodiscard]] std::span<std::uint32_t const> best_alone(std::uint32_t tenant, std::int64_t capacity) noexcept {
        return best([tenant](std::uint32_t t) noexcept { return t == tenant ? 1.0 : 0.0; }, capacity);
    }

    /// True if the read counts.
    [[nodiscard]] bool counts(std::size_t read) const noexcept {
        return of_.tenant[read] < tenants() && of_.item[read] < items() && of_.benefit[read] > 0;
    }
};

/// Configurations of a cache with the part of the time for which each is used, and what each serves. A configuration is
/// the set of items that the cache holds at one time.
class cache_configurations {
    std::size_t tenants_ = 0, words_ = 0;
    buffer<std::uint64_t> held_;  // bits, by configuration
    buffer<double> served_;       // part of the tenant's best, by configuration
    buffer<double> share_;        // by configuration

public:
    /// Allocates for `count` configurations.
    void reserve(cache_limits const& most, std::size_t count) noexcept {
        held_.reserve(count * ((most.items + 63) / 64));
        served_.reserve(count * most.tenants);
        share_.reserve(count);
    }

    /// Removes all configurations.
    void clear(std::size_t tenants, std::size_t items) noexcept {
        tenants_ = tenants;
        words_ = (items + 63) / 64;
        held_.clear();
        served_.clear();
        share_.clear();
    }

    [[nodiscard]] std::size_t size() const noexcept { return share_.size(); }
    [[nodiscard]] double& share(std::size_t c) noexcept { return share_[c]; }
    [[nodiscard]] double share(std::size_t c) const noexcept { return share_[c]; }
    /// For each tenant what the configuration serves, as a part of what the best one for it alone would. 0 for a tenant
    /// that reads nothing.
    [[nodiscard]] std::span<double const> served(std::size_t c) const noexcept {
        return {served_.data() + c * tenants_, tenants_};
    }
    [[nodiscard]] bool holds(std::size_t c, std::size_t item) const noexcept {
        return (held_[c * words_ + item / 64] >> item % 64 & 1) != 0;
    }
    /// True if both hold the same items.
    [[nodiscard]] bool are_equal(std::size_t a, std::size_t b) const noexcept {
        for (std::size_t w = 0; w < words_; ++w)
            if (held_[a * words_ + w] != held_[b * words_ + w]) return false;
        return true;
    }

    /// Adds a configuration with a share of 0, or finds the one with these items. Returns its index.
    std::size_t add(std::span<std::uint32_t const> items, cache_welfare const& of) noexcept {
        std::size_t const fresh = size();
        held_.resize((fresh + 1) * words_);
        for (std::uint32_t const item : items) held_[fresh * words_ + item / 64] |= std::uint64_t{1} << item % 64;
        for (std::size_t c = 0; c < fresh; ++c)
            if (are_equal(c, fresh)) {
                held_.resize(fresh * words_);
                return c;
            }
        share_.push_back(0);
        served_.resize((fresh + 1) * tenants_);
        double* const served = served_.data() + fresh * tenants_;
        auto const& d = of.demand();
        for (std::size_t i = 0; i < d.item.size(); ++i)
            if (of.counts(i) && holds(fresh, d.item[i])) served[d.tenant[i]] += d.benefit[i];
        for (std::size_t t = 0; t < tenants_; ++t)
            if (of.most(t) > 0) served[t] /= of.most(t);
        return fresh;
    }

    /// Removes configurations with a share of at most `least`, and scales the others to a sum of 1.
    void prune(double least) noexcept {
        std::size_t kept = 0;
        double sum = 0;
        for (std::size_t c = 0; c < size(); ++c) {
            if (share_[c] <= least) continue;
            move(c, kept++);
            sum += share_[kept - 1];
        }
        share_.resize(kept);
        held_.resize(kept * words_);
        served_.resize(kept * tenants_);
        for (double& one : share_.edit()) one /= sum;
    }

private:
    void move(std::size_t from, std::size_t to) noexcept {
        share_[to] = share_[from];
        for (std::size_t w = 0; w < words_; ++w) held_[to * words_ + w] = held_[from * words_ + w];
        for (std::size_t t = 0; t < tenants_; ++t) served_[to * tenants_ + t] = served_[from * tenants_ + t];
    }
};

}  // namespace detail
}  // namespace ration::policies
