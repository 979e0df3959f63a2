// SPDX-License-Identifier: BSL-1.0
// `ration sim`: jobs on a simulated cluster, under several policies.
#include <cstdio>
#include <fmt/core.h>
#include <optional>

#include "problem.hpp"
#include "report/page.hpp"
#include "report/simulation_page.hpp"
#include "run.hpp"
#include "sim/progress.hpp"
#include "sim/table.hpp"

namespace ration::program {
namespace {

[[nodiscard]] exit_code refuse(diagnostics const& problems) {
    print_to_stderr(problems, "ration: ");
    return exit_code::bad_input;
}

[[nodiscard]] std::vector<simulated_run> run_with_progress(simulation_options const& options,
                                                           simulation_input const& input) {
    runs_progress progress;
    progress.runs = options.policies.size() * input.samples.size();
    for (auto const& s : input.samples) progress.jobs += s.jobs.jobs.size() * options.policies.size();
    std::optional<progress_view> view;
    if (!options.quiet) view.emplace(progress);
    return run_all(options, input, progress);
}

[[nodiscard]] bool write_report(simulation_results const& all) {
    if (!has_charts() && !all.options.quiet)
        std::fprintf(stderr, "ration: %s\n", std::string(how_to_get_charts).c_str());
    return write_page(report_html(all), all.options.report, "--report");
}

[[nodiscard]] bool went_well(simulated_run const& run) noexcept {
    bool const ended = run.outcome.how == sim::ending::all_done || run.outcome.how == sim::ending::time_limit;
    return run.failure.empty() && ended && !run.outcome.first_bad && !run.lost;
}

}  // namespace

exit_code simulate(simulation_options const& options) {
    diagnostics problems;
    auto const input = read_simulation(options, problems);
    if (!problems.empty()) return refuse(problems);
    auto policies = try_policies(options, input, problems);
    if (!problems.empty()) return refuse(problems);
    simulation_results const all{options, input, std::move(policies), run_with_progress(options, input)};
    for (auto const& policy : options.policies) print_to_stderr(policy_log::common_to(policy), policy);
    if (options.json)
        fmt::print("{}\n{}\n", table_json(all), measured_json(all));
    else
        fmt::print("{}\n{}", table_text(all), measured_text(all));
    if (!options.report.empty() && !write_report(all)) return exit_code::bad_input;
    for (auto const& run : all.runs)
        if (!went_well(run)) return exit_code::policy_failed;
    return exit_code::ok;
}

}  // namespace ration::program
