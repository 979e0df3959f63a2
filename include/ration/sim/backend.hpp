// SPDX-License-Identifier: BSL-1.0
/// The simulated cluster as a backend: what is applied is noted, and the simulation draws the consequences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ration/buffer.hpp>
#include <ration/host/backend.hpp>

namespace ration::sim {

/// Knows which jobs' holdings have changed since it was last asked; what they hold is the engine's ledger, kept once.
/// Job ids are 1 to `jobs`. Settings come from an engine, which asks for no change that is none: law (3) of Backend is
/// kept there.
class cluster_backend {
    buffer<std::uint64_t> changed_;
    buffer<bool> is_changed_;  // by id - 1

public:
    using backend_concept = backend_tag;
    static constexpr bool fills_columns = true;
    struct operation {
        job_id job;
        resource_id resource{};
    };

    explicit cluster_backend(std::size_t jobs) noexcept : is_changed_(jobs) {}

    /// Ids of jobs in the order of their first change.
    [[nodiscard]] std::span<std::uint64_t const> changed() const noexcept { return changed_.view(); }
    void forget_changes() noexcept {
        for (auto const id : changed_) is_changed_[id - 1] = false;
        changed_.clear();
    }
    void note(job_id job) noexcept {
        if (is_changed_[job.value - 1]) return;
        is_changed_[job.value - 1] = true;
        changed_.push_back(job.value);
    }

    [[nodiscard]] std::span<resource_id const> resources() const noexcept {
        static constexpr resource_id all[] = {resource_id::cpu, resource_id::gpu, resource_id::batch};
        return all;
    }
    [[nodiscard]] result<observation> observe(job_id job) noexcept {
        if (job.value == 0 || job.value > is_changed_.size()) return unknown();
        return observation{};
    }
    [[nodiscard]] result<void> plan(setting const& wanted, ration::plan<operation>& out) noexcept {
        if (wanted.job.value == 0 || wanted.job.value > is_changed_.size()) return unknown();
        out.push_back({wanted.job, wanted.resource});
        return {};
    }
    [[nodiscard]] result<void> apply(operation const& op) noexcept {
        note(op.job);
        return {};
    }
    [[nodiscard]] result<void> verify(operation const&) noexcept { return {}; }
    [[nodiscard]] result<void> undo(operation const&) noexcept { return {}; }
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
