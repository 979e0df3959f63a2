// SPDX-License-Identifier: BSL-1.0
/// One way to limit, observe and end the processes of jobs on this machine. job_backends.hpp lists the ways.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include <ration/cgroup/directory.hpp>
#include <ration/host/backend.hpp>
#include <ration/process/cpus.hpp>
#include <ration/process/launch.hpp>
#include <ration/process/tree.hpp>

#include "run/device_filter_guard.hpp"
#include "run/gpu_memory.hpp"
#include "run/job_operation.hpp"

namespace ration::program {

/// A job as a launch or a reattachment passes it to the backend.
struct job_start {
    job_id job;
    std::string const& name;
    std::string_view token;
    std::optional<bytes> memory;      ///< ignored where `limits_memory` is false
    std::optional<millicores> cpu{};  ///< of its CPU devices: the upper bound of its limit in this incarnation
    process::cpu_set cpus{};          ///< to which the job is bound; empty: all CPUs of the run
    std::optional<own_gpus> gpus{};   ///< the only GPUs whose files it may open
    std::optional<gpu_memory_limit> gpu_memory{};  ///< applied where the job's group has dmem
};

/// The groups of a job in which other components set limits; null where the job has no such group.
struct job_groups {
    cgroup::directory const* core = nullptr;  ///< for the device access filter
    cgroup::directory const* dmem = nullptr;  ///< for the memory of GPUs
};

/// For one thread. Errors of all functions with a job: `not_found`, and those of the implementation.
class job_backend {
public:
    /// Takes charge of the job's first process, which waits before exec.
    using placer = std::function<result<void>(pid_t)>;

    job_backend() = default;
    job_backend(job_backend const&) = delete;
    job_backend& operator=(job_backend const&) = delete;
    virtual ~job_backend() = default;

    // --- About the machine
    /// Such as "cgroup v2".
    [[nodiscard]] virtual std::string name() const = 0;
    [[nodiscard]] virtual std::span<resource_id const> resources() const noexcept = 0;
    /// The CPU time that the jobs share.
    [[nodiscard]] virtual millicores capacity() const noexcept = 0;
    /// Sentences about inaccurate limits; none where the kernel applies them.
    [[nodiscard]] virtual std::vector<std::string> approximations() const { return {}; }
    /// Each job has a cgroup.
    [[nodiscard]] virtual bool has_groups() const noexcept { return false; }
    /// Files that this process keeps open for a running job.
    [[nodiscard]] virtual std::size_t files_per_job() const noexcept {
        return 2;  // its first process and its output
    }
    [[nodiscard]] bool limits_memory() const noexcept {
        return std::ranges::find(resources(), resource_id::memory) != resources().end();
    }

    // --- Start and end
    /// Before a launch. May change `spec`, but not its `place`: the caller passes the returned function there. The
    /// function is valid as long as `what`.
    [[nodiscard]] virtual result<placer> prepare(job_start const& what, process::launch_spec& spec) = 0;
    /// Registers a job whose first process runs. Does not change its limits on memory and CPU.
    [[nodiscard]] virtual result<void> reattach(job_start const& what, process::tree_root const& first) = 0;
    /// Moves a process of a reattached job into the job's group.
    [[nodiscard]] virtual result<void> gather(job_id, pid_t) { return {}; }
    /// Sends SIGTERM, and lets the job run to handle it.
    [[nodiscard]] virtual result<void> ask_to_end(job_id job) noexcept = 0;
    [[nodiscard]] virtual result<void> kill(job_id job) noexcept = 0;
    /// Kills the remaining processes and forgets the job. After an error the job stays known.
    [[nodiscard]] virtual result<void> remove(job_id job) noexcept = 0;

    // --- Limits
    [[nodiscard]] virtual result<void> plan(setting const& wanted, job_plan& out) = 0;
    /// Binds a running job to some of the CPUs of the run.
    [[nodiscard]] virtual result<void> confine(job_id job, process::cpu_set const& cpus) noexcept = 0;
    /// Valid until `remove`.
    [[nodiscard]] virtual job_groups groups_of(job_id) { return {}; }
    /// Restores the last limits where another program, or the job, has changed them. Returns sentences about the
    /// changes.
    [[nodiscard]] virtual std::vector<std::string> reconcile(job_id, process::child const& /*first*/) { return {}; }
    /// False after a `reconcile` that could not put the first process back into its group: `plan` fails then.
    [[nodiscard]] virtual bool keeps_limits(job_id) const { return true; }

    // --- Observation
    [[nodiscard]] virtual result<observation> observe(job_id job) noexcept = 0;
    [[nodiscard]] virtual bool contains(job_id job, pid_t pid) noexcept = 0;
    /// The number of living processes of the job; 0 also for an unknown job.
    [[nodiscard]] virtual std::size_t alive(job_id job) noexcept = 0;
    /// Whether this process may report progress of the job: evidence that any process can forge does not count.
    [[nodiscard]] virtual bool may_report(job_id job, pid_t pid) noexcept { return contains(job, pid); }
    /// Before `remove`: a sentence if the kernel has killed processes for lack of memory, else empty.
    [[nodiscard]] virtual std::string memory_shortage_of(job_id job) = 0;

    // --- Time, for a backend that acts between ticks
    [[nodiscard]] virtual nanoseconds next_wakeup() const noexcept {
        return nanoseconds{std::numeric_limits<std::int64_t>::max()};
    }
    virtual void run_due(nanoseconds /*now*/) noexcept {}
};

}  // namespace ration::program
