// SPDX-License-Identifier: BSL-1.0
/// Network contention: jobs on several nodes slow each other down where they share a node.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <ration/sim/job_speeds.hpp>
#include <ration/sim/live_jobs.hpp>

namespace ration::sim {

/// Maintains `live_job::shares_node`. A job on several nodes exchanges gradients between them, and
/// shares a node's network with every other such job. A job on one node is not affected, and does
/// not affect others. Source: the simulator in the artifact of A. Qiao et al., "Pollux", OSDI 2021.
class contention {
    live_jobs& live_;
    ledger const& holdings_;
    job_speeds& speed_segments_;
    buffer<std::uint32_t> spread_jobs_;  // by node: jobs there that are on other nodes too
    bool matters_ = false;               // whether any model depends on it
    bool changed_ = false;

public:
    /// All arguments have to outlive the object.
    contention(live_jobs& live, ledger const& holdings, job_speeds& speed_segments) noexcept
        : live_(live), holdings_(holdings), speed_segments_(speed_segments) {}

    /// Called once before the run.
    void prepare(workload const& jobs, std::size_t nodes) noexcept {
        matters_ = std::any_of(jobs.models.begin(), jobs.models.end(),
                               [](auto const& model) { return model->feels_contention(); });
        if (matters_) spread_jobs_.resize(nodes);
    }

    /// Called when the holdings of any job have changed.
    void note_change() noexcept { changed_ = matters_; }

    /// Updates the speed of jobs that share a node since the last change, or no longer do. O(rows x
    /// log holdings + nodes) after a change, O(1) otherwise.
    void update(nanoseconds now) noexcept {
        if (!changed_) return;
        changed_ = false;
        count();
        for (std::size_t row = 0; row < live_.rows(); ++row) {
            bool const shares = meets_another(devices_of(row));
            if (shares == live_[row].shares_node) continue;
            speed_segments_.bring_up(row, now);
            live_[row].shares_node = shares;
            speed_segments_.set(row, now);
        }
    }

private:
    /// The holdings of a job with devices on several nodes; none for other jobs.
    [[nodiscard]] holding_range devices_of(std::size_t row) const noexcept {
        if (live_[row].devices < 2) return {};
        holding_range const all = holdings_.of({live_.id(row)});
        return std::count_if(all.begin(), all.end(), is_device) > 1 ? all : holding_range{};
    }
    [[nodiscard]] static bool is_device(holding const& h) noexcept { return h.what.resource == resource_id::gpu; }

    /// Counts, for each node, the jobs that are also on other nodes.
    void count() noexcept {
        std::fill(spread_jobs_.begin(), spread_jobs_.end(), 0U);
        for (std::size_t row = 0; row < live_.rows(); ++row)
            for (auto const& h : devices_of(row)) spread_jobs_[h.what.node] += is_device(h);
    }

    /// True if another such job is on one of these nodes.
    [[nodiscard]] bool meets_another(holding_range devices) const noexcept {
        return std::any_of(devices.begin(), devices.end(),
                           [&](holding const& h) { return is_device(h) && spread_jobs_[h.what.node] > 1; });
    }
};

}  // namespace ration::sim
