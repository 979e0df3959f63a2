// SPDX-License-Identifier: BSL-1.0
/// The settings of a launch for the devices of its job: masks, CPUs, and the limits that keep it to them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "run/device_placement.hpp"
#include "run/elastic_jobs.hpp"
#include "run/event_sink.hpp"
#include "run/gpu_monitor.hpp"
#include "run/gpu_shares.hpp"
#include "run/host_devices.hpp"
#include "run/job_table.hpp"
#include "run/node_backend.hpp"

namespace ration::program {

/// Empty for a job without devices.
struct device_assignment {
    std::string names;               ///< of the devices, comma-separated
    std::string seen;                ///< of those that the job's libraries show
    std::size_t ranks = 1;           ///< processes that share the devices
    std::vector<std::string> masks;  ///< KEY=VALUE
    std::optional<millicores> cpu;   ///< of CPU devices
    job_location place;
    int percent = 0;  ///< of the GPU whose shares they are; 0: they are no shares
    std::optional<own_gpus> filter;
    std::optional<gpu_memory_limit> memory;
};

class device_assigner {
    host_devices const& devices_;
    gpu_shares const* shares_;  // null: the devices are no shares of a GPU
    elastic_jobs& elastic_;
    gpu_monitor const& gpus_;
    node_backend& node_;
    event_sink& events_;
    std::optional<device_placement> placement_;  // none: devices are chosen by number
    bool filtered_ = false;                      // the kernel is to keep jobs to their GPUs

public:
    device_assigner(host_devices const& devices, gpu_shares const* shares, machine_topology const& topology,
                    elastic_jobs& elastic, gpu_monitor const& gpus, node_backend& node, event_sink& events);
    device_assigner(device_assigner const&) = delete;
    device_assigner& operator=(device_assigner const&) = delete;

    /// Makes the machines of the jobs with devices. Once, before anything is assigned.
    void share_devices(job_table& jobs);
    /// The same for a job that was added later.
    void add(live_job& job);
    /// Pre: the job is over, and holds no device.
    void remove(live_job const& job);

    /// For the next launch. Errors: those of cuda::device_mask::of.
    [[nodiscard]] result<device_assignment> assign(live_job const& job);
    /// CPUs of a job that was found bound to `bound`; in another group it could be on all CPUs.
    void reattach(live_job const& job, process::cpu_set const& bound, nanoseconds now);

    [[nodiscard]] std::optional<own_gpus> filter_of(live_job const& job, std::span<std::uint32_t const> devices) const;
    [[nodiscard]] std::optional<gpu_memory_limit> gpu_memory_of(live_job const& job,
                                                                std::span<std::uint32_t const> devices) const;
    /// Of CPU devices; none for GPUs.
    [[nodiscard]] std::optional<millicores> cpu_of(std::size_t count) const;

    /// How this machine keeps jobs to their devices; `advice` gets sentences on the limits of that.
    [[nodiscard]] control controls(std::vector<std::string>& advice);
    /// Of limits that the kernel was to keep for the job, and does not.
    void warn_of_missing_limits(live_job const& job, nanoseconds now);
    /// Of entries by which a job with shares is not a client of MPS.
    void warn_of_ways_past(live_job const& job, std::span<std::string const> environment, nanoseconds now);

private:
    [[nodiscard]] std::optional<cuda::mps_share> share_of(live_job const& job) const;
    void add_advice_of_shares(std::span<cuda::found_gpu const> gpus, std::vector<std::string>& advice) const;
};

}  // namespace ration::program
