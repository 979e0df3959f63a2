// SPDX-License-Identifier: BSL-1.0
#include "run/hook_runner.hpp"

#include <csignal>
#include <fmt/core.h>
#include <utility>

#include <ration/process/launch.hpp>

#include "common/error_text.hpp"
#include "run/job_environment.hpp"

namespace ration::program {
namespace {

[[nodiscard]] std::string_view key_of(hook what) noexcept { return hook_keys[static_cast<std::size_t>(what)]; }

}  // namespace

void hook_runner::run(live_job const& job, hook what, nanoseconds now) {
    auto const index = static_cast<std::size_t>(what);
    auto const& command = job.config->hooks[index];
    if (command.empty() || std::exchange(started_[job][index], true)) return;
    auto child = process::launch({.command = command,
                                  .working_directory = job.config->directory,
                                  .environment = environment_of(job, what),
                                  .output_file = output_folder_ + '/' + job.config->name + ".hooks.log"});
    if (!child) return warn(job.config->name, what, to_text(child.failure()), now);
    running_.push_back({job.config->name, what, std::move(child).value(), now + longest});
}

std::vector<std::string> hook_runner::environment_of(live_job const& job, hook what) const {
    auto out = process::user_environment(process::current_environment(), declared_entries(*job.config));
    out.push_back(fmt::format("RATION_JOB={}", job.config->name));
    out.push_back(fmt::format("RATION_JOB_ID={}", job.id.value));
    out.push_back(fmt::format("RATION_HOOK={}", key_of(what)));
    out.push_back(fmt::format("RATION_CONDITION={}", name_of(job.now)));
    out.push_back(fmt::format("RATION_OUTPUT={}/{}.log", output_folder_, job.config->name));
    if (!job.checkpoint.empty()) out.push_back("RATION_CHECKPOINT=" + job.checkpoint);
    return out;
}

void hook_runner::advance(nanoseconds now) {
    std::erase_if(running_, [&](running& one) {
        if (!one.killed && now >= one.deadline) {
            one.killed = true;
            warn(one.job, one.what, fmt::format("it has not ended within {} s", to_seconds(longest)), now);
            static_cast<void>(one.process.signal_group(SIGKILL));  // it may have ended
        }
        auto const how = one.process.try_wait();
        if (how && !one.killed && !how->success())
            warn(one.job, one.what,
                 how->how == process::exit_report::kind::killed
                     ? fmt::format("it was killed by signal {}", how->number)
                     : fmt::format("it ended with exit code {}", how->number),
                 now);
        return how.has_value();
    });
}

void hook_runner::warn(std::string_view job, hook what, std::string const& why, nanoseconds now) {
    events_.warn_once(job, fmt::format("its command {} has failed: {}", key_of(what), why), now);
}

}  // namespace ration::program
