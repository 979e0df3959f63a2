// SPDX-License-Identifier: BSL-1.0
/// The runs of a comparison side by side: each side is a policy with its parameters, and has one run for each round.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "events/events.hpp"

namespace ration::program {

struct compared_side {
    std::string label;
    std::vector<run_summary> runs;  ///< by round
};

/// Every side has the same number of runs, at least one, and every run has the same jobs in the same order.
struct comparison {
    std::vector<compared_side> sides;  ///< changes are against the first
    bool has_lost_round = false;       ///< one was interrupted, and is not among the runs

    [[nodiscard]] std::size_t rounds() const noexcept { return sides.empty() ? 0 : sides.front().runs.size(); }
    [[nodiscard]] std::vector<job_summary> const& jobs() const noexcept { return sides.front().runs.front().jobs; }
};

/// Sorts runs by label, in the order in which the labels appear first. Leaves out the round of an interrupted run,
/// unless that is the only round. Pre: rounds are complete, except for the last one; all runs have the same jobs.
[[nodiscard]] comparison compare(std::vector<run_summary> runs);

/// A quantity of one side.
struct compared_value {
    std::optional<double> mean;    ///< over the rounds; none unless the quantity exists in every round
    std::size_t rounds = 0;        ///< in which it exists
    std::optional<double> change;  ///< mean difference to the first side, in % of that side's mean; none if that is 0
    /// Of the 95 % confidence interval of `change`: Student's t interval over the differences of the rounds. None for
    /// one round.
    std::optional<double> half;
};

/// `values`: for each side the quantity in each round.
[[nodiscard]] std::vector<compared_value> compared(std::vector<std::vector<std::optional<double>>> const& values);

/// The points that a job reaches.
enum class milestone : std::uint8_t { acceptable, objective, end };
[[nodiscard]] constexpr std::string_view name_of(milestone m) noexcept {
    constexpr std::string_view names[] = {"Acceptable", "Objective", "the end"};
    return names[static_cast<std::size_t>(m)];
}

[[nodiscard]] bool aims_at(job_summary const& job, milestone m) noexcept;
/// Seconds from the arrival of the job; none if it did not get there. The end of a job that did not finish is none.
[[nodiscard]] std::optional<double> time_to(job_summary const& job, milestone m) noexcept;

/// The jobs that a mean is over are those that got there in every run, so that the means of two runs are over the same
/// jobs. Indices into `jobs`.
struct chosen_jobs {
    std::vector<std::size_t> counted, left_out;
};
/// `after_the_first`: only jobs that arrive later than the earliest one.
[[nodiscard]] chosen_jobs choose_jobs(comparison const& all, milestone m, bool after_the_first = false);

/// A figure of whole runs.
struct compared_figure {
    std::string_view key;           ///< in JSON
    std::string_view name;          ///< "mean"
    std::string_view rest;          ///< of the name, behind the jobs: " after the first"
    std::string_view unit;          ///< "s", "cores", ""
    std::optional<std::size_t> of;  ///< jobs that it is a mean over; none: it is of the run
    std::vector<compared_value> values;
};

/// Mean and median of the times; for Acceptable also the mean of the jobs after the first. Empty where no job counts.
[[nodiscard]] std::vector<compared_figure> time_figures(comparison const& all, milestone m);
/// Makespan, CPU and, where jobs had any, devices.
[[nodiscard]] std::vector<compared_figure> run_figures(comparison const& all);

/// Whether a job did not do the same work in the runs of a round: it trained to its end in one, and was released at its
/// Objective or did not finish in another, or its last steps differ by more than one and a twentieth.
[[nodiscard]] bool has_unequal_work(comparison const& all) noexcept;

/// Sentences on what the figures leave out, and on what was not equal in the runs.
[[nodiscard]] std::vector<std::string> remarks_on(comparison const& all);
/// Sentences on jobs and runs that did not go well, and on what was approximate.
[[nodiscard]] std::vector<std::string> troubles_of(comparison const& all);

}  // namespace ration::program
