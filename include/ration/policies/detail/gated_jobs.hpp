// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// Starts rigid jobs as far as the quotas of their tenants admit them, and stops jobs of borrowers for owners.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <ration/buffer.hpp>
#include <ration/parameter.hpp>
#include <ration/policies/detail/heap.hpp>
#include <ration/policies/detail/priority_order.hpp>
#include <ration/policies/detail/rigid_jobs.hpp>
#include <ration/policies/detail/tenant_gate.hpp>
#include <ration/policy.hpp>

namespace ration::policies::detail {

/// The parameter `tenants` of policies that stop jobs.
inline constexpr parameter_note preemptive_tenants_note{
    .name = "tenants",
    .meaning =
        "ignore the quotas of tenants, keep to them (quota), also lend what they do not need (borrow), or also "
        "serve jobs within quotas first (reclaim)"};

/// The admission of jobs by the quotas of tenants: in the order of submission, or, with preemption, of a policy.
class gated_jobs {
    tenant_gate gate_;
    buffer<std::uint8_t> blocked_;   // by tenant: an earlier job of it was not admitted
    buffer<std::uint32_t> stopped_;  // rows of jobs to be stopped for an owner
    /// The next job of a tenant that would borrow.
    struct claim {
        double share;         // `borrowed_share` of its tenant so far
        std::uint32_t place;  // in the order of the policy
        std::uint32_t tenant;

        [[nodiscard]] static bool before(claim const& a, claim const& b) noexcept {
            return a.share != b.share ? a.share < b.share : a.place < b.place;
        }
    };
    heap<claim> claims_;
    buffer<std::uint32_t> first_, next_;  // places of jobs that would borrow: of each tenant, and behind each

    static constexpr std::uint32_t end = 0xFFFF'FFFF;

public:
    /// Texts of the reason codes.
    static constexpr auto& reasons = rigid_jobs::reasons;

    /// Allocates for the largest tables.
    void reserve(limits const& most) noexcept {
        gate_.reserve(most);
        blocked_.reserve(most.tenants + 1);
        stopped_.reserve(most.jobs);
        claims_.reserve(most.tenants + 1);
        first_.reserve(most.tenants + 1);
        next_.reserve(most.jobs);
    }

    /// Starts waiting jobs. A job that does not fit blocks all later ones, unless `others_pass`; one that is not
    /// admitted blocks those of its tenant. O(waiting jobs), for each job that borrows; with reclaiming, O(jobs) for
    /// each job that is stopped.
    template <class Tick>
    void start(Tick const& t, rigid_jobs& jobs, tenant_rule rule, bool others_pass) noexcept {
        gate_.begin(t, rule, jobs.capacity(), jobs.requests().all_held());
        if (!start_owners(t, jobs, rule == tenant_rule::reclaim, others_pass)) return;
        while (start_borrower(t, jobs, others_pass)) {
        }
    }

    /// Divides all devices, also those that jobs hold: runs the jobs that are admitted and fit, in the order of the
    /// policy, and stops the others. Jobs within quotas come before those that borrow. The latter come in the order of
    /// their tenants' borrowed shares. With `tenant_rule::borrow` only the order of the policy counts. `key(row)` is
    /// the `priority`.
    /// O(jobs log tenants) if the order has changed little.
    template <class Tick, class Key>
    void serve(Tick const& t, rigid_jobs& jobs, tenant_rule rule, Key const& key) noexcept {
        gate_.begin_empty(t, rule, jobs.capacity());
        jobs.serve_chosen(t, key, [&](std::span<priority_order::entry const> order) noexcept {
            std::int64_t left = jobs.available();
            if (rule != tenant_rule::borrow) return choose_owners_first(t, jobs, order, left);
            for (auto const& e : order) {
                std::uint32_t const tenant = tenant_of(t, e.row);
                if (gate_.admits(tenant, jobs.wanted(e.row))) left -= choose(jobs, e.row, tenant, left);
            }
        });
    }

private:
    /// Returns the devices that the job takes.
    std::int64_t choose(rigid_jobs& jobs, std::size_t row, std::uint32_t tenant, std::int64_t left) noexcept {
        std::int64_t const taken = jobs.choice().take(row, jobs.wanted(row), left);
        if (taken > 0) gate_.add(tenant, taken);
        return taken;
    }

    template <class Tick>
    void choose_owners_first(Tick const& t, rigid_jobs& jobs, std::span<priority_order::entry const> order,
                             std::int64_t left) noexcept {
        first_.reset(t.tenants() + 1);
        for (auto& first : first_.edit()) first = end;
        next_.resize(order.size());
        for (auto const& e : order) {
            std::uint32_t const tenant = tenant_of(t, e.row);
            if (gate_.owns(tenant, jobs.wanted(e.row))) left -= choose(jobs, e.row, tenant, left);
        }
        for (std::size_t place = order.size(); place-- > 0;) {
            std::uint32_t const row = order[place].row, tenant = tenant_of(t, row);
            if (jobs.wanted(row) == 0 || jobs.choice().has(row)) continue;
            next_[place] = first_[tenant];
            first_[tenant] = static_cast<std::uint32_t>(place);
        }
        choose_borrowers(jobs, order, left);
    }
    /// Each job gets one turn, because the devices that are left, and those that its tenant may borrow, only shrink.
    void choose_borrowers(rigid_jobs& jobs, std::span<priority_order::entry const> order, std::int64_t left) noexcept {
        claims_.clear();
        for (std::uint32_t tenant = 0; tenant < first_.size(); ++tenant) claim_next(tenant);
        while (!claims_.empty()) {
            claim const turn = claims_.top();
            claims_.pop();
            std::uint32_t const row = order[turn.place].row;
            if (gate_.admits(turn.tenant, jobs.wanted(row))) left -= choose(jobs, row, turn.tenant, left);
            claim_next(turn.tenant);
        }
    }
    void claim_next(std::uint32_t tenant) noexcept {
        std::uint32_t const place = first_[tenant];
        if (place == end) return;
        first_[tenant] = next_[place];
        claims_.push({gate_.borrowed_share(tenant), place, tenant});
    }

    template <class Tick>
    [[nodiscard]] static std::uint32_t tenant_of(Tick const& t, std::size_t row) noexcept {
        std::uint32_t const tenant = t.template get<"jobs/tenant">()[row];
        return tenant < t.tenants() ? tenant : static_cast<std::uint32_t>(t.tenants());
    }
    [[nodiscard]] static std::int64_t missing(rigid_jobs const& jobs, std::size_t row) noexcept {
        return jobs.wanted(row) - jobs.held(row);
    }

    template <class Tick>
    [[nodiscard]] bool begin_job(Tick const& t, rigid_jobs& jobs, std::size_t row) noexcept {
        std::int64_t const more = missing(jobs, row);
        if (!jobs.start(t, row)) return false;
        gate_.add(tenant_of(t, row), more);
        return true;
    }

    /// Returns false if a job blocks all others.
    template <class Tick>
    [[nodiscard]] bool start_owners(Tick const& t, rigid_jobs& jobs, bool reclaims, bool others_pass) noexcept {
        blocked_.reset(t.tenants() + 1);
        for (std::size_t row = jobs.next_waiting(0); row != rigid_jobs::none; row = jobs.next_waiting(row + 1)) {
            if (!jobs.waits(row)) continue;
            std::uint32_t const tenant = tenant_of(t, row);
            if (blocked_[tenant] != 0) continue;
            if (!gate_.owns(tenant, missing(jobs, row))) {
                blocked_[tenant] = others_pass ? 0 : 1;
                continue;
            }
            if (begin_job(t, jobs, row) || (reclaims && reclaim_for(t, jobs, row))) continue;
            if (!others_pass) return false;
        }
        return true;
    }

    /// Starts one job of the tenant with the smallest borrowed share. Returns false if there is none.
    template <class Tick>
    [[nodiscard]] bool start_borrower(Tick const& t, rigid_jobs& jobs, bool others_pass) noexcept {
        blocked_.reset(t.tenants() + 1);
        std::size_t best = rigid_jobs::none;
        double least = 0;
        for (std::size_t row = jobs.next_waiting(0); row != rigid_jobs::none; row = jobs.next_waiting(row + 1)) {
            if (!jobs.waits(row)) continue;
            std::uint32_t const tenant = tenant_of(t, row);
            if (blocked_[tenant] != 0) continue;
            bool const fits = missing(jobs, row) <= jobs.spare();
            bool const can_start = gate_.admits(tenant, missing(jobs, row)) && (fits || !others_pass);
            blocked_[tenant] = can_start || !others_pass ? 1 : 0;  // later jobs of it come after this one
            if (!can_start) continue;
            double const share = gate_.borrowed_share(tenant);
            if (best != rigid_jobs::none && !(share < least)) continue;
            best = row;
            least = share;
        }
        return best != rigid_jobs::none && begin_job(t, jobs, best);
    }

    /// Stops jobs of borrowers, of the largest borrowed share first and the newest job first, and starts the owner's
    /// job. Returns false, without an effect, if they do not release enough.
    template <class Tick>
    [[nodiscard]] bool reclaim_for(Tick const& t, rigid_jobs& jobs, std::size_t row) noexcept {
        stopped_.clear();
        std::int64_t const needed = missing(jobs, row) - jobs.spare();
        for (std::int64_t freed = 0; freed < needed;) {
            std::size_t const next = next_to_stop(t, jobs);
            if (next == rigid_jobs::none) return restore(t, jobs);
            freed += jobs.held(next);
            gate_.add(tenant_of(t, next), -jobs.held(next));
            stopped_.push_back(static_cast<std::uint32_t>(next));
        }
        for (std::uint32_t const stopped : stopped_) jobs.stop(t, stopped);
        return begin_job(t, jobs, row);
    }
    template <class Tick>
    [[nodiscard]] bool restore(Tick const& t, rigid_jobs const& jobs) noexcept {
        for (std::uint32_t const row : stopped_) gate_.add(tenant_of(t, row), jobs.held(row));
        return false;
    }
    /// The newest running job of the tenant with the largest borrowed share.
    template <class Tick>
    [[nodiscard]] std::size_t next_to_stop(Tick const& t, rigid_jobs const& jobs) const noexcept {
        std::size_t best = rigid_jobs::none;
        double most = 0;
        for (std::size_t row = t.jobs(); row-- > 0;) {
            if (jobs.held(row) == 0 || is_stopped(row)) continue;
            double const share = gate_.borrowed_share(tenant_of(t, row));
            if (!(share > most)) continue;
            best = row;
            most = share;
        }
        return best;
    }
    [[nodiscard]] bool is_stopped(std::size_t row) const noexcept {
        for (std::uint32_t const stopped : stopped_)
            if (stopped == row) return true;
        return false;
    }
};

}  // namespace ration::policies::detail
