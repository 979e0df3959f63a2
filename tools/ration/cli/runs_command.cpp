// SPDX-License-Identifier: BSL-1.0
#include "cli/runs_command.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fmt/chrono.h>
#include <string>
#include <utility>
#include <vector>

#include <ration/process/proc.hpp>

#include "common/error_text.hpp"
#include "common/printable.hpp"
#include "common/quantity.hpp"
#include "events/json_writer.hpp"
#include "run/kept_run.hpp"
#include "run/run_directory.hpp"
#include "run/run_folder.hpp"
#include "serve/api.hpp"
#include "view/text_table.hpp"

namespace ration::program {
namespace {

constexpr auto notes_of_runs = R"(Examples:
  ration runs
  ration runs ~/experiments
  ration runs --json | jq -r 'select(.state == "ended") | .run'

'ration logs JOB --run RUN' prints the output of a job, 'ration report RUN' makes a page. ration never removes the folder of a run;
to remove a run, remove its folder. The services of this user are listed too, by their state folders.
Exit codes: 0 also without a run; 2 wrong command line.)";

constexpr std::size_t most_names = 4;

struct past_run {
    std::string name;
    kept_run kept;
    std::string_view state;  ///< "running", "killed" or "ended"; of a service "running" or "down"
};

[[nodiscard]] std::string_view state_of(kept_run const& run) {
    if (run.has_ended()) return "ended";
    auto const present = present_run_named(run.run);
    return present && present->alive ? "running" : "killed";
}

[[nodiscard]] std::string names_of(kept_run const& run) {
    std::string names;
    for (std::size_t j = 0; j < std::min(run.jobs.size(), most_names); ++j)
        names += (j == 0 ? "" : ", ") + run.jobs[j].name;
    if (run.jobs.size() > most_names) names += fmt::format(" and {} more", run.jobs.size() - most_names);
    return names;
}

/// "2 finished, 1 failed"; "running", "killed"; "not started" if no job was.
[[nodiscard]] std::string outcome_of(past_run const& run) {
    if (run.state != "ended") return std::string(run.state);
    std::string text;
    for (int c = 0; c <= static_cast<int>(condition::stopped); ++c) {
        auto const count = std::ranges::count(run.kept.jobs, static_cast<condition>(c), &kept_job::how);
        if (count > 0)
            text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name_of(static_cast<condition>(c)));
    }
    if (text.empty()) return "not started";
    return run.kept.interrupted ? "interrupted: " + text : text;
}

[[nodiscard]] std::string time_text(std::int64_t ms) {
    if (ms == 0) return "";  // of another boot
    auto const time = static_cast<std::time_t>(ms / 1000);
    std::tm local{};
    return ::localtime_r(&time, &local) != nullptr ? fmt::format("{:%Y-%m-%d %H:%M:%S}", local) : "?";
}

[[nodiscard]] std::string length_text(kept_run const& run) {
    return run.ended_ms < run.started_ms ? "" : duration_text(milliseconds(run.ended_ms - run.started_ms));
}

[[nodiscard]] std::string table_of(std::vector<past_run> const& runs) {
    std::vector<std::vector<std::string>> lines{{"run", "started", "took", "policy", "file", "jobs", "outcome"}};
    for (auto const& run : runs)
        lines.push_back({printable(run.name), time_text(run.kept.started_ms), length_text(run.kept),
                         printable(run.kept.policy), printable(run.kept.file), names_of(run.kept), outcome_of(run)});
    return aligned(lines);
}

[[nodiscard]] std::string json_of(past_run const& run) {
    std::string text;
    json_writer json(text);
    json.object([&] {
        json.member("run", run.name);
        json.member("state", run.state);
        json.member("started_ms", run.kept.started_ms);
        json.member("ended_ms", run.kept.has_ended() ? std::optional(run.kept.ended_ms) : std::nullopt);
        json.member("file", run.kept.file);
        json.member("policy", run.kept.policy);
        json.member("interrupted", run.kept.interrupted);
        json.key("jobs").array([&] {
            for (auto const& job : run.kept.jobs)
                json.object([&] {
                    json.member("job", job.name);
                    json.member("how", job.how ? std::optional(name_of(*job.how)) : std::nullopt);
                    json.member("why", job.why);
                });
        });
    });
    return text;
}

/// The runs that can be read, the oldest first; a sentence on standard error for each of the others.
[[nodiscard]] std::vector<past_run> read_runs(std::string const& above) {
    std::vector<past_run> runs;
    for (auto const& folder : run_folders_in(above)) {
        auto kept = load_kept_run(folder);
        if (!kept) {
            std::fprintf(stderr, "ration: %s\n", printable(kept.failure().text).c_str());
            continue;
        }
        auto const state = state_of(*kept);
        runs.push_back({std::filesystem::path(folder).filename().string(), std::move(kept).value(), state});
    }
    std::ranges::sort(runs, {}, [](past_run const& run) { return std::pair(run.kept.started_ms, run.name); });
    return runs;
}

/// When the first service of this run started, since 1970; 0 if that was in another boot.
[[nodiscard]] std::int64_t start_of(run_record const& record) {
    if (record.boot != this_boot()) return 0;
    auto const age = process::now() - nanoseconds{record.written_ns - record.clock_ns};
    return wall_clock_ms() - age.count / 1'000'000;
}

/// The services of this user, wherever their folders are.
void add_services(std::vector<past_run>& to) {
    for (auto const& run : present_runs()) {
        auto const state = state_folder_of(run.record.file);
        if (!state || !run.damage.empty()) continue;
        past_run service{.name = *state, .kept = {}, .state = run.alive ? "running" : "down"};
        service.kept.started_ms = start_of(run.record);
        service.kept.file = run.record.file;
        service.kept.policy = run.record.policy;
        for (auto const& job : run.record.jobs) service.kept.jobs.push_back({.name = job.name});
        to.push_back(std::move(service));
    }
}

}  // namespace

void add_options(CLI::App& to, runs_options& into, option_context&) {
    to.footer(notes_of_runs);
    to.add_option("FOLDER", into.folder, "The folder in which the runs were started; the current one by default")
        ->type_name("");
    to.add_flag("--json", into.json, "One JSON line for each run");
}

exit_code list_past_runs(runs_options const& options) {
    std::error_code failure;
    if (!std::filesystem::is_directory(options.folder, failure))
        return fail(exit_code::bad_input,
                    fmt::format("{} is not a folder; name one in which ration runs were started", options.folder));
    auto runs = read_runs(options.folder);
    add_services(runs);
    if (options.json)
        for (auto const& run : runs) std::puts(json_of(run).c_str());
    else if (runs.empty())
        fmt::print("no run in {}; 'ration run jobs.toml' starts one\n",
                   printable((std::filesystem::path(options.folder) / folder_of_runs).lexically_normal().string()));
    else
        std::fputs(table_of(runs).c_str(), stdout);
    return exit_code::ok;
}

}  // namespace ration::program
