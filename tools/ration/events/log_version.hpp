// SPDX-License-Identifier: BSL-1.0
/// The version of an event log, as its readers ask for it.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include <ration/sim/diagnostic.hpp>

namespace ration::program {

/// The version in the first line of a run; 0 if it has none.
[[nodiscard]] std::int64_t schema_of(nlohmann::json const& run);

/// Refuses a log that this ration cannot read.
[[nodiscard]] result<void, diagnostic> check_schema(std::int64_t schema);

}  // namespace ration::program
