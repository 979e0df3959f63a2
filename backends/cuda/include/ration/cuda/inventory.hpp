// SPDX-License-Identifier: BSL-1.0
/// The GPUs of this machine, from NVML first; the files of the kernel module and sysfs add values
/// that NVML lacks. One broken GPU does not hide others.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ration/cuda/detail/nvml.hpp>
#include <ration/cuda/device.hpp>
#include <ration/result.hpp>

namespace ration::cuda {

/// Folders in which the kernel shows GPUs; tests use others.
struct gpu_files {
    /// One folder for each GPU, with a file `information`.
    std::filesystem::path module = "/proc/driver/nvidia/gpus";
    /// One folder for each PCI device, with a file `numa_node`.
    std::filesystem::path bus = "/sys/bus/pci/devices";
};

/// All GPUs in the order of the PCI bus, including broken ones.
struct inventory {
    /// The GPUs.
    std::vector<found_gpu> gpus;
    /// Set if NVML did not answer; all values are from the kernel's files then
    std::optional<error> why_no_nvml;
    /// The driver can limit the GPU memory of a cgroup (nvmlDeviceSetMemoryLimits, r615 and later)
    bool limits_memory = false;

    /// The GPUs without a fault, which can be allocated.
    [[nodiscard]] std::vector<gpu> sound() const noexcept {
        std::vector<gpu> out;
        for (found_gpu const& one : gpus)
            if (!one.fault) out.push_back(one.what);
        return out;
    }
};

namespace detail {

/// The first `most_characters` of a file; empty if there is none.
[[nodiscard]] inline std::string read_start(std::filesystem::path const& file,
                                            std::size_t most_characters = 4096) noexcept {
    std::string out(most_characters, '\0');
    std::ifstream in(file);
    in.read(out.data(), static_cast<std::streamsize>(out.size()));
    out.resize(static_cast<std::size_t>(in.gcount()));
    return out;
}

/// The lines of a text that are not empty.
[[nodiscard]] inline std::vector<std::string_view> lines_of(std::string_view text) noexcept {
    std::vector<std::string_view> out;
    while (!text.empty()) {
        std::string_view const line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        if (line.find_first_not_of(" \t\r") != std::string_view::npos) out.push_back(line);
    }
    return out;
}

/// The value of a line `key: value`, without leading blanks.
[[nodiscard]] inline std::string_view value_of(std::string_view text, std::string_view key) noexcept {
    for (std::string_view const line : lines_of(text)) {
        if (!line.starts_with(key) || line.substr(key.size(), 1) != ":") continue;
        auto const begin = line.find_first_not_of(" \t", key.size() + 1);
        return begin == std::string_view::npos ? std::string_view{} : line.substr(begin);
    }
    return {};
}

/// Reads the kernel module's folder of one GPU. The folder has the GPU's PCI name.
[[nodiscard]] inline found_gpu read_module_file(std::filesystem::path const& folder) noexcept {
    std::string const text = read_start(folder / "information");
    found_gpu out;
    out.what.pci = ration::text<16>(folder.filename().native());
    out.what.model = ration::text<64>(value_of(text, "Model"));
    std::string_view const minor = value_of(text, "Device Minor");
    static_cast<void>(std::from_chars(minor.data(), minor.data() + minor.size(), out.minor));
    // The driver writes question marks here before it has initialised the GPU.
    auto const id = device_id::parse(value_of(text, "GPU UUID"));
    if (id)
        out.what.id = *id;
    else
        out.fault = error{.code = errc::not_found,
                          .operation = "read the name of a GPU",
                          .subject = out.what.pci.view(),
                          .remedy = "the driver has not brought this GPU up: check the output of nvidia-smi"};
    return out;
}

/// Reads all folders.
[[nodiscard]] inline std::vector<found_gpu> read_module_files(std::filesystem::path const& module) noexcept {
    std::vector<found_gpu> out;
    std::error_code none;
    for (std::filesystem::directory_iterator it(module, none), end; !none && it != end; it.increment(none))
        out.push_back(read_module_file(it->path()));
    return out;
}

/// The NUMA node of a GPU; -1 if the kernel does not report one.
[[nodiscard]] inline int read_numa_node(std::filesystem::path const& bus, gpu const& one) noexcept {
    std::string const text = read_start(bus / one.pci.view() / "numa_node");
    int node = -1;
    auto const [end, failed] = std::from_chars(text.data(), text.data() + text.size(), node);
    return failed == std::errc{} && node >= 0 ? node : -1;
}

/// Reads all GPUs from NVML; `why` is set if it does not answer.
[[nodiscard]] inline std::vector<found_gpu> ask_nvml(std::optional<error>& why, bool& limits_memory) noexcept {
    std::vector<found_gpu> out;
    auto const library = nvml::open();
    auto const count = library ? library->count() : result<unsigned>(library.failure());
    if (!count) why = count.failure();
    limits_memory = library && library->limits_memory();
    for (unsigned i = 0; count && i < *count; ++i) out.push_back(library->read(i));
    // Distances are symmetric, so each pair is queried once.
    for (unsigned i = 0; i < out.size(); ++i)
        for (unsigned k = i + 1; k < out.size(); ++k)
            if (auto const over = library->between(i, k)) {
                out[i].near.push_back({out[k].what.pci, *over});
                out[k].near.push_back({out[i].what.pci, *over});
            }
    return out;
}

/// Marks GPUs with equal names as faulty: a mask could not distinguish them.
inline void mark_doubles(std::vector<found_gpu>& gpus) noexcept {
    for (found_gpu& one : gpus) {
        auto const same = std::ranges::count_if(gpus, [&one](found_gpu const& other) {
            return other.what.id == one.what.id && other.what.id != device_id{};
        });
        if (same > 1 && !one.fault)
            one.fault = error{.code = errc::conflict,
                              .operation = "distinguish GPUs",
                              .subject = one.what.id.name().view(),
                              .remedy = "two GPUs report this name: see nvidia-smi -L; neither is handed out"};
    }
}

}  // namespace detail

/// Finds the GPUs. It never fails: a problem becomes the `fault` of a GPU, or `why_no_nvml`.
/// Creates no CUDA context. Takes milliseconds, or some hundred if the driver has to wake up GPUs.
[[nodiscard]] inline inventory find_gpus(gpu_files const& files = {}) noexcept {
    inventory out;
    out.gpus = detail::ask_nvml(out.why_no_nvml, out.limits_memory);
    // A GPU whose PCI name NVML could not read must be one that only the module names.
    std::vector<found_gpu> module = detail::read_module_files(files.module);
    std::erase_if(module, [&out](found_gpu const& m) {
        auto const same =
            std::ranges::find(out.gpus, m.what.pci.view(), [](found_gpu const& n) { return n.what.pci.view(); });
        if (same != out.gpus.end() && same->minor < 0) same->minor = m.minor;
        return same != out.gpus.end();
    });
    std::ranges::sort(module, {}, [](found_gpu const& g) { return g.what.pci.view(); });
    // Both lists are in the order of the bus, so the first unmatched ones belong together.
    for (found_gpu& lost : out.gpus) {
        if (!lost.what.pci.empty() || module.empty()) continue;
        lost.what = module.front().what;
        lost.minor = module.front().minor;
        module.erase(module.begin());
    }
    for (found_gpu& silent : module) {
        // NVML answered, but did not list it: it must not be allocated.
        if (!out.why_no_nvml && !silent.fault)
            silent.fault = error{.code = errc::not_found,
                                 .operation = "find a GPU with NVML",
                                 .subject = silent.what.pci.view(),
                                 .remedy = "it is not given to this container, or it fell off the bus: see nvidia-smi"};
        out.gpus.push_back(std::move(silent));
    }
    for (found_gpu& one : out.gpus) one.what.numa_node = detail::read_numa_node(files.bus, one.what);
    detail::mark_doubles(out.gpus);
    std::ranges::sort(out.gpus, {}, [](found_gpu const& g) { return g.what.pci.view(); });
    return out;
}

}  // namespace ration::cuda
