// SPDX-License-Identifier: BSL-1.0
#include "run/device_grants.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace ration::program {

operation_text size_operation::describe() const noexcept {
    return {.job = to_.job,
            .resource = to_.resource,
            .when = timing::needs_restart,
            .subject = std::string_view(to_.resource == resource_id::gpu ? "devices" : "samples per step"),
            .old_value = std::string_view(std::to_string(from_.amount)),
            .new_value = std::string_view(std::to_string(to_.amount))};
}

result<void> size_operation::want(setting const& what) noexcept {
    resize& job = *jobs_.find(what.job);
    what.resource == resource_id::gpu ? job.want(what.amount) : job.want_batch(what.amount);
    return {};
}

result<void> device_grants::plan(setting const& wanted, job_plan& out) const {
    resize const* const job = jobs_ != nullptr ? jobs_->find(wanted.job) : nullptr;
    if (job == nullptr)
        return error{.code = errc::not_found,
                     .operation = "change the size of a job",
                     .remedy = "the jobs file gives it no bounds.gpu"};
    bool const size = wanted.resource == resource_id::gpu;
    setting now = wanted;
    now.amount = size ? job->state().devices.wanted() : job->state().devices.batch();
    if (now.amount == wanted.amount) return {};
    if (char const* const why = job->state().why_not(); size && *why != '\0')
        return error{.code = errc::busy, .operation = "change the size of a job", .remedy = why};
    out.push_back(std::make_unique<size_operation>(*jobs_, now, wanted));
    return {};
}

}  // namespace ration::program
