// SPDX-License-Identifier: BSL-1.0
/// The files that a report is made from: event logs of `ration run`, and what `ration sim --json` printed.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <ration/sim/diagnostic.hpp>

#include "report/run_history.hpp"

namespace ration::program {

/// One simulation, with only what is known of it, checked.
struct simulation_record {
    std::string file;
    nlohmann::ordered_json figures, measured;  ///< `measured` is null when nothing was
};

struct report_input {
    std::vector<run_history> runs;
    std::vector<simulation_record> simulations;
    std::vector<std::string> remarks;  ///< sentences on what the files lack
    std::int64_t lines = 0;
};

/// Adds what a file holds. Half a line at the end is a remark.
[[nodiscard]] result<void, diagnostic> read_report_input(std::string const& path, report_input& into);

/// The line that `ration sim --json` prints first, as the page shows it. The lists of single runs are left out. The
/// diagnostic names neither file nor line.
[[nodiscard]] result<void, diagnostic> read_simulation_line(nlohmann::json const& line, nlohmann::ordered_json& into);
/// The second one.
[[nodiscard]] result<void, diagnostic> read_measured_line(nlohmann::json const& line, nlohmann::ordered_json& into);

}  // namespace ration::program
