// SPDX-License-Identifier: BSL-1.0
#include "run/node_backend.hpp"

#include <utility>

#include <ration/cgroup/kernel_io.hpp>
#include <ration/host/no_memory.hpp>
#include <ration/process/environment.hpp>

namespace ration::program {

node_backend::node_backend(options const& wanted) : cpus_(wanted.cpus, wanted.claims), open_files_(wanted.open_files) {
    cgroup::kernel_io machine;
    static_cast<void>(machine.read_system("/proc/self/cgroup", memberships_));  // the backend reports what is missing
}

result<node_backend> node_backend::open(options const& wanted) {
    node_backend node(wanted);
    auto jobs = open_job_backend(wanted.choice, node.cpus_);
    if (!jobs) return jobs.failure();
    node.jobs_ = std::move(jobs).value();
    return node;
}

result<void> node_backend::plan(setting const& wanted, job_plan& out) noexcept {
    return or_no_memory("plan a grant", {}, [&]() -> result<void> {
        if (finished_.are_ended_by(wanted)) {
            finished_jobs::plan(wanted, out);
            return {};
        }
        return device_grants::include(wanted.resource) ? devices_.plan(wanted, out)
                                                       : jobs_->plan(caps_.apply(wanted), out);
    });
}

result<process::child> node_backend::launch(job_start const& what, process::launch_spec spec,
                                            process::fork_server* server) {
    spec.open_files = open_files_;
    auto const placer = jobs_->prepare(what, spec);
    if (!placer) return placer.failure();
    gpus_.apply(what, jobs_->groups_of(what.job));
    auto const place = [&](pid_t pid) {
        gpus_.place(what.job, pid);
        return (*placer)(pid);
    };
    spec.place = place;
    auto child = server != nullptr ? server->launch(spec) : process::launch(spec);
    if (!child) {
        static_cast<void>(jobs_->remove(what.job));  // not known yet if the launch failed early
        gpus_.remove(what.job);
        return child;
    }
    auto const capped = what.cpu ? cap_cpu(what.job, *what.cpu) : result<void>();
    if (capped) return child;
    static_cast<void>(remove(what.job));
    return capped.failure();
}

result<void> node_backend::reattach(job_start const& what, process::child const& running) noexcept {
    process::tree_root const root{
        .pid = running.pid(), .start_time = running.start_time(), .mark = process::mark_of(what.token)};
    if (auto const known = jobs_->reattach(what, root); !known) return known;
    gpus_.apply(what, jobs_->groups_of(what.job));
    auto const family = process::tree::of(root);
    if (!family) return jobs_->has_groups() ? result<void>(family.failure()) : result<void>();
    if (auto const placed = jobs_->gather(what.job, root.pid); !placed) return placed;
    for (auto const& member : family->members()) {
        gpus_.place(what.job, member.info.pid);
        auto const placed = jobs_->gather(what.job, member.info.pid);
        bool const has_ended =
            !placed && (placed.failure().code == errc::gone || placed.failure().code == errc::not_found);
        if (!placed && !has_ended) return placed;
    }
    return {};
}

result<void> node_backend::remove(job_id job) noexcept {
    auto const removed = jobs_->remove(job);
    if (removed) {
        caps_.erase(job);
        gpus_.remove(job);
    }
    return removed;
}

result<void> node_backend::cap_cpu(job_id job, millicores cpu) {
    caps_.set(job, cpu);
    return limit_cpu(job, cpu.count);
}

result<void> node_backend::let_run(job_id job) noexcept { return limit_cpu(job, unlimited); }

/// A job that has ended is not an error: the reaper handles its end.
result<void> node_backend::limit_cpu(job_id job, std::int64_t amount) noexcept {
    auto const done = put_in_force(*this, {job, 0, resource_id::cpu, amount});
    return !done && done.failure().code == errc::gone ? result<void>() : done;
}

}  // namespace ration::program
