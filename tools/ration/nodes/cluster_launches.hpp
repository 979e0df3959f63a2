// SPDX-License-Identifier: BSL-1.0
/// The launches of the jobs on their nodes: which parts a job has, when they have to leave, and when all of them start.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nodes/cluster_nodes.hpp"
#include "nodes/node_row.hpp"
#include "nodes/start_deadline.hpp"
#include "run/back_off.hpp"
#include "run/live_job.hpp"

namespace ration::program {

/// The present launch of a job.
struct cluster_launch {
    node_shares layout;                       ///< with which it was assigned to its nodes; empty: to none
    std::uint32_t incarnation = 0;            ///< of all parts, if it is on several nodes
    std::map<std::size_t, node_row> rows{};   ///< by node: the last reports
    bool is_stopping = false;                 ///< on several nodes: rank 0 is to save and stop, for another layout
    bool has_stopped_training = false;        ///< it has saved for that: the ends of other parts are no failures
    bool has_trained = false;                 ///< since its start
    start_deadline start{};                   ///< on several nodes
    std::optional<nanoseconds> ends_since{};  ///< rank 0 has stopped, or the job is over
    std::string failure{};                    ///< of a part
    node_shares trained{};                    ///< the last layout with which it has trained
    double attained_before = 0;               ///< device-seconds of earlier launches
    int failures = 0;                         ///< without a further step
    std::uint64_t failed_at = 0;              ///< the greatest step then
    back_off rest{seconds(60)};

    /// It has reported a step.
    void note_step(std::uint64_t step);
    /// The node of rank 0 has reported a step of a resize.
    void note_resize(resize_step what) noexcept;
    /// Whether it has failed too often to be launched again.
    [[nodiscard]] bool has_failed_for_good() const noexcept;
    [[nodiscard]] bool has_parts() const noexcept { return layout.size() > 1; }
    [[nodiscard]] bool is_lead(std::size_t node) const noexcept {
        return !layout.empty() && layout.front().node == node;
    }
    /// The last report of the node of rank 0; null: none.
    [[nodiscard]] node_row const* lead() const noexcept;
    /// Rank 0 has stopped and holds nothing, so that the other parts can leave too.
    [[nodiscard]] bool has_stopped() const noexcept;
    /// The first node that has not reported the launch of its part; null: all have.
    [[nodiscard]] node_share const* unlaunched() const noexcept;
    [[nodiscard]] std::int64_t devices() const noexcept;
    [[nodiscard]] double attained() const noexcept;
};

/// A job is named by its number in the registry and the backend.
class cluster_launches {
    cluster_nodes& nodes_;
    cluster_backend const& grants_;
    std::vector<cluster_launch> launches_;
    std::uint16_t port_;
    bool of_shares_;

public:
    cluster_launches(cluster_nodes& nodes, cluster_backend const& grants, std::size_t jobs, bool of_shares);

    [[nodiscard]] cluster_launch& of(std::size_t job) noexcept { return launches_[job]; }
    [[nodiscard]] cluster_launch const& of(std::size_t job) const noexcept { return launches_[job]; }

    /// Devices in the grant of the job.
    [[nodiscard]] std::int64_t granted_to(std::size_t job) const noexcept {
        return devices_in(grants_.grant_of(job).shares);
    }
    [[nodiscard]] std::int64_t batch_of(std::size_t job) const noexcept { return grants_.grant_of(job).batch; }
    /// Whether the job has to leave its nodes before it can run with its grant.
    [[nodiscard]] bool moves(std::size_t job) const;
    /// The part of the job in the next list of this node. `incarnations`: of the job so far.
    [[nodiscard]] assigned_job part(std::size_t job, std::size_t node, std::string name,
                                    std::uint32_t incarnations) const;
    /// Devices in that list.
    [[nodiscard]] std::int64_t sent_to(std::size_t job, std::size_t node) const;

    // --- Events
    /// A part of the job has ended, or the whole job if it has one part. True: with it the job is over.
    [[nodiscard]] bool end_part(std::size_t job, std::size_t node, condition how, std::string const& why);
    /// Forgets the reports of nodes that the job has left. True if it cannot continue in its present launch.
    [[nodiscard]] bool is_lost(live_job const& job);

    // --- Orders
    /// Withdraws the job if it can leave its nodes, and assigns it if it can start. True: parts of incarnation
    /// `job.run` + 1 start.
    [[nodiscard]] bool advance(live_job const& job, nanoseconds now);
    void withdraw(std::size_t job);
    /// A start on several nodes fails at the deadline of its phase.
    void limit_start(live_job const& job, nanoseconds now);
    /// The controller was suspended until now: deadlines begin again.
    void resume(nanoseconds now) noexcept;
    /// Whether all nodes of these shares are up, with enough devices beside the grants of other jobs.
    [[nodiscard]] bool can_return(std::size_t job, node_shares const& shares) const;

private:
    [[nodiscard]] bool forget_left(std::size_t job);
    /// No part but that of rank 0 is left.
    [[nodiscard]] bool others_have_ended(std::size_t job) const noexcept;
    [[nodiscard]] bool may_leave(live_job const& job, nanoseconds now);
    [[nodiscard]] bool may_start(std::size_t job, node_shares const& target) const;
    [[nodiscard]] std::int64_t occupied(std::size_t node) const;
    [[nodiscard]] bool assign(std::size_t job, node_shares const& target, std::uint32_t incarnations, nanoseconds now);
    [[nodiscard]] std::int64_t ranks(std::int64_t devices) const noexcept { return of_shares_ ? 1 : devices; }
};

/// The devices of the largest node, of the two largest ones together, and so on.
[[nodiscard]] std::vector<std::int64_t> devices_of_largest(cluster_nodes const& nodes);
/// Devices that the job can have, on as many nodes as it can use.
[[nodiscard]] std::int64_t reachable_devices(std::span<std::int64_t const> largest, job_config const& job);

}  // namespace ration::program
