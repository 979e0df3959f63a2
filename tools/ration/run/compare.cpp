// SPDX-License-Identifier: BSL-1.0
#include "run/compare.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <range/v3/view/zip.hpp>

#include "common/printable.hpp"
#include "events/json_writer.hpp"
#include "view/text_table.hpp"

namespace ration::program {

namespace {

using runs_view = std::span<run_summary const>;

/// One number per run, with the words for it; without a number the words stand alone.
struct cell {
    std::optional<double> number;
    std::string text;
};

struct row {
    std::string label;
    std::vector<cell> cells;  ///< none: a heading
};

[[nodiscard]] std::optional<nanoseconds> since_arrival(job_summary const& job, std::optional<nanoseconds> at) noexcept {
    return at ? std::optional(*at - job.arrived) : std::nullopt;
}

[[nodiscard]] cell seconds_cell(std::optional<double> s) {
    return s ? cell{s, fmt::format("{:.1f} s", *s)} : cell{{}, "never"};
}

/// Divides, so that whole seconds stay whole in the output; a product with 1e-9 would not.
[[nodiscard]] double in_seconds(nanoseconds t) noexcept { return static_cast<double>(t.count) / 1e9; }
[[nodiscard]] std::optional<double> in_seconds(std::optional<nanoseconds> t) noexcept {
    return t ? std::optional(in_seconds(*t)) : std::nullopt;
}

/// A job that did not finish has an end too, but not one to compare.
[[nodiscard]] cell end_cell(job_summary const& job) {
    auto const t = time_to_end(job);
    if (!t) return {{}, std::string(name_of(job.how))};
    if (job.how == condition::finished) return seconds_cell(in_seconds(t));
    return {{}, fmt::format("{} {:.1f} s", name_of(job.how), in_seconds(*t))};
}

/// (b - a) / a in %; none where that says nothing.
[[nodiscard]] std::optional<double> change(std::optional<double> a, std::optional<double> b) noexcept {
    if (!a || !b || *a == 0) return std::nullopt;
    return (*b - *a) / *a * 100;
}

/// A heading and a row for each job for which `wanted(job)`; nothing if there is none.
template <class Wanted, class MakeCell>
void add_section(std::vector<row>& rows, std::string const& heading, runs_view runs, Wanted wanted,
                 MakeCell make_cell) {
    bool first = true;
    for (std::size_t j = 0; j < runs.front().jobs.size(); ++j) {
        if (!wanted(runs.front().jobs[j])) continue;
        if (std::exchange(first, false)) rows.push_back({heading, {}});
        row& r = rows.emplace_back(row{"  " + runs.front().jobs[j].name, {}});
        for (auto const& run : runs) r.cells.push_back(make_cell(run.jobs[j]));
    }
}

void add_mean(std::vector<row>& rows, runs_view runs, late_jobs const& late) {
    if (late.counted.empty() && late.left_out.empty()) return;
    row& r = rows.emplace_back(row{"  mean after the first", {}});
    if (late.counted.size() > 1) r.label = fmt::format("  mean of {} after the first", late.counted.size());
    for (auto const& run : runs) r.cells.push_back(seconds_cell(mean_to_acceptable(run, late)));
}

[[nodiscard]] std::vector<row> table_of(runs_view runs, late_jobs const& late) {
    std::vector<row> rows;
    add_section(
        rows, "time to Acceptable", runs, [](job_summary const& job) { return job.has_acceptable; },
        [](job_summary const& job) { return seconds_cell(in_seconds(time_to_acceptable(job))); });
    add_mean(rows, runs, late);
    add_section(
        rows, "time to Objective", runs, [](job_summary const& job) { return job.has_objective; },
        [](job_summary const& job) { return seconds_cell(in_seconds(time_to_objective(job))); });
    add_section(rows, "time to the end", runs, [](job_summary const&) { return true; }, end_cell);
    row makespan{"makespan", {}}, use{"mean cpu use", {}}, devices{"mean devices used", {}};
    double device_seconds = 0;
    for (auto const& run : runs) {
        makespan.cells.push_back(seconds_cell(in_seconds(run.makespan)));
        use.cells.push_back({run.mean_cpu, fmt::format("{:.2f} cores", run.mean_cpu)});
        double of_run = 0;
        for (auto const& job : run.jobs) of_run += job.device_seconds;
        device_seconds += of_run;
        double const mean = run.makespan.count > 0 ? of_run / to_seconds(run.makespan) : 0;
        devices.cells.push_back({mean, fmt::format("{:.2f}", mean)});
    }
    rows.push_back(std::move(makespan));
    rows.push_back(std::move(use));
    if (device_seconds > 0) rows.push_back(std::move(devices));
    return rows;
}

/// The texts of one line: label, then for each run its value and, from the second on, its change.
[[nodiscard]] std::vector<std::string> line_of(row const& r) {
    std::vector<std::string> line{r.label};
    for (std::size_t i = 0; i < r.cells.size(); ++i) {
        line.push_back(r.cells[i].text);
        if (i == 0) continue;
        auto const percent = change(r.cells.front().number, r.cells[i].number);
        line.push_back(percent ? fmt::format("{:+.1f} %", *percent) : "-");
    }
    return line;
}

[[nodiscard]] std::vector<std::string> head_of(runs_view runs) {
    std::vector<std::string> line{""};
    for (auto const& run : runs) {
        line.push_back(printable(run.policy));
        if (&run != &runs.front()) line.push_back("change");
    }
    return line;
}

void add_remark(std::vector<std::string>& remarks, std::string remark) {
    remark = printable(remark);
    if (std::ranges::find(remarks, remark) == remarks.end()) remarks.push_back(std::move(remark));
}

[[nodiscard]] std::vector<std::string> remarks_on(runs_view runs, late_jobs const& late) {
    std::vector<std::string> remarks;
    for (std::size_t const j : late.left_out)
        add_remark(remarks, fmt::format("The mean leaves out {}, which did not reach Acceptable in every run.",
                                        runs.front().jobs[j].name));
    for (auto const& run : runs) {
        if (run.interrupted) add_remark(remarks, fmt::format("The run under {} was interrupted.", run.policy));
        for (auto const& job : run.jobs)
            if (job.how == condition::failed || job.how == condition::diverged)
                add_remark(remarks, fmt::format("{} {} under {}{}", job.name, name_of(job.how), run.policy,
                                                job.why.empty() ? "." : ": " + job.why));
    }
    for (auto const& run : runs)
        for (auto const& sentence : run.approximate) add_remark(remarks, "Approximate: " + sentence);
    return remarks;
}

void write_change(json_writer& json, std::string_view name, std::optional<double> base, std::optional<double> now) {
    json.member(name, now);
    json.member(fmt::format("{}_change", name), change(base, now));
}

void write_job(json_writer& json, job_summary const& base, job_summary const& job) {
    json.object([&] {
        json.member("job", job.name);
        json.member("arrived", in_seconds(job.arrived));
        json.member("how", name_of(job.how));
        write_change(json, "to_acceptable", in_seconds(time_to_acceptable(base)), in_seconds(time_to_acceptable(job)));
        write_change(json, "to_objective", in_seconds(time_to_objective(base)), in_seconds(time_to_objective(job)));
        json.member("to_end", in_seconds(time_to_end(job)));
        json.member("why", job.why);
    });
}

void write_run(json_writer& json, run_summary const& base, run_summary const& run, late_jobs const& late) {
    json.object([&] {
        json.member("policy", run.policy);
        json.member("interrupted", run.interrupted);
        write_change(json, "makespan", in_seconds(base.makespan), in_seconds(run.makespan));
        write_change(json, "mean_cpu", base.mean_cpu, run.mean_cpu);
        write_change(json, "mean_to_acceptable_after_the_first", mean_to_acceptable(base, late),
                     mean_to_acceptable(run, late));
        json.key("jobs").array([&] {
            for (auto&& [before, job] : ranges::views::zip(base.jobs, run.jobs)) write_job(json, before, job);
        });
    });
}

}  // namespace

std::optional<nanoseconds> time_to_acceptable(job_summary const& job) noexcept {
    return since_arrival(job, job.acceptable_at);
}
std::optional<nanoseconds> time_to_objective(job_summary const& job) noexcept {
    return since_arrival(job, job.objective_at);
}
std::optional<nanoseconds> time_to_end(job_summary const& job) noexcept { return since_arrival(job, job.ended_at); }

late_jobs jobs_after_the_first(std::span<run_summary const> runs) {
    late_jobs late;
    if (runs.empty() || runs.front().jobs.empty()) return late;
    auto const& jobs = runs.front().jobs;
    nanoseconds const first = std::ranges::min(jobs, {}, &job_summary::arrived).arrived;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        if (!jobs[j].has_acceptable || jobs[j].arrived == first) continue;
        bool const everywhere =
            std::ranges::all_of(runs, [&](run_summary const& run) { return run.jobs[j].acceptable_at.has_value(); });
        (everywhere ? late.counted : late.left_out).push_back(j);
    }
    return late;
}

std::optional<double> mean_to_acceptable(run_summary const& run, late_jobs const& late) {
    if (late.counted.empty()) return std::nullopt;
    nanoseconds sum;
    for (std::size_t const j : late.counted)
        if (auto const time = time_to_acceptable(run.jobs[j])) sum = sum + *time;
    return in_seconds(sum) / static_cast<double>(late.counted.size());
}

std::string comparison_text(std::span<run_summary const> runs) {
    if (runs.empty()) return {};
    late_jobs const late = jobs_after_the_first(runs);
    std::vector<std::vector<std::string>> lines{head_of(runs)};
    for (auto const& r : table_of(runs, late)) lines.push_back(line_of(r));
    std::string out = aligned(lines);
    for (auto const& remark : remarks_on(runs, late)) out += remark + '\n';
    return out;
}

std::string comparison_json(std::span<run_summary const> runs) {
    late_jobs const late = jobs_after_the_first(runs);
    std::string out;
    json_writer json(out);
    json.object([&] {
        json.member("event", "comparison");
        json.key("runs").array([&] {
            for (auto const& run : runs) write_run(json, runs.front(), run, late);
        });
    });
    return out;
}

}  // namespace ration::program
