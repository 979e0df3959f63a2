// SPDX-License-Identifier: BSL-1.0
// Command lines of `ration sim`, and the runs that they ask for.
#pragma once

#include <fstream>

#include "cli.hpp"
#include "sim/table.hpp"

#include "support/catch.hpp"
#include "tools/temporary.hpp"

namespace program_runs {

using namespace ration;
using namespace ration::program;
using words = std::vector<std::string>;

[[nodiscard]] inline command parsed(words w) {
    w.insert(w.begin(), "sim");
    return parse_command_line(std::move(w), policy_names());
}

[[nodiscard]] inline simulation_options options_of(words w) {
    auto const c = parsed(std::move(w));
    if (auto const* const said = std::get_if<answer>(&c)) FAIL(said->text);
    return std::get<simulation_options>(c);
}

[[nodiscard]] inline std::string refusal(words w) {
    auto const c = parsed(std::move(w));
    auto const* const said = std::get_if<answer>(&c);
    if (said == nullptr || said->code != exit_code::bad_input) return "not refused";
    return said->text.substr(0, said->text.size() - 1);
}

/// A trace of three jobs for one device: done at 10, 30 and 60 s under fifo.
class three_jobs {
    temporary_file file_;

public:
    three_jobs() { std::ofstream(file_.path()) << "job_id,submit_time,num_gpus,duration\na,0,1,10\nb,0,1,20\nc,10,1,30\n"; }
    [[nodiscard]] std::string const& path() const noexcept { return file_.path(); }
};

/// Runs as the program does, without printing.
struct ran {
    simulation_options options;
    std::vector<std::string> problems;
    simulation_input input;
    std::vector<policy_text> policies;

    explicit ran(words w) : options(options_of(std::move(w))), input(read_simulation(options, problems)) {
        if (problems.empty()) policies = try_policies(options, input, problems);
    }
    [[nodiscard]] simulation_results results() const {
        runs_progress progress;
        return {options, input, policies, run_all(options, input, progress)};
    }
    [[nodiscard]] std::string problem() const { return problems.size() == 1 ? problems[0] : std::to_string(problems.size()) + " problems"; }
};

}  // namespace program_runs
