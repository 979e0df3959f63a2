// SPDX-License-Identifier: BSL-1.0
#include "report/simulation_page.hpp"

#include <nlohmann/json.hpp>

#include "report/page.hpp"

namespace ration::program {

std::string report_html(simulation_results const& all) {
    report_input input;
    auto& one = input.simulations.emplace_back();
    auto read = read_simulation_line(nlohmann::json::parse(table_json(all)), one.figures);
    if (read) read = read_measured_line(nlohmann::json::parse(measured_json(all)), one.measured);
    if (!read) input.remarks.push_back("Some of the simulation is not on this page: " + read.failure().text + ".");
    return report_page(std::move(input));
}

}  // namespace ration::program
