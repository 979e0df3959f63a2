// SPDX-License-Identifier: BSL-1.0
/// The controllers that this backend uses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ration::cgroup {

/// `core` is what v2 does without any controller: kill a whole group, start a process inside it. Freezing (`freezer`)
/// and CPU accounting (`cpuacct`) are controllers on v1 and part of the core on v2. `dmem` is device memory, from
/// Linux 6.14 on.
enum class controller : std::uint8_t { cpu, cpuset, memory, pids, dmem, cpuacct, freezer, core };
inline constexpr std::size_t controller_count = 8;
inline constexpr controller all_controllers[] = {controller::cpu,     controller::cpuset, controller::memory,
                                                 controller::pids,    controller::dmem,   controller::cpuacct,
                                                 controller::freezer, controller::core};

/// The kernel's own word; `core` has none.
[[nodiscard]] constexpr std::string_view name_of(controller which) noexcept {
    constexpr std::string_view names[] = {"cpu", "cpuset", "memory", "pids", "dmem", "cpuacct", "freezer", "core"};
    return names[static_cast<std::size_t>(which)];
}

/// Whether v2 lists it in cgroup.controllers and hands it down by cgroup.subtree_control.
[[nodiscard]] constexpr bool is_enabled_by_parent(controller which) noexcept { return which <= controller::dmem; }

class controller_set {
    std::uint8_t bits_ = 0;

public:
    constexpr void insert(controller which) noexcept { bits_ |= bit(which); }
    constexpr void erase(controller which) noexcept { bits_ &= static_cast<std::uint8_t>(~bit(which)); }
    [[nodiscard]] constexpr bool contains(controller which) const noexcept { return (bits_ & bit(which)) != 0; }
    [[nodiscard]] constexpr bool empty() const noexcept { return bits_ == 0; }
    friend constexpr bool operator==(controller_set, controller_set) noexcept = default;

private:
    [[nodiscard]] static constexpr std::uint8_t bit(controller which) noexcept {
        return static_cast<std::uint8_t>(1U << static_cast<unsigned>(which));
    }
};

}  // namespace ration::cgroup
