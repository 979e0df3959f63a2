// SPDX-License-Identifier: BSL-1.0
/// The jobs of a run from the service's list: chooses those that start, and writes each stage of them down, without
/// waiting for the disk.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "run/job_source.hpp"
#include "serve/api.hpp"
#include "serve/api_server.hpp"
#include "serve/end_hooks.hpp"
#include "serve/job_store.hpp"
#include "serve/live_view.hpp"
#include "serve/service_control.hpp"
#include "serve/tracked_job.hpp"
#include "serve/waiting_jobs.hpp"

namespace ration::program {

/// Of the list; that another program writes to it is one warning a minute, since each turn tries again.
class list_warnings {
    nanoseconds busy_at_{};

public:
    void report(error const& why);
};

/// During a commit, and while another program writes to the list, changes wait: those of clients, stages of jobs, and
/// launches. Everything else continues, as limits, time limits and requests that only read.
///
/// Queued jobs start by their priority, then in turns of their tenants, then by their ids, as soon as the jobs that
/// they come after have completed. A stage of a job is durable before the next one begins: a process exists only after
/// `DEPLOYING`. The changes of a turn are one commit, and what follows from them comes after it: answers to clients,
/// the entry of jobs, launches, commands at the end, and the removal of recorded ends.
class job_queue final : public job_source {
    struct move {
        tracked_job* of;
        stage_change change;
    };
    /// The changes of one commit by the run itself, and what follows from them.
    struct batch {
        std::vector<move> moves;
        std::vector<admitted_job> admitted;
        std::vector<hook_call> hooks;

        [[nodiscard]] bool has(tracked_job const& job) const {
            return std::ranges::find(moves, &job, &move::of) != moves.end();
        }
    };
    job_store& store_;
    service_api& api_;
    service_control& control_;
    api_server& server_;
    event_streams& events_;
    end_hooks& ends_;
    service_folder folder_;
    std::size_t max_running_;
    std::map<std::string, tracked_job, std::less<>> tracked_;  // by label
    waiting_jobs waiting_;
    host_failures failures_;
    batch batch_;                         // not durable yet
    std::vector<admitted_job> entering_;  // durable: they enter the run next
    bool asked_ = false;                  // the changes that are not durable have some of users
    bool dirty_ = true;                   // queued jobs may start
    std::int64_t next_ms_ = 0;            // since the boot: from then on another one may
    nanoseconds retry_at_{};              // after changes were lost
    bool goes_on_ = false;                // a commit has ended: the loop has something to do at once
    list_warnings warnings_;

public:
    job_queue(job_store& store, service_api& api, service_control& control, api_server& server, event_streams& events,
              end_hooks& ends, service_folder folder, std::size_t max_running)
        : store_(store), api_(api), control_(control), server_(server), events_(events), ends_(ends),
          folder_(std::move(folder)), max_running_(max_running) {}

    /// A job that an earlier service has launched.
    void restore(stored_job job);

    [[nodiscard]] bool complete() const noexcept override { return false; }
    [[nodiscard]] nanoseconds join(std::vector<pollfd>& fds) const override;
    [[nodiscard]] std::vector<admitted_job> admit(std::size_t slots, nanoseconds now) override;
    [[nodiscard]] bool may_launch(live_job const& job) override;
    void handle(live_job const& job, progress::report const& reply) override;
    void handle_change(live_job const& job, std::string_view reason) override;
    [[nodiscard]] std::optional<process::exit_report> end_of(live_job const& job) const override;
    [[nodiscard]] bool records_ends() const noexcept override { return true; }
    [[nodiscard]] turn_orders take_turn(job_table const& jobs, std::span<training_progress const> progress,
                                        policy_exchange const& exchange, hook_room const& hooks,
                                        nanoseconds now) override;
    /// Ends the program at once, as SIGKILL does: the jobs run on, and the next start takes them over.
    void interrupted() override;

private:
    /// Null: the queue does not have it any more.
    [[nodiscard]] tracked_job* tracked_of(live_job const& job);
    [[nodiscard]] result<void> admit_some(std::size_t slots, nanoseconds now);
    [[nodiscard]] start_order start_order_now() const;
    /// Jobs whose predecessor did not complete fail.
    [[nodiscard]] result<void> fail_lost();
    [[nodiscard]] result<void> enter(stored_job job, nanoseconds now);
    [[nodiscard]] result<void> read_wishes();
    /// Jobs in the run that are not over. `uid`: of this user; 0: of all.
    [[nodiscard]] std::vector<watched_job> watched(job_table const& jobs, std::span<training_progress const> progress,
                                                   std::int64_t uid) const;
    void send_events(job_table const& jobs, std::span<training_progress const> progress);
    [[nodiscard]] result<void> write(job_table const& jobs, std::span<training_progress const> progress,
                                     hook_room const& hooks, turn_orders const& orders, nanoseconds now);
    /// Returns whether the list may have changed.
    [[nodiscard]] bool receive(job_table const& jobs, std::span<training_progress const> progress, nanoseconds now);
    void end_commit(result<void> const& done, turn_orders& orders, job_table const& jobs);
    void settle(turn_orders& orders, job_table const& jobs);
    void lose(error const& why);
};

}  // namespace ration::program
