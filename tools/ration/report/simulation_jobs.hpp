// SPDX-License-Identifier: BSL-1.0
/// The jobs one by one of what `ration sim --json` printed, checked.
#pragma once

#include <nlohmann/json.hpp>

#include <ration/sim/diagnostic.hpp>

namespace ration::program {

/// `line`: a simulation. `out`: the same as a page shows it; its policies are there, in the same order. Adds the member
/// `jobs` to it and to the policies that have one. A line without jobs adds nothing. The diagnostic names
/// neither file nor line.
[[nodiscard]] result<void, diagnostic> read_simulation_jobs(nlohmann::json const& line, nlohmann::ordered_json& out);

}  // namespace ration::program
