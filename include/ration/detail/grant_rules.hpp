// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private, include "ration/host/check.hpp"
/// The rules for a single grant and for a job's sum.
///
/// Shared by the two paths of `check`: `good_answer`, which accepts whole answers, and the general
/// path in host/check.hpp, which names the rule that a row breaks.
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

/// Rules that the tables of one tick set for a single grant, and for a sum of grants. The caller
/// decides which rows belong together.
class grant_rules {
    snapshot_store const* store_ = nullptr;
    standard_columns const* columns_ = nullptr;
    std::span<resource_info const> resources_;

public:
    /// Rules without tables; must be replaced before use.
    grant_rules() noexcept = default;
    /// All arguments have to outlive the object.
    grant_rules(snapshot_store const& store, standard_columns const& columns,
                std::span<resource_info const> resources) noexcept
        : store_(&store), columns_(&columns), resources_(resources) {}

    /// Pointers to the columns that bound one resource, read once for a run of rows.
    struct bounds_view {
        std::int64_t const *minimum = nullptr, *maximum = nullptr;  ///< by job
        /// The smallest positive amount of the resource.
        std::int64_t least = 1;
        std::uint32_t row_mask = 0;  ///< of the index by job: 0 if all jobs share their bounds

        /// True if the amount is plain and within the bounds of the job alone. 0 and `unlimited`
        /// are not plain.
        [[nodiscard]] bool hold(grant const& g) const noexcept {
            std::uint32_t const row = g.job & row_mask;
            return g.amount >= minimum[row] && g.amount <= maximum[row] && g.amount >= least && g.amount <= max_amount;
        }
    };

    /// A key that is unique for job, node and resource, and ascends with node and resource for rows
    /// of one job. It is exact up to 2^24 jobs.
    [[nodiscard]] static std::uint64_t place_of(grant const& g) noexcept {
        return std::uint64_t{g.job} << 40 ^ std::uint64_t{g.node} << 16 ^ g.resource;
    }

    /// Rows of the jobs table.
    [[nodiscard]] std::size_t jobs() const noexcept { return store_->rows(table_id::jobs); }
    /// Rows of the nodes table.
    [[nodiscard]] std::size_t nodes() const noexcept { return store_->rows(table_id::nodes); }
    /// True if the row's job exists.
    [[nodiscard]] bool knows_job(grant const& g) const noexcept { return g.job < jobs(); }
    /// True if the row's node and resource exist.
    [[nodiscard]] bool knows_place(grant const& g) const noexcept {
        return g.node < nodes() && g.resource < resources_.size();
    }
    /// True if the row's job may hold resources. Precondition: `knows_job(g)`.
    [[nodiscard]] bool is_active(grant const& g) const noexcept {
        return ration::is_active(static_cast<job_state>(store_->at(columns_->state, g.job)));
    }
    /// The column `jobs/id`.
    [[nodiscard]] std::uint64_t const* ids() const noexcept { return store_->data(columns_->id); }
    /// The column `jobs/state`.
    [[nodiscard]] std::uint32_t const* states() const noexcept { return store_->data(columns_->state); }
    /// The bounds of one resource. Both columns have a row for each job, or both have one for all.
    [[nodiscard]] bounds_view bounds(std::size_t resource) const noexcept {
        auto const& c = of(resource);
        return {store_->data(c.minimum), store_->data(c.maximum), least_amount(static_cast<resource_id>(resource)),
                c.maximum.width == 0 ? 0 : ~std::uint32_t{0}};
    }
    /// True if `unlimited` is a valid amount of the resource.
    [[nodiscard]] bool can_be_unlimited(std::size_t resource) const noexcept {
        return resources_[resource].granularity != divisibility::atomic;
    }
    /// The id of the job in a row.
    [[nodiscard]] job_id id_of(std::uint32_t row) const noexcept { return {store_->at(columns_->id, row)}; }
    /// The capacity of a node; `unlimited` for a setting.
    [[nodiscard]] std::int64_t capacity(std::uint32_t node, resource_id r) const noexcept {
        auto const& c = of(static_cast<std::size_t>(r));
        return c.most_reserved(store_->at(c.capacity, node));
    }

    /// The first rule that the row breaks by itself, or `passed`. The order of the tests is part of
    /// the contract: an index is tested before it is used.
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

    /// The first rule that the sum of the row's job and resource breaks, or `passed`.
    [[nodiscard]] check_rule rule_for_sum(grant const& g, job_sum const& sum) const noexcept {
        return rule_for_sum(sum, store_->at(of(g.resource).minimum, g.job), store_->at(of(g.resource).maximum, g.job));
    }
    /// Amount `unlimited` is within bounds: the job's own maximum still applies.
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
