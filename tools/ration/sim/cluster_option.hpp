// SPDX-License-Identifier: BSL-1.0
/// The machines of `ration sim`.
#pragma once

#include <string_view>

#include <ration/sim/workload.hpp>

#include "common/diagnostics.hpp"

namespace ration::program {

/// "16x4,8x8:a100": nodes x devices of each, and the name of their type. "2x8cores", "1x4+8cores": nodes with cores.
/// The diagnostic does not name the option.
[[nodiscard]] result<sim::cluster, diagnostic> parse_cluster(std::string_view text);

}  // namespace ration::program
