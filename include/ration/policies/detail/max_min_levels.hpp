// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private, include "ration/policies/shared_cache.hpp"
/// Max-min fairness of a shared cache: no tenant's service can grow without that of one with a smaller weighted one
/// shrinking.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ration/buffer.hpp>
#include <ration/policies/detail/cache_demand.hpp>

namespace ration::policies::detail {

/// The largest common level of all tenants, then that of the tenants which can have more, and so on. Each level is a
/// linear programme with one row for each tenant: served - weight * level - surplus = floor. In another row the shares
/// add up to 1. It is solved by the simplex method; the configuration that enters is the best one for the
/// prices.
///
/// O(tenants^2) for each step besides the search for the configuration.
class max_min_levels {
    /// A basic variable: a configuration, or one of the two others.
    enum class kind : std::uint8_t { configuration, surplus, level };
    struct variable {
        kind what = kind::surplus;
        std::uint32_t index = 0;  // of the configuration, or of the row
    };
    static constexpr double tolerance = 1e-9, enough = 1e-6;

    double reached_ = 0;
    std::size_t rows_ = 0;          // one for each tenant that reads something, and the sum of the shares
    buffer<std::uint32_t> tenant_;  // by row
    buffer<double> weight_;         // by row; 0 once the tenant is at its level
    buffer<double> floor_;          // right-hand side, by row
    buffer<double> inverse_;        // of the basis, row-major
    buffer<double> value_;          // of the basic variables
    buffer<double> column_, step_, price_;
    buffer<variable> basis_;

public:
    /// Steps of one batch, for each tenant. Some tens suffice for each level.
    static constexpr std::size_t most_steps = 100;

    /// Allocates for this number of tenants.
    void reserve(std::size_t tenants) noexcept {
        tenant_.reserve(tenants);
        inverse_.reserve((tenants + 1) * (tenants + 1));
        for (auto* one : {&weight_, &floor_, &value_, &column_, &step_, &price_}) one->reserve(tenants + 1);
        basis_.reserve(tenants + 1);
    }

    /// Precondition: `all` has one configuration at least; its share does not matter. `parts` as in
    /// `proportional_fairness::solve`.
    void solve(cache_welfare& of, std::span<double const> parts, cache_configurations& all, std::size_t most) noexcept {
        start(parts, all);
        std::size_t steps = most_steps * rows_;
        for (std::size_t left = rows_ - 1; left > 0;) {
            if (!raise(of, all, most, steps)) break;
            left = fix_level();
        }
        set_shares(all);
        all.prune(1e-9);
    }

private:
    [[nodiscard]] double& inverse(std::size_t row, std::size_t column) noexcept {
        return inverse_[row * rows_ + column];
    }

    /// The basis of the first configuration with all surpluses. It is its own inverse.
    void start(std::span<double const> parts, cache_configurations const& all) noexcept {
        reached_ = 0;
        tenant_.clear();
        weight_.clear();
        for (std::uint32_t t = 0; t < parts.size(); ++t)
            if (parts[t] > 0) {
                tenant_.push_back(t);
                weight_.push_back(parts[t]);
            }
        rows_ = tenant_.size() + 1;
        weight_.push_back(0);
        floor_.reset(rows_);
        floor_.back() = 1;
        value_.reset(rows_);
        inverse_.reset(rows_ * rows_);
        basis_.reset(rows_);
        set_column(all.served(0));
        for (std::uint32_t r = 0; r + 1 < rows_; ++r) {
            inverse(r, r) = -1;
            inverse(r, rows_ - 1) = column_[r];
            basis_[r] = {kind::surplus, r};
        }
        inverse(rows_ - 1, rows_ - 1) = 1;
        basis_.back() = {kind::configuration, 0};
        find_values();
    }

    void set_column(std::span<double const> served) noexcept {
        column_.reset(rows_);
        for (std::size_t r = 0; r + 1 < rows_; ++r) column_[r] = served[tenant_[r]];
        column_[rows_ - 1] = 1;
    }
    void set_surplus_column(std::size_t row) noexcept {
        column_.reset(rows_);
        column_[row] = -1;
    }
    void find_values() noexcept {
        for (std::size_t r = 0; r < rows_; ++r) {
            value_[r] = 0;
            for (std::size_t c = 0; c < rows_; ++c) value_[r] += inverse(r, c) * floor_[c];
        }
    }
    void find_step() noexcept {
        step_.reset(rows_);
        for (std::size_t r = 0; r < rows_; ++r)
            for (std::size_t c = 0; c < rows_; ++c) step_[r] += inverse(r, c) * column_[c];
    }
    /// The position of the level among the basic variables; the number of rows if it is not basic.
    [[nodiscard]] std::size_t level_row() const noexcept {
        std::size_t r = 0;
        while (r < rows_ && basis_[r].what != kind::level) ++r;
        return r;
    }

    /// Raises the level as far as possible. Returns false if the steps or the configurations run out.
    [[nodiscard]] bool raise(cache_welfare& of, cache_configurations& all, std::size_t most,
                             std::size_t& steps) noexcept {
        column_.reset(rows_);
        for (std::size_t r = 0; r < rows_; ++r) column_[r] = -weight_[r];
        if (!enter({kind::level, 0})) return false;
        for (; steps > 0; --steps) {
            find_prices();
            std::size_t row = 0;
            while (row + 1 < rows_ && price_[row] >= -tolerance) ++row;
            if (row + 1 < rows_) {
                set_surplus_column(row);
                if (!enter({kind::surplus, static_cast<std::uint32_t>(row)})) return false;
                continue;
            }
            std::size_t best = best_known(all);
            if (gain(all.served(best)) <= tolerance) {
                if (all.size() == most && !drop_unused(all)) return false;
                best = all.add(best_for_prices(of), of);
                if (gain(all.served(best)) <= enough) return true;
            }
            set_column(all.served(best));
            if (!enter({kind::configuration, static_cast<std::uint32_t>(best)})) return false;
        }
        return false;
    }

    /// The price of each row is what its tenant's service adds to the level; that of the last row is the sum of a
    /// configuration that would not change the level.
    void find_prices() noexcept {
        std::size_t const level = level_row();
        price_.reset(rows_);
        for (std::size_t r = 0; r < rows_; ++r) price_[r] = r + 1 < rows_ ? -inverse(level, r) : inverse(level, r);
    }
    [[nodiscard]] std::span<std::uint32_t const> best_for_prices(cache_welfare& of) noexcept {
        // By tenant and not by row
        step_.reset(of.tenants());
        for (std::size_t r = 0; r + 1 < rows_; ++r)
            step_[tenant_[r]] = price_[r] > 0 ? price_[r] / of.most(tenant_[r]) : 0;
        return of.best([&](std::uint32_t t) noexcept { return step_[t]; }, of.demand().capacity);
    }

    /// How fast the level rises with the share of a configuration.
    [[nodiscard]] double gain(std::span<double const> served) const noexcept {
        double sum = -price_[rows_ - 1];
        for (std::size_t r = 0; r + 1 < rows_; ++r) sum += price_[r] * served[tenant_[r]];
        return sum;
    }
    [[nodiscard]] std::size_t best_known(cache_configurations const& all) const noexcept {
        std::size_t best = 0;
        for (std::size_t c = 1; c < all.size(); ++c)
            if (gain(all.served(c)) > gain(all.served(best))) best = c;
        return best;
    }

    /// Brings the variable of `column_` into the basis. Returns false if nothing would limit it.
    [[nodiscard]] bool enter(variable const& fresh) noexcept {
        find_step();
        std::size_t leaving = rows_;
        double least = 0;
        for (std::size_t r = 0; r < rows_; ++r) {
            if (step_[r] <= tolerance) continue;
            double const limit = value_[r] / step_[r];
            if (leaving != rows_ && (limit > least || (limit == least && step_[r] <= step_[leaving]))) continue;
            leaving = r;
            least = limit;
        }
        if (leaving == rows_) return false;
        pivot(leaving, fresh);
        return true;
    }

    /// Exchanges a basic variable for that of `column_`, whose `step_` is known.
    void pivot(std::size_t leaving, variable const& fresh) noexcept {
        double const by = step_[leaving];
        for (std::size_t c = 0; c < rows_; ++c) inverse(leaving, c) /= by;
        for (std::size_t r = 0; r < rows_; ++r) {
            if (r == leaving || step_[r] == 0) continue;
            for (std::size_t c = 0; c < rows_; ++c) inverse(r, c) -= step_[r] * inverse(leaving, c);
        }
        basis_[leaving] = fresh;
        find_values();
        for (double& one : value_.edit()) one = one < 0 ? 0 : one;  // rounding
    }

    /// Fixes the tenants that limit the level there, and takes the level out of the basis. It then counts from what has
    /// been reached, so that the shares stay feasible. Returns the number of tenants that can have more.
    [[nodiscard]] std::size_t fix_level() noexcept {
        find_prices();
        std::size_t const level = level_row();
        reached_ += value_[level];
        std::size_t limiting = 0, left = 0;
        for (std::size_t r = 0; r + 1 < rows_; ++r) {
            if (price_[r] > price_[limiting]) limiting = r;
            if (weight_[r] == 0) continue;
            floor_[r] = reached_ * weight_[r];
            if (price_[r] > tolerance) weight_[r] = 0;
            left += weight_[r] > 0;
        }
        set_surplus_column(limiting);
        find_step();
        pivot(level, {kind::surplus, static_cast<std::uint32_t>(limiting)});
        return left;
    }

    /// Drops the configurations that are not basic.
    [[nodiscard]] bool drop_unused(cache_configurations& all) noexcept {
        std::size_t const before = all.size();
        set_shares(all);
        for (auto& one : basis_.edit())  // a basic configuration with a share of 0 stays
            if (one.what == kind::configuration && all.share(one.index) <= 0) all.share(one.index) = 1e-300;
        std::uint32_t kept = 0;
        for (std::uint32_t c = 0; c < before; ++c) {
            if (!(all.share(c) > 0)) continue;
            for (auto& one : basis_.edit())
                if (one.what == kind::configuration && one.index == c) one.index = kept;
            ++kept;
        }
        all.prune(0);
        return all.size() < before;
    }

    void set_shares(cache_configurations& all) noexcept {
        for (std::size_t c = 0; c < all.size(); ++c) all.share(c) = 0;
        for (std::size_t r = 0; r < rows_; ++r)
            if (basis_[r].what == kind::configuration) all.share(basis_[r].index) = value_[r];
    }
};

}  // namespace ration::policies::detail
