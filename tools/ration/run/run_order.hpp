// SPDX-License-Identifier: BSL-1.0
/// The runs of one command in their order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/settings.hpp"

namespace ration::program {

struct planned_run {
    policy_choice choice;
    std::uint32_t round = 1, rounds = 1;
    /// The name of its folder, without the time: "tradl-scenario=AO-round-2". No character that a shell or a file
    /// system could misread, and at most 120. Another one for each run.
    std::string folder;
};

/// All choices in each round. Every second round has them in reverse order, so that a change of the machine over time,
/// such as its temperature, meets them alike.
[[nodiscard]] std::vector<planned_run> order_runs(std::vector<policy_choice> const& choices, std::uint32_t rounds);

}  // namespace ration::program
