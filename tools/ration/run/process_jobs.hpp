// SPDX-License-Identifier: BSL-1.0
/// Jobs as plain processes, for a machine without writable cgroups: CPU affinity and SIGSTOP limit them.
#pragma once

#include <map>
#include <memory>

#include <ration/process/backend.hpp>

#include "run/job_backend.hpp"
#include "run/run_cpus.hpp"

namespace ration::program {

class process_jobs final : public job_backend {
    process::backend processes_;
    millicores capacity_;
    std::map<job_id, std::int64_t> oom_kills_before_;  // on the whole machine, at the launch of the job

public:
    /// Errors: those of process::backend::open.
    [[nodiscard]] static result<std::unique_ptr<job_backend>> open(run_cpus const& cpus);
    process_jobs(process::backend processes, millicores capacity)
        : processes_(std::move(processes)), capacity_(capacity) {}

    [[nodiscard]] std::string name() const override { return "process"; }
    [[nodiscard]] std::span<resource_id const> resources() const noexcept override { return processes_.resources(); }
    [[nodiscard]] millicores capacity() const noexcept override { return capacity_; }
    [[nodiscard]] std::vector<std::string> approximations() const override;

    [[nodiscard]] result<placer> prepare(job_start const& what, process::launch_spec& spec) override;
    [[nodiscard]] result<void> reattach(job_start const& what, process::tree_root const& first) override;
    [[nodiscard]] result<void> ask_to_end(job_id job) noexcept override { return processes_.ask_to_end(job); }
    [[nodiscard]] result<void> kill(job_id job) noexcept override { return processes_.kill(job); }
    [[nodiscard]] result<void> remove(job_id job) noexcept override;

    [[nodiscard]] result<void> plan(setting const& wanted, job_plan& out) override;
    [[nodiscard]] result<void> confine(job_id job, process::cpu_set const& cpus) noexcept override;

    [[nodiscard]] result<observation> observe(job_id job) noexcept override { return processes_.observe(job); }
    [[nodiscard]] bool contains(job_id job, pid_t pid) noexcept override { return processes_.contains(job, pid); }
    [[nodiscard]] bool may_report(job_id job, pid_t pid) noexcept override;
    [[nodiscard]] std::size_t alive(job_id job) noexcept override { return processes_.alive(job); }
    [[nodiscard]] std::string memory_shortage_of(job_id job) override;

    [[nodiscard]] nanoseconds next_wakeup() const noexcept override { return processes_.next_wakeup(); }
    void run_due(nanoseconds now) noexcept override { processes_.run_due(now); }
};

}  // namespace ration::program
