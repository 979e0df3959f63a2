// SPDX-License-Identifier: BSL-1.0
// The figures by which several runs are compared. Means are over the same jobs in all of them.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <range/v3/view/zip.hpp>

#include <ration/sim/summary.hpp>

#include "report/run_json.hpp"

namespace ration::program {
namespace {

using runs_list = std::vector<run_history>;
using moment_of = std::optional<std::int64_t> (*)(job_record const&);

/// For each job that had this moment in every run its times, run by run.
[[nodiscard]] std::vector<std::vector<double>> times_in_every_run(runs_list const& runs, moment_of when) {
    std::map<std::string, std::vector<double>> by_name;
    for (std::size_t i = 0; i < runs.size(); ++i)
        for (auto const& job : runs[i].jobs) {
            auto const t = since_arrival(job, when(job));
            auto& times = by_name[job.name];
            if (t && times.size() == i) times.push_back(*t);
        }
    std::vector<std::vector<double>> all;
    for (auto& [name, times] : by_name)
        if (times.size() == runs.size()) all.push_back(std::move(times));
    return all;
}

void write_figure(json_writer& json, std::string_view figure, std::string_view unit, std::string const& of,
                  std::vector<double> const& values) {
    json.object([&] {
        json.member("figure", figure);
        json.member("unit", unit);
        json.member("of", of);
        json.key("values").array([&] {
            for (double const v : values) json.value(v == v ? std::optional(v) : std::nullopt);
        });
    });
}

void write_mean(json_writer& json, runs_list const& runs, std::string_view figure, std::string_view what,
                moment_of when) {
    auto const jobs = times_in_every_run(runs, when);
    if (jobs.empty()) return;
    std::vector<double> means(runs.size());
    for (auto const& times : jobs)
        for (auto&& [mean, time] : ranges::views::zip(means, times)) mean += time / static_cast<double>(jobs.size());
    write_figure(json, figure, "s",
                 fmt::format("{} {} {} in every run", jobs.size(), jobs.size() == 1 ? "job that" : "jobs that", what),
                 means);
}

template <class Of>
void write_plain(json_writer& json, runs_list const& runs, std::string_view figure, std::string_view unit, Of of) {
    std::vector<double> values;
    for (auto const& run : runs) values.push_back(of(run));
    write_figure(json, figure, unit, "", values);
}

template <class Which>
[[nodiscard]] double jobs_that(run_history const& run, Which which) {
    return static_cast<double>(std::ranges::count_if(run.jobs, which));
}

}  // namespace

void write_comparison(json_writer& json, runs_list const& runs) {
    json.array([&] {
        write_mean(json, runs, "mean time to Acceptable", "reached it",
                   [](job_record const& j) { return j.acceptable_at; });
        write_mean(json, runs, "mean time to Objective", "reached it",
                   [](job_record const& j) { return j.objective_at; });
        write_mean(json, runs, "mean time to the end", "finished",
                   [](job_record const& j) { return j.how == "finished" ? j.ended_at : std::nullopt; });
        write_plain(json, runs, "makespan", "s",
                    [](auto const& r) { return r.makespan ? static_cast<double>(*r.makespan) / 1e9 : sim::no_figure; });
        write_plain(json, runs, "mean CPU use", "cores",
                    [](auto const& r) { return r.mean_cpu.value_or(sim::no_figure); });
        write_plain(json, runs, "jobs at Acceptable", "jobs", [](auto const& r) {
            return jobs_that(r, [](auto const& j) { return j.acceptable_at.has_value(); });
        });
        write_plain(json, runs, "jobs at Objective", "jobs", [](auto const& r) {
            return jobs_that(r, [](auto const& j) { return j.objective_at.has_value(); });
        });
        write_plain(json, runs, "jobs that failed", "jobs", [](auto const& r) { return jobs_that(r, failed); });
        write_plain(json, runs, "changes", "changes", [](auto const& r) { return static_cast<double>(r.changes); });
    });
}

}  // namespace ration::program
