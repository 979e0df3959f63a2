// SPDX-License-Identifier: BSL-1.0
#include "cli/list_command.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fmt/format.h>
#include <string>
#include <utility>
#include <vector>

#include "common/error_text.hpp"
#include "common/printable.hpp"
#include "common/quantity.hpp"
#include "events/json_writer.hpp"
#include "run/live_state.hpp"
#include "run/run_directory.hpp"
#include "view/job_text.hpp"
#include "view/text_table.hpp"

namespace ration::program {
namespace {

constexpr auto notes_of_list = R"(Examples:
  ration list
  ration list --json | jq -r '.jobs[] | select(.state == "running") | .job'

The state of a run is at most a second old. A run that was killed is listed until 'ration run --reattach' or 'ration clean'.
Exit codes: 0 also without a run; 2 wrong command line; 3 the records of runs cannot be read.)";

struct listed_run {
    present_run run;
    view_model state;  ///< empty if `has_state` is false
    bool has_state = false;
};

[[nodiscard]] listed_run with_state(present_run run) {
    listed_run out{.run = std::move(run), .state = {}};
    out.has_state = read_state(out.run.state, out.state).empty();
    return out;
}

[[nodiscard]] std::string table_of_jobs(view_model const& state) {
    std::vector<std::vector<std::string>> lines{{"  job", "holds", "uses", "value", "reached", "state"}};
    for (auto const& job : state.jobs)
        lines.push_back({"  " + job.name, held_text(job), fmt::format("{:.2f}", job.used), value_text(job),
                         reached_text(job), state_text(job)});
    return aligned_with_texts(std::move(lines));
}

[[nodiscard]] std::string text_of(listed_run const& one) {
    auto const& record = one.run.record;
    auto text = fmt::format("{}\n  {} under {}, ", record.output, record.file, record.policy);
    if (auto const state = state_folder_of(record.file); state && !one.run.alive)
        return text + fmt::format("its service is down; start it again: ration serve --state {}\n", *state);
    if (!one.run.alive)
        return text + fmt::format("killed; ration run --reattach {} continues its jobs, ration clean ends them\n",
                                  record.file);
    text += fmt::format("process {}", record.owner);
    if (!one.has_state) return text + ", starting\n";
    text += fmt::format(", {}, {:.2f} of {} core{} used, {}\n", duration_text(one.state.elapsed), one.state.used,
                        one.state.cpus, one.state.cpus == 1 ? "" : "s", one.state.backend);
    return text + table_of_jobs(one.state);
}

[[nodiscard]] std::string json_of(listed_run const& one) {
    auto const& record = one.run.record;
    std::string text;
    json_writer json(text);
    json.object([&] {
        json.member("folder", record.output);
        json.member("file", record.file);
        json.member("pid", record.owner);
        json.member("alive", one.run.alive);
        if (one.has_state)
            write_state(json, one.state);
        else
            json.member("policy", record.policy);
    });
    return text;
}

}  // namespace

void add_options(CLI::App& to, list_options& into, option_context&) {
    to.footer(notes_of_list);
    to.add_flag("--json", into.json, "One JSON line for each run");
}

exit_code list_runs(list_options const& options) {
    bool first = true;
    for (auto& run : present_runs()) {
        if (!run.damage.empty()) {
            std::fprintf(stderr, "ration: the record of the run %s cannot be read: %s\n",
                         printable(run.record.run).c_str(), printable(run.damage).c_str());
            continue;
        }
        auto const one = with_state(std::move(run));
        if (options.json)
            std::puts(json_of(one).c_str());
        else
            fmt::print("{}{}", first ? "" : "\n", printable_lines(text_of(one)));
        first = false;
    }
    if (first && !options.json) std::puts("no run; 'ration runs' lists the past ones of a folder");
    return exit_code::ok;
}

}  // namespace ration::program
