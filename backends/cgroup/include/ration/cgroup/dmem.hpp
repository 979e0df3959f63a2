// SPDX-License-Identifier: BSL-1.0
/// Device memory by cgroup (`dmem`, Linux 6.14 and later): which regions there are, how much of each a group uses and
/// may use. Source: kernel/cgroup/dmem.c and the kernel's cgroup-v2 document; for NVIDIA's regions the MPS document.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ration/cgroup/detail/values.hpp>
#include <ration/cgroup/hierarchy.hpp>
#include <ration/resource.hpp>
#include <ration/units.hpp>

namespace ration::cgroup {

/// A line of a dmem file: the driver's name of a region, and bytes; `unlimited` for `max`.
struct dmem_region {
    std::string name;
    std::int64_t amount = 0;
    friend bool operator==(dmem_region const&, dmem_region const&) noexcept = default;
};

/// The text of dmem.capacity, dmem.current, dmem.max, dmem.low or dmem.min. Error: `invalid_value` (a line that is no
/// name and number).
[[nodiscard]] inline result<std::vector<dmem_region>> parse_dmem(std::string_view text) {
    std::vector<dmem_region> out;
    std::optional<error> wrong;
    for_each_line(text, [&](std::string_view line) {
        auto const blank = line.rfind(' ');
        auto const amount =
            blank == std::string_view::npos || blank == 0 ? std::nullopt : amount_of(line.substr(blank + 1));
        if (amount && *amount >= 0)
            out.push_back({std::string(line.substr(0, blank)), *amount});
        else if (!line.empty())
            wrong = make_error(errc::invalid_value, "read a line of dmem", line, 0,
                               "this kernel writes it in a way that is not known here");
    });
    if (wrong) return *wrong;
    return out;
}

/// The PCI address of the device that has the region, as sysfs writes it: of `nvidia/00000000:17:00.0/vidmem` and
/// `drm/0000:17:00.0/vram0` it is 0000:17:00.0. Empty for any other name.
[[nodiscard]] inline std::string pci_of(std::string_view region) {
    auto const parts = detail::split(region, '/');
    bool const known = parts.size() >= 2 && (parts[0] == "nvidia" || parts[0] == "drm");
    auto const colon = known ? parts[1].find(':') : std::string::npos;
    if (colon == std::string::npos || colon < 4) return {};
    std::string out = parts[1].substr(colon - 4);
    std::ranges::transform(out, out.begin(),
                           [](char c) { return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c; });
    return out;
}

/// Those of the regions that are memory of the device with this address.
[[nodiscard]] inline std::vector<std::string> regions_of(std::vector<dmem_region> const& all, std::string_view pci) {
    std::vector<std::string> out;
    for (auto const& each : all)
        if (pci_of(each.name) == pci) out.push_back(each.name);
    return out;
}

/// The figures of dmem for our own group.
struct dmem_view {
    std::vector<dmem_region> capacity;       ///< of the machine; only the root of the hierarchy has it
    std::vector<dmem_region> current, most;  ///< of the own group; empty where dmem is not handed down to it
};

/// Errors: `not_supported` (no v2 hierarchy, or a kernel or driver without dmem), `namespace_mismatch` (the root is not
/// to be seen from here), `invalid_value`.
[[nodiscard]] inline result<dmem_view> find_dmem(io& machine) {
    std::string mountinfo, memberships, scratch;
    if (int const failed = machine.read_system("/proc/self/mountinfo", mountinfo))
        return system_error("read", "/proc/self/mountinfo", failed);
    if (int const failed = machine.read_system("/proc/self/cgroup", memberships))
        return system_error("read", "/proc/self/cgroup", failed);
    auto const mounts = parse_mounts(mountinfo);
    auto const v2 = std::ranges::find(mounts, version::v2, &mount::kind);
    if (v2 == mounts.end()) {
        return make_error(errc::not_supported, "find", "dmem", 0,
                          "limits on GPU memory need cgroup v2 and Linux 6.14 or later");
    }
    auto const read = [&](std::string const& place, char const* file) -> result<std::vector<dmem_region>> {
        auto const where = directory::open(machine, place);
        auto const text = where ? where->read(file, scratch) : result<std::string_view>(where.failure());
        return text ? parse_dmem(*text) : result<std::vector<dmem_region>>(text.failure());
    };
    dmem_view out;
    auto capacity = read(v2->point, "dmem.capacity");
    if (!capacity) {
        error why = capacity.failure();
        why.remedy = why.code == errc::not_supported
                         ? "limits on GPU memory need Linux 6.14 or later and a GPU driver that takes part"
                         : why.remedy;
        return why;
    }
    out.capacity = std::move(*capacity);
    auto const lines = parse_memberships(memberships);
    auto const own = std::ranges::find(lines, 0U, &membership::hierarchy);
    auto const place = own != lines.end()
                           ? locate(version::v2, "cgroup2", mounts, *own)
                           : result<std::pair<std::string, std::string>>(std::pair<std::string, std::string>{});
    if (place && !place->first.empty()) {  // a group to which dmem is not handed down has no such files
        out.current = read(place->first, "dmem.current").value_or({});
        out.most = read(place->first, "dmem.max").value_or({});
    }
    return out;
}

/// Whether dmem.max of a group has this value for a region, up to the rounding of the driver. Errors: `unverified`, and
/// those of `directory::read`.
[[nodiscard]] inline result<void> verify_dmem_max(directory const& group, std::string_view region, bytes most) {
    std::string scratch;
    auto const shown = group.read("dmem.max", scratch);
    auto const lines = shown ? parse_dmem(*shown) : result<std::vector<dmem_region>>(shown.failure());
    if (!lines) return lines.failure();
    constexpr std::int64_t page = 65536;  // the largest; the driver rounds down to its own
    auto const at = std::ranges::find(*lines, region, &dmem_region::name);
    bool const as_asked =
        at != lines->end() && at->amount <= most.count && (at->amount == most.count || most.count - at->amount < page);
    return as_asked ? result<void>()
                    : make_error(errc::unverified, "write and read back", group.path() + "/dmem.max", 0,
                                 "another program writes this file too: stop that one");
}

/// Limits the memory of a group in a region; `unlimited` for no limit. Live: an allocation beyond it fails, held
/// memory stays. Errors: `not_supported` (NVIDIA's regions: its driver needs a call, since the kernel does not
/// pass a write to the file on; or a group without dmem), `out_of_range`, `unverified`, and those of
/// `directory::write`.
[[nodiscard]] inline result<void> set_dmem_max(directory const& group, std::string_view region, bytes most) {
    if (region.starts_with("nvidia/")) {
        return make_error(
            errc::not_supported, "limit", region, 0,
            "only NVIDIA's driver sets its limits: nvidia-smi memory-limits -i GPU -n GROUP --hard-limit MIB, from r615 on");
    }
    if (most.count < 0) return make_error(errc::out_of_range, "limit", region, 0, "a limit is 0 bytes or more");
    std::string const value = most.count == unlimited ? "max" : std::to_string(most.count);
    if (auto const written = group.write("dmem.max", std::string(region) + " " + value); !written) return written;
    return verify_dmem_max(group, region, most);
}

}  // namespace ration::cgroup
