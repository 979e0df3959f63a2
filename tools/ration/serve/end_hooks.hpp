// SPDX-License-Identifier: BSL-1.0
/// The commands of users at the end of a job of the service: one end for all launches of the job.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "run/hook_call.hpp"
#include "run/hook_room.hpp"
#include "serve/definition.hpp"
#include "serve/job_store.hpp"

namespace ration::program {

class end_hooks {
    job_store& store_;
    service_folder folder_;
    std::vector<std::string> on_end_;

public:
    /// `on_end`: the command of jobs that have none; empty: none.
    end_hooks(job_store& store, service_folder folder, std::vector<std::string> on_end)
        : store_(store), folder_(std::move(folder)), on_end_(std::move(on_end)) {}

    /// The commands of jobs that have ended, also without a launch or a service, as far as their users have room. Start
    /// them once the next commit has ended: then a command runs at most once, and those of other jobs wait on the disk.
    /// Errors: those of the list.
    [[nodiscard]] result<std::vector<hook_call>> take(hook_room room);

private:
    void add_calls(stored_job const& job, std::vector<hook_call>& into) const;
};

}  // namespace ration::program
