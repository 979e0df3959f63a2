// SPDX-License-Identifier: BSL-1.0
#include "serve/end_hooks.hpp"

#include <fmt/format.h>

#include "serve/users.hpp"

namespace ration::program {
namespace {

[[nodiscard]] std::vector<std::string> facts_of(stored_job const& job, std::string const& checkpoint) {
    std::vector<std::string> facts{fmt::format("RATION_JOB_ID={}", job.id),
                                   fmt::format("RATION_STAGE={}", name_of(job.now)), "RATION_CHECKPOINT=" + checkpoint};
    if (job.end.exit_code) facts.push_back(fmt::format("RATION_EXIT_CODE={}", *job.end.exit_code));
    if (job.end.signal) facts.push_back(fmt::format("RATION_SIGNAL={}", *job.end.signal));
    return facts;
}

}  // namespace

result<std::vector<hook_call>> end_hooks::take(hook_room room) {
    constexpr std::size_t commands_of_a_job = 2;
    auto const ended = store_.take_ended([&](std::int64_t uid) {
        return room.take(folder_.is_other_user(uid) ? hook_user(static_cast<uid_t>(uid)) : std::nullopt,
                         commands_of_a_job);
    });
    if (!ended) return ended.failure();
    std::vector<hook_call> calls;
    for (auto const& job : *ended) add_calls(job, calls);
    return calls;
}

void end_hooks::add_calls(stored_job const& job, std::vector<hook_call>& into) const {
    auto config = described_job(job);
    if (config == nullptr) return;
    auto& on_end = config->hooks[static_cast<std::size_t>(hook::end)];
    if (on_end.empty()) on_end = on_end_;
    auto const uid = job.what.uid;
    if (folder_.is_other_user(uid)) config->owner = owner_of(uid, folder_);
    if (folder_.is_other_user(uid) && !config->owner) return;  // its user has no account any more
    auto const facts = facts_of(job, checkpoint_of(*config, uid, folder_));
    for (auto const what : {hook::end, hook::failure}) {
        bool const wanted = what == hook::end || job.now == stage::failed;
        if (wanted && !config->hooks[static_cast<std::size_t>(what)].empty())
            into.push_back(make_hook_call(*config, what, facts, folder_.output()));
    }
}

}  // namespace ration::program
