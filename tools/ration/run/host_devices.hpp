// SPDX-License-Identifier: BSL-1.0
/// The devices of this machine that a run shares out: its GPUs, shares of one of them, or shares of its CPU in
/// place of GPUs.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ration/cuda/inventory.hpp>
#include <ration/cuda/mps.hpp>
#include <ration/result.hpp>
#include <ration/units.hpp>

#include "common/diagnostics.hpp"
#include "config/config.hpp"

namespace ration::program {

class host_devices {
    std::vector<std::string> names_;
    cuda::inventory found_;
    // In the order of `names_`; the one whose shares they are; empty for CPU devices
    std::vector<cuda::device_id> gpus_;
    std::vector<text<16>> pci_;  // in the order of `names_`
    std::vector<bytes> memory_;  // in the order of `names_`
    millicores each_{};
    std::int64_t per_mille_ = 0;  // of one share

public:
    host_devices() = default;  ///< none

    /// The devices that the jobs of this file share. GPUs: those that answer and that the inherited mask lets this
    /// program use; no CUDA context is made. Up to some hundred milliseconds where the driver has to wake GPUs. Shares
    /// are those of the first GPU that is not cut by MIG.
    [[nodiscard]] static host_devices find(run_config const& config);

    [[nodiscard]] std::span<std::string const> names() const noexcept { return names_; }
    /// The GPUs of this machine, those of others too, as `find` has seen them. None for CPU devices.
    [[nodiscard]] cuda::inventory const& found() const noexcept { return found_; }
    /// Addresses on the PCI bus, in the order of the names: of instances and shares that of their GPU. None for CPU
    /// devices.
    [[nodiscard]] std::span<text<16> const> pci() const noexcept { return pci_; }
    /// Memory of each GPU; of an instance of one it is not known, and 0 here; of a share that of the GPU. None for CPU
    /// devices.
    [[nodiscard]] std::span<bytes const> memory() const noexcept { return memory_; }
    [[nodiscard]] bool of_cpu() const noexcept { return each_.count > 0; }
    /// The CPU of one CPU device; 0 for GPUs.
    [[nodiscard]] millicores each() const noexcept { return each_; }
    [[nodiscard]] bool of_shares() const noexcept { return per_mille_ > 0; }
    /// The GPU whose shares they are, by its name; empty: they are devices of their own.
    [[nodiscard]] std::string whole() const {
        return of_shares() && !gpus_.empty() ? std::string(gpus_.front().name().view()) : std::string();
    }
    /// `count` shares as MPS writes them; nothing for 0, and where the devices are not shares.
    [[nodiscard]] std::optional<cuda::mps_share> share_of(std::size_t count) const;
    /// "CUDA mask", "MPS, 4 shares of 25 % of GPU-...", "CPU devices of 0.5 cores".
    [[nodiscard]] std::string description() const;

    /// The variables that make a job see these devices only, or the GPU whose shares they are, as KEY=VALUE. Errors:
    /// those of cuda::device_mask::of.
    [[nodiscard]] result<std::vector<std::string>> masks(std::span<std::string const> chosen) const;
    /// How many have so much memory.
    [[nodiscard]] std::int64_t with_memory(bytes least) const noexcept;

private:
    void add(std::string name, cuda::gpu const& gpu, bytes memory);
    void cut(std::span<cuda::gpu const> sound, std::uint32_t count);
};

/// Needs of jobs of the file that these devices do not meet, with place and fix.
[[nodiscard]] diagnostics missing_devices(run_config const& config, host_devices const& devices, millicores cpu);

}  // namespace ration::program
