// SPDX-License-Identifier: BSL-1.0
/// The backend of a live run: passes each grant to the part of the program that applies it, and starts and ends jobs
/// with their limits.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <ration/host/backend.hpp>
#include <ration/process/fork_server.hpp>
#include <ration/process/launch.hpp>

#include "run/cpu_caps.hpp"
#include "run/device_grants.hpp"
#include "run/finished_jobs.hpp"
#include "run/gpu_limits.hpp"
#include "run/job_backend.hpp"
#include "run/job_backends.hpp"
#include "run/run_cpus.hpp"

namespace ration::program {

class node_backend {
    run_cpus cpus_;
    std::string memberships_;
    std::optional<rlimit> open_files_;
    gpu_limits gpus_;  // outlives the groups of the jobs
    std::unique_ptr<job_backend> jobs_;
    cpu_caps caps_;
    device_grants devices_;
    finished_jobs finished_;

public:
    using backend_concept = backend_tag;
    using operation = std::unique_ptr<job_operation>;

    struct options {
        std::string choice{automatic_backend};  ///< one of `job_backend_names`
        std::optional<std::uint32_t> cpus;      ///< number of CPUs that the jobs share
        std::optional<rlimit> open_files{};     ///< of the jobs; nullopt: those of this process
        std::string claims{};                   ///< the file in which runs claim CPUs; empty: this run claims none
    };

    /// Errors: those of `open_job_backend`.
    [[nodiscard]] static result<node_backend> open(options const& wanted);

    // --- Backend
    [[nodiscard]] std::span<resource_id const> resources() const noexcept { return jobs_->resources(); }
    [[nodiscard]] result<observation> observe(job_id job) noexcept { return jobs_->observe(job); }
    [[nodiscard]] result<void> plan(setting const& wanted, job_plan& out) noexcept;
    [[nodiscard]] result<void> apply(operation const& op) noexcept { return op->apply(); }
    [[nodiscard]] result<void> verify(operation const& op) noexcept { return op->verify(); }
    [[nodiscard]] result<void> undo(operation const& op) noexcept { return op->undo(); }
    [[nodiscard]] operation_text describe(operation const& op) noexcept { return op->describe(); }

    // --- Jobs
    /// Starts the job, by its fork server if it has one. Its limits apply from its first instruction on.
    [[nodiscard]] result<process::child> launch(job_start const& what, process::launch_spec spec,
                                                process::fork_server* server = nullptr);
    /// Applies the limits of a launch to a process that an earlier run started, except those on memory and CPU.
    [[nodiscard]] result<void> reattach(job_start const& what, process::child const& running) noexcept;
    /// After the end of the job's first process: kills the remaining processes and removes the limits.
    [[nodiscard]] result<void> remove(job_id job) noexcept;
    /// Limits the job's CPU time now, and bounds the amounts of later grants.
    [[nodiscard]] result<void> cap_cpu(job_id job, millicores cpu);
    /// Limits the job's CPU time until its next grant.
    [[nodiscard]] result<void> limit_cpu(job_id job, std::int64_t amount) noexcept;
    /// Lifts the limit on the job's CPU time, so that it can handle commands and end.
    [[nodiscard]] result<void> let_run(job_id job) noexcept;
    /// From now on a release of this job ends it, or does not.
    void may_end(job_id job, bool may = true) { finished_.set(job, may); }
    [[nodiscard]] bool ends(job_id job) const noexcept { return finished_.contains(job); }
    /// From now on grants of devices and of batch sizes go to `jobs`, which outlives this object.
    void share_devices(elastic_jobs& jobs) noexcept { devices_.connect(jobs); }

    // --- Parts
    [[nodiscard]] job_backend& jobs() noexcept { return *jobs_; }
    [[nodiscard]] job_backend const& jobs() const noexcept { return *jobs_; }
    [[nodiscard]] gpu_limits const& gpus() const noexcept { return gpus_; }
    [[nodiscard]] run_cpus const& cpus() const noexcept { return cpus_; }
    /// The limits of the jobs; nullopt: those of this process.
    [[nodiscard]] std::optional<rlimit> const& open_files() const noexcept { return open_files_; }
    /// The content of /proc/self/cgroup before the run made its first group.
    [[nodiscard]] std::string const& memberships() const noexcept { return memberships_; }

private:
    explicit node_backend(options const& wanted);
};

static_assert(Backend<node_backend>);

}  // namespace ration::program
