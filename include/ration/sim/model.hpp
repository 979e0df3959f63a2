// SPDX-License-Identifier: BSL-1.0
/// Models of jobs: how fast a job goes with what it holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include <ration/units.hpp>

namespace ration::sim {

/// One job of a workload as its trace describes it. A step is the model's unit of work: one second of service for a
/// rigid job, one sample of effective training data for a job with a profile.
struct job_description {
    nanoseconds submitted{0};
    std::uint32_t tenant = 0;
    std::uint32_t model = 0;           ///< index into `workload::models`
    double weight = 1;                 ///< of its tenant
    std::int64_t request = 1;          ///< devices that its user asked for
    std::int64_t least = 1, most = 1;  ///< devices that it accepts; equal to `request` for a rigid job
    /// Samples per step of all devices that its user asked for; 0 = the model has none
    std::int64_t batch = 0;
    double length = 0;         ///< steps until it is done, more than 0
    double restart_cost = 0;   ///< seconds without progress whenever its devices change, the first start included
    nanoseconds deadline{-1};  ///< absolute; -1 = none
};

/// What a running job holds, as far as its speed depends on it.
struct allocation {
    std::span<std::int32_t const> spread{};  ///< devices on each of its nodes, descending; empty when it holds none
    std::int64_t devices = 0;                ///< their sum
    std::uint32_t type = 0;                  ///< of the slowest of its nodes
    std::int64_t batch = 0;                  ///< samples per step of all devices that a policy chose; 0 = as asked for
    double cores = 0;                        ///< CPU that it gets
    bool shares_node = false;  ///< it has several nodes, and so has another job with devices on one of them
    /// Speed of the slowest of its nodes, as a share of the usual one: what workers go at that wait for each other
    double slowest = 1;
    double mean_speed = 1;  ///< of its devices, likewise: for workers that do not
};

/// How fast a job goes, and up to which step that holds.
struct speed_segment {
    double steps_per_second = 0;
    double until = std::numeric_limits<double>::infinity();
};

/// What a policy is shown of how a job scales: index = devices, 0 to most; entry 0 and impossible counts are 0.
struct scaling {
    /// Steps per second at the best batch, on as few nodes as so many devices fit on
    std::span<double> goodput;
    std::span<double> goodput_fixed;  ///< the same at the batch that was asked for
    std::span<std::int64_t> batch;    ///< the best batch; 0 = the model has none
};

/// How jobs of one kind behave. Shared by many jobs and by all runs of a workload at the same time: nothing in it
/// changes.
class job_model {
public:
    virtual ~job_model() = default;

    /// The pace after `step` steps. 0 steps per second when it cannot run like that.
    [[nodiscard]] virtual speed_segment at(job_description const& job, allocation const& held,
                                           double step) const noexcept = 0;

    /// Fills all of `out` for nodes of this type with so many devices each.
    virtual void show(job_description const& job, double step, std::uint32_t type, std::int64_t devices_per_node,
                      scaling const& out) const noexcept = 0;

    /// Whether workers do not wait for each other, so that a job continues when it loses some of them, and loses no
    /// step.
    [[nodiscard]] virtual bool is_asynchronous() const noexcept { return false; }

    /// Whether `allocation::shares_node` makes a difference.
    [[nodiscard]] virtual bool feels_contention() const noexcept { return false; }

    /// Cores that it can use: it goes in proportion to those that it gets, up to so many. 0 = it runs on devices.
    [[nodiscard]] virtual double cores(job_description const&) const noexcept { return 0; }

    /// The training loss after so many steps, without noise; NaN when the model has none.
    [[nodiscard]] virtual double loss(job_description const&, double) const noexcept {
        return std::numeric_limits<double>::quiet_NaN();
    }
    /// What job `id` reports at a step: the loss with its noise, the same whenever it is asked for.
    [[nodiscard]] virtual double reported_loss(job_description const& job, std::uint64_t, std::uint64_t,
                                               double step) const noexcept {
        return loss(job, step);
    }
    /// Whether what it reports differs from seed to seed.
    [[nodiscard]] virtual bool is_noisy(job_description const&) const noexcept { return false; }
    /// Tiers of the loss that users ask for, and how many of them are reached after so many steps.
    [[nodiscard]] virtual std::uint32_t tiers(job_description const&) const noexcept { return 0; }
    [[nodiscard]] virtual std::uint32_t tier_at(job_description const&, double) const noexcept { return 0; }

protected:
    job_model() = default;
    job_model(job_model const&) = default;
    job_model& operator=(job_model const&) = default;
};

/// A job of a scheduler's trace: goes at full speed with what it asked for, and does not run with less. One step is one
/// second.
class rigid_model final : public job_model {
public:
    [[nodiscard]] speed_segment at(job_description const& job, allocation const& held, double) const noexcept override {
        return {.steps_per_second = held.devices >= job.request ? held.slowest : 0.0};
    }
    void show(job_description const& job, double, std::uint32_t, std::int64_t,
              scaling const& out) const noexcept override {
        for (std::size_t k = 0; k < out.goodput.size(); ++k) {
            out.goodput[k] = out.goodput_fixed[k] = static_cast<std::int64_t>(k) >= job.request ? 1.0 : 0.0;
            out.batch[k] = job.batch;
        }
    }
};

}  // namespace ration::sim
