// SPDX-License-Identifier: BSL-1.0
/// The simulated cluster as a backend: it records which jobs were changed, and the simulation
/// computes the consequences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ration/buffer.hpp>
#include <ration/host/backend.hpp>

namespace ration::sim {

/// The number of `save_interval` in a simulation.
inline constexpr resource_id save_interval_number = resource_id::first_custom;

/// Records the jobs whose holdings have changed since `forget_changes`; the holdings themselves are
/// in the engine's ledger. Job ids are 1 to `jobs`. Settings come from an engine, which never
/// requests a change without effect, so law (3) of Backend holds.
class cluster_backend {
    buffer<std::uint64_t> changed_;
    std::uint64_t jobs_;

public:
    /// Declares the class as a backend.
    using backend_concept = backend_tag;
    /// The simulation writes jobs/used.* and jobs/measured_steps_per_second itself.
    static constexpr bool fills_columns = true;
    /// A change: which job, and of which resource. There is nothing to roll back.
    struct operation {
        /// The job that changes.
        job_id job;
        resource_id resource{};
    };

    /// For at most this number of jobs.
    explicit cluster_backend(std::size_t jobs) noexcept : jobs_(jobs) {}

    /// The ids of changed jobs, in the order of their changes. A job is listed again if it changes after another one.
    [[nodiscard]] std::span<std::uint64_t const> changed() const noexcept { return changed_.view(); }
    /// Empties the list.
    void forget_changes() noexcept { changed_.clear(); }
    /// Adds a job to the list.
    void note(job_id job) noexcept {
        if (changed_.empty() || changed_.back() != job.value) changed_.push_back(job.value);
    }

    /// The resources that a simulated cluster grants.
    [[nodiscard]] std::span<resource_id const> resources() const noexcept {
        static constexpr resource_id all[] = {resource_id::cpu, resource_id::memory, resource_id::gpu,
                                              resource_id::batch, save_interval_number};
        return all;
    }
    /// No measurement: the simulation writes the columns itself. Error: `not_found`.
    [[nodiscard]] result<observation> observe(job_id job) noexcept {
        if (job.value == 0 || job.value > jobs_) return unknown();
        return observation{};
    }
    /// Plans one operation. Error: `not_found` for a job outside the workload.
    [[nodiscard]] result<void> plan(setting const& wanted, ration::plan<operation>& out) noexcept {
        if (wanted.job.value == 0 || wanted.job.value > jobs_) return unknown();
        out.push_back({wanted.job, wanted.resource});
        return {};
    }
    /// Records the change.
    [[nodiscard]] result<void> apply(operation const& op) noexcept {
        note(op.job);
        return {};
    }
    /// A simulated change always takes effect.
    [[nodiscard]] result<void> verify(operation const&) noexcept { return {}; }
    /// Nothing to undo, since `apply` cannot fail.
    [[nodiscard]] result<void> undo(operation const&) noexcept { return {}; }
    /// The operation for the event log.
    [[nodiscard]] operation_text describe(operation const& op) noexcept {
        return {.job = op.job,
                .resource = op.resource,
                .when = timing::live,
                .subject = {},
                .old_value = {},
                .new_value = {}};
    }

private:
    [[nodiscard]] static error unknown() noexcept {
        return {.code = errc::not_found, .operation = "simulate", .subject = "a job that is none of the workload's"};
    }
};
static_assert(Backend<cluster_backend>);

}  // namespace ration::sim
