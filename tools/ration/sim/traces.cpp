// SPDX-License-Identifier: BSL-1.0
#include "sim/traces.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <system_error>
#include <utility>

#include <ration/sim/trace/read.hpp>
#include <ration/sim/trace/stream.hpp>

#include "common/printable.hpp"
#include "common/suggestion.hpp"

namespace ration::program {
namespace {

void note_left_out(std::size_t rows, std::string const& path, simulation_input& input) {
    if (rows == 0) return;
    input.remarks.push_back(fmt::format("{} rows of {} were left out: they have no device or no run time", rows, path));
}

void note_not_jobs(std::size_t lines, std::string const& path, simulation_input& input) {
    if (lines == 0) return;
    input.remarks.push_back(fmt::format(
        "{} lines of {} were left out: they have other than 18 numbers, or are parts of a job that has a line", lines,
        path));
}

/// Asks for the unit if the times of the trace are unlikely. `jobs`: their number.
void question_unit(sim::workload const& read, std::size_t jobs, std::string const& path,
                   simulation_options const& options, simulation_input& input) {
    if (options.time_unit > 0 || 2 * read.long_jobs <= jobs) return;
    input.remarks.push_back(fmt::format(
        "the median job of {} takes more than 30 days; if its times are milliseconds, write --time-unit ms", path));
}

void note_seeds(std::string const& name, simulation_options const& options, simulation_input& input) {
    if (options.seeds == 1) return;
    input.remarks.push_back(
        fmt::format("{} leaves nothing to chance, so that it is run once and not {} times", name, options.seeds));
}

/// A trace leaves nothing to chance but the noise of losses and of predictions, and faults: with one of
/// them it is a sample for each seed.
void add_samples(sim::workload jobs, simulation_options const& options, simulation_input& input) {
    bool const noisy =
        std::ranges::any_of(jobs.jobs, [&](auto const& job) { return jobs.models[job.model]->is_noisy(job); });
    bool const repeats = noisy || !options.faults.empty() || !input.noise.none() || !options.estimates.empty();
    if (!repeats) note_seeds(jobs.name, options, input);
    for (std::uint64_t seed = 1; repeats && seed < options.seeds; ++seed)
        input.samples.push_back({.jobs = jobs, .seed = seed, .needs = {}, .bounds = {}});
    input.samples.push_back({.jobs = std::move(jobs), .seed = repeats ? options.seeds : 0, .needs = {}, .bounds = {}});
}

/// The trace with more jobs than are kept; empty if it can or has to be read as a whole. A file that is too large for
/// that and cannot be a stream is added to `problems`.
[[nodiscard]] std::optional<sim::trace::streamed_table> stream_of(
    std::string const& path, std::shared_ptr<sim::model_library const> const& library, sim::trace::format as,
    double unit, diagnostics& problems) {
    constexpr std::uintmax_t fewest_bytes = std::string_view("0,0,1,1\n").size() * most_kept_jobs;
    std::error_code none;
    auto const bytes = std::filesystem::file_size(path, none);
    if (none || bytes < fewest_bytes) return std::nullopt;
    auto scanned = sim::trace::scan_table(path.c_str(), library, as, unit);
    if (!scanned && bytes > sim::trace::most_bytes_held) problems.add(in_file(path, scanned.failure()));
    if (!scanned || scanned->jobs <= most_kept_jobs || scanned->shape.uses_processors) return std::nullopt;
    return std::move(*scanned);
}

void add_stream(sim::trace::streamed_table table, std::string const& path, simulation_options const& options,
                simulation_input& input) {
    note_left_out(table.kinds.left_out, path, input);
    question_unit(table.kinds, table.jobs, path, options, input);
    bool const repeats = !input.noise.none();
    if (!repeats) note_seeds(table.kinds.name, options, input);
    auto const sentence = remark_on_streams();
    if (std::ranges::find(input.remarks, sentence) == input.remarks.end()) input.remarks.push_back(sentence);
    for (std::uint64_t seed = 1; repeats && seed < options.seeds; ++seed)
        input.samples.push_back({.jobs = table.kinds, .seed = seed, .needs = {}, .bounds = {}, .stream = table});
    input.samples.push_back({.jobs = table.kinds,
                             .seed = repeats ? options.seeds : 0,
                             .needs = {},
                             .bounds = {},
                             .stream = std::move(table)});
}

void add_whole(std::string const& path, sim::model_library const& library, sim::trace::format as,
               simulation_options const& options, simulation_input& input, diagnostics& problems) {
    auto read = sim::trace::read_file(path.c_str(), library, as, options.time_unit);
    if (!read) return problems.add(in_file(path, read.failure()));
    if (read->jobs.empty()) return problems.add({.file = path, .text = "it has no job that needs a device"});
    note_left_out(read->left_out, path, input);
    note_not_jobs(read->not_jobs, path, input);
    question_unit(*read, read->jobs.size(), path, options, input);
    add_samples(std::move(*read), options, input);
}

}  // namespace

std::string remark_on_streams() {
    return fmt::format(
        "More than {} jobs are not kept: there are no bounds and no lists of jobs, and quantiles are exact to {:.1g} %.",
        most_kept_jobs, 100 * sim::time_distribution::error);
}

void read_traces(simulation_options const& options, std::shared_ptr<sim::model_library const> const& library,
                 simulation_input& input, diagnostics& problems) {
    auto as = sim::trace::format::detect;
    if (!options.format.empty() && !sim::trace::to_format(options.format, as))
        return problems.add(
            {.text = "unknown format " + program::quoted(options.format) +
                     suggestion(options.format, {sim::trace::format_names.begin(), sim::trace::format_names.end()})});
    // Faults, a cache, figures of tenants and the check of the machines need all jobs.
    bool const streams =
        options.faults.empty() && options.tenants.empty() && !options.cache && devices_of(input.machines) > 0;
    for (auto const& path : options.traces) {
        auto const before = problems.size();
        auto stream = streams ? stream_of(path, library, as, options.time_unit, problems) : std::nullopt;
        if (stream)
            add_stream(std::move(*stream), path, options, input);
        else if (problems.size() == before)
            add_whole(path, *library, as, options, input, problems);
    }
}

}  // namespace ration::program
