// SPDX-License-Identifier: BSL-1.0
/// Errors of GPUs (Xid), as the driver reports them. quarantine.hpp decides what follows. Source:
/// NVIDIA NVML API Reference Guide, "Event Handling Methods".
#pragma once

#include <utility>
#include <vector>

#include <ration/cuda/detail/nvml.hpp>

namespace ration::cuda {

/// One error that the driver reported.
struct xid_report {
    /// The GPU.
    device_id gpu;
    /// The number of the error.
    unsigned xid = 0;
    friend constexpr bool operator==(xid_report const&, xid_report const&) noexcept = default;
};

/// Collects the driver's reports from its construction on. Keeps NVML open. Move-only.
class xid_watch {
    using event_set = struct event_set_handle*;
    struct event {
        nvml::device device;
        unsigned long long kind, number;
        unsigned gpu_instance, compute_instance;
    };
    static constexpr unsigned long long critical_xid = 8;

    nvml nvml_;
    event_set set_ = nullptr;
    std::vector<std::pair<nvml::device, device_id>> gpus_;  // a lost GPU no longer reports its name

    explicit xid_watch(nvml&& opened) noexcept : nvml_(std::move(opened)) {}

public:
    /// Starts the watch. GPUs without reports are left out. Errors: those of `nvml::open`;
    /// `not_supported` (NVML is too old, or has no events here).
    [[nodiscard]] static result<xid_watch> open() noexcept {
        auto opened = nvml::open();
        auto const count = opened ? opened->count() : result<unsigned>(opened.failure());
        if (!count) return count.failure();
        xid_watch out(std::move(*opened));
        nvml::status const made = out.nvml_.call<nvml::status(event_set*)>("nvmlEventSetCreate", &out.set_);
        if (made != nvml::success) return nvml::failure_of(made, "listen to errors of GPUs", "NVML");
        for (unsigned i = 0; i < *count; ++i) out.add(i);
        return out;
    }
    /// Takes over the watch.
    xid_watch(xid_watch&& other) noexcept
        : nvml_(std::move(other.nvml_)), set_(std::exchange(other.set_, nullptr)), gpus_(std::move(other.gpus_)) {}
    xid_watch& operator=(xid_watch&&) = delete;
    /// Ends the watch.
    ~xid_watch() {
        if (set_ != nullptr) (void)nvml_.call<nvml::status(event_set)>("nvmlEventSetFree", set_);
    }

    /// The reports since the last call, at most 256. Never blocks.
    [[nodiscard]] std::vector<xid_report> take() noexcept {
        static constexpr int most = 256;
        std::vector<xid_report> out;
        for (int i = 0; i < most; ++i) {
            event received{};
            if (nvml_.call<nvml::status(event_set, event*, unsigned)>("nvmlEventSetWait_v2", set_, &received, 0U) !=
                nvml::success)
                break;
            // The event has only the handle; a lost GPU can no longer be queried for its name.
            for (auto const& [device, id] : gpus_)
                if (device == received.device && received.kind == critical_xid)
                    out.push_back({id, static_cast<unsigned>(received.number)});
        }
        return out;
    }

private:
    /// Registers one GPU.
    void add(unsigned index) noexcept {
        nvml::device handle = nullptr;
        found_gpu about;
        auto code = nvml_.call<nvml::status(unsigned, nvml::device*)>("nvmlDeviceGetHandleByIndex_v2", index, &handle);
        if (code == nvml::success) code = nvml_.read_identity(handle, about);
        if (code == nvml::success && !about.fault)
            code = nvml_.call<nvml::status(nvml::device, unsigned long long, event_set)>("nvmlDeviceRegisterEvents",
                                                                                         handle, critical_xid, set_);
        if (code == nvml::success && !about.fault) gpus_.emplace_back(handle, about.what.id);
    }
};

}  // namespace ration::cuda
