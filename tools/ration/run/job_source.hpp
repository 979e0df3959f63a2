// SPDX-License-Identifier: BSL-1.0
/// Where the jobs of a run come from, and who keeps account of them: a jobs file, or the queue of a service.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <poll.h>
#include <span>
#include <string_view>
#include <vector>

#include <ration/host/any_policy.hpp>
#include <ration/process/child.hpp>
#include <ration/progress/update.hpp>

#include "config/settings.hpp"
#include "run/hook_call.hpp"
#include "run/hook_room.hpp"
#include "run/job_table.hpp"
#include "run/training_progress.hpp"

namespace ration::program {

/// A job that enters the run.
struct admitted_job {
    std::shared_ptr<job_config const> config;
    std::uint32_t incarnations = 0;  ///< launches before this run
};

struct policy_change {
    policy_choice choice;
    std::unique_ptr<any_policy> policy;
};

/// Exchanges the policy of the run, at once. `next` has the earlier policy then, so that the same call with it goes
/// back. After an error the earlier policy decides, and `next` is as before.
using policy_exchange = std::function<result<void>(policy_change& next)>;

/// Orders to the run after a turn of its loop.
struct turn_orders {
    std::vector<job_id> stop, terminate, kill, forget;  ///< terminated ones need not save; forgotten ones are over
    bool tick = false;                                  ///< the policy has something new to answer
    std::vector<hook_call> hooks;                       ///< to be started
};

/// The loop calls each function from its own thread; none of them waits for more than the disk.
class job_source {
public:
    job_source() = default;
    job_source(job_source const&) = delete;
    job_source& operator=(job_source const&) = delete;
    virtual ~job_source() = default;

    /// Whether no further job can come, so that the run ends with its last job.
    [[nodiscard]] virtual bool complete() const noexcept = 0;
    /// Adds what is worth waking up for. Returns when to wake up at the latest, on CLOCK_MONOTONIC.
    [[nodiscard]] virtual nanoseconds join(std::vector<pollfd>& fds) const = 0;
    /// The jobs that enter the run now, at most `slots`. They arrive at `now`, on the clock of the run.
    [[nodiscard]] virtual std::vector<admitted_job> admit(std::size_t slots, nanoseconds now) = 0;
    /// Directly before a launch. False: the launch cannot be noted now; the loop asks again.
    [[nodiscard]] virtual bool may_launch(live_job const& job) = 0;
    /// Whether a job whose launch has failed by an error of the machine waits in the run for the next one; else it has
    /// failed there, and the source decides.
    [[nodiscard]] virtual bool waits_for_machine(live_job const&) const noexcept { return false; }
    /// A report of a job.
    virtual void handle(live_job const& job, progress::report const& reply) = 0;
    /// A limit of the job has changed; `reason` is the policy's.
    virtual void handle_change(live_job const& job, std::string_view reason) = 0;
    /// How the present incarnation of a job ended, if the kernel did not report it to this process; none: unknown.
    [[nodiscard]] virtual std::optional<process::exit_report> end_of(live_job const& job) const = 0;
    /// Whether a process of the job writes down each end, so that `end_of` has none only if that process was killed.
    [[nodiscard]] virtual bool records_ends() const noexcept { return false; }
    /// Once in each turn of the loop, after its events. `progress`: by slot. `exchange`: until this returns. `hooks`:
    /// the commands that can be started at once.
    [[nodiscard]] virtual turn_orders take_turn(job_table const& jobs, std::span<training_progress const> progress,
                                                policy_exchange const& exchange, hook_room const& hooks,
                                                nanoseconds now) = 0;
    /// The run was interrupted, and would stop its jobs next. Need not return.
    virtual void interrupted() = 0;
};

/// The jobs of a file, which are in the table from the start.
class file_jobs final : public job_source {
public:
    [[nodiscard]] bool complete() const noexcept override { return true; }
    [[nodiscard]] nanoseconds join(std::vector<pollfd>&) const override { return nanoseconds{INT64_MAX}; }
    [[nodiscard]] std::vector<admitted_job> admit(std::size_t, nanoseconds) override { return {}; }
    [[nodiscard]] bool may_launch(live_job const&) override { return true; }
    [[nodiscard]] bool waits_for_machine(live_job const&) const noexcept override { return true; }
    void handle(live_job const&, progress::report const&) override {}
    void handle_change(live_job const&, std::string_view) override {}
    [[nodiscard]] std::optional<process::exit_report> end_of(live_job const&) const override { return {}; }
    [[nodiscard]] turn_orders take_turn(job_table const&, std::span<training_progress const>, policy_exchange const&,
                                        hook_room const&, nanoseconds) override {
        return {};
    }
    void interrupted() override {}
};

}  // namespace ration::program
