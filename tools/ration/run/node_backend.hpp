// SPDX-License-Identifier: BSL-1.0
/// This machine's backend: cgroups where they can be written, plain processes where not. One type, so that one engine
/// serves both.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <ration/cgroup/backend.hpp>
#include <ration/host/backend.hpp>
#include <ration/process/backend.hpp>
#include <ration/process/launch.hpp>

#include "events/events.hpp"
#include "run/core_claims.hpp"
#include "run/device_filter_guard.hpp"
#include "run/elastic_jobs.hpp"
#include "run/gpu_memory.hpp"
#include "run/options.hpp"

namespace ration::program {

/// Says that a job has reached all it was meant to: what a release (amount 0) means for such a job. Nothing has
/// happened to the job when this is done: it is asked to stop after the tick.
struct stop_operation {
    job_id job;
};

/// Hands a new size to the machine that brings a job to it: nothing has happened to the job when this is done.
struct resize_operation {
    job_id job;
    resource_id resource = resource_id::gpu;
    std::int64_t old_amount = 0, new_amount = 0;
};

class node_backend {
    std::unique_ptr<cgroup::io> io_;  // the kernel; has to outlive the backend that uses it
    device_filter_guard filter_;      // goes when nothing of the jobs is left
    std::variant<std::unique_ptr<cgroup::backend>, std::unique_ptr<process::backend>> backend_;
    std::vector<job_id> finished_;
    std::optional<error> why_not_cgroup_;
    core_claims claims_;
    process::cpu_set cpus_;
    std::string shared_cpus_;
    std::string memberships_;
    std::optional<rlimit> open_files_;
    elastic_jobs* elastic_ = nullptr;
    std::vector<std::pair<job_id, millicores>> caps_;  // of jobs on CPU devices
    std::map<job_id, error> unlimited_gpu_memory_;     // of jobs that were to have a limit
    // Of jobs whose first process has left their group and cannot be put back
    std::map<job_id, error> outside_;
    std::map<job_id, std::int64_t> oom_kills_before_;  // on the whole machine, at the launch of a job without a group

public:
    using backend_concept = backend_tag;
    using operation = std::variant<cgroup::operation, process::operation, stop_operation, resize_operation>;

    static constexpr char const* group_name = "run";  ///< of the run's group; cgroup::group_name_of adds the owner

    struct options {
        backend_choice choice = backend_choice::automatic;
        std::optional<std::uint32_t> cpus;   ///< cores that the jobs may use together
        std::optional<rlimit> open_files{};  ///< of the jobs; not given: those of this process
        std::string claims{};                ///< the file in which runs claim CPUs; empty: this one claims none
    };

    /// Errors: those of the backend asked for; `automatic` takes plain processes when no cgroup can limit the CPU.
    [[nodiscard]] static result<node_backend> open(options const& wanted);

    // --- Backend
    [[nodiscard]] std::span<resource_id const> resources() const noexcept;
    [[nodiscard]] result<observation> observe(job_id job) noexcept;
    [[nodiscard]] result<void> plan(setting const& wanted, ration::plan<operation>& out) noexcept;
    [[nodiscard]] result<void> apply(operation const& op) noexcept;
    [[nodiscard]] result<void> verify(operation const& op) noexcept;
    [[nodiscard]] result<void> undo(operation const& op) noexcept;
    [[nodiscard]] operation_text describe(operation const& op) noexcept;

    // --- Jobs
    /// Starts the job in its place: limited and counted from its first instruction on. Plain processes have no limit on
    /// memory: see `limits_memory`.
    struct start {
        job_id job;
        std::string const& name;
        std::string_view token;
        std::optional<bytes> memory;
        std::optional<millicores> cpu{};  ///< of its CPU devices: no grant lifts its limit above it in this launch
        /// That it is bound to: a cpuset where there is one, else affinity; empty: all that the jobs share
        process::cpu_set cpus{};
        std::optional<own_gpus> gpus{};                ///< it is to open the files of no other GPU
        std::optional<gpu_memory_limit> gpu_memory{};  ///< kept where its group has dmem
    };
    [[nodiscard]] result<process::child> launch(start const& what, process::launch_spec spec);
    [[nodiscard]] bool limits_memory() const noexcept;
    /// Takes charge of a process that an earlier run started, to be limited as a launch is; of `what` the limits on
    /// memory and CPU of the host are left alone.
    [[nodiscard]] result<void> reattach(start const& what, process::child const& running) noexcept;
    /// Binds a job that runs to some of the CPUs that the jobs share.
    [[nodiscard]] result<void> confine(job_id job, process::cpu_set const& cpus) noexcept;
    /// Why the mask of a job that was launched, or reattached, with GPUs is advice; nothing where the kernel keeps it.
    [[nodiscard]] std::optional<error> why_unfiltered(job_id job) const { return filter_.why_not(job); }
    /// Why a job that was launched, or reattached, with a limit on GPU memory is not held to it; nothing where it is,
    /// and where this machine has no dmem at all.
    [[nodiscard]] std::optional<error> why_gpu_memory_unlimited(job_id job) const;
    /// By which version of cgroups jobs can be kept from these GPUs. Errors: why masks are advice.
    [[nodiscard]] result<cgroup::version> find_filter(std::span<cuda::found_gpu const> gpus) const;
    /// From now on no grant lifts the job's limit above this, which is in force.
    [[nodiscard]] result<void> cap_cpu(job_id job, millicores cpu);
    /// Grants of devices go to these machines from now on.
    void share_devices(elastic_jobs& jobs) noexcept { elastic_ = &jobs; }
    /// From now on a release of this job ends it.
    void may_end(job_id job, bool may = true) {
        std::erase(finished_, job);
        if (may) finished_.push_back(job);
    }
    [[nodiscard]] bool ends(job_id job) const noexcept;
    /// Lifts the limit on its CPU, so that it can hear what it is told, and end.
    [[nodiscard]] result<void> let_run(job_id job) noexcept;
    /// SIGTERM, in a state in which the job can hear it.
    [[nodiscard]] result<void> ask_to_end(job_id job) noexcept;
    [[nodiscard]] result<void> kill(job_id job) noexcept;
    /// The job's main process has ended: ends what is left of it and removes its place.
    [[nodiscard]] result<void> remove(job_id job) noexcept;
    [[nodiscard]] bool contains(job_id job, pid_t pid) noexcept;
    /// Jobs have groups of their own.
    [[nodiscard]] bool has_groups() const noexcept {
        return std::holds_alternative<std::unique_ptr<cgroup::backend>>(backend_);
    }
    /// Compares the job with its last grants and restores what another program, or the job, has changed; says so in
    /// sentences. Until its first process can be put into its group, no limit of it can be planned.
    [[nodiscard]] std::vector<std::string> reconcile(job_id job, process::child const& first);
    [[nodiscard]] bool keeps_limits(job_id job) const { return !outside_.contains(job); }
    /// Whether a message of this process can be the job's own: it is in the job's group, or belongs to it by descent or
    /// session.
    [[nodiscard]] bool may_report(job_id job, pid_t pid) noexcept;
    /// Whether the kernel has killed processes of the job for lack of memory, as a sentence; empty when it has not.
    /// Before `remove`.
    [[nodiscard]] std::string memory_shortage_of(job_id job);

private:
    [[nodiscard]] result<process::child> launch_in_group(cgroup::backend& groups, start const& what,
                                                         process::launch_spec& spec);
    [[nodiscard]] result<process::child> launch_alone(process::backend& processes, start const& what,
                                                      process::launch_spec& spec);
    [[nodiscard]] static result<void> limit_memory(cgroup::backend& groups, start const& what);
    [[nodiscard]] result<void> plan_devices(setting const& wanted, ration::plan<operation>& out) noexcept;
    [[nodiscard]] result<void> put(resize_operation const& op, std::int64_t amount) noexcept;
    void close_filter(start const& what);
    void limit_memory_of_gpus(start const& what);
    [[nodiscard]] setting capped(setting const& wanted) const noexcept;
    [[nodiscard]] result<void> set_cpu(job_id job, std::int64_t amount) noexcept;

public:
    // --- Time: for a backend that works by the clock
    [[nodiscard]] nanoseconds next_wakeup() const noexcept;
    void run_due(nanoseconds now) noexcept;

    /// Files that this process keeps open for a job that runs: its first process, its output, its group in each
    /// hierarchy.
    [[nodiscard]] std::size_t files_per_job() const noexcept;

    // --- What people want to know
    /// Why `automatic` did not take cgroups; empty when it did.
    [[nodiscard]] std::optional<error> const& why_not_cgroup() const noexcept { return why_not_cgroup_; }
    /// What /proc/self/cgroup said before the first group was made; empty without cgroups.
    [[nodiscard]] std::string const& memberships() const noexcept { return memberships_; }
    [[nodiscard]] millicores capacity() const noexcept;
    /// The CPUs that the jobs run on.
    [[nodiscard]] process::cpu_set const& cpus() const noexcept { return cpus_; }
    /// CPUs that other runs of this user have taken as well, as a sentence; empty: none.
    [[nodiscard]] std::string const& shared_cpus() const noexcept { return shared_cpus_; }
    [[nodiscard]] std::string name() const;
    [[nodiscard]] std::vector<std::string> approximations() const;
    [[nodiscard]] std::vector<control> controls() const;
};

static_assert(Backend<node_backend>);

}  // namespace ration::program
