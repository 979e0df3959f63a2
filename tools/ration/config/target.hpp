// SPDX-License-Identifier: BSL-1.0
/// The target of one job in jobs.toml.
#pragma once

#include <string>
#include <vector>

#include "common/diagnostics.hpp"
#include "config/config.hpp"
#include "config/document.hpp"

namespace ration::program {

/// Takes the key `target` of a job, which may be missing; what is wrong is added to `problems`.
[[nodiscard]] target_config read_target(table_reader& job, diagnostics& problems);

/// The direction that the name of a metric implies: "val_loss" goes down, "accuracy" goes up; none for other names.
[[nodiscard]] std::optional<direction> usual_direction(std::string_view metric) noexcept;

}  // namespace ration::program
