// SPDX-License-Identifier: BSL-1.0
/// `ration sim --price`: what an hour of a device costs, by its type.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ration/sim/workload.hpp>

#include "common/diagnostics.hpp"

namespace ration::program {

/// The prices of one type, for an hour of a device.
struct device_price {
    std::string type;
    double on_demand = 0;
    std::optional<double> transient{};  ///< of servers that the provider can revoke
};

/// "v100=2.48" or "v100=2.48,0.74". The diagnostic does not name the option.
[[nodiscard]] result<device_price, diagnostic> parse_price(std::string_view text);

/// The price of each type of the cluster, for an hour of a device. `are_transient`: the nodes are transient servers.
/// Errors: a price of a type that the cluster does not have, two prices of one type, and a type without a price.
[[nodiscard]] result<std::vector<double>, diagnostic> prices_by_type(std::span<std::string const> texts,
                                                                     sim::cluster const& machines, bool are_transient);

}  // namespace ration::program
