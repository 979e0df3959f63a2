// SPDX-License-Identifier: BSL-1.0
/// CUDA_VISIBLE_DEVICES: parses an inherited value as the driver does, and writes only values that
/// the driver cannot interpret in another way. Source: CUDA C++ Programming Guide, "CUDA
/// Environment Variables"; for faulty lists, the tests of PyTorch.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ration/cuda/device.hpp>
#include <ration/result.hpp>

namespace ration::cuda {

namespace detail {

/// Removes and returns the next item of a comma-separated list, without blanks around it.
[[nodiscard]] inline std::string_view next_item(std::string_view& list) noexcept {
    auto const comma = std::min(list.find(','), list.size());
    std::string_view item = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
    while (!item.empty() && item.back() == ' ') item.remove_suffix(1);
    return item;
}

/// The number at the start of an item; empty if there is none, or a negative one. Text after the
/// number is ignored: `2ampere` is 2.
[[nodiscard]] inline std::optional<std::size_t> leading_number(std::string_view item) noexcept {
    if (item.starts_with('+')) item.remove_prefix(1);
    std::size_t number = 0;
    auto const [end, failed] = std::from_chars(item.data(), item.data() + item.size(), number);
    if (failed != std::errc{}) return std::nullopt;
    return number;
}

/// The only device whose name starts with `prefix`; empty if there is none or more than one.
[[nodiscard]] inline std::optional<device_id> only_match(std::span<device_id const> among,
                                                         std::string_view prefix) noexcept {
    std::optional<device_id> found;
    for (device_id const& id : among) {
        if (!id.name().view().starts_with(prefix)) continue;
        if (found) return std::nullopt;
        found = id;
    }
    return found;
}

/// All devices of one kind, GPUs in the order of the bus.
[[nodiscard]] inline std::vector<device_id> names_of(std::span<gpu const> machine, device_kind kind) noexcept {
    std::vector<device_id> out;
    for (gpu const& one : machine) {
        if (kind == device_kind::gpu) out.push_back(one.id);
        for (device_id const& instance : one.instances)
            if (kind == device_kind::mig) out.push_back(instance);
    }
    return out;
}

}  // namespace detail

/// The devices that a program can use under a mask, in the order of the mask. `mask` is the value
/// of CUDA_VISIBLE_DEVICES; empty if it is not set. Numbers index the GPUs of `machine`.
///
/// The driver's rules: an unset mask means all devices, and an empty one means none. The list ends
/// before the first item that is not a device. A device that is named twice leaves none. Names may
/// be abbreviated if they are unambiguous. The first item decides whether the list has numbers,
/// GPUs or MIG instances, and the list ends before an item of another kind. A GPU with MIG cannot
/// be used as a whole; where a mask allows it, all its instances are meant. O(items x devices).
[[nodiscard]] inline std::vector<device_id> visible_devices(std::span<gpu const> machine,
                                                            std::optional<std::string_view> mask) noexcept {
    bool const mig = mask && mask->starts_with("MIG-"), named = mig || (mask && mask->starts_with("GPU-"));
    std::vector<device_id> const known = detail::names_of(machine, mig ? device_kind::mig : device_kind::gpu);
    std::vector<device_id> listed;
    std::string_view rest = mask.value_or("");
    while (!rest.empty()) {
        std::string_view const item = detail::next_item(rest);
        std::optional<device_id> device;
        if (named && item.starts_with(mig ? "MIG-" : "GPU-")) device = detail::only_match(known, item);
        if (auto const number = named ? std::nullopt : detail::leading_number(item); number && *number < known.size())
            device = known[*number];
        if (!device) break;
        if (std::ranges::find(listed, *device) != listed.end()) return {};
        listed.push_back(*device);
    }
    if (!mask) listed = known;
    std::vector<device_id> usable;
    for (device_id const& id : listed) {
        auto const whole = std::ranges::find(machine, id, &gpu::id);
        if (whole == machine.end() || !whole->cut)
            usable.push_back(id);
        else
            usable.insert(usable.end(), whole->instances.begin(), whole->instances.end());
    }
    return usable;
}

/// The devices of one job, in the order in which the job numbers them. The mask cannot contain
/// anything that the driver would interpret in another way: names are complete, distinct, known and
/// of one kind. There is at most one MIG instance, since a process uses no more.
class device_mask {
    std::vector<device_id> devices_;

public:
    /// No device.
    device_mask() noexcept = default;

    /// A job's part of `usable`, the devices that this program can use (`visible_devices`). Errors:
    /// `not_found` (a device that is not among them), `already_exists` (one is named twice),
    /// `conflict` (whole GPUs and MIG instances, or two devices with one name), `out_of_range`
    /// (several MIG instances). O(chosen x usable).
    [[nodiscard]] static result<device_mask> of(std::span<device_id const> chosen,
                                                std::span<device_id const> usable) noexcept {
        device_mask mask;
        for (device_id const& id : chosen) {
            if (auto const fault = mask.fault_of(id, usable)) return *fault;
            mask.devices_.push_back(id);
        }
        return mask;
    }

    /// The devices.
    [[nodiscard]] std::span<device_id const> devices() const noexcept { return devices_; }

    /// The value of CUDA_VISIBLE_DEVICES; empty for no device.
    [[nodiscard]] std::string value() const {
        std::string out;
        for (device_id const& id : devices_) out.append(out.empty() ? "" : ",").append(id.name().view());
        return out;
    }

    /// Entries for a job's environment. They set the order too, so that a job's numbers are those
    /// of nvidia-smi.
    [[nodiscard]] std::array<std::string, 2> environment() const {
        return {"CUDA_DEVICE_ORDER=PCI_BUS_ID", "CUDA_VISIBLE_DEVICES=" + value()};
    }

    /// Compares with the devices that a job reports: full names separated by commas, in its order.
    /// Error: `unverified` (other devices, more, fewer, or another order).
    [[nodiscard]] result<void> verify(std::string_view seen) const {
        if (seen == value()) return {};
        return error{
            .code = errc::unverified,
            .operation = "find a job on its GPUs, which sees",
            .subject = seen.empty() ? std::string_view("none") : seen,
            .remedy =
                "its environment was changed after the launch, or it is in a container with other GPUs: end it, and hand out its GPUs only then"};
    }

    friend bool operator==(device_mask const&, device_mask const&) noexcept = default;

private:
    /// The error of adding a device; empty if it can be added.
    [[nodiscard]] std::optional<error> fault_of(device_id const& id, std::span<device_id const> usable) const noexcept {
        auto const fault = [&id](errc code, char const* remedy) {
            return error{
                .code = code, .operation = "make a device mask", .subject = id.name().view(), .remedy = remedy};
        };
        auto const there = std::ranges::count(usable, id);
        if (there == 0)
            return fault(errc::not_found, "choose among the GPUs that this program may use: ration doctor lists them");
        if (there > 1) return fault(errc::conflict, "two GPUs have this name: none of them can be handed out");
        if (std::ranges::find(devices_, id) != devices_.end())
            return fault(errc::already_exists, "name each GPU once: the driver shows none when one is named twice");
        if (devices_.empty()) return std::nullopt;
        if (devices_.front().kind() != id.kind())
            return fault(errc::conflict, "give a job whole GPUs or a MIG instance, not both");
        if (id.kind() == device_kind::mig)
            return fault(errc::out_of_range, "give a job one MIG instance: a process uses no more");
        return std::nullopt;
    }
};

}  // namespace ration::cuda
