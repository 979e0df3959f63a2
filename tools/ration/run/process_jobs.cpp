// SPDX-License-Identifier: BSL-1.0
#include "run/process_jobs.hpp"

#include <utility>

#include <ration/process/environment.hpp>
#include <ration/process/proc.hpp>

#include "run/memory_shortage.hpp"

namespace ration::program {

result<std::unique_ptr<job_backend>> process_jobs::open(run_cpus const& cpus) {
    auto processes = process::backend::open(cpus.all());
    if (!processes) return processes.failure();
    return std::unique_ptr<job_backend>(std::make_unique<process_jobs>(std::move(processes).value(), cpus.amount()));
}

std::vector<std::string> process_jobs::approximations() const {
    auto const sentences = process::backend::approximations();
    return {sentences.begin(), sentences.end()};
}

result<job_backend::placer> process_jobs::prepare(job_start const& what, process::launch_spec&) {
    oom_kills_before_[what.job] = oom_kills_of_machine();
    return placer([this, &what](pid_t pid) -> result<void> {
        auto const row = process::read_process(pid);
        auto const added = processes_.add(
            what.job, {.pid = pid, .start_time = row ? row->start_time : 0, .mark = process::mark_of(what.token)});
        return !added || what.cpus.empty() ? added : processes_.confine(what.job, what.cpus);
    });
}

result<void> process_jobs::reattach(job_start const& what, process::tree_root const& first) {
    return processes_.add(what.job, first);
}

/// Removing a job without killing it would let its processes run without a limit.
result<void> process_jobs::remove(job_id job) noexcept {
    if (auto const killed = processes_.kill(job); !killed && killed.failure().code == errc::timed_out) return killed;
    return processes_.remove(job);
}

result<void> process_jobs::plan(setting const& wanted, job_plan& out) { return plan_by(processes_, wanted, out); }

result<void> process_jobs::confine(job_id job, process::cpu_set const& cpus) noexcept {
    return processes_.confine(job, cpus);
}

/// The mark in a process's environment does not count: a process can be started with any environment.
bool process_jobs::may_report(job_id job, pid_t pid) noexcept {
    return processes_.contains(job, pid, process::evidence::kinship);
}

std::string process_jobs::memory_shortage_of(job_id job) {
    auto const before = oom_kills_before_.find(job);
    bool const since = before != oom_kills_before_.end() && oom_kills_of_machine() > before->second;
    return since
               ? "perhaps out of memory: the kernel has killed a process of this machine for that since the job's start"
               : "";
}

}  // namespace ration::program
