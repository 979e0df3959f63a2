// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// Starts rigid jobs as far as the quotas of their tenants admit them, and stops jobs of borrowers for owners.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <ration/buffer.hpp>
#include <ration/policies/detail/rigid_jobs.hpp>
#include <ration/policies/detail/tenant_gate.hpp>
#include <ration/policy.hpp>

namespace ration::policies::detail {

/// The admission of jobs by the quotas of tenants, in the order of submission. Owners come first, then borrowers.
class gated_jobs {
    tenant_gate gate_;
    buffer<std::uint8_t> blocked_;   // by tenant: an earlier job of it was not admitted
    buffer<std::uint32_t> stopped_;  // rows of jobs to be stopped for an owner

public:
    /// Texts of the reason codes.
    static constexpr auto& reasons = rigid_jobs::reasons;

    /// Allocates for the largest tables.
    void reserve(limits const& most) noexcept {
        gate_.reserve(most);
        blocked_.reserve(most.tenants + 1);
        stopped_.reserve(most.jobs);
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

private:
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
