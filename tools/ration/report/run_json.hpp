// SPDX-License-Identifier: BSL-1.0
/// Records of runs as the data that a page shows. docs/report.md lists the parts that are left out.
#pragma once

#include <string>
#include <vector>

#include "events/json_writer.hpp"
#include "report/run_history.hpp"

namespace ration::program {

/// How much of each run a page has room for, so that its size is bounded however many runs and jobs there are.
struct page_room {
    std::size_t jobs, curves, points, segments, entries;
};
[[nodiscard]] page_room room_for(std::size_t runs) noexcept;

inline constexpr std::size_t most_runs = 64, most_gantt_jobs = 60, most_gantt_segments = 3000, most_stacked_jobs = 11;

/// The time from a job's arrival to one of its moments, in seconds; none when it did not come.
[[nodiscard]] std::optional<double> since_arrival(job_record const& job, std::optional<std::int64_t> when) noexcept;

[[nodiscard]] bool failed(job_record const& job) noexcept;

/// The name of each run: its policy with the parameters of the command line and its round, with a number where
/// several have the same.
[[nodiscard]] std::vector<std::string> labels_of(std::vector<run_history> const& runs);

/// The policy without its folder, with the parameters of the command line.
[[nodiscard]] std::string side_label(run_history const& run);

/// An array with one object for each run.
void write_runs(json_writer& json, std::vector<run_history>& runs);

/// The runs beside each other: the labels of the `sides`, their `figures` with `unit` ("s", "jobs", "cores",
/// "changes"), `of` (over which jobs), `values`, `changes` and `halves` of their intervals in %, and `remarks`.
void write_comparison(json_writer& json, std::vector<run_history> const& runs);

}  // namespace ration::program
