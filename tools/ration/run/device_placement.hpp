// SPDX-License-Identifier: BSL-1.0
/// Which GPUs and which CPUs each job of a run has: near each other, as docs/placement.md describes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <ration/hwloc/placement.hpp>
#include <ration/process/cpus.hpp>
#include <ration/units.hpp>

#include "run/device_table.hpp"
#include "run/job_location.hpp"
#include "topology/machine_topology.hpp"

namespace ration::program {

/// Places the jobs of one run on the GPUs that it shares. Cores are handed out with the GPUs and belong to one job each
/// as long as there are enough.
class device_placement final : public device_chooser {
    struct resident {
        job_id job;
        std::int64_t most_cpu;  // millicores, or unlimited
        hwloc::holding now{};
    };
    hwloc::placer placer_;
    std::vector<std::uint32_t> gpu_of_;  // of each device, its index in the placer
    hwloc::holding outside_;             // cores that the run may not use
    process::cpu_set usable_;
    std::uint32_t cores_ = 0, cpus_ = 0;  // that the run may use
    bool binds_;
    std::vector<resident> jobs_;

    device_placement(hwloc::placer placer, std::vector<std::uint32_t> gpu_of, process::cpu_set const& usable,
                     bool binds);

public:
    /// Of the GPUs with these addresses, on CPUs out of `usable`; on a machine that is not this one no CPU is bound,
    /// and all of its are as good. None where the topology is not known or there are no GPUs.
    [[nodiscard]] static std::optional<device_placement> of(machine_topology const& topology,
                                                            std::span<text<16> const> pci,
                                                            process::cpu_set const& usable);

    /// Each job that may have devices, before it gets some. `most_cpu`: its bound on cpu; without one its cores are in
    /// proportion to its devices.
    void add(job_id job, std::int64_t most_cpu) { jobs_.push_back({job, most_cpu}); }

    /// The job is over. Pre: it has no device.
    void remove(job_id job) {
        std::erase_if(jobs_, [job](resident const& one) { return one.job == job; });
    }

    [[nodiscard]] device_list choose(job_id job, device_list const& held, device_list const& free,
                                     std::int64_t count) override;
    void forget(job_id job) override { of_job(job).now = {}; }

    /// The job has exactly these devices from now on, and gets CPUs beside them.
    [[nodiscard]] job_location settle(job_id job, device_list const& devices);
    /// The job was found with these devices and bound to these CPUs. For an unbound job these are all that the run may
    /// use.
    [[nodiscard]] job_location reattach(job_id job, device_list const& devices, process::cpu_set const& bound);

private:
    [[nodiscard]] resident& of_job(job_id job) noexcept;
    [[nodiscard]] std::uint32_t cores_for(resident const& job, std::int64_t devices) const noexcept;
    [[nodiscard]] hwloc::occupied others_of(job_id job, bool cores_too) const noexcept;
    [[nodiscard]] std::uint32_t free_cores(hwloc::occupied const& others) const noexcept;
    [[nodiscard]] std::optional<std::vector<std::uint32_t>> gpus_of(device_list const& devices) const noexcept;
    [[nodiscard]] process::cpu_set bound_to(hwloc::placement const& given) const noexcept;
    [[nodiscard]] bool knows_place_of(std::vector<std::uint32_t> const& gpus) const noexcept;
};

}  // namespace ration::program
