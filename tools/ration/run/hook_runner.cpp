// SPDX-License-Identifier: BSL-1.0
#include "run/hook_runner.hpp"

#include <csignal>
#include <fmt/core.h>
#include <utility>

#include <ration/process/launch.hpp>

#include "common/error_text.hpp"
#include "run/run_folder.hpp"

namespace ration::program {
namespace {

[[nodiscard]] hook_user user_of(hook_call const& call) {
    return call.how.user ? hook_user(call.how.user->uid) : std::nullopt;
}

}  // namespace

void hook_runner::run(live_job const& job, hook what, nanoseconds now) {
    auto const index = static_cast<std::size_t>(what);
    if (job.config->hooks[index].empty() || std::exchange(started_[job][index], true)) return;
    std::vector<std::string> facts{fmt::format("RATION_JOB_ID={}", job.id.value),
                                   fmt::format("RATION_CONDITION={}", name_of(job.now))};
    if (!job.checkpoint.empty()) facts.push_back("RATION_CHECKPOINT=" + job.checkpoint);
    start(make_hook_call(*job.config, what, facts, output_folder_), now);
}

void hook_runner::start(hook_call call, nanoseconds now) {
    waiting_.push_back(std::move(call));
    start_waiting(now);
}

hook_room hook_runner::room() const {
    hook_room out;
    for (auto const& one : running_) out.take(one.user);
    for (auto const& call : waiting_) out.take(user_of(call));
    return out;
}

/// A user without a place delays no other user.
void hook_runner::start_waiting(nanoseconds now) {
    if (waiting_.empty()) return;
    hook_room left;
    for (auto const& one : running_) left.take(one.user);
    std::erase_if(waiting_, [&](hook_call const& call) {
        bool const starts = left.take(user_of(call));
        if (starts) launch(call, now);
        return starts;
    });
}

void hook_runner::launch(hook_call const& call, nanoseconds now) {
    auto how = call.how;
    bool const is_own = !how.user && !how.output_file.empty();
    auto const output = is_own ? open_job_output(how.output_file) : process::descriptor();
    if (!output) return warn(call.job, call.what, to_text(output.failure()), now);
    how.output = output->get();
    auto child = process::launch(how);
    if (!child) return warn(call.job, call.what, to_text(child.failure()), now);
    running_.push_back({user_of(call), call.job, call.what, std::move(child).value(), now + longest});
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
    start_waiting(now);
}

void hook_runner::warn(std::string_view job, hook what, std::string const& why, nanoseconds now) {
    events_.warn_once(job, fmt::format("its command {} has failed: {}", hook_keys[static_cast<std::size_t>(what)], why),
                      now);
}

}  // namespace ration::program
