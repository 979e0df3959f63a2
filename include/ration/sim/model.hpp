// SPDX-License-Identifier: BSL-1.0
/// Models of jobs: the speed of a job as a function of its allocation.
///
/// `rigid_model` is here; parametric_model.hpp, profile_model.hpp, rate_model.hpp, cpu_model.hpp and
/// phase_model.hpp have the others. A new kind of job is a class derived from `job_model`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include <ration/units.hpp>

namespace ration::sim {

/// The data set of a job that reads none.
inline constexpr std::uint32_t no_item = 0xFFFF'FFFF;

/// One job of a workload, as its trace describes it. A step is the model's unit of work: one second
/// of service for a rigid job, one sample of effective training data for a job with a profile.
struct job_description {
    /// Time from the start of the trace.
    nanoseconds submitted{0};
    /// Index into `workload::tenants`.
    std::uint32_t tenant = 0;
    std::uint32_t model = 0;           ///< index into `workload::models`
    double weight = 1;                 ///< among the jobs of its tenant
    std::int64_t priority = 0;         ///< a greater one is more urgent
    std::int64_t request = 1;          ///< devices that the user requested
    std::int64_t least = 1, most = 1;  ///< bounds of its devices; equal to `request` for a rigid job
    /// Samples per step of all devices that the user requested; 0 = the model has no batch
    std::int64_t batch = 0;
    double length = 0;         ///< steps of the whole job, more than 0
    double restart_cost = 0;   ///< seconds without progress at each start on devices, and at each restart on processors
    nanoseconds deadline{-1};  ///< absolute; -1 = none
    std::uint32_t item = no_item;  ///< the data set that it reads: index into `workload::items`
    double read = 0;               ///< bytes of it that a step reads
};

/// The allocation of a running job, as far as its speed depends on it.
struct allocation {
    std::span<std::int32_t const> spread{};  ///< devices on each of its nodes, descending; empty without devices
    std::int64_t devices = 0;                ///< their sum
    std::uint32_t type = 0;                  ///< of the slowest of its nodes
    std::int64_t batch = 0;                  ///< samples per step of all devices, chosen by a policy; 0 = as requested
    double cores = 0;                        ///< CPU that it gets
    bool shares_node = false;                ///< it has several nodes, and another such job has devices on one of them
    /// Speed of the slowest of its nodes relative to the usual speed, for workers that wait for
    /// each other
    double slowest = 1;
    double mean_speed = 1;  ///< of its devices, likewise; for workers that do not wait
};

/// A speed, and the step up to which it holds.
struct speed_segment {
    /// The speed; 0 if the job cannot run.
    double steps_per_second = 0;
    /// The step; infinity if the speed does not change by itself.
    double until = std::numeric_limits<double>::infinity();
};

/// How a job scales, as a policy sees it. The index is the number of devices, from 0 to most; entry
/// 0 and impossible counts are 0.
struct scaling {
    /// Steps per second with the best batch, on as few nodes as possible
    std::span<double> goodput;
    std::span<double> goodput_fixed;  ///< the same with the requested batch
    std::span<std::int64_t> batch;    ///< the best batch; 0 = the model has none
};

/// CPU and memory that a job on processors uses while no limit holds it back.
struct cpu_demand {
    double cores = 0;
    double bytes = 0;  ///< 0 = the model has no memory
};

/// The phase of a job, with complete information on the future.
struct known_phase {
    std::uint32_t kind = 0;    ///< the class of jobs with such phases
    std::uint32_t number = 0;  ///< of the phase, from 0
    cpu_demand ahead{};        ///< the largest one of the next minute of work
};

/// Device-seconds that a service holds above its requests, and below them.
struct request_gap {
    double excess = 0, shortage = 0;
    double met = 0;  ///< seconds with as many devices as requested, or more
};

/// The behaviour of jobs of one kind. Many jobs, and all runs of a workload on several threads,
/// share a model; so all members are const and thread-safe.
class job_model {
public:
    /// Destroyed through `std::shared_ptr` only.
    virtual ~job_model() = default;

    /// The speed after `step` steps with this allocation; 0 steps per second if it cannot run.
    [[nodiscard]] virtual speed_segment at(job_description const& job, allocation const& held,
                                           double step) const noexcept = 0;

    /// Fills all of `out` for nodes of this type with `devices_per_node` devices each.
    virtual void show(job_description const& job, double step, std::uint32_t type, std::int64_t devices_per_node,
                      scaling const& out) const noexcept = 0;

    /// True if workers do not wait for each other: a job that loses some of them continues, without
    /// a loss of steps.
    [[nodiscard]] virtual bool is_asynchronous() const noexcept { return false; }

    /// True if `allocation::shares_node` makes a difference.
    [[nodiscard]] virtual bool feels_contention() const noexcept { return false; }

    /// The most cores that it can use; 0 = it runs on devices.
    [[nodiscard]] virtual double cores(job_description const&) const noexcept { return 0; }
    /// The cores that it can use after `step` steps, up to which its speed is proportional to its cores; and the memory
    /// that it needs then. Holds as long as the speed.
    [[nodiscard]] virtual cpu_demand demand(job_description const& job, double) const noexcept { return {cores(job)}; }

    /// The largest demand of the whole job.
    [[nodiscard]] virtual cpu_demand most_demand(job_description const& job) const noexcept { return {cores(job)}; }

    /// True if the demand changes from phase to phase.
    [[nodiscard]] virtual bool has_phases() const noexcept { return false; }
    /// The phase after `step` steps, for models with `has_phases`.
    [[nodiscard]] virtual known_phase phase_at(job_description const&, double) const noexcept { return {}; }

    /// True if jobs of this kind request another number of devices while they are active.
    [[nodiscard]] virtual bool makes_requests() const noexcept { return false; }
    /// The devices that the job requests at a tick at this time; 0 = it has no request.
    [[nodiscard]] virtual std::int64_t requested(job_description const&, double, nanoseconds) const noexcept {
        return 0;
    }

    /// How far this number of devices was from the requests between two times; 0 for models without a schedule.
    [[nodiscard]] virtual request_gap gap_to_requests(job_description const&, std::int64_t, nanoseconds,
                                                      nanoseconds) const noexcept {
        return {};
    }

    /// The training loss after a number of steps, without noise; NaN if the model has none.
    [[nodiscard]] virtual double loss(job_description const&, double) const noexcept {
        return std::numeric_limits<double>::quiet_NaN();
    }
    /// The loss that job `id` reports at a step, with noise; the same at each call with the same
    /// seed.
    [[nodiscard]] virtual double reported_loss(job_description const& job, std::uint64_t, std::uint64_t,
                                               double step) const noexcept {
        return loss(job, step);
    }
    /// The loss at which the next tier, or the end of the job, is reached after `step` steps; NaN if the model has
    /// none.
    [[nodiscard]] virtual double loss_target(job_description const&, double) const noexcept {
        return std::numeric_limits<double>::quiet_NaN();
    }
    /// True if the reports depend on the seed.
    [[nodiscard]] virtual bool is_noisy(job_description const&) const noexcept { return false; }
    /// The number of tiers of the loss, and the number reached after a number of steps.
    [[nodiscard]] virtual std::uint32_t tiers(job_description const&) const noexcept { return 0; }
    [[nodiscard]] virtual std::uint32_t tier_at(job_description const&, double) const noexcept { return 0; }
    /// True if the job trains to its end when a policy releases it at its last tier. Policies then see it at the tier
    /// before, as in `ration run`.
    [[nodiscard]] virtual bool trains_on(job_description const&) const noexcept { return false; }

protected:
    // Copies only through derived classes, so that no model is sliced.
    job_model() = default;
    job_model(job_model const&) = default;
    job_model& operator=(job_model const&) = default;
};

/// A rigid job of a scheduler's trace: it runs at full speed with its requested devices, and not
/// with fewer. One step is one second.
class rigid_model final : public job_model {
public:
    /// Full speed with enough devices, scaled by the slowest node.
    [[nodiscard]] speed_segment at(job_description const& job, allocation const& held, double) const noexcept override {
        return {.steps_per_second = held.devices >= job.request ? held.slowest : 0.0};
    }
    /// Speed 1 from the requested number of devices on.
    void show(job_description const& job, double, std::uint32_t, std::int64_t,
              scaling const& out) const noexcept override {
        for (std::size_t k = 0; k < out.goodput.size(); ++k) {
            out.goodput[k] = out.goodput_fixed[k] = static_cast<std::int64_t>(k) >= job.request ? 1.0 : 0.0;
            out.batch[k] = job.batch;
        }
    }
};

}  // namespace ration::sim
