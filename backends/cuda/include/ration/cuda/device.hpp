// SPDX-License-Identifier: BSL-1.0
/// GPUs, and the names that the driver gives them. Source: CUDA C++ Programming Guide, "CUDA
/// Environment Variables"; NVIDIA MIG User Guide.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <ration/result.hpp>
#include <ration/text.hpp>
#include <ration/units.hpp>

namespace ration::cuda {

/// A whole GPU, or an instance of a partitioned GPU (MIG).
enum class device_kind : std::uint8_t { gpu, mig };

/// The permanent name of a device: `GPU-` or `MIG-` and a UUID. An index is not a name, since it
/// depends on the order and on the mask of a process.
class device_id {
    std::array<std::uint8_t, 16> bytes_{};
    device_kind kind_ = device_kind::gpu;

    static constexpr std::array<std::size_t, 5> group_ends{4, 6, 8, 10, 16};  // of bytes, as a UUID is written

public:
    /// The zero UUID, which no device has.
    constexpr device_id() noexcept = default;
    /// A device with this UUID.
    constexpr device_id(device_kind kind, std::array<std::uint8_t, 16> const& uuid) noexcept
        : bytes_(uuid), kind_(kind) {}

    /// Parses a full name, such as `GPU-4404041a-04cf-1ccf-9e70-f139a9b1e23c`. Error:
    /// `invalid_value`, also for a prefix and for MIG names of drivers before R470.
    [[nodiscard]] static result<device_id> parse(std::string_view name) noexcept {
        bool const mig = name.starts_with("MIG-");
        device_id id(mig ? device_kind::mig : device_kind::gpu, {});
        bool sound = (mig || name.starts_with("GPU-")) && name.size() == 40;
        std::size_t at = 4, group = 0;
        for (std::size_t i = 0; sound && i < id.bytes_.size(); ++i) {
            if (i == group_ends[group]) {
                sound = name[at] == '-';
                ++at;
                ++group;
            }
            int const high = hex_value(name[at]), low = hex_value(name[at + 1]);
            sound = sound && high >= 0 && low >= 0;
            id.bytes_[i] = static_cast<std::uint8_t>(high * 16 + low);
            at += 2;
        }
        if (!sound)
            return error{
                .code = errc::invalid_value,
                .operation = "read the name of a GPU",
                .subject = name,
                .remedy =
                    "write it as nvidia-smi -L does: GPU- or MIG- and 32 hexadecimal digits in groups of 8-4-4-4-12"};
        return id;
    }

    /// A whole GPU or an instance.
    [[nodiscard]] constexpr device_kind kind() const noexcept { return kind_; }

    /// The name, as `parse` reads it.
    [[nodiscard]] text<40> name() const noexcept {
        static constexpr char digits[] = "0123456789abcdef";
        text<40> out(kind_ == device_kind::mig ? "MIG-" : "GPU-");
        std::size_t group = 0;
        for (std::size_t i = 0; i < bytes_.size(); ++i) {
            if (i == group_ends[group]) {
                out.append("-");
                ++group;
            }
            char const pair[] = {digits[bytes_[i] / 16], digits[bytes_[i] % 16]};
            out.append({pair, 2});
        }
        return out;
    }

    friend constexpr auto operator<=>(device_id const&, device_id const&) noexcept = default;

private:
    [[nodiscard]] static constexpr int hex_value(char c) noexcept {
        if (c >= '0' && c <= '9') return c - '0';
        // The driver writes lower-case letters and compares exactly
        return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    }
};

/// One GPU. Lists are in the order of the PCI bus, as with CUDA_DEVICE_ORDER=PCI_BUS_ID.
struct gpu {
    /// Its permanent name.
    device_id id;
    bool cut = false;                    ///< MIG is enabled: jobs can use its instances, but not the whole GPU
    std::vector<device_id> instances{};  ///< of a GPU with MIG
    text<16> pci{};                      ///< domain:bus:device.function
    /// The name of the product.
    text<64> model{};
    /// Its memory.
    bytes memory{0};
    int numa_node = -1;  ///< -1 = unknown
};

}  // namespace ration::cuda
