// SPDX-License-Identifier: BSL-1.0
/// Data sets that jobs read, and a cache that serves some of them.
///
/// Part of simulation.hpp. A job that reads a cached data set runs at the speed of its model, another one at most as
/// fast as it reads from storage.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <ration/policies/shared_cache.hpp>
#include <ration/sim/outcome.hpp>
#include <ration/sim/workload.hpp>

namespace ration::sim {

/// A cache for data sets, shared among tenants as by the policy `shared_cache`.
struct item_cache_options {
    std::int64_t bytes = 0;
    double storage = 100e6;                       ///< bytes per second that a job reads of a data set without the cache
    policies::shared_cache_parameters sharing{};  ///< mode, and duration of a round
};

/// The data sets that the cache holds now, and what each tenant has read. Rounds begin with the first job that reads.
class item_reads {
    bool has_cache_;
    item_cache_options with_;
    policies::cache_sharing sharing_;
    nanoseconds next_ = never;
    std::vector<char> held_, changed_;  // by data set
    std::vector<tenant_reads> by_tenant_;
    // Of one round
    std::vector<std::int64_t> bytes_;
    std::vector<double> weights_, benefit_;
    std::vector<std::uint32_t> tenant_, item_;

public:
    /// The time of a round that is not planned.
    static constexpr nanoseconds never{std::numeric_limits<std::int64_t>::max()};

    /// The tenants and data sets of `jobs` are complete. Without options nothing is read.
    item_reads(workload const& jobs, std::optional<item_cache_options> const& options)
        : has_cache_(options.has_value()), with_(options.value_or(item_cache_options{})), sharing_(with_.sharing.mode) {
        if (!has_cache_) return;
        held_.resize(jobs.items.size());
        changed_.resize(jobs.items.size());
        by_tenant_.resize(jobs.tenants.size());
        for (auto const& item : jobs.items) bytes_.push_back(item.bytes);
        for (auto const& tenant : tenants_of(jobs)) weights_.push_back(tenant.weight);
        sharing_.prepare({bytes_.size(), weights_.size()});
    }

    /// The time of the next round.
    [[nodiscard]] nanoseconds next() const noexcept { return next_; }
    /// What the jobs of each tenant have read; empty without a cache.
    [[nodiscard]] std::vector<tenant_reads> const& by_tenant() const noexcept { return by_tenant_; }

    /// The speed of a job whose speed by the model is `full`. Plans the first round.
    [[nodiscard]] double limited(job_description const& job, double full, nanoseconds now) noexcept {
        if (!reads(job) || !(full > 0)) return full;
        if (next_ == never) next_ = now;
        return held_[job.item] != 0 ? full : std::min(full, with_.storage / job.read);
    }
    /// Counts `steps` steps that the job has made at `rate` instead of `full`.
    void count(job_description const& job, double steps, double rate, double full) noexcept {
        if (!reads(job) || !(rate > 0)) return;
        tenant_reads& of = by_tenant_[job.tenant];
        of.bytes += steps * job.read;
        if (held_[job.item] != 0) of.cached += steps * job.read;
        of.running += steps / rate;
        of.at_full_speed += steps / full;
    }

    /// A round begins: forgets the readers of the last one.
    void begin_round() noexcept {
        benefit_.clear();
        tenant_.clear();
        item_.clear();
    }
    /// The job runs, and would read at the speed `full`.
    void add_reader(job_description const& job, double full) {
        if (!reads(job) || !(full > 0)) return;
        tenant_.push_back(job.tenant);
        item_.push_back(job.item);
        benefit_.push_back(full * job.read);
    }
    /// Chooses the data sets of this round.
    void finish_round(nanoseconds now) noexcept {
        auto const chosen = sharing_.choose({.bytes = bytes_,
                                             .weights = weights_,
                                             .tenant = tenant_,
                                             .item = item_,
                                             .benefit = benefit_,
                                             .capacity = with_.bytes});
        changed_.swap(held_);
        std::fill(held_.begin(), held_.end(), char{0});
        for (auto const item : chosen) held_[item] = 1;
        for (std::size_t i = 0; i < held_.size(); ++i) changed_[i] = static_cast<char>(changed_[i] != held_[i]);
        next_ = tenant_.empty() ? never : now + seconds(std::max(with_.sharing.round, shortest));
    }
    /// Whether the round has changed the speed of the job.
    [[nodiscard]] bool has_changed(job_description const& job) const noexcept {
        return reads(job) && changed_[job.item] != 0;
    }

private:
    static constexpr double shortest = 1e-3;  // seconds; time has to pass between two rounds

    [[nodiscard]] bool reads(job_description const& job) const noexcept {
        return has_cache_ && job.item != no_item && job.read > 0;
    }
};

}  // namespace ration::sim
