// SPDX-License-Identifier: BSL-1.0
/// Device files that a job may not open, by the v1 `devices` hierarchy. v2 has no such files: there an eBPF program
/// guards devices (device_filter.hpp). Source: security/device_cgroup.c and the kernel's document of it.
#pragma once

#include <algorithm>
#include <charconv>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <ration/cgroup/detail/teardown.hpp>
#include <ration/cgroup/hierarchy.hpp>

namespace ration::cgroup {

/// A character device, as /proc/devices and the file's inode number it.
struct device_number {
    unsigned major = 0, minor = 0;
    friend constexpr auto operator<=>(device_number, device_number) noexcept = default;
};

namespace detail {

/// Whether a line of devices.list, such as `c 195:* rwm` or `a *:* rwm`, lets the device be used in any way.
[[nodiscard]] inline bool allows(std::string_view line, device_number device) noexcept {
    auto const blank = line.find(' ');
    auto const colon = line.find(':');
    if (blank == std::string_view::npos || colon == std::string_view::npos || colon < blank ||
        (line[0] != 'a' && line[0] != 'c')) {
        return false;
    }
    auto const matches = [](std::string_view text, unsigned number) {
        unsigned value = 0;
        return text == "*" || (parse_whole(text, value) && value == number);
    };
    auto const minor = line.substr(colon + 1, line.find(' ', colon) - colon - 1);
    return matches(line.substr(blank + 1, colon - blank - 1), device.major) && matches(minor, device.minor);
}

/// Our own group in the v1 hierarchy that has `devices`, and its path as /proc/PID/cgroup names it.
[[nodiscard]] inline result<std::pair<directory, std::string>> find_devices_group(io& machine) {
    std::string mountinfo, memberships;
    if (int const failed = machine.read_system("/proc/self/mountinfo", mountinfo))
        return system_error("read", "/proc/self/mountinfo", failed);
    if (int const failed = machine.read_system("/proc/self/cgroup", memberships))
        return system_error("read", "/proc/self/cgroup", failed);
    auto const lines = parse_memberships(memberships);
    auto const line = std::ranges::find_if(
        lines, [](membership const& m) { return m.hierarchy != 0 && has(m.controllers, "devices"); });
    if (line == lines.end()) {
        return make_error(
            errc::not_supported, "guard", "device files", 0,
            "no v1 hierarchy has `devices` here: on cgroup v2 an eBPF program keeps a group from devices (device_filter)");
    }
    auto const found = locate(version::v1, "devices", parse_mounts(mountinfo), *line);
    if (!found) return found.failure();
    auto own = directory::open(machine, found->first);
    if (!own) return own.failure();
    return std::pair<directory, std::string>(std::move(*own), found->second);
}

}  // namespace detail

/// A job's group in the `devices` hierarchy, beside those of its other controllers. Move-only; the destructor removes
/// the group if nothing lives in it.
class device_guard {
    directory own_, place_;
    std::string name_, path_;

    device_guard(directory own, directory place, std::string name, std::string path) noexcept
        : own_(std::move(own)), place_(std::move(place)), name_(std::move(name)), path_(std::move(path)) {}

public:
    device_guard(device_guard&&) noexcept = default;
    device_guard& operator=(device_guard&&) = delete;
    ~device_guard() {
        if (!place_) return;
        try {
            static_cast<void>(remove());
        } catch (std::bad_alloc const&) {
            static_cast<void>(own_.remove(name_));
        }
    }

    /// Makes the group below our own. Errors: `not_supported` (no v1 hierarchy has `devices`), `denied`,
    /// `already_exists`, `invalid_value` (the name), `namespace_mismatch`.
    [[nodiscard]] static result<device_guard> create(io& machine, std::string_view name) {
        if (auto const sound = check_name(name, 255); !sound) return sound.failure();
        auto found = detail::find_devices_group(machine);
        if (!found) return found.failure();
        auto& [own, own_path] = *found;
        std::string own_name(name);
        std::string path = (own_path == "/" ? "" : own_path) + "/" + own_name;
        if (auto const made = own.make(own_name); !made) return made.failure();
        fresh_group fresh(own, own_name, milliseconds(200));
        auto place = own.child(own_name);
        if (!place) return place.failure();
        fresh.keep();
        return device_guard(std::move(own), std::move(*place), std::move(own_name), std::move(path));
    }

    /// From now on no process of the group can open, make or map these; what is open stays open, so deny first and
    /// `place` then. Each is named by itself: a denied pattern could not be taken back in part. Errors: `unverified`
    /// (the group above allows the device by a pattern, which one number does not take out), and those of
    /// `directory::write`.
    [[nodiscard]] result<void> deny(std::span<device_number const> devices) const noexcept {
        for (device_number const each : devices)
            if (auto const written = place_.write("devices.deny", text_of(each)); !written) return written;
        std::string scratch;
        auto const shown = place_.read("devices.list", scratch);
        if (!shown) return shown.failure();
        bool allowed = false;
        // A group that allows all but some shows `a *:* rwm` and not the exceptions; one that allows only some shows
        // these.
        if (!shown->starts_with("a ")) {
            for_each_line(*shown, [&](std::string_view line) {
                allowed = allowed ||
                          std::ranges::any_of(devices, [line](device_number d) { return detail::allows(line, d); });
            });
        }
        return allowed ? make_error(errc::unverified, "deny devices in", place_.path(), 0,
                                    "the group above allows them by a pattern: have it allow each device by its number")
                       : result<void>();
    }

    /// Takes a denial back. Error: `denied` (the group above does not allow the device), and those of
    /// `directory::write`.
    [[nodiscard]] result<void> allow(device_number device) const noexcept {
        return place_.write("devices.allow", text_of(device));
    }

    /// Puts a process into the group, and checks that it is there. Errors: `not_found`, `unverified`, `denied`.
    [[nodiscard]] result<void> place(int pid) const {
        if (auto const moved = place_.write("cgroup.procs", detail::number_text(pid)); !moved) return moved;
        std::string memberships;
        if (int const failed =
                place_.machine().read_system(("/proc/" + std::to_string(pid) + "/cgroup").c_str(), memberships)) {
            return make_error(errc::not_found, "read the groups of process", std::to_string(pid), failed,
                              "the process has ended");
        }
        auto const lines = parse_memberships(memberships);
        bool const inside = std::ranges::any_of(
            lines, [this](membership const& m) { return m.path == path_ && detail::has(m.controllers, "devices"); });
        return inside ? result<void>()
                      : make_error(errc::unverified, "place a process in", place_.path(), 0,
                                   "another program moves processes here too: stop that one");
    }

    [[nodiscard]] std::string const& path() const noexcept { return place_.path(); }

    /// Removes the group, from which all processes must have gone. Error: `busy`; then it may be tried again.
    [[nodiscard]] result<void> remove() {
        auto const removed = remove_tree(own_, name_, place_.inode(), milliseconds(200));
        if (removed) place_.close();
        return removed;
    }

private:
    [[nodiscard]] static text<64> text_of(device_number d) noexcept {
        text<64> out("c ");
        return out.append(detail::number_text(d.major)).append(":").append(detail::number_text(d.minor)).append(" rwm");
    }
};

}  // namespace ration::cgroup
