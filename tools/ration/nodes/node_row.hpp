// SPDX-License-Identifier: BSL-1.0
/// A job as its node reports it: its condition, and the columns that only its node has.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include <ration/result.hpp>

#include "events/events.hpp"
#include "run/job_table.hpp"

namespace ration::program {

/// The keys of columns are those of a request of `ration decide`.
struct node_row {
    std::string job;
    condition now = condition::waiting;
    std::string why;
    std::uint32_t incarnation = 0;
    std::int64_t granted = 0;  ///< "held.gpu": in force on the node, also while a resize is under way
    std::int64_t devices = 0;  ///< that it has now
    bool settled = false;      ///< no resize is under way
    bool resizable = false;    ///< a resize can begin
    bool hello = false;        ///< rank 0 has reported since the launch
    std::int64_t least = 0, most = 0, requested = 0;
    double used = 0, attained = 0, restart_cost = 0;
};

/// The condition with this name; none for any other text.
[[nodiscard]] std::optional<condition> condition_named(std::string_view name) noexcept;

/// Pre: the job is not forgotten.
[[nodiscard]] std::string node_row_json(live_job const& job, job_table const& jobs);

/// Errors: a sentence without a remedy, for a key that is missing or out of its range.
[[nodiscard]] result<node_row, std::string> read_node_row(nlohmann::json const& row);

/// Devices that the jobs of the run can have together now.
[[nodiscard]] std::int64_t devices_of_node(job_table const& jobs) noexcept;

}  // namespace ration::program
