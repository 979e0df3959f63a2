// SPDX-License-Identifier: BSL-1.0
/// drf: dominant resource fairness between tenants. Source: A. Ghodsi et al., "Dominant Resource Fairness: Fair
/// Allocation of Multiple Resource Types", NSDI 2011 (the rule is well known, and written down here from memory).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <ration/buffer.hpp>
#include <ration/parameter.hpp>
#include <ration/policies/detail/rigid_jobs.hpp>
#include <ration/policy.hpp>
#include <ration/target.hpp>

namespace ration::policies {

/// Parameters of `drf`; each member has its unit and its default.
struct drf_parameters {
    bool backfill = true;  ///< when the next job does not fit, others are tried; the paper's rule stops there

    static constexpr parameter_note notes[] = {
        {.name = "backfill",
         .meaning = "when the job whose turn it is does not fit, others are tried; without, all wait for it"}};
    [[nodiscard]] static constexpr std::string_view problem() noexcept { return {}; }
};

/// A tenant's dominant share is the larger of its shares of all devices and of all CPU, by what its running jobs ask
/// for: devices as requested, CPU as their minimum. Whenever there is room, the tenant with the least dominant share
/// for its weight starts its next job, in the order of submission, and so on (progressive filling). Nobody is stopped.
/// Only devices are granted and bound to nodes: CPU counts for the shares, and all running jobs together stay within
/// the CPU of all nodes. The weight of a tenant is that of its first job that has not ended and asks for devices.
/// O(jobs log tenants + starts x tenants); no state.
class drf {
public:
    using policy_concept = policy_tag;
    using parameters = drf_parameters;
    using inputs = detail::rigid_columns<in<std::uint32_t, "jobs/tenant">, in<double, "jobs/weight">,
                                         in<std::int64_t, "jobs/min.cpu">, in<std::int64_t, "nodes/capacity.cpu">>;
    static constexpr meta about{.id = "ration.drf",
                                .version = "1.0.0",
                                .summary = "dominant resource fairness between tenants",
                                .reasons = detail::rigid_jobs::reasons};

    drf() = default;
    explicit drf(drf_parameters const& p) noexcept : parameters_(p) {}

    [[nodiscard]] status prepare(limits const& most) noexcept {
        jobs_.reserve(most);
        tenants_.reserve(most.jobs);
        next_.reserve(most.jobs);
        return status::ok;
    }

    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        if (!jobs_.begin(t, false)) return status::ok;
        measure(t);
        for (tenant* poorest = next_tenant(); poorest != nullptr; poorest = next_tenant()) {
            std::size_t const row = poorest->first;
            bool const fits = cpu_of(t, row) <= cpu_left_ && jobs_.start(t, row);
            if (!fits && !parameters_.backfill) break;
            poorest->first = next_[row];
            if (!fits) continue;
            poorest->devices += static_cast<double>(jobs_.wanted(row));
            poorest->cpu += static_cast<double>(cpu_of(t, row));
            cpu_left_ -= cpu_of(t, row);
        }
        return jobs_.finish(out);
    }

private:
    static constexpr std::uint32_t none = 0xFFFF'FFFF;
    struct tenant {
        std::uint32_t id;
        std::uint32_t first;  // of its waiting jobs
        double weight;
        double devices, cpu;  // of its running jobs
    };

    drf_parameters parameters_;
    detail::rigid_jobs jobs_;
    buffer<tenant> tenants_;      // in ascending order of ids
    buffer<std::uint32_t> next_;  // by row: the tenant's next waiting job
    double all_devices_ = 0, all_cpu_ = 0;
    std::int64_t cpu_left_ = 0;

    [[nodiscard]] static std::int64_t cpu_of(tick<inputs> const& t, std::size_t row) noexcept {
        std::int64_t const least = t.get<"jobs/min.cpu">()[row];
        return least > 0 ? least : 0;
    }

    [[nodiscard]] tenant& tenant_of(tick<inputs> const& t, std::size_t row) noexcept {
        std::uint32_t const id = t.get<"jobs/tenant">()[row];
        std::size_t low = 0, high = tenants_.size();
        while (low < high) {
            std::size_t const middle = low + (high - low) / 2;
            if (tenants_[middle].id < id)
                low = middle + 1;
            else
                high = middle;
        }
        if (low == tenants_.size() || tenants_[low].id != id)
            tenants_.insert(low, {.id = id, .first = none, .weight = 1, .devices = 0, .cpu = 0});
        return tenants_[low];
    }

    /// Who has what and who waits. The rows are read backwards, so that the first ones come first in the lists.
    void measure(tick<inputs> const& t) noexcept {
        all_devices_ = static_cast<double>(detail::capacity_of(t));
        cpu_left_ = 0;
        for (std::int64_t const c : t.get<"nodes/capacity.cpu">()) cpu_left_ += c > 0 ? c : 0;
        all_cpu_ = static_cast<double>(cpu_left_);
        tenants_.clear();
        next_.reset(t.jobs());
        for (std::size_t row = t.jobs(); row-- > 0;) {
            std::int64_t const wanted = jobs_.wanted(row);
            if (wanted == 0) continue;
            tenant& who = tenant_of(t, row);
            if (double const w = t.get<"jobs/weight">()[row]; w > 0 && is_finite(w)) who.weight = w;
            if (jobs_.waits(t, row)) {
                next_[row] = who.first;
                who.first = static_cast<std::uint32_t>(row);
            } else if (jobs_.holds(t, row)) {
                who.devices += static_cast<double>(wanted);
                who.cpu += static_cast<double>(cpu_of(t, row));
                cpu_left_ -= cpu_of(t, row);
            }
        }
    }

    [[nodiscard]] double share_of(tenant const& who) const noexcept {
        double const devices = all_devices_ > 0 ? who.devices / all_devices_ : 0,
                     cpu = all_cpu_ > 0 ? who.cpu / all_cpu_ : 0;
        return (devices > cpu ? devices : cpu) / who.weight;
    }

    /// Of those with a waiting job the one with the least dominant share, of equals the lowest id; nullptr when nobody
    /// waits.
    [[nodiscard]] tenant* next_tenant() noexcept {
        tenant* found = nullptr;
        for (auto& who : tenants_)
            if (who.first != none && (found == nullptr || share_of(who) < share_of(*found))) found = &who;
        return found;
    }
};

static_assert(Policy<drf>);

}  // namespace ration::policies
