// SPDX-License-Identifier: BSL-1.0
#include "sim/table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/ranges.h>

#include "common/printable.hpp"
#include "sim/noise_options.hpp"
#include "view/text_table.hpp"

namespace ration::program {
namespace {

/// How far above the bound; a run that left jobs undone has no such figure, since it had less to do.
[[nodiscard]] double gap(simulated_run const& run, sample const& of, double reached, double bound) noexcept {
    bool const complete = run.figures.finished == run.figures.jobs && of.bounds.jobs == run.figures.jobs;
    return complete && bound > 0 ? reached / bound - 1 : sim::no_figure;
}

constexpr figure_line lines[] = {
    {"mean_jct", "mean JCT", "time from a job's submission to its end, mean over the jobs that are done",
     figure_unit::time, [](simulated_run const& r, sample const&) { return r.figures.mean_jct; }},
    {"mean_jct_gap", "  above the bound", "how far the mean JCT is above what no schedule can beat",
     figure_unit::change,
     [](simulated_run const& r, sample const& s) { return gap(r, s, r.figures.mean_jct, s.bounds.mean_jct); }},
    {"median_jct", "median JCT", "half of the jobs that are done took no longer", figure_unit::time,
     [](simulated_run const& r, sample const&) { return r.figures.median_jct; }},
    {"p95_jct", "p95 JCT", "95 % of the jobs that are done took no longer", figure_unit::time,
     [](simulated_run const& r, sample const&) { return r.figures.p95_jct; }},
    {"p99_jct", "p99 JCT", "99 % of the jobs that are done took no longer", figure_unit::time,
     [](simulated_run const& r, sample const&) { return r.figures.p99_jct; }},
    {"mean_wait", "mean wait", "time from a job's submission to its first devices, mean over the jobs that had any",
     figure_unit::time, [](simulated_run const& r, sample const&) { return r.figures.mean_wait; }},
    {"mean_to_acceptable", "mean to Acceptable",
     "time from a job's submission to the first tier of its loss, mean over the jobs that reached it",
     figure_unit::time, [](simulated_run const& r, sample const&) { return r.figures.mean_to_acceptable; }},
    {"mean_to_objective", "mean to Objective",
     "time from a job's submission to the second tier of its loss, mean over the jobs that reached it",
     figure_unit::time, [](simulated_run const& r, sample const&) { return r.figures.mean_to_objective; }},
    {"makespan", "makespan", "time from the first submission to the last end", figure_unit::time,
     [](simulated_run const& r, sample const&) { return r.figures.makespan; }},
    {"makespan_gap", "  above the bound", "how far the makespan is above what no schedule can beat",
     figure_unit::change,
     [](simulated_run const& r, sample const& s) { return gap(r, s, r.figures.makespan, s.bounds.makespan); }},
    {"utilisation", "utilisation", "device-seconds held by jobs over those that there were until the end",
     figure_unit::share, [](simulated_run const& r, sample const&) { return r.figures.utilisation; }},
    {"cost", "cost", "price of the device-hours that jobs held, over all jobs together", figure_unit::number,
     [](simulated_run const& r, sample const&) { return r.outcome.cost; }},
    {"restarts", "restarts per job", "how often devices of a job that had run before were changed, over all jobs",
     figure_unit::number, [](simulated_run const& r, sample const&) { return r.figures.restarts; }},
    {"jain", "Jain's index", "of (time alone on the cluster / JCT): 1 when all jobs are slowed down alike",
     figure_unit::number, [](simulated_run const& r, sample const&) { return r.figures.jain; }},
    {"mean_rho", "mean rho", "finish-time fairness: JCT over the time alone with an equal share of the cluster",
     figure_unit::number, [](simulated_run const& r, sample const&) { return r.figures.mean_rho; }},
    {"worst_rho", "worst rho", "the largest finish-time fairness of a job", figure_unit::number,
     [](simulated_run const& r, sample const&) { return r.figures.worst_rho; }},
    {"unfair", "jobs with rho > 1", "part of the jobs that were done later than with an equal share",
     figure_unit::share, [](simulated_run const& r, sample const&) { return r.figures.unfair; }},
    {"deadlines_met", "deadlines met", "part of the jobs with a deadline that were done by then", figure_unit::share,
     [](simulated_run const& r, sample const&) { return r.figures.deadlines_met; }},
    {"agility", "agility", "how far services were from the devices that they requested, in devices on average",
     figure_unit::number, [](simulated_run const& r, sample const&) { return r.figures.excess + r.figures.shortage; }},
    {"excess", "  too many", "the part of the agility for devices beyond the requests", figure_unit::number,
     [](simulated_run const& r, sample const&) { return r.figures.excess; }},
    {"shortage", "  too few", "the part of the agility for devices that were requested and not held",
     figure_unit::number, [](simulated_run const& r, sample const&) { return r.figures.shortage; }},
    {"level_met", "level met", "part of the time of services in which they held the devices that they requested",
     figure_unit::share, [](simulated_run const& r, sample const&) { return r.figures.level_met; }},
    {"reserved_cpu", "CPU reserved / used",
     "core-seconds of the limits of jobs with phases over those that they used; without a limit, of the largest demand",
     figure_unit::number, [](simulated_run const& r, sample const&) { return r.figures.reserved_cpu; }},
    {"reserved_memory", "memory reserved / used", "the same of the memory", figure_unit::number,
     [](simulated_run const& r, sample const&) { return r.figures.reserved_memory; }},
    {"kills", "kills by memory limits", "how often a job needed more memory than its limit, over all jobs together",
     figure_unit::number, [](simulated_run const& r, sample const&) { return r.figures.kills; }, false},
    {"unfinished", "jobs not done", "jobs that were not done when the run ended", figure_unit::number,
     [](simulated_run const& r, sample const&) { return static_cast<double>(r.figures.jobs - r.figures.finished); },
     false},
    {"faults", "faults", "nodes that were lost or slowed down, and devices that failed, until the run ended",
     figure_unit::number, [](simulated_run const& r, sample const&) { return r.figures.faults; }, false},
    {"stops", "jobs stopped by faults", "how often a fault stopped a job, over all jobs together", figure_unit::number,
     [](simulated_run const& r, sample const&) { return r.figures.stops; }, false},
    {"lost_work", "lost work", "device-seconds between the last checkpoint and a stop by a fault, over those held",
     figure_unit::share, [](simulated_run const& r, sample const&) { return r.figures.lost_work; }, false},
};

[[nodiscard]] std::string one_number(double value, figure_unit unit, time_unit times) {
    switch (unit) {
        case figure_unit::time: return short_number(value / times.seconds);
        case figure_unit::share: return fmt::format("{:.1f} %", 100 * value);
        // No "-0.0"
        case figure_unit::change: return fmt::format("{:+.1f} %", std::abs(value) < 0.0005 ? 0 : 100 * value);
        case figure_unit::number: break;
    }
    return short_number(value);
}

/// The properties in which samples differ.
[[nodiscard]] std::string_view kind_of_samples(simulation_results const& all) noexcept {
    auto const traces = all.options.traces.size();
    if (traces < 2) return "seeds";
    return traces == all.input.samples.size() ? "traces" : "samples";
}

[[nodiscard]] std::string counted(std::size_t number, std::string_view what) {
    return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

[[nodiscard]] std::string cores_text(double cores) { return counted(static_cast<std::size_t>(cores), "core"); }

/// "16x4", "8x8 a100", "1x4+8cores", "1x8cores".
[[nodiscard]] std::string group_text(sim::node_group const& g, std::string const& type) {
    std::string out = fmt::format("{}x", g.nodes);
    if (g.devices > 0) out += fmt::format("{}", g.devices);
    if (g.cores > 0) out += fmt::format("{}{}{}", g.devices > 0 ? "+" : "", g.cores, g.cores > 1 ? "cores" : "core");
    return type == "gpu" ? out : out + ' ' + type;
}

[[nodiscard]] std::string machines_text(sim::cluster const& machines) {
    std::string devices = counted(static_cast<std::size_t>(devices_of(machines)), "device");
    if (!(cores_of(machines) > 0)) return devices;
    return devices_of(machines) > 0 ? devices + " and " + cores_text(cores_of(machines))
                                    : cores_text(cores_of(machines));
}

[[nodiscard]] std::string bound_line(simulation_results const& all, time_unit times) {
    auto const bounds = mean_bounds(all.input);
    if (!(bounds.mean_jct > 0)) return {};
    return fmt::format("No schedule can beat a mean JCT of {} {} and a makespan of {} {}.\n",
                       short_number(bounds.mean_jct / times.seconds), times.name,
                       short_number(bounds.makespan / times.seconds), times.name);
}

/// Whether any policy has this figure. Zeros alone count only for a line that reports them.
[[nodiscard]] bool is_reported(simulation_results const& all, figure_line const& line) {
    for (std::size_t p = 0; p < all.policies.size(); ++p) {
        auto const figure = figure_of(all, p, line);
        if (figure.mean != 0 && !std::isnan(figure.mean)) return true;
        if (figure.mean == 0 && line.reports_zero) return true;
    }
    return false;
}

}  // namespace

std::span<figure_line const> figure_lines() noexcept { return lines; }

interval_figure figure_of(simulation_results const& all, std::size_t policy, figure_line const& line) {
    std::vector<double> values;
    for (auto const& run : all.runs_of(policy)) {
        if (!run.failure.empty()) return {};
        values.push_back(line.of(run, all.input.samples[run.sample]));
    }
    return interval_of(values);
}

time_unit unit_for(double seconds) noexcept {
    if (seconds >= 2 * 3600) return {"h", 3600};
    if (seconds >= 300) return {"min", 60};
    return {};
}

time_unit unit_of(simulation_results const& all) {
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t p = 0; p < all.policies.size(); ++p)
        if (double const mean = figure_of(all, p, lines[0]).mean; mean < least) least = mean;
    return std::isfinite(least) ? unit_for(least) : time_unit{};
}

std::string short_number(double value) {
    if (std::isnan(value)) return "-";
    double const size = std::fabs(value);
    if (size < 0.0005) return size == 0 ? "0" : "0.000";
    return fmt::format("{:.{}f}", value, size >= 999.5 ? 0 : size >= 99.95 ? 1 : size >= 9.995 ? 2 : 3);
}

std::string short_time(double seconds) {
    if (seconds >= 1) return short_number(seconds) + " s";
    if (seconds >= 1e-3) return short_number(seconds * 1e3) + " ms";
    return short_number(seconds * 1e6) + " us";
}

std::string figure_text(interval_figure const& figure, figure_unit unit, time_unit times) {
    if (std::isnan(figure.mean)) return "-";
    std::string text = one_number(figure.mean, unit, times);
    if (std::isnan(figure.half)) return text;
    std::string const half = one_number(figure.half, unit == figure_unit::change ? figure_unit::share : unit, times);
    if (text.ends_with(" %")) text.resize(text.size() - 2);
    return text + " \u00b1 " + half;
}

std::string headline(simulation_results const& all) {
    auto const& samples = all.input.samples;
    std::string names, groups;
    std::size_t jobs = 0;
    for (auto const& s : samples) {
        if (names.find(s.jobs.name) == names.npos) names += (names.empty() ? "" : ", ") + s.jobs.name;
        jobs += s.size();
    }
    for (auto const& g : all.input.machines.groups)
        groups += (groups.empty() ? "" : " + ") + group_text(g, all.input.machines.types[g.type]);
    std::string out = fmt::format("{}: {} on {} ({})", names, counted(jobs / samples.size(), "job"),
                                  machines_text(all.input.machines), groups);
    if (samples.size() > 1) out += fmt::format(", {} {}", samples.size(), kind_of_samples(all));
    if (!all.input.noise.none()) out += fmt::format(", noise {}", fmt::join(noise_words(all.input.noise), ", "));
    if (!all.options.estimates.empty()) out += fmt::format(", estimated {}", fmt::join(all.options.estimates, ", "));
    return printable(out);
}

sim::lower_bounds mean_bounds(simulation_input const& input) noexcept {
    sim::lower_bounds mean;
    for (auto const& s : input.samples) {
        mean.mean_jct += s.bounds.mean_jct / static_cast<double>(input.samples.size());
        mean.makespan += s.bounds.makespan / static_cast<double>(input.samples.size());
    }
    return mean;
}

std::vector<std::string> all_remarks(simulation_results const& all) {
    std::vector<std::string> remarks;
    remarks.reserve(all.input.remarks.size());
    for (auto const& remark : all.input.remarks) remarks.push_back(printable(remark));
    for (auto const& run : all.runs)
        for (auto& remark : remarks_on(run, all.policies[run.policy].label, all.input))
            remarks.push_back(std::move(remark));
    return remarks;
}

std::vector<std::vector<std::string>> figure_cells(simulation_results const& all) {
    auto const times = unit_of(all);
    std::vector<std::vector<std::string>> table{{""}};
    for (auto const& policy : all.policies) table.front().push_back(policy.label);
    for (auto const& line : lines) {
        if (!is_reported(all, line)) continue;
        auto& row = table.emplace_back();
        row.emplace_back(line.unit == figure_unit::time ? fmt::format("{} ({})", line.label, times.name)
                                                        : std::string(line.label));
        for (std::size_t p = 0; p < all.policies.size(); ++p)
            row.push_back(figure_text(figure_of(all, p, line), line.unit, times));
    }
    return table;
}

std::vector<std::vector<std::string>> measured_cells(simulation_results const& all) {
    std::vector<std::vector<std::string>> table{
        {""}, {"decision, mean"}, {"decision, p99"}, {"decision, longest"}, {"whole run"}};
    for (std::size_t p = 0; p < all.policies.size(); ++p) {
        double mean = 0, p99 = 0, longest = 0, wall = 0;
        auto const n = static_cast<double>(all.input.samples.size());
        for (auto const& run : all.runs_of(p)) {
            mean += run.decisions.mean() / n;
            p99 += run.decisions.quantile(0.99) / n;
            wall += run.wall / n;
            longest = std::max(longest, run.decisions.longest());
        }
        table[0].push_back(all.policies[p].label);
        double const values[] = {mean, p99, longest, wall};
        for (std::size_t i = 0; i < 4; ++i) table[i + 1].push_back(short_time(values[i]));
    }
    return table;
}

std::string table_text(simulation_results const& all) {
    std::string out = headline(all) + "\n\n" + aligned(figure_cells(all)) + '\n' + bound_line(all, unit_of(all));
    if (auto const tenants = tenant_cells(all); !tenants.empty()) out += '\n' + aligned(tenants) + '\n';
    if (all.input.samples.size() > 1) out += "\u00b1 is half of the 95 % confidence interval of the mean.\n";
    for (auto const& remark : all_remarks(all)) out += remark + '\n';
    return out;
}

std::string measured_text(simulation_results const& all) {
    return "Measured on this machine, not the same twice:\n" + aligned(measured_cells(all));
}

}  // namespace ration::program
