// SPDX-License-Identifier: BSL-1.0
/// Jobs in cgroups: the kernel applies their limits.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include <ration/cgroup/backend.hpp>

#include "run/job_backend.hpp"
#include "run/run_cpus.hpp"

namespace ration::program {

class cgroup_jobs final : public job_backend {
    std::unique_ptr<cgroup::io> io_;  // outlives the backend that uses it
    cgroup::backend groups_;
    std::map<job_id, std::optional<cgroup::weight>> weights_;  // that were set
    millicores most_;                                          // of all jobs together, in the groups of this program
    std::map<job_id, error> outside_;  // jobs whose first process has left its group and could not be put back

public:
    static constexpr char const* group_name = "run";  ///< of the run's group; cgroup::group_name_of adds the owner

    /// Makes the run's group. Errors: those of cgroup::backend::open.
    [[nodiscard]] static result<std::unique_ptr<job_backend>> open(run_cpus const& cpus);
    cgroup_jobs(std::unique_ptr<cgroup::io> io, cgroup::backend groups, millicores most) noexcept;

    [[nodiscard]] std::string name() const override;
    [[nodiscard]] std::span<resource_id const> resources() const noexcept override { return groups_.resources(); }
    [[nodiscard]] millicores capacity() const noexcept override { return std::min(groups_.capacity(), most_); }
    [[nodiscard]] bool has_groups() const noexcept override { return true; }
    [[nodiscard]] std::size_t files_per_job() const noexcept override;

    [[nodiscard]] result<placer> prepare(job_start const& what, process::launch_spec& spec) override;
    [[nodiscard]] result<void> reattach(job_start const& what, process::tree_root const& first) override;
    [[nodiscard]] result<void> gather(job_id job, pid_t pid) override;
    [[nodiscard]] result<void> ask_to_end(job_id job) noexcept override { return groups_.ask_to_end(job); }
    [[nodiscard]] result<void> kill(job_id job) noexcept override { return groups_.kill(job); }
    [[nodiscard]] result<void> remove(job_id job) noexcept override;

    [[nodiscard]] result<void> plan(setting const& wanted, job_plan& out) override;
    [[nodiscard]] result<void> confine(job_id job, process::cpu_set const& cpus) noexcept override;
    [[nodiscard]] job_groups groups_of(job_id job) override;
    [[nodiscard]] std::vector<std::string> reconcile(job_id job, process::child const& first) override;
    [[nodiscard]] bool keeps_limits(job_id job) const override { return !outside_.contains(job); }

    [[nodiscard]] result<observation> observe(job_id job) noexcept override { return groups_.observe(job); }
    [[nodiscard]] bool contains(job_id job, pid_t pid) noexcept override;
    [[nodiscard]] std::size_t alive(job_id job) noexcept override;
    [[nodiscard]] std::string memory_shortage_of(job_id job) override;
};

}  // namespace ration::program
