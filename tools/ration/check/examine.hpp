// SPDX-License-Identifier: BSL-1.0
/// All probes of one plugin, one after the other.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "finding.hpp"
#include "plugin_under_test.hpp"

namespace ration::conformance {

struct probe_result {
    std::string_view name, remedy;
    finding found;
};

/// Calls `done` as each result comes in. Adds to `s` the data that the file contains about itself.
[[nodiscard]] std::vector<probe_result> examine(subject& s, std::function<void(probe_result const&)> const& done);

[[nodiscard]] bool any_red(std::vector<probe_result> const& results) noexcept;

}  // namespace ration::conformance
