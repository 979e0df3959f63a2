// SPDX-License-Identifier: BSL-1.0
/// When the policy is asked, and with what: the engine of a run, its capacity and its next tick.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <ration/host/engine.hpp>
#include <ration/policies/none.hpp>

#include "run/event_sink.hpp"
#include "run/job_table.hpp"
#include "run/live_estimators.hpp"
#include "run/node_backend.hpp"
#include "run/published_tables.hpp"
#include "run/replaceable_policy.hpp"
#include "run/spare_cpu.hpp"
#include "run/tick_timer.hpp"
#include "run/usage_meter.hpp"

namespace ration::program {

class scheduler {
    replaceable_policy& policy_;
    node_backend& node_;
    job_table& jobs_;
    usage_meter const& usage_;
    event_sink& events_;
    tick_timer timer_;
    published_tables shown_;
    policy_adapter<policies::none> fallback_;
    live_estimators estimators_;
    engine<node_backend> engine_;
    spare_cpu spare_;

public:
    struct rules {
        nanoseconds interval;  ///< between two ticks without a request
        settle_rules settle{};
        std::vector<estimators::phase_model> phases{};                 ///< by `jobs/class`
        std::span<std::unique_ptr<any_estimator> const> estimators{};  ///< from files; they outlive the object
    };
    scheduler(replaceable_policy& policy, node_backend& node, job_table& jobs, usage_meter const& usage,
              rules const& how, event_sink& events);
    scheduler(scheduler const&) = delete;
    scheduler& operator=(scheduler const&) = delete;

    /// Errors: the policy needs columns that this host does not have.
    [[nodiscard]] result<void> bind(std::size_t jobs) noexcept { return engine_.bind({.jobs = jobs, .nodes = 1}); }

    /// Exchanges the policy for another one, and reports all jobs to it as new ones. Jobs keep their limits until its
    /// first answer. After an error the earlier one decides. `policy` has the other one then. Errors: those of `bind`.
    [[nodiscard]] result<void> change_policy(std::unique_ptr<any_policy>& policy, nanoseconds now);

    /// Whether the policy treats a job differently once it has reached a tier.
    [[nodiscard]] bool reads_tiers() const noexcept { return policy_.reads("jobs/tier"); }
    /// The next tick is due at once: something happened that the policy has to answer.
    void request_tick() noexcept { timer_.request(); }
    void start_tick(nanoseconds now) noexcept { timer_.start(now); }
    [[nodiscard]] tick_timer const& timer() const noexcept { return timer_; }
    /// Brings the columns up to date and asks the policy. `progress` and `seen` are by row, also for jobs that have not
    /// arrived; `devices`: that jobs can have together. The spans of the report are valid until the next call.
    [[nodiscard]] tick_report tick(nanoseconds now, std::span<training_progress const> progress,
                                   std::span<std::optional<observation> const> seen, std::int64_t devices);
    /// Of the CPUs of the run.
    [[nodiscard]] spare_cpu const& spare() const noexcept { return spare_; }
    /// The tables as the policy saw them at the last tick.
    [[nodiscard]] snapshot published() const noexcept { return shown_.last(); }

    /// The job has ended and holds nothing.
    void release(job_id job) noexcept { engine_.release(job); }
    /// The job holds this amount, whatever was granted.
    void set_held(setting const& held, nanoseconds now) noexcept { engine_.reattach(held, now); }
    /// Reports to the policy that a grant of devices had no effect.
    void report_failed_grant(live_job const& job, std::int64_t devices, nanoseconds now) noexcept;
    /// Restores limits that another program, or the job, has changed. A job whose limits cannot be kept holds nothing.
    /// Pre: the job has a process.
    void reconcile(live_job const& job, nanoseconds now);

private:
    [[nodiscard]] result<void> rebind(nanoseconds now);
    void replace_policy(nanoseconds now);
    void forget_cpu_limits(nanoseconds now);
    void limit_refused(tick_report const& report);
};

}  // namespace ration::program
