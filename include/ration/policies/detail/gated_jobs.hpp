// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// Starts jobs as far as the quotas of their tenants admit them, and stops jobs of borrowers for owners.
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
#include <ration/policies/detail/rigid_order.hpp>
#include <ration/policies/detail/row_set.hpp>
#include <ration/policies/detail/tenant_gate.hpp>
#include <ration/policy.hpp>
#include <ration/tenant.hpp>

namespace ration::policies::detail {

/// The parameter `tenants` of policies that stop jobs only for owners.
inline constexpr parameter_note tenants_note{
    .name = "tenants",
    .meaning =
        "ignore the quotas of tenants, keep to them (quota), lend what is free of them (borrow), or also "
        "stop jobs of borrowers for owners (reclaim)"};
/// The same of policies that stop jobs in any case.
inline constexpr parameter_note preemptive_tenants_note{
    .name = "tenants",
    .meaning =
        "ignore the quotas of tenants, keep to them (quota), also lend what they do not need (borrow), or also "
        "serve jobs within quotas first (reclaim)"};

/// The admission of jobs by the quotas of tenants: in the order of submission, or, with preemption, of a policy.
class gated_jobs {
    tenant_gate gate_;
    buffer<std::uint8_t> blocked_;   // by tenant: an earlier job of it was not admitted
    buffer<std::uint32_t> stopped_;  // rows of jobs that are stopped for an owner
    row_set beyond_;                 // jobs that count as what they hold: with the rest, a tenant is above its limit
    buffer<std::int64_t> hopeless_;  // by tenant: the fewest devices for which a reclaim has failed; 0 = none
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
        beyond_.reset(most.jobs);
        hopeless_.reserve(most.tenants + 1);
        claims_.reserve(most.tenants + 1);
        first_.reserve(most.tenants + 1);
        next_.reserve(most.jobs);
    }

    /// Starts waiting jobs. A job that does not fit blocks all later ones, unless `others_pass`; one that is not
    /// admitted blocks those of its tenant. O(waiting jobs), for each job that borrows; with reclaiming, O(jobs) for
    /// each job that is stopped. `Jobs` is `rigid_jobs` or `learners`.
    template <class Tick, class Jobs>
    void start(Tick const& t, Jobs& jobs, tenant_rule rule, bool others_pass) noexcept {
        begin(t, jobs, rule);
        if (!start_owners(t, jobs, rule == tenant_rule::reclaim, others_pass)) return;
        while (start_borrower(t, jobs, others_pass)) {
        }
    }

    /// True if the job was admitted as a whole, after `start`: its other learners may follow its first one.
    template <class Jobs>
    [[nodiscard]] bool may_continue(Jobs const& jobs, std::size_t row) const noexcept {
        return jobs.requests().held(row) > 0 && !beyond_.contains(row);
    }

    /// Divides all devices, also those that jobs hold: runs the jobs that are admitted and fit, in the order of the
    /// policy, and stops the others. Jobs within quotas come before those that borrow. The latter come in the order of
    /// their tenants' borrowed shares. With `tenant_rule::borrow` only the order of the policy counts. `key(row)` is
    /// the `priority`.
    /// O(jobs log tenants) if the order has changed little.
    template <class Tick, class Key>
    void serve(Tick const& t, rigid_jobs& jobs, rigid_order& sorted, tenant_rule rule, Key const& key) noexcept {
        gate_.begin_empty(t, rule, jobs.capacity());
        job_choice& choice = sorted.choice();
        sorted.serve_chosen(t, jobs, key, [&](std::span<priority_order::entry const> order) noexcept {
            std::int64_t left = jobs.available();
            if (rule != tenant_rule::borrow) return choose_owners_first(t, jobs, choice, order, left);
            for (auto const& e : order) {
                std::uint32_t const tenant = tenant_of(t, e.row);
                if (gate_.admits(tenant, jobs.wanted(e.row))) left -= choose(jobs, choice, e.row, tenant, left);
            }
        });
    }

private:
    /// Returns the devices that the job takes.
    std::int64_t choose(rigid_jobs const& jobs, job_choice& choice, std::size_t row, std::uint32_t tenant,
                        std::int64_t left) noexcept {
        std::int64_t const taken = choice.take(row, jobs.wanted(row), left);
        if (taken > 0) gate_.add(tenant, taken);
        return taken;
    }

    template <class Tick>
    void choose_owners_first(Tick const& t, rigid_jobs const& jobs, job_choice& choice,
                             std::span<priority_order::entry const> order, std::int64_t left) noexcept {
        first_.reset(t.tenants() + 1);
        for (auto& first : first_.edit()) first = end;
        next_.resize(order.size());
        for (auto const& e : order) {
            std::uint32_t const tenant = tenant_of(t, e.row);
            if (gate_.owns(tenant, jobs.wanted(e.row))) left -= choose(jobs, choice, e.row, tenant, left);
        }
        for (std::size_t place = order.size(); place-- > 0;) {
            std::uint32_t const row = order[place].row, tenant = tenant_of(t, row);
            if (jobs.wanted(row) == 0 || choice.has(row)) continue;
            next_[place] = first_[tenant];
            first_[tenant] = static_cast<std::uint32_t>(place);
        }
        choose_borrowers(jobs, choice, order, left);
    }
    /// Each job gets one turn, because the devices that are left, and those that its tenant may borrow, only shrink.
    void choose_borrowers(rigid_jobs const& jobs, job_choice& choice, std::span<priority_order::entry const> order,
                          std::int64_t left) noexcept {
        claims_.clear();
        for (std::uint32_t tenant = 0; tenant < first_.size(); ++tenant) claim_next(tenant);
        while (!claims_.empty()) {
            claim const turn = claims_.top();
            claims_.pop();
            std::uint32_t const row = order[turn.place].row;
            if (gate_.admits(turn.tenant, jobs.wanted(row))) left -= choose(jobs, choice, row, turn.tenant, left);
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
    /// The devices that count as held by the tenant of the job.
    template <class Jobs>
    [[nodiscard]] std::int64_t counted(Jobs const& jobs, std::size_t row) const noexcept {
        return beyond_.contains(row) ? jobs.requests().held(row) : jobs.committed(row);
    }
    /// The devices that the gate has to admit before the job starts.
    template <class Jobs>
    [[nodiscard]] std::int64_t missing(Jobs const& jobs, std::size_t row) const noexcept {
        return jobs.requests().wanted(row) - counted(jobs, row);
    }

    /// Reads the tenants, with what the plan has changed so far, and with all that a job counts of which a part runs.
    /// Its request may have grown since it was admitted, or the limit of its tenant has shrunk. Then it has to be
    /// admitted again.
    template <class Tick, class Jobs>
    void begin(Tick const& t, Jobs& jobs, tenant_rule rule) noexcept {
        jobs.measure(t);
        gate_.begin(t, rule, jobs.capacity(), jobs.requests().all_held());
        auto const held = t.template get<"jobs/held.gpu">();
        row_set const& lacking = jobs.requests().lacking();
        for (std::size_t row = lacking.next(0); row != row_set::none; row = lacking.next(row + 1)) {
            gate_.add(tenant_of(t, row), jobs.requests().held(row) - held[row]);
            gate_.add(no_tenant, held[row] - jobs.requests().held(row));  // the sum over all jobs has it already
        }
        beyond_.reset(t.jobs());
        for (std::size_t row = lacking.next(0); row != row_set::none; row = lacking.next(row + 1)) {
            std::int64_t const more = jobs.committed(row) - jobs.requests().held(row);
            if (more == 0) continue;
            bool const fits = gate_.is_within_limits(tenant_of(t, row), more);
            beyond_.set(row, !fits);
            if (fits) gate_.add(tenant_of(t, row), more);
        }
        blocked_.reset(t.tenants() + 1);
        hopeless_.reset(t.tenants() + 1);
    }

    template <class Tick, class Jobs>
    [[nodiscard]] bool begin_job(Tick const& t, Jobs& jobs, std::size_t row, bool whole) noexcept {
        std::int64_t const more = missing(jobs, row);
        if (!jobs.may_fit(t, row)) return false;
        if (!(whole ? jobs.start_whole(t, row) : jobs.start(t, row))) return false;
        gate_.add(tenant_of(t, row), more);
        beyond_.set(row, false);
        return true;
    }

    /// Returns false if a job blocks all others.
    template <class Tick, class Jobs>
    [[nodiscard]] bool start_owners(Tick const& t, Jobs& jobs, bool reclaims, bool others_pass) noexcept {
        row_set const& lacking = jobs.requests().lacking();
        for (std::size_t row = lacking.next(0); row != row_set::none; row = lacking.next(row + 1)) {
            if (!jobs.waits(row)) continue;
            std::uint32_t const tenant = tenant_of(t, row);
            if (blocked_[tenant] != 0) continue;
            if (!gate_.owns(tenant, missing(jobs, row))) {
                blocked_[tenant] = others_pass ? 0 : 1;
                continue;
            }
            bool const has_started = begin_job(t, jobs, row, reclaims) || (reclaims && reclaim_for(t, jobs, row));
            if (has_started && reclaims) hopeless_.reset(t.tenants() + 1);  // its cohort may borrow now
            if (!has_started && !others_pass) return false;
        }
        return true;
    }

    /// Starts one job of the tenant with the smallest borrowed share. Returns false if there is none.
    template <class Tick, class Jobs>
    [[nodiscard]] bool start_borrower(Tick const& t, Jobs& jobs, bool others_pass) noexcept {
        blocked_.reset(t.tenants() + 1);
        std::size_t best = row_set::none;
        double least = 0;
        row_set const& lacking = jobs.requests().lacking();
        for (std::size_t row = lacking.next(0); row != row_set::none; row = lacking.next(row + 1)) {
            if (!jobs.waits(row) || missing(jobs, row) == 0) continue;
            std::uint32_t const tenant = tenant_of(t, row);
            if (blocked_[tenant] != 0) continue;
            bool const can_start = gate_.admits(tenant, missing(jobs, row)) && (!others_pass || jobs.may_fit(t, row));
            blocked_[tenant] = can_start || !others_pass ? 1 : 0;  // later jobs of it come after this one
            if (!can_start) continue;
            double const share = gate_.borrowed_share(tenant);
            if (best != row_set::none && !(share < least)) continue;
            best = row;
            least = share;
        }
        if (best == row_set::none) return false;
        // A job that did not fit is not tried again in this plan.
        return begin_job(t, jobs, best, false) || others_pass;
    }

    /// Stops jobs of borrowers, of the largest borrowed share first and the newest job first, until the owner's job
    /// starts. Those of which the devices are still free then run on. Returns false, without an effect, if the job
    /// does not start.
    template <class Tick, class Jobs>
    [[nodiscard]] bool reclaim_for(Tick const& t, Jobs& jobs, std::size_t row) noexcept {
        std::int64_t const lacks = jobs.requests().wanted(row) - jobs.requests().held(row);
        std::int64_t& hopeless = hopeless_[tenant_of(t, row)];
        if (hopeless != 0 && lacks >= hopeless) return false;
        stopped_.clear();
        while (lacks > jobs.spare() || !begin_job(t, jobs, row, true)) {
            std::size_t const next = next_to_stop(t, jobs, row);
            if (next == row_set::none) {
                hopeless = lacks;
                put_back(t, jobs);
                return false;
            }
            gate_.add(tenant_of(t, next), -counted(jobs, next));
            jobs.stop(t, next);
            stopped_.push_back(static_cast<std::uint32_t>(next));
        }
        put_back(t, jobs);
        return true;
    }
    /// Lets the stopped jobs run of which the devices are free.
    template <class Tick, class Jobs>
    void put_back(Tick const& t, Jobs& jobs) noexcept {
        for (std::size_t i = stopped_.size(); i-- > 0;)
            if (jobs.put_back(t, stopped_[i])) gate_.add(tenant_of(t, stopped_[i]), counted(jobs, stopped_[i]));
    }
    /// Of the tenants that borrow from the owner, the newest running job of the one with the largest borrowed share.
    template <class Tick, class Jobs>
    [[nodiscard]] std::size_t next_to_stop(Tick const& t, Jobs const& jobs, std::size_t for_row) const noexcept {
        std::uint32_t const owner = tenant_of(t, for_row);
        std::int64_t const devices = missing(jobs, for_row);
        std::size_t best = row_set::none;
        double most = 0;
        for (std::size_t row = t.jobs(); row-- > 0;) {
            if (jobs.requests().held(row) == 0) continue;
            std::uint32_t const tenant = tenant_of(t, row);
            double const share = gate_.borrowed_share(tenant);
            if (!(share > most) || !gate_.borrows_from(tenant, owner, devices)) continue;
            best = row;
            most = share;
        }
        return best;
    }
};

}  // namespace ration::policies::detail
