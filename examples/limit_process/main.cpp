// SPDX-License-Identifier: BSL-1.0
// The cgroup backend on its own: a process that works without pause is held to half a core. Exit code 77 where no group
// can be made.
#include <cstdio>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <ration/cgroup/backend.hpp>
#include <ration/cgroup/kernel_io.hpp>

namespace {

int report(ration::error const& why) {
    std::printf("%s %.*s: %s\n", why.operation, static_cast<int>(why.subject.view().size()), why.subject.view().data(),
                why.remedy);
    return why.code == ration::errc::not_supported || why.code == ration::errc::denied ? 77 : 1;
}

ration::result<void> hold_to_half_a_core(ration::cgroup::backend& groups, ration::job_id job, int pid) {
    if (auto added = groups.add(job, "busy"); !added) return added;    // the job's group, in every hierarchy
    if (auto placed = groups.place(job, pid); !placed) return placed;  // read back from /proc/<pid>/cgroup
    ration::plan<ration::cgroup::operation> plan;
    auto planned = groups.plan({.job = job, .resource = ration::resource_id::cpu, .amount = 500}, plan);
    for (auto const& operation : plan) {
        if (auto applied = groups.apply(operation); !applied) return applied;      // all or nothing
        if (auto verified = groups.verify(operation); !verified) return verified;  // read back
    }
    return planned;
}

}  // namespace

int main() {
    ration::cgroup::kernel_io machine;  // must outlive the backend
    auto groups = ration::cgroup::backend::open(machine, {.name = "example", .cpus = {}});
    if (!groups) return report(groups.failure());
    int const pid = ::fork();
    if (pid == 0)
        for (unsigned volatile turns = 0;;) turns = turns + 1;
    ration::job_id const job{1};
    if (auto held = hold_to_half_a_core(*groups, job, pid); !held) return report(held.failure());
    auto const before = groups->observe(job);
    std::this_thread::sleep_for(std::chrono::seconds(2));
    auto const after = groups->observe(job);
    if (auto removed = groups->remove(job); !removed) return report(removed.failure());
    ::waitpid(pid, nullptr, 0);
    std::printf("asked for 0.50 of a core, got %.2f\n",
                static_cast<double>((after->cpu_time - before->cpu_time).count) / 2e9);
}
