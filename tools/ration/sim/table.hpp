// SPDX-License-Identifier: BSL-1.0
/// The figures of all runs as a table, for people and for programs.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/statistics.hpp"
#include "sim/runs.hpp"

namespace ration::program {

/// All that a table, a JSON line or a report is made of.
struct simulation_results {
    simulation_options const& options;
    simulation_input const& input;
    std::vector<policy_text> policies;
    std::vector<simulated_run> runs;  ///< as `run_all` orders them

    [[nodiscard]] std::span<simulated_run const> runs_of(std::size_t policy) const noexcept {
        return std::span(runs).subspan(policy * input.samples.size(), input.samples.size());
    }
};

enum class figure_unit : std::uint8_t { time, share, number, change };

/// One line of the table.
struct figure_line {
    std::string_view name, label, meaning;  ///< in JSON; for people; one sentence
    figure_unit unit = figure_unit::number;
    double (*of)(simulated_run const&, sample const&) = nullptr;
    bool reports_zero = true;  ///< otherwise 0 under every policy is not worth a line
};
[[nodiscard]] std::span<figure_line const> figure_lines() noexcept;

/// Over the samples; NaN when one of them has no such figure.
[[nodiscard]] interval_figure figure_of(simulation_results const& all, std::size_t policy, figure_line const& line);

/// Seconds, minutes or hours: what all times of a table are in, so that one can compare them.
struct time_unit {
    std::string_view name = "s";
    double seconds = 1;
};
[[nodiscard]] time_unit unit_for(double seconds) noexcept;
[[nodiscard]] time_unit unit_of(simulation_results const& all);

/// "12.3", "12.3 ± 0.4", "-" without a figure.
[[nodiscard]] std::string figure_text(interval_figure const& figure, figure_unit unit, time_unit times);
/// A number with three or four digits that say something.
[[nodiscard]] std::string short_number(double value);
/// "3.2 us".
[[nodiscard]] std::string short_time(double seconds);

/// The workload and the cluster, in one line: "rigid: 1000 jobs on 64 devices (16x4), 5 seeds".
[[nodiscard]] std::string headline(simulation_results const& all);
/// The mean over the samples of the bounds.
[[nodiscard]] sim::lower_bounds mean_bounds(simulation_input const& input) noexcept;
/// One sentence for each thing that did not go well or was left out.
[[nodiscard]] std::vector<std::string> all_remarks(simulation_results const& all);

/// Titles, then a line for each figure that has something to report.
[[nodiscard]] std::vector<std::vector<std::string>> figure_cells(simulation_results const& all);
/// A line for each tenant under each policy; empty without --tenants. Means over the samples that have the tenant.
[[nodiscard]] std::vector<std::vector<std::string>> tenant_cells(simulation_results const& all);
[[nodiscard]] std::vector<std::vector<std::string>> measured_cells(simulation_results const& all);

/// Text with lines ended by '\n': headline, figures, remarks.
[[nodiscard]] std::string table_text(simulation_results const& all);
/// How long policies took to decide, and runs to end: not the same twice.
[[nodiscard]] std::string measured_text(simulation_results const& all);

/// One line without newline each; docs/sim.md has the schema.
[[nodiscard]] std::string table_json(simulation_results const& all);
[[nodiscard]] std::string measured_json(simulation_results const& all);

}  // namespace ration::program
