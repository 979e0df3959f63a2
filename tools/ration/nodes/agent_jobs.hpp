// SPDX-License-Identifier: BSL-1.0
/// The jobs of a node: those that the controller of the run has assigned. It also holds the node's side of the
/// conversation while jobs run.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "nodes/agent_claims.hpp"
#include "nodes/agent_socket.hpp"
#include "nodes/lease_guard.hpp"
#include "nodes/node_lease.hpp"
#include "nodes/sent_grants.hpp"
#include "nodes/wire.hpp"
#include "nodes/wire_channel.hpp"
#include "run/job_source.hpp"

namespace ration::program {

/// The head of messages in both directions, on the side of a node.
struct agent_session {
    wire_channel& channel;
    std::string name{};  ///< of the session
    std::uint64_t sent = 0, received = 0;

    void send(node_report const& what);
    /// The orders that have arrived; a message with a fault is answered with an error. The greatest clock of
    /// their heads renews `lease`, unless that is null.
    [[nodiscard]] std::vector<node_order> receive(node_lease* lease);
};

/// The parts of an agent that outlive its connection.
struct agent_limits {
    lease_guard& guard;
    agent_claims const& claims;
    agent_socket& socket;
};

/// The first message of each side.
struct agent_greetings {
    hello_order order;
    hello_report report;
};

class agent_jobs final : public job_source {
    agent_session& session_;
    node_lease lease_;
    agent_limits limits_;
    agent_greetings greetings_;
    std::map<std::string, std::shared_ptr<job_config const>, std::less<>> known_;
    std::shared_ptr<grant_list> grants_;
    std::vector<assigned_job> assigned_, incoming_;
    std::uint64_t list_ = 0;  // the number of `assigned_`
    std::set<std::string, std::less<>> present_, stopped_;
    /// Ends of jobs that are not reported yet. Slurm sends SIGTERM to all processes of a step, and a job can react
    /// before this one: such a job has not ended, and continues elsewhere.
    std::vector<std::string> ends_;
    std::set<std::string, std::less<>> held_, continuing_;  // names: of `ends_`; of jobs that continue elsewhere
    /// By job: the event of its end, until the controller withdraws the job. The pipe of a controller that was killed
    /// can have lost it.
    std::map<std::string, std::string, std::less<>> reported_ends_;
    std::vector<std::string> kept_;  // events for the next controller
    std::size_t kept_bytes_ = 0;
    nanoseconds ends_at_{};  // when `ends_` are reported
    nanoseconds next_beat_{}, ending_since_{};
    std::uint64_t reported_ = 0;  // the list of the last state
    bool ending_ = false, has_lost_lease_ = false, kill_ = false, dirty_ = true, new_list_ = false;

public:
    /// Sends its greeting. `known`: the jobs of the file.
    agent_jobs(agent_session& session, agent_greetings greetings, node_lease lease, agent_limits limits,
               std::vector<job_config> known, std::shared_ptr<grant_list> grants);

    /// Sends an event of the run to the controller.
    void report(event const& what);

    /// It ends because no message of the controller came in time, so that the controller may start the node again.
    [[nodiscard]] bool has_lost_lease() const noexcept { return has_lost_lease_; }
    [[nodiscard]] bool complete() const noexcept override { return ending_; }
    [[nodiscard]] nanoseconds join(std::vector<pollfd>& fds) const override;
    [[nodiscard]] std::vector<admitted_job> admit(std::size_t slots, nanoseconds now) override;
    /// A part of a job on several nodes is launched once: another launch is one of all parts.
    [[nodiscard]] bool may_launch(live_job const& job) override;
    /// The controller gives up a job on several nodes that does not start on one of them.
    [[nodiscard]] bool waits_for_machine(live_job const& job) const noexcept override {
        return job.elastic().part.is_whole();
    }
    void handle(live_job const&, progress::report const&) override {}
    void handle_change(live_job const&, std::string_view) override { dirty_ = true; }
    [[nodiscard]] std::optional<process::exit_report> end_of(live_job const&) const override { return {}; }
    [[nodiscard]] turn_orders take_turn(job_table const& jobs, std::span<training_progress const> progress,
                                        policy_exchange const& exchange, hook_room const& hooks,
                                        nanoseconds now) override;
    void interrupted() override;

private:
    void take(node_order const& order);
    void send_event(std::string line);
    void reattach();
    [[nodiscard]] assigned_job const* find(std::string_view job) const noexcept;
    void set_grants(job_table const& jobs);
    void stop_others(job_table const& jobs, turn_orders& orders);
    void send_ends();
    void send_state(job_table const& jobs);
    void end() noexcept;
    [[nodiscard]] bool follows_to_its_end(live_job const& job) const noexcept;
    [[nodiscard]] static bool has_ended_early(live_job const& job) noexcept;
};

}  // namespace ration::program
