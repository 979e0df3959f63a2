// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// A division in which the devices of jobs without a level wait for services that need them for theirs.
///
/// Part of `max_min`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ration/buffer.hpp>
#include <ration/job.hpp>
#include <ration/level.hpp>
#include <ration/policies/detail/device_claim.hpp>
#include <ration/policies/detail/elastic_jobs.hpp>
#include <ration/policies/detail/heap.hpp>
#include <ration/policies/detail/weight.hpp>
#include <ration/policy.hpp>

namespace ration::policies::detail {

/// Divides the devices of a tenant among its jobs once more. A service comes before jobs without a level with the
/// devices for its level: below the level with all that it can use, otherwise with those that it holds. So devices do
/// not return to other jobs as soon as a level holds. Within both parts the division is max-min.
class level_shares {
    static constexpr std::uint32_t none = 0xFFFF'FFFF;
    buffer<std::uint32_t> first_, next_;  // by tenant, and by place: the shares of one tenant
    heap<device_claim> claims_;

public:
    /// Allocates for the largest tables.
    void reserve(limits const& most) noexcept {
        first_.reserve(most.tenants + 1);
        next_.reserve(most.jobs);
        claims_.reserve(most.jobs);
    }

    /// Precondition: the shares are divided. With `by_tenant`, devices stay with the jobs of their tenant. Minima are
    /// not touched. O(tenants + (jobs + devices) log jobs).
    template <class Tick>
    void divide(Tick const& t, std::span<share> shares, bool by_tenant) noexcept {
        list(t, shares, by_tenant);
        for (std::uint32_t const first : first_) {
            std::int64_t left = 0;
            for (std::uint32_t place = first; place != none; place = next_[place]) {
                left += shares[place].given - shares[place].least;
                shares[place].given = shares[place].least;
            }
            left = fill(t, shares, first, left, [&](share const& s) noexcept { return needed(t, s); });
            static_cast<void>(fill(t, shares, first, left, [](share const& s) noexcept { return s.most; }));
        }
    }

private:
    /// The devices with which a job comes before jobs without a level.
    template <class Tick>
    [[nodiscard]] static std::int64_t needed(Tick const& t, share const& s) noexcept {
        double const met = t.template get<"jobs/slo.met">()[s.row], slack = t.template get<"jobs/slo.slack">()[s.row];
        if (!has_level(met, slack)) return s.least;
        return slack < 0 ? s.most : within(t.template get<"jobs/held.gpu">()[s.row], {s.least, s.most});
    }

    template <class Tick>
    void list(Tick const& t, std::span<share const> shares, bool by_tenant) noexcept {
        auto const tenant = t.template get<"jobs/tenant">();
        std::size_t const groups = by_tenant ? t.tenants() + 1 : 1;
        first_.clear();
        for (std::size_t i = 0; i < groups; ++i) first_.push_back(none);
        next_.reset(shares.size());
        for (std::size_t place = shares.size(); place-- > 0;) {
            if (shares[place].given == 0) continue;
            std::size_t const row = tenant[shares[place].row];
            std::uint32_t& first = first_[row + 1 < groups ? row : groups - 1];
            next_[place] = first;
            first = static_cast<std::uint32_t>(place);
        }
    }

    /// Gives up to `left` devices one by one to jobs with fewer than `most(share)`. Returns the number left.
    template <class Tick, class Most>
    [[nodiscard]] std::int64_t fill(Tick const& t, std::span<share> shares, std::uint32_t first, std::int64_t left,
                                    Most const& most) noexcept {
        auto const weight = t.template get<"jobs/weight">();
        auto const held = t.template get<"jobs/held.gpu">();
        auto const claim_of = [&](std::size_t place) noexcept {
            auto const& s = shares[place];
            return device_claim::of(s.given, valid_weight(weight[s.row]), held[s.row], place);
        };
        claims_.clear();
        for (std::uint32_t place = first; place != none; place = next_[place])
            if (shares[place].given < most(shares[place])) claims_.push(claim_of(place));
        return fill_by_claims(claims_, shares, left, most, claim_of);
    }
};

}  // namespace ration::policies::detail
