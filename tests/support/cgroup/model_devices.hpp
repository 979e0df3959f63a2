// SPDX-License-Identifier: BSL-1.0
/// The model's v1 `devices` hierarchy. A group allows all devices but some, or only some; what it denies is denied
/// below it too. Source: security/device_cgroup.c.
#pragma once

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

#include <ration/cgroup/detail/proc_text.hpp>

#include "support/cgroup/model_core.hpp"

namespace ration::cgroup::modelled {

/// `c 195:0 rwm`, and `a` for everything; nothing else is understood.
[[nodiscard]] inline bool is_device_entry(std::string_view text) noexcept {
    auto const words = detail::split(text, ' ');
    auto const numbers = words.size() == 3 ? detail::split(words[1], ':') : std::vector<std::string>{};
    auto const sound = [](std::string_view number) {
        unsigned value = 0;
        return number == "*" || detail::parse_whole(number, value);
    };
    return text == "a" ||
           (numbers.size() == 2 && (words[0] == "c" || words[0] == "b") && sound(numbers[0]) && sound(numbers[1]) &&
            !words[2].empty() && words[2].find_first_not_of("rwm") == std::string::npos);
}

[[nodiscard]] inline int read_device_list(world&, node& where, std::string& into) {
    for (std::string const& each : where.device_exceptions) into += where.devices_by_default ? "" : each + "\n";
    into = where.devices_by_default ? "a *:* rwm\n" : into;
    return 0;
}

/// An entry is taken out only by its own text: `c 195:0` leaves `c 195:*` as it is.
inline void forget_exception(node& where, std::string const& entry) noexcept {
    std::erase(where.device_exceptions, entry);
}

[[nodiscard]] inline int write_device_deny(world& all, node& where, std::string_view text) {
    std::string const entry(strip(text));
    if (!is_device_entry(entry)) return EINVAL;
    world::for_tree(where, [&](node& each) {
        if (entry == "a") {
            each.devices_by_default = false;
            each.device_exceptions.clear();
        } else if (!each.devices_by_default) {
            forget_exception(each, entry);
        } else if (std::ranges::find(each.device_exceptions, entry) == each.device_exceptions.end()) {
            each.device_exceptions.push_back(entry);
        }
    });
    static_cast<void>(all);
    return 0;
}

/// Not what the parent denies.
[[nodiscard]] inline int write_device_allow(world&, node& where, std::string_view text) {
    std::string const entry(strip(text));
    if (!is_device_entry(entry)) return EINVAL;
    node const* const above = where.parent;
    bool const named =
        above != nullptr && std::ranges::find(above->device_exceptions, entry) != above->device_exceptions.end();
    if (above != nullptr && (above->devices_by_default ? named : !named)) return EPERM;
    if (entry == "a") {
        where.devices_by_default = true;
        where.device_exceptions = above != nullptr ? above->device_exceptions : std::vector<std::string>{};
    } else if (where.devices_by_default) {
        forget_exception(where, entry);
    } else {
        where.device_exceptions.push_back(entry);
    }
    return 0;
}

inline constexpr file device_files[] = {
    {"devices.list", version::v1, controller::core, true, read_device_list, nullptr},
    {"devices.deny", version::v1, controller::core, true, nullptr, write_device_deny},
    {"devices.allow", version::v1, controller::core, true, nullptr, write_device_allow},
};

}  // namespace ration::cgroup::modelled
