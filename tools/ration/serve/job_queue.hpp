// SPDX-License-Identifier: BSL-1.0
/// The jobs of a run from the service's list: chooses those that start, and writes each stage of them down.
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
#include "serve/waiting_jobs.hpp"

namespace ration::program {

/// Of the list; that another program writes to it is one warning a minute, since each turn tries again.
class list_warnings {
    nanoseconds busy_at_{};

public:
    void report(error const& why);
};

/// While another program writes to the list, changes wait: those of clients, stages of jobs, and launches. Everything
/// else continues, as limits, time limits and requests that only read.
///
/// Queued jobs start by their priority, then in turns of their tenants, then by their ids, as soon as the jobs that
/// they come after have completed. A stage of a job is durable before the next one begins: a process exists only after
/// `DEPLOYING`.
class job_queue final : public job_source {
    struct tracked {
        stored_job job;  // as it was written down last
        progress::phase phase = progress::phase::other;
        bool reported = false;   // a step, a metric, a checkpoint or a phase
        bool continues = false;  // it accepts commands, or has delivered a checkpoint
        bool limited = false;    // it is stopped because of its time limit
        bool pausing = false;    // it is stopped because of a pause
        bool may_pause = false;  // an earlier service may have stopped it because of a pause
        bool withdrawn = false;  // it goes back to the queue, since the service drains
        bool stopping = false;
        std::string reason{};  // of the last change of a limit

        [[nodiscard]] bool ended_by_pause(live_job const& of) const noexcept;
    };
    job_store& store_;
    service_api& api_;
    service_control& control_;
    api_server& server_;
    event_streams& events_;
    end_hooks& ends_;
    service_folder folder_;
    std::size_t max_running_;
    std::map<std::string, tracked, std::less<>> tracked_;  // by label
    waiting_jobs waiting_;
    std::map<std::int64_t, std::int64_t> failed_by_host_;  // launches in a row, by id
    bool dirty_ = true;                                    // queued jobs may start
    std::int64_t next_ms_ = 0;                             // since the boot: from then on another one may
    list_warnings warnings_;

public:
    job_queue(job_store& store, service_api& api, service_control& control, api_server& server, event_streams& events,
              end_hooks& ends, service_folder folder, std::size_t max_running)
        : store_(store), api_(api), control_(control), server_(server), events_(events), ends_(ends),
          folder_(std::move(folder)), max_running_(max_running) {}

    /// A job that an earlier service has launched.
    void restore(stored_job job);

    [[nodiscard]] bool complete() const noexcept override { return false; }
    [[nodiscard]] nanoseconds join(std::vector<pollfd>& fds) const override {
        return std::min(server_.join(fds), events_.join(fds));
    }
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
    struct move {
        tracked* of;
        stage_change change;
    };
    /// Null: the queue does not have it any more.
    [[nodiscard]] tracked* tracked_of(live_job const& job);
    [[nodiscard]] result<void> admit_some(std::size_t slots, nanoseconds now, std::vector<admitted_job>& out);
    [[nodiscard]] start_order start_order_now() const;
    /// Jobs whose predecessor did not complete fail.
    [[nodiscard]] result<void> fail_lost();
    [[nodiscard]] result<bool> enter(stored_job job, nanoseconds now, std::vector<admitted_job>& into);
    [[nodiscard]] result<void> read_wishes();
    /// Jobs in the run that are not over. `uid`: of this user; 0: of all.
    [[nodiscard]] std::vector<watched_job> watched(job_table const& jobs, std::span<training_progress const> progress,
                                                   std::int64_t uid) const;
    void send_events(job_table const& jobs, std::span<training_progress const> progress);
    [[nodiscard]] std::optional<stage_change> change_of(live_job const& job, tracked const& t, std::int64_t step,
                                                        nanoseconds now);
    [[nodiscard]] stage_change end_of(live_job const& job, tracked const& t, stage_change change);
    [[nodiscard]] result<void> write(std::vector<move> const& moves, hook_room const& hooks, turn_orders& orders);
    [[nodiscard]] bool must_stop(live_job const& job, tracked& t, nanoseconds now) const;
    /// Returns whether the list may have changed.
    [[nodiscard]] bool receive(job_table const& jobs, std::span<training_progress const> progress, nanoseconds now);
    void settle(std::vector<move> const& moves, turn_orders& orders, job_table const& jobs);
};

}  // namespace ration::program
