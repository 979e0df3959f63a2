// SPDX-License-Identifier: BSL-1.0
/// Fair sharing of a cache whose items serve several tenants at once.
/// Source: M. Kunjir, B. Fain, K. Munagala, S. Babu, "ROBUS: Fair Cache Allocation for Data-parallel Workloads", SIGMOD
/// 2017. docs/shared-cache.md lists the interpretation here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <ration/buffer.hpp>
#include <ration/policies/detail/cache_demand.hpp>
#include <ration/policies/detail/max_min_levels.hpp>
#include <ration/policies/detail/proportional_fairness.hpp>

namespace ration::policies {

/// How a cache is shared; the names of ROBUS where it has some.
enum class cache_mode : std::uint8_t {
    pf,         ///< the largest sum of weight * log(served): proportional fairness
    mmf,        ///< max-min fairness, by weight
    optimum,    ///< the most benefit, whoever has it
    partition,  ///< each tenant has a part of the cache to itself, by weight
    serial      ///< each tenant has the whole cache for a part of the time, by weight
};

/// Chooses the items that a cache holds in each batch. A distribution over configurations is fair, and the batches take
/// turns so that each tenant is served as by the distribution. ROBUS draws configurations at random instead.
///
/// The tenant's deficit is what it was served too little so far. Each batch uses the configuration of the distribution
/// that serves the deficits best. The distribution is a mean of its configurations, so the sum of the squared deficits
/// grows by at most 1 for each tenant and batch. After k batches with N tenants the mean error is at most sqrt(N / k),
/// also if the reads change. It is O(1 / k) if they stay.
///
/// Does not allocate after `prepare`. Deterministic.
class cache_sharing {
public:
    explicit cache_sharing(cache_mode mode = cache_mode::pf) noexcept : mode_(mode) {}

    /// Allocates for the largest input.
    void prepare(cache_limits const& most) noexcept {
        most_configurations_ = 4 * most.tenants + 16;
        welfare_.reserve(most);
        all_.reserve(most, most_configurations_ + 1);
        pf_.reserve(most.tenants);
        mmf_.reserve(most.tenants);
        parts_.reserve(most.tenants);
        deficit_.reserve(most.tenants);
        expected_.reserve(most.tenants);
        chosen_.reserve(most.items);
        own_.reserve(most.items);
    }

    /// Decides one batch and returns its items, in ascending order. Precondition: within the limits. Tenants are known
    /// by their index: with another number of tenants all deficits are forgotten.
    std::span<std::uint32_t const> choose(cache_demand const& demand) noexcept {
        welfare_.start(demand);
        find_parts();
        if (deficit_.size() != parts_.size()) deficit_.reset(parts_.size());
        all_.clear(welfare_.tenants(), welfare_.items());
        chosen_.clear();
        expected_.reset(parts_.size());
        if (!anybody_reads()) return chosen_.view();
        distribute();
        expect();
        take_turn();
        return chosen_.view();
    }

    /// What the distribution of the last batch serves the tenant, as a part of what the best configuration for it alone
    /// would serve. 0 for a tenant that reads nothing.
    [[nodiscard]] double expected(std::size_t tenant) const noexcept { return expected_[tenant]; }
    /// What the tenant was served too little in all batches so far, in the same unit.
    [[nodiscard]] double deficit(std::size_t tenant) const noexcept { return deficit_[tenant]; }
    /// The tenant's benefit from the best configuration for it alone.
    [[nodiscard]] double most(std::size_t tenant) const noexcept { return welfare_.most(tenant); }
    /// The distribution of the last batch.
    [[nodiscard]] detail::cache_configurations const& configurations() const noexcept { return all_; }

private:
    cache_mode mode_;
    std::size_t most_configurations_ = 0;
    detail::cache_welfare welfare_;
    detail::cache_configurations all_;
    detail::proportional_fairness pf_;
    detail::max_min_levels mmf_;
    buffer<double> parts_, deficit_, expected_;  // by tenant
    buffer<std::uint32_t> chosen_, own_;

    /// Each tenant's part of the sum of weights, among those that the cache can serve.
    void find_parts() noexcept {
        auto const& weights = welfare_.demand().weights;
        parts_.reset(weights.size());
        double sum = 0;
        for (std::size_t t = 0; t < weights.size(); ++t) sum += welfare_.most(t) > 0 ? weights[t] : 0;
        for (std::size_t t = 0; t < weights.size(); ++t) parts_[t] = welfare_.most(t) > 0 ? weights[t] / sum : 0;
    }
    [[nodiscard]] bool anybody_reads() const noexcept {
        for (double const part : parts_.view())
            if (part > 0) return true;
        return false;
    }

    void distribute() noexcept {
        if (mode_ == cache_mode::partition) return divide();
        if (mode_ == cache_mode::optimum) {
            auto const best = welfare_.best([](std::uint32_t) noexcept { return 1.0; }, welfare_.demand().capacity);
            all_.share(all_.add(best, welfare_)) = 1;
            return;
        }
        for (std::uint32_t t = 0; t < parts_.size(); ++t)
            if (parts_[t] > 0)
                all_.share(all_.add(welfare_.best_alone(t, welfare_.demand().capacity), welfare_)) += parts_[t];
        if (mode_ == cache_mode::pf) pf_.solve(welfare_, parts_.view(), all_, most_configurations_);
        if (mode_ == cache_mode::mmf) mmf_.solve(welfare_, parts_.view(), all_, most_configurations_);
    }

    /// Each tenant fills its part of the cache; an item in two parts takes its space twice, and the tenant is served
    /// from its own part only.
    void divide() noexcept {
        own_.clear();
        for (std::uint32_t t = 0; t < parts_.size(); ++t) {
            if (!(parts_[t] > 0)) continue;
            auto const part = static_cast<std::int64_t>(parts_[t] * static_cast<double>(welfare_.demand().capacity));
            auto const items = welfare_.best_alone(t, part);
            expected_[t] = all_.served(all_.add(items, welfare_))[t];
            for (std::uint32_t const item : items) add_own(item);
        }
        all_.clear(welfare_.tenants(), welfare_.items());
        all_.share(all_.add(own_.view(), welfare_)) = 1;
    }
    void add_own(std::uint32_t item) noexcept {
        for (std::uint32_t const one : own_.view())
            if (one == item) return;
        own_.push_back(item);
    }

    void expect() noexcept {
        if (mode_ == cache_mode::partition) return;
        for (std::size_t c = 0; c < all_.size(); ++c)
            for (std::size_t t = 0; t < parts_.size(); ++t) expected_[t] += all_.share(c) * all_.served(c)[t];
    }

    /// Uses one configuration, and updates the deficits.
    void take_turn() noexcept {
        std::size_t best = 0;
        if (mode_ != cache_mode::partition) {
            for (std::size_t t = 0; t < parts_.size(); ++t) deficit_[t] += expected_[t];
            for (std::size_t c = 1; c < all_.size(); ++c)
                if (relief(c) > relief(best)) best = c;
            for (std::size_t t = 0; t < parts_.size(); ++t) deficit_[t] -= all_.served(best)[t];
        }
        for (std::uint32_t item = 0; item < welfare_.items(); ++item)
            if (all_.holds(best, item)) chosen_.push_back(item);
    }
    [[nodiscard]] double relief(std::size_t c) const noexcept {
        double sum = 0;
        for (std::size_t t = 0; t < parts_.size(); ++t) sum += deficit_[t] * all_.served(c)[t];
        return sum;
    }
};

}  // namespace ration::policies
