// SPDX-License-Identifier: BSL-1.0
/// The devices of this machine that a run shares out: its GPUs, or shares of its CPU that stand for some.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <ration/cuda/device.hpp>
#include <ration/result.hpp>
#include <ration/units.hpp>

#include "config/config.hpp"

namespace ration::program {

class host_devices {
    std::vector<std::string> names_;
    std::vector<cuda::device_id> gpus_;  // in the order of `names_`; empty for CPU devices
    std::vector<text<16>> pci_;          // of `gpus_`
    std::vector<bytes> memory_;          // of `gpus_`
    millicores each_{};

public:
    host_devices() = default;  ///< none

    /// What the jobs of this file share. GPUs: those that answer and that the inherited mask lets this program use; no CUDA context
    /// is made. Up to some hundred milliseconds where the driver has to wake GPUs.
    [[nodiscard]] static host_devices find(run_config const& config);

    [[nodiscard]] std::span<std::string const> names() const noexcept { return names_; }
    /// Addresses on the PCI bus, in the order of the names: of instances that of their GPU. None for CPU devices.
    [[nodiscard]] std::span<text<16> const> pci() const noexcept { return pci_; }
    /// Memory of each GPU; of an instance of one it is not known, and 0 here. None for CPU devices.
    [[nodiscard]] std::span<bytes const> memory() const noexcept { return memory_; }
    [[nodiscard]] bool of_cpu() const noexcept { return each_.count > 0; }
    /// The CPU of one CPU device; 0 for GPUs.
    [[nodiscard]] millicores each() const noexcept { return each_; }
    /// "GPUs by a mask of CUDA", "CPU devices of 0.5 cores".
    [[nodiscard]] std::string description() const;

    /// What makes a job see these devices and no others, as KEY=VALUE. Errors: those of cuda::device_mask::of.
    [[nodiscard]] result<std::vector<std::string>> masks(std::span<std::string const> chosen) const;
    /// How many have so much memory.
    [[nodiscard]] std::int64_t with_memory(bytes least) const noexcept;
    /// Whether a process computes on one of these GPUs now. Milliseconds.
    [[nodiscard]] bool in_use(std::span<std::string const> devices) const;
};

/// What jobs of the file need and these devices are not, with its place and what to do.
[[nodiscard]] std::vector<problem> missing_devices(run_config const& config, host_devices const& devices, millicores cpu);

}  // namespace ration::program
