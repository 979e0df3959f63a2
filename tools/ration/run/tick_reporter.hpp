// SPDX-License-Identifier: BSL-1.0
/// Emits what a tick decided and what the policy logged.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <ration/host/engine.hpp>

#include "policies/policy_log.hpp"
#include "run/event_sink.hpp"
#include "run/job_table.hpp"
#include "run/per_job.hpp"
#include "run/replaceable_policy.hpp"

namespace ration::program {

class tick_reporter {
    std::string policy_name_, fallback_name_;
    replaceable_policy const& policy_;
    policy_log& log_;
    job_table const& jobs_;
    event_sink& events_;
    policy_log_filter filter_;
    per_job<std::optional<deferral>> waits_;  // why a grant of the job waits, as it was emitted last
    per_job<std::uint32_t> advised_;          // a bit for each bottleneck that was reported to the user

public:
    tick_reporter(std::string policy_name, std::string fallback_name, replaceable_policy const& policy, policy_log& log,
                  job_table const& jobs, event_sink& events)
        : policy_name_(std::move(policy_name)), fallback_name_(std::move(fallback_name)), policy_(policy), log_(log),
          jobs_(jobs), events_(events), waits_(jobs.capacity()), advised_(jobs.capacity()) {}

    void rename_policy(std::string name) { policy_name_ = std::move(name); }
    /// `shown`: the tables as the policy saw them; `took`: since the tick began.
    void emit(tick_report const& report, snapshot const& shown, nanoseconds took);
    /// The reason that the policy gave for a grant of the last tick.
    [[nodiscard]] std::string_view reason(checked_grant const& grant) const {
        return policy_.about().reason(grant.reason());
    }
    /// The log of the policy since the last call. The policy may be gone already.
    void emit_policy_log(nanoseconds now);

private:
    void warn_of_policy(tick_report const& report);
    void emit_changes(tick_report const& report, nanoseconds took);
    void emit_deferred(tick_report const& report);
    /// One line of advice for each kind of bottleneck of a job.
    void print_bottlenecks();
};

}  // namespace ration::program
