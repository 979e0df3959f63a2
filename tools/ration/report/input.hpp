// SPDX-License-Identifier: BSL-1.0
/// The files that a report is made from: event logs of `ration run`, and what `ration sim --json` printed.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

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

/// Adds what a file holds. What is wrong with it as one sentence, with the number of its line; empty when nothing is.
/// Half a line at the end is a remark.
[[nodiscard]] std::string read_report_input(std::string const& path, report_input& into);

/// The line that `ration sim --json` prints first, as the page shows it; what is wrong as a sentence. The lists of
/// single runs are left out.
[[nodiscard]] std::string read_simulation_line(nlohmann::json const& line, nlohmann::ordered_json& into);
/// The second one.
[[nodiscard]] std::string read_measured_line(nlohmann::json const& line, nlohmann::ordered_json& into);

}  // namespace ration::program
