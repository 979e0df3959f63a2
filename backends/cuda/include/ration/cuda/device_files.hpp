// SPDX-License-Identifier: BSL-1.0
/// The device files that a job under a mask must not use; a device cgroup denies them. Source:
/// /proc/devices, /proc/driver/nvidia-caps/mig-minors; NVIDIA MIG User Guide, "Device Nodes".
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ration/cuda/device_mask.hpp>
#include <ration/cuda/inventory.hpp>
#include <ration/result.hpp>

namespace ration::cuda {

/// A character device.
struct device_file {
    /// The numbers of the file, as stat(2) returns them.
    unsigned major = 0, minor = 0;
    friend constexpr auto operator<=>(device_file, device_file) noexcept = default;
};

/// The kernel's numbers of NVIDIA's device files.
struct device_file_numbers {
    std::optional<unsigned> gpus, capabilities;  ///< majors of /dev/nvidiaN and of /dev/nvidia-caps/nvidia-capN
    std::string mig_minors;                      ///< lines such as `gpu0/gi1/ci0/access 13`
};

/// The files with these numbers; tests use others.
struct device_file_places {
    /// The majors of all drivers.
    std::filesystem::path devices = "/proc/devices";
    /// The minors of the access files of MIG instances.
    std::filesystem::path mig_minors = "/proc/driver/nvidia-caps/mig-minors";
};

namespace detail {

/// The number before (`195 nvidia`) or after (`gpu0/gi1/access 12`) a word on its line.
[[nodiscard]] inline std::optional<unsigned> number_beside(std::string_view text, std::string_view word) noexcept {
    for (std::string_view line : lines_of(text)) {
        while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
        auto const blank = line.find(' ');
        if (blank == std::string_view::npos) continue;
        std::string_view const left = line.substr(0, blank), right = line.substr(blank + 1);
        std::string_view const digits = right == word ? left : left == word ? right : std::string_view{};
        unsigned number = 0;
        auto const [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
        if (!digits.empty() && failed == std::errc{} && end == digits.data() + digits.size()) return number;
    }
    return std::nullopt;
}

}  // namespace detail

/// Reads the numbers. Values that are not there stay empty.
[[nodiscard]] inline device_file_numbers find_device_files(device_file_places const& places = {}) noexcept {
    static constexpr std::size_t most_characters = 1 << 20;
    std::string const devices = detail::read_start(places.devices, most_characters);
    // Block devices have majors of their own, and could have the same numbers.
    std::string_view const characters = std::string_view(devices).substr(0, devices.find("Block devices:"));
    device_file_numbers out;
    out.gpus = detail::number_beside(characters, "nvidia");
    if (!out.gpus) out.gpus = detail::number_beside(characters, "nvidia-frontend");  // name in older drivers
    out.capabilities = detail::number_beside(characters, "nvidia-caps");
    out.mig_minors = detail::read_start(places.mig_minors, most_characters);
    return out;
}

/// The files of all GPUs outside of the mask and, on a GPU of which the mask has an instance, those
/// of the other instances. Files that all GPUs share (nvidiactl, nvidia-uvm) are not included,
/// since no GPU works without them. Error: `not_found` if the number of a file is unknown: then it
/// cannot be denied, and a mask is only advice.
[[nodiscard]] inline result<std::vector<device_file>> files_to_deny(std::span<found_gpu const> gpus,
                                                                    device_mask const& mask,
                                                                    device_file_numbers const& numbers) noexcept {
    auto const unknown = [](found_gpu const& one, char const* remedy) {
        return error{.code = errc::not_found,
                     .operation = "find the device file of",
                     .subject = one.what.pci.view(),
                     .remedy = remedy};
    };
    auto const has = [&mask](device_id const& id) {
        return std::ranges::find(mask.devices(), id) != mask.devices().end();
    };
    std::vector<device_file> out;
    for (found_gpu const& one : gpus) {
        bool const part = std::ranges::any_of(one.what.instances, has);
        if (has(one.what.id)) continue;
        // Off the bus: it has no file to open
        if (one.minor < 0 && one.fault && one.fault->code == errc::gone) continue;
        if (one.minor < 0 || !numbers.gpus)
            return unknown(one,
                           "its number is in neither NVML nor the kernel's files: masks are advice on this machine");
        // A job with an instance of the GPU needs the file of the GPU itself.
        if (!part) out.push_back({*numbers.gpus, static_cast<unsigned>(one.minor)});
        for (std::size_t i = 0; part && i < one.what.instances.size(); ++i) {
            if (has(one.what.instances[i])) continue;
            auto const& [gi, ci] = i < one.numbers.size() ? one.numbers[i] : mig_numbers{};
            std::string const place =
                "gpu" + std::to_string(one.minor) + "/gi" + std::to_string(gi) + "/ci" + std::to_string(ci) + "/access";
            auto const minor = detail::number_beside(numbers.mig_minors, place);
            if (!minor || !numbers.capabilities)
                return unknown(
                    one,
                    "the access file of one of its MIG instances is not known: masks of its instances are advice on this machine");
            out.push_back({*numbers.capabilities, *minor});
        }
    }
    return out;
}

}  // namespace ration::cuda
