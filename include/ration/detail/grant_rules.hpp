// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private, include "ration/host/check.hpp"
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ration/detail/job_sums.hpp>
#include <ration/grant.hpp>
#include <ration/host/check_rule.hpp>
#include <ration/host/standard_columns.hpp>
#include <ration/job.hpp>

namespace ration::detail {

/// What the tables of one tick say of a single grant, and of a sum of grants. Which rows go together is for the caller
/// to say.
class grant_rules {
    snapshot_store const* store_ = nullptr;
    standard_columns const* columns_ = nullptr;
    std::span<resource_info const> resources_;

public:
    grant_rules() noexcept = default;
    grant_rules(snapshot_store const& store, standard_columns const& columns,
                std::span<resource_info const> resources) noexcept
        : store_(&store), columns_(&columns), resources_(resources) {}

    /// What is asked of all rows of one resource.
    struct bounds_view {
        std::int64_t const *minimum = nullptr, *maximum = nullptr, *capacity = nullptr;  ///< by job, by job, by node
        /// Positive amount of the resource
        std::int64_t least = 1;

        /// Whether it is a plain amount that its job accepts. 0 and `unlimited` are not.
        [[nodiscard]] bool hold(grant const& g) const noexcept {
            return g.amount >= minimum[g.job] && g.amount <= maximum[g.job] && g.amount >= least &&
                   g.amount <= max_amount;
        }
    };

    /// Unique for job, node and resource; ascends with node and resource for rows of one job. 64 bits hold it up to
    /// 2^24 jobs.
    [[nodiscard]] static std::uint64_t place_of(grant const& g) noexcept {
        return std::uint64_t{g.job} << 40 ^ std::uint64_t{g.node} << 16 ^ g.resource;
    }

    [[nodiscard]] std::size_t jobs() const noexcept { return store_->rows(table_id::jobs); }
    [[nodiscard]] std::size_t nodes() const noexcept { return store_->rows(table_id::nodes); }
    [[nodiscard]] bool knows_job(grant const& g) const noexcept { return g.job < jobs(); }
    [[nodiscard]] bool knows_place(grant const& g) const noexcept {
        return g.node < nodes() && g.resource < resources_.size();
    }
    [[nodiscard]] bool is_active(grant const& g) const noexcept {
        return ration::is_active(static_cast<job_state>(store_->at(columns_->state, g.job)));
    }
    [[nodiscard]] std::uint64_t const* ids() const noexcept { return store_->data(columns_->id); }
    [[nodiscard]] std::uint32_t const* states() const noexcept { return store_->data(columns_->state); }
    [[nodiscard]] bounds_view bounds(std::size_t resource) const noexcept {
        auto const& c = of(resource);
        return {store_->data(c.minimum), store_->data(c.maximum), store_->data(c.capacity),
                least_amount(static_cast<resource_id>(resource))};
    }
    [[nodiscard]] bool can_be_unlimited(std::size_t resource) const noexcept {
        return resources_[resource].granularity != divisibility::atomic;
    }
    [[nodiscard]] job_id id_of(std::uint32_t row) const noexcept { return {store_->at(columns_->id, row)}; }
    [[nodiscard]] std::int64_t capacity(std::uint32_t node, resource_id r) const noexcept {
        return store_->at(of(static_cast<std::size_t>(r)).capacity, node);
    }

    [[nodiscard]] check_rule rule_for(grant const& g) const noexcept {
        if (!knows_job(g)) return check_rule::unknown_job;
        if (g.node >= nodes()) return check_rule::unknown_node;
        if (g.resource >= resources_.size()) return check_rule::unknown_resource;
        if (g.amount < 0) return check_rule::negative_amount;
        if (g.amount > max_amount && g.amount != unlimited) return check_rule::amount_too_large;
        if (g.amount > 0 && g.amount < least_amount(static_cast<resource_id>(g.resource)))
            return check_rule::amount_too_small;
        if (g.amount == unlimited && !can_be_unlimited(g.resource)) return check_rule::unlimited_atomic;
        if (g.amount != 0 && !is_active(g)) return check_rule::job_not_active;
        return check_rule::passed;
    }

    /// Of what the row's job would hold of its resource.
    [[nodiscard]] check_rule rule_for_sum(grant const& g, job_sum const& sum) const noexcept {
        return rule_for_sum(sum, store_->at(of(g.resource).minimum, g.job), store_->at(of(g.resource).maximum, g.job));
    }
    /// "No limit of mine" is within bounds: the job's own maximum still holds.
    [[nodiscard]] static check_rule rule_for_sum(job_sum const& sum, std::int64_t minimum,
                                                 std::int64_t maximum) noexcept {
        if (sum.divided) return check_rule::divided;
        if (sum.unlimited_nodes > 0 || sum.amount == 0) return check_rule::passed;
        if (sum.amount < minimum) return check_rule::below_minimum;
        if (sum.amount > maximum) return check_rule::above_maximum;
        return check_rule::passed;
    }

private:
    [[nodiscard]] resource_columns const& of(std::size_t resource) const noexcept {
        return columns_->resources[resource];
    }
};

}  // namespace ration::detail
