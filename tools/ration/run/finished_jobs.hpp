// SPDX-License-Identifier: BSL-1.0
/// Jobs that have reached their last tier: a release ends them.
#pragma once

#include <memory>
#include <set>

#include "run/job_operation.hpp"

namespace ration::program {

/// The job has reached its target and gets no more resources. The loop asks it to stop after the tick, so that the
/// operation itself changes nothing.
class stop_operation final : public job_operation {
    job_id job_;

public:
    explicit stop_operation(job_id job) noexcept : job_(job) {}
    [[nodiscard]] result<void> apply() noexcept override { return {}; }
    [[nodiscard]] result<void> verify() noexcept override { return {}; }  // the end of the process shows it
    [[nodiscard]] result<void> undo() noexcept override { return {}; }
    [[nodiscard]] operation_text describe() const noexcept override {
        return {.job = job_,
                .resource = resource_id::cpu,
                .when = timing::live,
                .subject = "processes",
                .old_value = "running",
                .new_value = "asked to stop"};
    }
};

class finished_jobs {
    std::set<job_id> jobs_;

public:
    void set(job_id job, bool is_finished) {
        if (is_finished)
            jobs_.insert(job);
        else
            jobs_.erase(job);
    }
    [[nodiscard]] bool contains(job_id job) const noexcept { return jobs_.contains(job); }
    /// Whether the setting ends the job.
    [[nodiscard]] bool are_ended_by(setting const& wanted) const noexcept {
        return wanted.amount == 0 && contains(wanted.job);
    }
    static void plan(setting const& wanted, job_plan& out) {
        out.push_back(std::make_unique<stop_operation>(wanted.job));
    }
};

}  // namespace ration::program
