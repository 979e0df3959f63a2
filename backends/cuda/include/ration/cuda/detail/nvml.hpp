// SPDX-License-Identifier: BSL-1.0
/// GPUs as NVML reports them. NVML creates no CUDA context, so a query neither uses GPU memory nor
/// affects jobs. Source: NVIDIA NVML API Reference Guide.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <ration/cuda/detail/library.hpp>
#include <ration/cuda/device.hpp>
#include <ration/result.hpp>

namespace ration::cuda {

/// The nearest common ancestor of two GPUs on PCIe, from near to far. The numbers are those of
/// NVML.
enum class common_ancestor : std::uint8_t {
    board = 0,
    one_switch = 10,
    switches = 20,
    host_bridge = 30,
    numa_node = 40,
    machine = 50
};

/// Another GPU, and its distance.
struct gpu_neighbour {
    text<16> pci{};
    common_ancestor over = common_ancestor::machine;
};

/// The driver's numbers of a MIG instance, which are parts of the names of its access files.
struct mig_numbers {
    int gpu_instance = -1, compute_instance = -1;  ///< -1 = unknown
};

/// One GPU of the machine, healthy or not.
struct found_gpu {
    gpu what{};
    int minor = -1;                      ///< N of /dev/nvidiaN; -1 = unknown
    std::vector<mig_numbers> numbers{};  ///< of what.instances, in the same order
    std::vector<gpu_neighbour> near{};   ///< other GPUs, as far as NVML reports them
    std::vector<std::int32_t> users{};   ///< processes that compute on it
    /// For each active NVLink the PCI name of its other end: a GPU or a switch
    std::vector<text<16>> links{};
    bool exclusive = false;        ///< only one process at a time can compute
    std::optional<error> fault{};  ///< the reason why it cannot be allocated
};

/// NVML, loaded and initialised. Move-only.
class nvml {
public:
    /// A result code of NVML.
    using status = int;
    /// A device handle.
    using device = struct device_handle*;
    /// nvmlPciInfo_t.
    struct pci_info {
        char legacy_name[16];
        unsigned domain, bus, device, device_id, subsystem_id;
        char name[32];
    };
    /// nvmlMemory_t.
    struct memory_info {
        unsigned long long total, free, used;
    };
    /// nvmlProcessInfo_t.
    struct process_info {
        unsigned pid;
        unsigned long long memory;
        unsigned gpu_instance, compute_instance;
    };

    /// The result codes that are handled.
    static constexpr status success = 0, not_supported = 3, no_permission = 4, not_found = 6, too_small = 7,
                            driver_not_loaded = 9, library_not_found = 12, gpu_lost = 15, reset_required = 16,
                            version_mismatch = 18;
    /// A compute mode of NVML.
    static constexpr unsigned exclusive_process = 3;

private:
    friend class xid_watch;

    library library_;
    bool owns_ = true;

    explicit nvml(library&& loaded) noexcept : library_(std::move(loaded)) {}

public:
    /// Loads NVML. Errors: `not_supported` (no driver), `conflict` (library and kernel module have
    /// different versions), `denied`, `io`.
    [[nodiscard]] static result<nvml> open() noexcept {
        auto loaded = library::open("libnvidia-ml.so.1");
        if (!loaded) return loaded.failure();
        nvml out(std::move(*loaded));
        if (status const code = out.call<status()>("nvmlInit_v2"); code != success) {
            out.owns_ = false;
            return failure_of(code, "initialise NVML", "libnvidia-ml.so.1");
        }
        return out;
    }
    /// Takes over the library.
    nvml(nvml&& other) noexcept : library_(std::move(other.library_)), owns_(std::exchange(other.owns_, false)) {}
    nvml& operator=(nvml&&) = delete;
    /// Shuts NVML down.
    ~nvml() {
        if (owns_) (void)call<status()>("nvmlShutdown");
    }

    /// The number of GPUs. Error: as `open`.
    [[nodiscard]] result<unsigned> count() const noexcept {
        unsigned out = 0;
        status const code = call<status(unsigned*)>("nvmlDeviceGetCount_v2", &out);
        if (code != success) return failure_of(code, "count GPUs", "NVML");
        return out;
    }

    /// Reads the GPU with this number. A broken one has a `fault`, and the values that could be
    /// read.
    [[nodiscard]] found_gpu read(unsigned index) const noexcept {
        found_gpu out;
        device handle = nullptr;
        status code = call<status(unsigned, device*)>("nvmlDeviceGetHandleByIndex_v2", index, &handle);
        if (code == success) code = read_pci(handle, out.what.pci);
        if (code == success) code = read_identity(handle, out);
        if (code == success) code = read_instances(handle, out);
        unsigned minor = 0;
        if (code == success && call<status(device, unsigned*)>("nvmlDeviceGetMinorNumber", handle, &minor) == success)
            out.minor = static_cast<int>(minor);
        if (code == success) code = read_users(handle, out.users);
        if (code == success) read_links(handle, out.links);
        // Name the GPU by its place on the bus if that could be read: an index depends on the
        // order.
        if (code != success && !out.fault) {
            text<32> subject("GPU ");
            subject.append(decimal(index).view());
            out.fault = failure_of(code, "ask NVML about", out.what.pci.empty() ? subject.view() : out.what.pci.view());
        }
        return out;
    }

    /// The distance of two GPUs; empty if one is broken or NVML does not report it.
    [[nodiscard]] std::optional<common_ancestor> between(unsigned one, unsigned other) const noexcept {
        device a = nullptr, b = nullptr;
        unsigned level = 0;
        status code = call<status(unsigned, device*)>("nvmlDeviceGetHandleByIndex_v2", one, &a);
        if (code == success) code = call<status(unsigned, device*)>("nvmlDeviceGetHandleByIndex_v2", other, &b);
        if (code == success)
            code = call<status(device, device, unsigned*)>("nvmlDeviceGetTopologyCommonAncestor", a, b, &level);
        return code == success && level <= static_cast<unsigned>(common_ancestor::machine)
                   ? std::optional(static_cast<common_ancestor>(level))
                   : std::nullopt;
    }

    /// True if the driver can limit the GPU memory of a cgroup (r615 and later).
    [[nodiscard]] bool limits_memory() const noexcept {
        return library_.find<status()>("nvmlDeviceSetMemoryLimits_v1") != nullptr;
    }

    /// The error of a code.
    [[nodiscard]] static error failure_of(status code, char const* operation, std::string_view subject) noexcept {
        error out{
            .code = errc::io, .operation = operation, .subject = subject, .remedy = "check the output of nvidia-smi"};
        switch (code) {
            case not_supported:
                out.code = errc::not_supported;
                out.remedy = "the driver is too old for this, or the GPU has no such ability";
                break;
            case no_permission:
                out.code = errc::denied;
                out.remedy = "let this user read /dev/nvidiactl and /dev/nvidia*";
                break;
            case driver_not_loaded:
                out.code = errc::not_supported;
                out.remedy = "load the driver's kernel module: modprobe nvidia";
                break;
            case library_not_found:
                out.code = errc::not_supported;
                out.remedy =
                    "the driver's own libraries are missing: install the driver again, or mount all of it into the container";
                break;
            case gpu_lost:
                out.code = errc::gone;
                out.remedy = "the GPU fell off the bus: reset it or restart the machine; the other GPUs keep working";
                break;
            case reset_required:
                out.code = errc::gone;
                out.remedy = "the GPU waits for a reset: nvidia-smi --gpu-reset; the other GPUs keep working";
                break;
            case version_mismatch:
                out.code = errc::conflict;
                out.remedy = "the driver was updated under a running kernel module: restart the machine";
                break;
            default: break;
        }
        return out;
    }

private:
    [[nodiscard]] static text<12> decimal(unsigned number) noexcept {
        std::array<char, 12> out{};
        std::snprintf(out.data(), out.size(), "%u", number);
        return {out.data()};
    }

    /// Calls a function; a function that the library lacks returns `not_supported`.
    template <class Function, class... Args>
    [[nodiscard]] status call(char const* name, Args... args) const noexcept {
        auto* const function = library_.find<Function>(name);
        return function != nullptr ? function(args...) : not_supported;
    }

    [[nodiscard]] status read_pci(device handle, text<16>& out) const noexcept {
        pci_info pci{};
        status const code = call<status(device, pci_info*)>("nvmlDeviceGetPciInfo_v3", handle, &pci);
        if (code == success) out = name_of(pci);
        return code;
    }

    /// The name of a device in sysfs.
    [[nodiscard]] static text<16> name_of(pci_info const& pci) noexcept {
        // NVML's own text has an eight-digit domain.
        std::array<char, 32> out{};
        std::snprintf(out.data(), out.size(), "%04x:%02x:%02x.0", pci.domain, pci.bus, pci.device);
        return {out.data()};
    }

    /// Reads UUID, model, memory and compute mode.
    [[nodiscard]] status read_identity(device handle, found_gpu& out) const noexcept {
        std::array<char, 96> uuid{}, model{};
        memory_info memory{};
        unsigned mode = 0;
        status code =
            call<status(device, char*, unsigned)>("nvmlDeviceGetUUID", handle, uuid.data(), unsigned{uuid.size() - 1});
        if (code == success)
            code = call<status(device, char*, unsigned)>("nvmlDeviceGetName", handle, model.data(),
                                                         unsigned{model.size() - 1});
        if (code == success) code = call<status(device, memory_info*)>("nvmlDeviceGetMemoryInfo", handle, &memory);
        if (code != success) return code;
        // Without a compute mode, the GPU counts as shared.
        out.what.model = text<64>(model.data());
        out.what.memory = {static_cast<std::int64_t>(memory.total)};
        if (call<status(device, unsigned*)>("nvmlDeviceGetComputeMode", handle, &mode) == success)
            out.exclusive = mode == exclusive_process;
        auto const id = device_id::parse(uuid.data());
        if (id)
            out.what.id = *id;
        else
            out.fault = id.failure();
        return success;
    }

    /// Reads the MIG instances.
    [[nodiscard]] status read_instances(device handle, found_gpu& out) const noexcept {
        unsigned mode = 0, pending = 0, most = 0;
        if (call<status(device, unsigned*, unsigned*)>("nvmlDeviceGetMigMode", handle, &mode, &pending) != success ||
            mode == 0)
            return success;
        out.what.cut = true;
        status const code = call<status(device, unsigned*)>("nvmlDeviceGetMaxMigDeviceCount", handle, &most);
        for (unsigned i = 0; code == success && i < most; ++i) {
            device instance = nullptr;
            std::array<char, 96> uuid{};
            // An index that is not in use
            if (call<status(device, unsigned, device*)>("nvmlDeviceGetMigDeviceHandleByIndex", handle, i, &instance) !=
                success)
                continue;
            if (call<status(device, char*, unsigned)>("nvmlDeviceGetUUID", instance, uuid.data(),
                                                      unsigned{uuid.size() - 1}) != success)
                continue;
            auto const id = device_id::parse(uuid.data());
            if (!id) continue;
            out.what.instances.push_back(*id);
            out.numbers.push_back({.gpu_instance = number_of(instance, "nvmlDeviceGetGpuInstanceId"),
                                   .compute_instance = number_of(instance, "nvmlDeviceGetComputeInstanceId")});
        }
        return code;
    }

    /// A number of a MIG instance; -1 if it is unknown.
    [[nodiscard]] int number_of(device instance, char const* function) const noexcept {
        unsigned number = 0;
        return call<status(device, unsigned*)>(function, instance, &number) == success ? static_cast<int>(number) : -1;
    }

    /// Reads the processes that compute on the GPU.
    [[nodiscard]] status read_users(device handle, std::vector<std::int32_t>& out) const noexcept {
        std::vector<process_info> running;
        unsigned count = 16;
        status code = too_small;
        // The answer contains their number; more may have started since
        for (int tries = 0; code == too_small && tries < 8; ++tries) {
            running.resize(count);
            code = call<status(device, unsigned*, process_info*)>("nvmlDeviceGetComputeRunningProcesses_v3", handle,
                                                                  &count, running.data());
        }
        for (unsigned i = 0; code == success && i < count && i < running.size(); ++i)
            out.push_back(static_cast<std::int32_t>(running[i].pid));
        // A GPU without this query has no known users.
        return code == not_supported ? success : code;
    }

    /// Reads the other ends of active NVLinks.
    void read_links(device handle, std::vector<text<16>>& out) const noexcept {
        static constexpr unsigned most_links = 18;
        for (unsigned link = 0; link < most_links; ++link) {
            unsigned active = 0;
            pci_info remote{};
            if (call<status(device, unsigned, unsigned*)>("nvmlDeviceGetNvLinkState", handle, link, &active) !=
                    success ||
                active == 0)
                continue;
            if (call<status(device, unsigned, pci_info*)>("nvmlDeviceGetNvLinkRemotePciInfo_v2", handle, link,
                                                          &remote) == success)
                out.push_back(name_of(remote));
        }
    }
};

}  // namespace ration::cuda
