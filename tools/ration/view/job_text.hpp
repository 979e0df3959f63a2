// SPDX-License-Identifier: BSL-1.0
/// Texts on a job, in the same words in the view and in plain lines.
#pragma once

#include <string>
#include <string_view>

#include "view/view.hpp"

namespace ration::program {

/// "Acceptable", "Objective"; empty for none.
[[nodiscard]] std::string_view tier_name(std::uint32_t tier) noexcept;

/// The tier; "97 % met" for a level, and empty before its first value.
[[nodiscard]] std::string reached_text(job_view const& job);

/// "level met 97 % of the time".
[[nodiscard]] std::string level_text(double met);

/// "loss 121.3"; the metric alone, followed by "-", before the first value.
[[nodiscard]] std::string value_text(job_view const& job);

/// "0.50" cores, "no limit", or "-" for a job that holds nothing; "2 dev", "2>4 dev" for a job with devices.
[[nodiscard]] std::string held_text(job_view const& job);

/// "running", "starts in 12.0 s", "failed: exit code 1", "stalled: for 65 s".
[[nodiscard]] std::string state_text(job_view const& job);

/// ", 1 cordoned" of the devices; empty where none is.
[[nodiscard]] std::string cordon_text(view_model const& model);

}  // namespace ration::program
