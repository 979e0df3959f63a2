// SPDX-License-Identifier: BSL-1.0
#include "run/hook_call.hpp"

#include <fmt/core.h>

#include <ration/process/environment.hpp>

#include "run/job_environment.hpp"

namespace ration::program {

hook_call make_hook_call(job_config const& job, hook what, std::vector<std::string> const& facts,
                         std::string const& output_folder) {
    auto const index = static_cast<std::size_t>(what);
    auto const& folder = job.output_folder(output_folder);
    auto environment = process::user_environment(inherited_entries(job), declared_entries(job));
    environment.push_back(fmt::format("RATION_JOB={}", job.name));
    environment.push_back(fmt::format("RATION_HOOK={}", hook_keys[index]));
    environment.push_back(fmt::format("RATION_OUTPUT={}/{}.log", folder, job.name));
    environment.insert(environment.end(), facts.begin(), facts.end());
    return {job.name,
            what,
            {.command = job.hooks[index],
             .working_directory = job.directory,
             .environment = std::move(environment),
             .output_file = fmt::format("{}/{}.hooks.log", folder, job.name),
             .user = job.owner ? std::optional(job.owner->account) : std::nullopt,
             .umask = job.umask}};
}

}  // namespace ration::program
