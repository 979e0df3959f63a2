// SPDX-License-Identifier: BSL-1.0
/// Models with a few parameters: elastic data-parallel training, and training with parameter
/// servers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <ration/sim/model.hpp>

namespace ration::sim {

/// Synchronous data-parallel training: the time of a step, and the batches that it can use. It is
/// assumed that these batches do not change the accuracy.
struct data_parallel {
    double step_seconds = 0;                       ///< of a step on one device, for any batch
    double sample_seconds = 1e-3;                  ///< for each sample on a device
    double gradient_bytes = 0;                     ///< exchanged by the devices in every step
    double node_bytes_per_second = 1e11;           ///< between devices of one node
    double link_bytes_per_second = 1e9;            ///< between nodes
    double hop_seconds = 0;                        ///< of one message
    std::int64_t least_batch = 1, most_batch = 1;  ///< of all devices; equal for a fixed batch
    std::int64_t most_local_batch = 1;             ///< limit of one device
    /// Speed of a device of each type; missing types have the speed of the last one
    std::vector<double> type_speed{1};
};

/// Data-parallel training. One step is one sample. The time of an iteration with batch B on k
/// devices is T_proc(B / k) + T_comm(k), without overlap. T_comm is a ring all-reduce: 2 (k - 1) /
/// k of the gradient over the slowest link, and 2 (k - 1) messages. Source: V. Saxena et al.,
/// "Effective Elastic Scaling of Deep Learning Workloads", MASCOTS 2020, arXiv:2006.13878, where
/// both terms are measured tables.
class parametric_model final : public job_model {
    data_parallel of_;

public:
    /// Preconditions: times are not negative, and a sample takes time; rates and speeds are above
    /// 0; 1 <= least <= most batch.
    explicit parametric_model(data_parallel of) : of_(std::move(of)) {}

    /// The parameters.
    [[nodiscard]] data_parallel const& parameters() const noexcept { return of_; }

    /// The speed with the chosen batch, or with the requested one.
    [[nodiscard]] speed_segment at(job_description const& job, allocation const& held, double) const noexcept override {
        return {.steps_per_second = held.slowest * rate(held.batch > 0 ? held.batch : asked_for(job), held.devices,
                                                        held.spread.size() > 1, held.type)};
    }

    /// For a fixed number of devices, a larger batch is always faster, so the best batch is the
    /// largest that fits. O(most).
    void show(job_description const& job, double, std::uint32_t type, std::int64_t devices_per_node,
              scaling const& out) const noexcept override {
        for (std::size_t i = 0; i < out.goodput.size(); ++i) {
            auto const k = static_cast<std::int64_t>(i);
            std::int64_t const batch = std::min(of_.most_batch, k * of_.most_local_batch);
            out.goodput[i] = rate(batch, k, k > devices_per_node, type);
            out.goodput_fixed[i] = rate(asked_for(job), k, k > devices_per_node, type);
            out.batch[i] = out.goodput[i] > 0 ? batch : 0;
        }
    }

    /// Samples per second; 0 if the batch is out of range, does not fit, or leaves a device without
    /// a sample.
    [[nodiscard]] double rate(std::int64_t batch, std::int64_t devices, bool several_nodes,
                              std::uint32_t type) const noexcept {
        if (devices < 1 || batch < of_.least_batch || batch > of_.most_batch || batch < devices ||
            batch > devices * of_.most_local_batch)
            return 0;
        double const samples = static_cast<double>(batch), k = static_cast<double>(devices);
        double const speed = of_.type_speed[std::min<std::size_t>(type, of_.type_speed.size() - 1)];
        double const processing = (of_.step_seconds + of_.sample_seconds * samples / k) / speed;
        double const link = several_nodes ? of_.link_bytes_per_second : of_.node_bytes_per_second;
        // std::fma gives the same bits on every machine
        double const exchange = std::fma(2 * (k - 1), of_.hop_seconds, 2 * (k - 1) / k * of_.gradient_bytes / link);
        return samples / (processing + exchange);
    }

private:
    [[nodiscard]] std::int64_t asked_for(job_description const& job) const noexcept {
        return job.batch > 0 ? job.batch : of_.least_batch;
    }
};

/// Asynchronous training with parameter servers: each worker adds its speed until the servers are
/// the bottleneck. One step is a step of one worker. Source: S. Li, R. Walls, T. Guo,
/// "Characterizing and Modeling Distributed Training with Transient Cloud GPU Servers", ICDCS 2020.
class parameter_server_model final : public job_model {
    std::vector<double> worker_speed_;  // steps per second, by type; missing types have the speed of the last one
    double most_;

public:
    /// `most` is the number of steps per second that the servers can handle. Preconditions: at
    /// least one speed; all above 0.
    parameter_server_model(std::vector<double> worker_speed, double most)
        : worker_speed_(std::move(worker_speed)), most_(most) {}

    /// The sum of the workers' speeds, limited by the servers.
    [[nodiscard]] speed_segment at(job_description const&, allocation const& held, double) const noexcept override {
        return {.steps_per_second =
                    std::min(held.mean_speed * static_cast<double>(held.devices) * speed_of_one(held.type), most_)};
    }
    void show(job_description const& job, double, std::uint32_t type, std::int64_t,
              scaling const& out) const noexcept override {
        for (std::size_t k = 0; k < out.goodput.size(); ++k) {
            out.goodput[k] = out.goodput_fixed[k] = rate(static_cast<std::int64_t>(k), type);
            out.batch[k] = job.batch;
        }
    }
    /// The servers have the state, so a lost worker loses no step.
    [[nodiscard]] bool is_asynchronous() const noexcept override { return true; }
    /// Steps per second with this number of workers of one type.
    [[nodiscard]] double rate(std::int64_t workers, std::uint32_t type) const noexcept {
        return std::min(static_cast<double>(std::max<std::int64_t>(workers, 0)) * speed_of_one(type), most_);
    }

private:
    [[nodiscard]] double speed_of_one(std::uint32_t type) const noexcept {
        return worker_speed_[std::min<std::size_t>(type, worker_speed_.size() - 1)];
    }
};

}  // namespace ration::sim
