// SPDX-License-Identifier: BSL-1.0
/// The probes, in the order in which they run. docs/check.md describes the purpose of each.
#pragma once

#include <span>
#include <string_view>

#include "plugin_under_test.hpp"
#include "sandbox.hpp"

namespace ration::conformance {

/// The next action after a failed probe.
enum class then : std::uint8_t {
    go_on,
    stop_group,  ///< the rest of its group would show the same again
    stop         ///< so would everything that follows
};

struct probe {
    std::string_view name;    ///< "decide/scratch"
    std::string_view remedy;  ///< what to do when it is red
    void (*run)(subject const&);
    then if_red = then::go_on;
    deadline until{};
    bool subject::* validates = nullptr;  ///< what others may rely on when it has passed
};

[[nodiscard]] std::span<probe const> probes_of_the_file() noexcept;
[[nodiscard]] std::span<probe const> probes_of_loading() noexcept;
[[nodiscard]] std::span<probe const> probes_of_binding() noexcept;
[[nodiscard]] std::span<probe const> probes_of_deciding() noexcept;
[[nodiscard]] std::span<probe const> probes_of_later_hosts() noexcept;
[[nodiscard]] std::span<probe const> probes_of_answers() noexcept;
[[nodiscard]] std::span<probe const> probes_of_life() noexcept;
[[nodiscard]] std::span<probe const> probes_of_state() noexcept;
/// Random synthetic clusters; only for a plugin that passed all others.
[[nodiscard]] std::span<probe const> probes_of_fuzzing() noexcept;

}  // namespace ration::conformance
