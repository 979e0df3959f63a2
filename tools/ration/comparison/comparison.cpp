// SPDX-License-Identifier: BSL-1.0
#include "comparison/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/statistics.hpp"

namespace ration::program {
namespace {

using round_values = std::vector<std::optional<double>>;

/// Divides, so that whole seconds stay whole in the output; a product with 1e-9 would not.
[[nodiscard]] double in_seconds(nanoseconds t) noexcept { return static_cast<double>(t.count) / 1e9; }

[[nodiscard]] std::optional<nanoseconds> at(job_summary const& job, milestone m) noexcept {
    switch (m) {
        case milestone::acceptable: return job.acceptable_at;
        case milestone::objective: return job.objective_at;
        case milestone::end: return job.how == condition::finished ? job.ended_at : std::nullopt;
    }
    return std::nullopt;
}

[[nodiscard]] bool has_it_everywhere(comparison const& all, std::size_t job, milestone m) noexcept {
    return std::ranges::all_of(all.sides, [&](compared_side const& side) {
        return std::ranges::all_of(side.runs, [&](run_summary const& run) { return at(run.jobs[job], m).has_value(); });
    });
}

[[nodiscard]] std::vector<double> times_to(run_summary const& run, std::vector<std::size_t> const& jobs, milestone m) {
    std::vector<double> times;
    for (std::size_t const j : jobs)
        if (auto const time = time_to(run.jobs[j], m)) times.push_back(*time);
    return times;
}

/// `of` gives the quantity of a run, which may have none.
template <class Of>
[[nodiscard]] std::vector<compared_value> compared_runs(comparison const& all, Of of) {
    std::vector<round_values> values;
    for (auto const& side : all.sides) {
        auto& rounds = values.emplace_back();
        for (auto const& run : side.runs) rounds.push_back(of(run));
    }
    return compared(values);
}

[[nodiscard]] std::optional<double> mean_devices(run_summary const& run) noexcept {
    double device_seconds = 0;
    for (auto const& job : run.jobs) device_seconds += job.device_seconds;
    return run.makespan.count > 0 ? std::optional(device_seconds / to_seconds(run.makespan)) : std::nullopt;
}

/// Whether the run is known to its end: a log may lack it.
[[nodiscard]] std::optional<double> if_ended(run_summary const& run, double figure) noexcept {
    return run.makespan.count > 0 ? std::optional(figure) : std::nullopt;
}

[[nodiscard]] compared_value mean_over(round_values const& mine) {
    compared_value made;
    double sum = 0;
    for (auto const& one : mine) {
        made.rounds += one ? 1 : 0;
        sum += one.value_or(0);
    }
    if (made.rounds == mine.size() && !mine.empty()) made.mean = sum / static_cast<double>(mine.size());
    return made;
}

}  // namespace

comparison compare(std::vector<run_summary> runs) {
    comparison all;
    for (auto& run : runs) {
        auto side = std::ranges::find(all.sides, run.label, &compared_side::label);
        if (side == all.sides.end()) side = all.sides.insert(side, {.label = run.label, .runs = {}});
        side->runs.push_back(std::move(run));
    }
    std::size_t complete = all.rounds(), most = 0;
    for (auto const& side : all.sides) {
        bool const interrupted = !side.runs.empty() && side.runs.back().interrupted;
        complete = std::min(complete, side.runs.size() - (interrupted ? 1 : 0));
        most = std::max(most, side.runs.size());
    }
    std::size_t const kept = std::max<std::size_t>(complete, 1);
    all.has_lost_round = most > kept;
    for (auto& side : all.sides) side.runs.resize(std::min(side.runs.size(), kept));
    return all;
}

std::vector<compared_value> compared(std::vector<round_values> const& values) {
    std::vector<compared_value> all;
    for (auto const& mine : values) {
        auto& made = all.emplace_back(mean_over(mine));
        auto const base = all.front().mean;
        if (all.size() == 1 || !made.mean || !base || *base == 0) continue;
        std::vector<double> differences;
        differences.reserve(mine.size());
        for (std::size_t r = 0; r < mine.size(); ++r) differences.push_back(*mine[r] - *values.front()[r]);
        auto const interval = interval_of(differences);
        made.change = interval.mean / *base * 100;
        if (differences.size() > 1) made.half = interval.half / *base * 100;
    }
    return all;
}

bool aims_at(job_summary const& job, milestone m) noexcept {
    return m == milestone::end || (m == milestone::acceptable ? job.has_acceptable : job.has_objective);
}

std::optional<double> time_to(job_summary const& job, milestone m) noexcept {
    auto const when = at(job, m);
    return when ? std::optional(in_seconds(*when - job.arrived)) : std::nullopt;
}

chosen_jobs choose_jobs(comparison const& all, milestone m, bool after_the_first) {
    chosen_jobs chosen;
    if (all.sides.empty() || all.jobs().empty()) return chosen;
    auto const& jobs = all.jobs();
    nanoseconds const first = std::ranges::min(jobs, {}, &job_summary::arrived).arrived;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        if (!aims_at(jobs[j], m) || (after_the_first && jobs[j].arrived == first)) continue;
        (has_it_everywhere(all, j, m) ? chosen.counted : chosen.left_out).push_back(j);
    }
    return chosen;
}

std::vector<compared_figure> time_figures(comparison const& all, milestone m) {
    static constexpr std::string_view keys[][2] = {{"mean_to_acceptable", "median_to_acceptable"},
                                                   {"mean_to_objective", "median_to_objective"},
                                                   {"mean_to_end", "median_to_end"}};
    std::vector<compared_figure> figures;
    auto const mean_of = [&](chosen_jobs const& jobs) {
        return compared_runs(
            all, [&](auto const& run) { return std::optional(interval_of(times_to(run, jobs.counted, m)).mean); });
    };
    auto const jobs = choose_jobs(all, m);
    auto const& key = keys[static_cast<std::size_t>(m)];
    if (!jobs.counted.empty()) {
        figures.push_back({key[0], "mean", "", "s", jobs.counted.size(), mean_of(jobs)});
        figures.push_back({key[1], "median", "", "s", jobs.counted.size(), compared_runs(all, [&](auto const& run) {
                               return std::optional(median_of(times_to(run, jobs.counted, m)));
                           })});
    }
    auto const late = choose_jobs(all, m, true);
    if (m == milestone::acceptable && !late.counted.empty())
        figures.push_back({"mean_to_acceptable_after_the_first", "mean", " after the first", "s", late.counted.size(),
                           mean_of(late)});
    return figures;
}

std::vector<compared_figure> run_figures(comparison const& all) {
    std::vector<compared_figure> figures;
    auto const add = [&](std::string_view key, std::string_view name, std::string_view unit, auto of) {
        figures.push_back({key, name, "", unit, std::nullopt, compared_runs(all, of)});
    };
    add("makespan", has_unequal_work(all) ? "makespan, unequal work" : "makespan", "s",
        [](run_summary const& run) { return if_ended(run, in_seconds(run.makespan)); });
    add("mean_cpu", "mean cpu use", "cores",
        [](run_summary const& run) { return std::isnan(run.mean_cpu) ? std::nullopt : if_ended(run, run.mean_cpu); });
    add("available_cpu", "cpu available", "cores", [](run_summary const& run) { return run.available_cpu; });
    add("mean_devices", "mean devices used", "", mean_devices);
    std::erase_if(figures, [](compared_figure const& figure) {
        bool const optional = figure.key == "available_cpu" || figure.key == "mean_devices";
        return optional && std::ranges::none_of(figure.values, [](auto const& v) { return v.mean.value_or(0) > 0; });
    });
    return figures;
}

}  // namespace ration::program
