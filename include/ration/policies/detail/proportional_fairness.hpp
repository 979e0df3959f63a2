// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private, include "ration/policies/shared_cache.hpp"
/// Proportional fairness of a shared cache: the shares of configurations with the largest sum of weight * log(served).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ration/buffer.hpp>
#include <ration/policies/detail/cache_demand.hpp>

namespace ration::policies::detail {

/// Frank-Wolfe: the configuration that the gradient prefers is added, then share moves between configurations, pair by
/// pair with an exact line search. The gap bounds the error: no coalition of tenants can improve all its members by
/// more than that factor with its part of the cache.
class proportional_fairness {
    buffer<double> parts_;   // weight of each tenant in the sum, of those that read something
    buffer<double> served_;  // by tenant: mean over the configurations

public:
    /// The relative gap at which it ends, and the most configurations that it tries.
    static constexpr double enough = 1e-6;
    static constexpr std::uint32_t most_rounds = 200;

    /// Allocates for this number of tenants.
    void reserve(std::size_t tenants) noexcept {
        parts_.reserve(tenants);
        served_.reserve(tenants);
    }

    /// Precondition: `all` has the best configuration of each tenant that reads something, with its part as its share.
    void solve(cache_welfare& of, std::span<double const> parts, cache_configurations& all, std::size_t most) noexcept {
        parts_.assign(parts.data(), parts.size());
        add_up(all);
        for (std::uint32_t round = 0; round < most_rounds; ++round) {
            std::size_t const best =
                all.add(of.best([&](std::uint32_t t) noexcept { return parts_[t] > 0 ? slope(t) / of.most(t) : 0; },
                                of.demand().capacity),
                        of);
            double const gap = gradient(all, best) - 1;
            if (gap <= enough) break;
            correct(all, gap / 4);
            if (all.size() < most) continue;
            all.prune(0);
            if (all.size() == most) break;
        }
        all.prune(1e-9);
    }

private:
    void add_up(cache_configurations const& all) noexcept {
        served_.reset(parts_.size());
        for (std::size_t c = 0; c < all.size(); ++c)
            for (std::size_t t = 0; t < parts_.size(); ++t) served_[t] += all.share(c) * all.served(c)[t];
    }
    [[nodiscard]] double slope(std::size_t t) const noexcept { return parts_[t] / served_[t]; }
    [[nodiscard]] double gradient(cache_configurations const& all, std::size_t c) const noexcept {
        double sum = 0;
        for (std::size_t t = 0; t < parts_.size(); ++t)
            if (parts_[t] > 0) sum += slope(t) * all.served(c)[t];
        return sum;
    }

    /// Moves share from the configuration with the least gradient to that with the largest until they differ by less
    /// than `most`.
    void correct(cache_configurations& all, double most) noexcept {
        for (std::size_t step = 0; step < 16 * all.size(); ++step) {
            std::size_t high = 0, low = all.size();
            double highest = -1, lowest = 0;
            for (std::size_t c = 0; c < all.size(); ++c) {
                double const g = gradient(all, c);
                if (g > highest) {
                    highest = g;
                    high = c;
                }
                if (all.share(c) > 0 && (low == all.size() || g < lowest)) {
                    lowest = g;
                    low = c;
                }
            }
            if (highest - lowest <= most || high == low) break;
            double const moved = line_search(all, low, high);
            all.share(high) += moved;
            all.share(low) = moved < all.share(low) ? all.share(low) - moved : 0;
            for (std::size_t t = 0; t < parts_.size(); ++t)
                served_[t] += moved * (all.served(high)[t] - all.served(low)[t]);
        }
        add_up(all);
    }

    /// The share to move from `low` to `high`: the zero of the derivative, by Newton's steps within a bisection.
    [[nodiscard]] double line_search(cache_configurations const& all, std::size_t low,
                                     std::size_t high) const noexcept {
        auto const up = all.served(high), down = all.served(low);
        double first = 0, last = all.share(low), at = last;
        for (int i = 0; i < 40 && last - first > 1e-12; ++i) {
            double rise = 0, curve = 0;
            bool is_defined = true;
            for (std::size_t t = 0; t < parts_.size(); ++t) {
                if (!(parts_[t] > 0)) continue;
                double const step = up[t] - down[t], value = served_[t] + at * step;
                is_defined = is_defined && value > 1e-12;
                double const ratio = step / value;
                rise += parts_[t] * ratio;
                curve += parts_[t] * ratio * ratio;
            }
            if (is_defined && (rise < 0 ? -rise : rise) < 1e-10) return at;
            (is_defined && rise > 0 ? first : last) = at;
            double const newton = at + rise / curve;
            at = is_defined && newton > first && newton < last ? newton : (first + last) / 2;
        }
        return first;
    }
};

}  // namespace ration::policies::detail
