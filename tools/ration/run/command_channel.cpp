// SPDX-License-Identifier: BSL-1.0
#include "run/command_channel.hpp"

#include <utility>

#include <ration/assert.hpp>

namespace ration::program {

result<void> command_channel::open(std::string const& folder) {
    auto opened = progress::control::open(folder);
    if (!opened) return opened.failure();
    control_ = std::move(opened).value();
    return {};
}

result<std::uint64_t> command_channel::send(live_job const& job, progress::command const& what) {
    auto const control = control_of(job);
    if (!control) return control.failure();
    return (*control)->send(address(job), job.run, job.token.view(), what);
}

/// The jobs of each user listen in a folder of that user.
result<progress::control*> command_channel::control_of(live_job const& job) {
    RATION_ASSERT(control_, "a command is sent by a channel that is open");
    auto const& owner = job.config->owner;
    if (!owner) return &*control_;
    auto const known = others_.find(owner->folder);
    if (known != others_.end()) return &known->second;
    auto opened = progress::control::open(owner->folder, owner->account.uid);
    if (!opened) return opened.failure();
    return &others_.emplace(owner->folder, std::move(opened).value()).first->second;
}

result<std::uint64_t> command_channel::send_and_follow(live_job const& job, progress::command const& what) {
    auto sent = send(job, what);
    if (sent) jobs_[job].last = *sent;
    return sent;
}

bool command_channel::is_refusal(live_job const& job, progress::report const& reply) const noexcept {
    return reply.type == progress::message_type::acknowledge && !reply.taken_in && reply.command == jobs_[job].last;
}

}  // namespace ration::program
