// SPDX-License-Identifier: BSL-1.0
/// Grants of devices and of batch sizes: an elastic job's resize applies them after the tick.
#pragma once

#include <cstdint>

#include "run/elastic_jobs.hpp"
#include "run/job_operation.hpp"

namespace ration::program {

/// Sets the wanted size, or the wanted batch, of a job's resize. The job itself changes later.
class size_operation final : public job_operation {
    elastic_jobs& jobs_;
    setting from_, to_;

public:
    /// The two differ only in their amounts. Pre: the job has devices.
    size_operation(elastic_jobs& jobs, setting const& from, setting const& to) noexcept
        : jobs_(jobs), from_(from), to_(to) {}
    [[nodiscard]] result<void> apply() noexcept override { return want(to_); }
    [[nodiscard]] result<void> verify() noexcept override { return {}; }  // the hello of its next launch does
    [[nodiscard]] result<void> undo() noexcept override { return want(from_); }
    [[nodiscard]] operation_text describe() const noexcept override;

private:
    [[nodiscard]] result<void> want(setting const& what) noexcept;
};

class device_grants {
    elastic_jobs* jobs_ = nullptr;

public:
    /// Before the first grant of devices.
    void connect(elastic_jobs& jobs) noexcept { jobs_ = &jobs; }
    [[nodiscard]] static bool include(resource_id resource) noexcept {
        return resource == resource_id::gpu || resource == resource_id::batch;
    }
    /// Errors: not_found (a job without devices), busy (its size cannot change now).
    [[nodiscard]] result<void> plan(setting const& wanted, job_plan& out) const;
};

}  // namespace ration::program
