// SPDX-License-Identifier: BSL-1.0
// What became of a job under its backend: which processes are its own, whether its limits still are as they were
// written, and its memory.
#include <algorithm>
#include <fmt/ranges.h>

#include "common/error_text.hpp"
#include "run/memory_shortage.hpp"
#include "run/node_backend.hpp"

namespace ration::program {

bool node_backend::contains(job_id job, pid_t pid) noexcept {
    if (auto* const groups = std::get_if<std::unique_ptr<cgroup::backend>>(&backend_)) {
        auto const members = (*groups)->members(job);
        return members && std::ranges::find(*members, pid) != members->end();
    }
    return std::get<std::unique_ptr<process::backend>>(backend_)->contains(job, pid);
}

std::vector<std::string> node_backend::reconcile(job_id job, process::child const& first) {
    auto* const groups = std::get_if<std::unique_ptr<cgroup::backend>>(&backend_);
    if (groups == nullptr || !process::same_process(first.pid(), first.start_time())) return {};
    auto const found = (*groups)->reconcile(job, first.pid());
    if (!found) return {};
    std::vector<std::string> reply;
    bool const stays_outside = found->had_left && !found->restored;
    if (stays_outside)
        outside_.insert_or_assign(job, found->restored.failure());
    else
        outside_.erase(job);
    if (stays_outside)
        reply.push_back(
            fmt::format("its first process has left its cgroup and cannot be put back: {}; its limits are not kept",
                        to_text(found->restored.failure())));
    if (found->had_left && !stays_outside)
        reply.emplace_back("its first process had left its cgroup, which keeps its limits; it was put back");
    if (!found->changed.empty() && found->restored)
        reply.push_back(fmt::format("another program, or the job, had changed {}; the last limits are written again",
                                    fmt::join(found->changed, ", ")));
    return reply;
}

bool node_backend::may_report(job_id job, pid_t pid) noexcept {
    auto* const processes = std::get_if<std::unique_ptr<process::backend>>(&backend_);
    return processes != nullptr ? (*processes)->contains(job, pid, process::evidence::kinship) : contains(job, pid);
}

std::string node_backend::memory_shortage_of(job_id job) {
    if (auto* const groups = std::get_if<std::unique_ptr<cgroup::backend>>(&backend_)) {
        auto const place = (*groups)->place_of(job, cgroup::controller::memory);
        auto const found = place && *place != nullptr ? cgroup::find_shortage(**place)
                                                      : result<cgroup::memory_shortage>(cgroup::memory_shortage{});
        return sentence_of(found.value_or({}));
    }
    auto const before = oom_kills_before_.find(job);
    bool const since = before != oom_kills_before_.end() && oom_kills_of_machine() > before->second;
    return since
               ? "perhaps out of memory: the kernel has killed a process of this machine for that since the job's start"
               : "";
}

}  // namespace ration::program
