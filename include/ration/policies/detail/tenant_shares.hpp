// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// A division of devices by the tree of tenants: among tenants by their weights, and among the jobs of one by theirs.
///
/// Part of `max_min`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ration/buffer.hpp>
#include <ration/job.hpp>
#include <ration/policies/detail/device_claim.hpp>
#include <ration/policies/detail/elastic_jobs.hpp>
#include <ration/policies/detail/heap.hpp>
#include <ration/policies/detail/weight.hpp>
#include <ration/policy.hpp>
#include <ration/tenant.hpp>

namespace ration::policies::detail {

/// The tenants of one parent and the parent's own jobs compete by their weights for the devices of the parent. Jobs of
/// no tenant compete with the tenants without a parent.
class tenant_shares {
    static constexpr std::uint32_t none = 0xFFFF'FFFF;
    /// A tenant with all that is below it.
    struct branch {
        std::uint32_t parent = none, first_child = none, next = none;
        std::uint32_t first_job = none;  ///< the place of the tenant's first job among the shares
        double weight = 1, weights_below = 0;
        double part = 1;  ///< of the cluster, among tenants with active jobs
        std::int64_t held = 0, given = 0, most = 0;
        std::int64_t left = 0;  ///< devices that are to be divided below it
    };
    buffer<branch> branches_;          // by row of the tenant; the last one is the cluster
    buffer<std::uint32_t> next_jobs_;  // by place: the next job of the same tenant
    heap<device_claim> claims_;

public:
    /// Allocates for the largest tables.
    void reserve(limits const& most) noexcept {
        branches_.reserve(most.tenants + 1);
        next_jobs_.reserve(most.jobs);
        claims_.reserve(most.jobs + most.tenants);
    }

    /// Reads the tenants, and the weights of active jobs. O(jobs + tenants).
    template <class Tick>
    void begin(Tick const& t) noexcept {
        auto const size = static_cast<std::uint32_t>(t.tenants());
        auto const parent = t.template get<"tenants/parent">();
        branches_.reset(size + 1);
        auto const state = t.template get<"jobs/state">();
        for (std::size_t row = 0; row < t.jobs(); ++row)
            if (is_active(static_cast<job_state>(state[row]))) of(t, row).weights_below += job_weight(t, row);
        for (std::uint32_t tenant = size; tenant-- > 0;) {  // children come before their parents
            branch& one = branches_[tenant];
            one.parent = parent[tenant] < tenant ? parent[tenant] : size;
            one.weight = tenant_weight(t, tenant);
            branch& above = branches_[one.parent];
            if (one.weights_below > 0) above.weights_below += one.weight;
            one.next = above.first_child;
            above.first_child = tenant;
        }
        for (std::uint32_t tenant = 0; tenant < size; ++tenant) {
            branch& one = branches_[tenant];
            branch const& above = branches_[one.parent];
            one.part = one.weights_below > 0 ? above.part * one.weight / above.weights_below : 0;
        }
    }
    /// The part of an active job of the cluster, if all jobs could use theirs.
    template <class Tick>
    [[nodiscard]] double weight(Tick const& t, std::size_t row) noexcept {
        branch const& tenant = of(t, row);
        return valid_weight(tenant.part * job_weight(t, row) / tenant.weights_below);
    }

    /// Gives `left` devices one by one to jobs that have some already: the next one to the tenant with the fewest for
    /// its weight, and so on down to a job. O(tenants + (jobs + devices x depth) log jobs).
    template <class Tick>
    void fill(Tick const& t, std::span<share> shares, std::int64_t left) noexcept {
        add_up(t, shares);
        auto const cluster = static_cast<std::uint32_t>(branches_.size() - 1);
        branches_[cluster].left = left;
        divide(t, shares, cluster);
        for (std::uint32_t tenant = 0; tenant < cluster; ++tenant) divide(t, shares, tenant);
    }

private:
    template <class Tick>
    [[nodiscard]] static double job_weight(Tick const& t, std::size_t row) noexcept {
        return valid_weight(t.template get<"jobs/weight">()[row]);
    }
    template <class Tick>
    [[nodiscard]] branch& of(Tick const& t, std::size_t row) noexcept {
        std::uint32_t const tenant = t.template get<"jobs/tenant">()[row];
        return branches_[tenant < t.tenants() ? tenant : t.tenants()];
    }

    /// Adds the bounds of the jobs to their tenants.
    template <class Tick>
    void add_up(Tick const& t, std::span<share const> shares) noexcept {
        auto const held = t.template get<"jobs/held.gpu">();
        next_jobs_.reset(shares.size());
        for (std::size_t place = shares.size(); place-- > 0;) {
            share const& s = shares[place];
            if (s.given == 0) continue;
            branch& tenant = of(t, s.row);
            next_jobs_[place] = tenant.first_job;
            tenant.first_job = static_cast<std::uint32_t>(place);
            tenant.held += held[s.row];
            tenant.given += s.given;
            tenant.most += s.most;
        }
        for (std::size_t tenant = branches_.size() - 1; tenant-- > 0;) {
            branch const& one = branches_[tenant];
            branch& above = branches_[one.parent];
            above.held += one.held;
            above.given += one.given;
            above.most += one.most;
        }
    }

    template <class Tick>
    [[nodiscard]] device_claim claim_of_job(Tick const& t, share const& s, std::size_t place) const noexcept {
        return device_claim::of(s.given, job_weight(t, s.row), t.template get<"jobs/held.gpu">()[s.row], place);
    }
    /// Divides the devices of a tenant among its own jobs and the tenants below it.
    template <class Tick>
    void divide(Tick const& t, std::span<share> shares, std::uint32_t tenant) noexcept {
        branch& of = branches_[tenant];
        auto const claim_of_child = [&](std::uint32_t child) noexcept {
            branch const& one = branches_[child];
            return device_claim::of(one.given, one.weight, one.held, shares.size() + child);
        };
        claims_.clear();
        for (std::uint32_t place = of.first_job; place != none; place = next_jobs_[place])
            if (shares[place].given < shares[place].most) claims_.push(claim_of_job(t, shares[place], place));
        for (std::uint32_t child = of.first_child; child != none; child = branches_[child].next)
            if (branches_[child].given < branches_[child].most) claims_.push(claim_of_child(child));
        for (; of.left > 0 && !claims_.empty(); --of.left) {
            std::size_t const place = claims_.top().place;
            bool const is_job = place < shares.size();
            auto const child = static_cast<std::uint32_t>(is_job ? 0 : place - shares.size());
            if (!is_job) ++branches_[child].left;
            std::int64_t const given = is_job ? ++shares[place].given : ++branches_[child].given;
            if (given == (is_job ? shares[place].most : branches_[child].most))
                claims_.pop();
            else
                claims_.replace_top(is_job ? claim_of_job(t, shares[place], place) : claim_of_child(child));
        }
    }
};

}  // namespace ration::policies::detail
