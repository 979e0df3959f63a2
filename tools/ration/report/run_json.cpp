// SPDX-License-Identifier: BSL-1.0
#include "report/run_json.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

#include <ration/sim/summary.hpp>

#include "sim/distribution.hpp"

namespace ration::program {
namespace {

[[nodiscard]] double in_seconds(std::int64_t t) noexcept { return static_cast<double>(t) / 1e9; }

/// A column of the jobs: one member with a value for each of the first `count`.
template <class Of>
void write_column(json_writer& json, std::string_view name, run_history const& run, std::size_t count, Of of) {
    json.key(name).array([&] {
        for (std::size_t i = 0; i < count; ++i) json.value(of(run.jobs[i]));
    });
}

void write_jobs(json_writer& json, run_history const& run, std::size_t count) {
    json.key("jobs").object([&] {
        auto const column = [&](std::string_view name, auto of) { write_column(json, name, run, count, of); };
        column("name", [](auto const& j) { return j.name; });
        column("metric", [](auto const& j) { return j.metric; });
        column("acceptable", [](auto const& j) { return j.acceptable; });
        column("objective", [](auto const& j) { return j.objective; });
        column("level", [](auto const& j) { return j.level; });
        column("level_met", [](auto const& j) { return j.level_met; });
        column("arrived", [](auto const& j) { return j.arrived; });
        column("started", [](auto const& j) { return j.started; });
        column("acceptable_at", [](auto const& j) { return j.acceptable_at; });
        column("objective_at", [](auto const& j) { return j.objective_at; });
        column("ended_at", [](auto const& j) { return j.ended_at; });
        column("how", [](auto const& j) { return j.how; });
        column("why", [](auto const& j) { return j.why; });
        column("starts", [](auto const& j) { return j.starts; });
        column("changes", [](auto const& j) { return j.changes; });
        column("reports", [](auto const& j) { return j.curve.seen(); });
    });
    json.member("jobs_in_all", run.jobs.size());
    json.member("failed", std::ranges::count_if(run.jobs, failed));
}

void write_curves(json_writer& json, run_history const& run, page_room const& room) {
    json.key("curves").array([&] {
        for (std::size_t place = 0; place < std::min(run.jobs.size(), room.curves); ++place) {
            auto const points = run.jobs[place].curve.points(room.points);
            if (points.empty()) continue;
            std::vector<double> t, value;
            for (auto const& p : points) {
                t.push_back(in_seconds(p.t));
                value.push_back(p.value);
            }
            json.object([&] {
                json.member("job", place);
                write_numbers(json, "t", t);
                write_numbers(json, "value", value);
            });
        }
    });
}

/// Mean number of jobs in each phase over equal stretches of the run.
void write_phase_counts(json_writer& json, run_history const& run) {
    constexpr std::size_t segments = 200;
    double const width = std::max(static_cast<double>(run.end), 1.0) / static_cast<double>(segments);
    std::vector<std::vector<double>> counts(job_phases, std::vector<double>(segments));
    for (auto const& job : run.jobs)
        for (auto const& p : job.phases) {
            auto const from = static_cast<double>(p.from),
                       to = std::min(static_cast<double>(p.to), static_cast<double>(run.end));
            for (auto i = static_cast<std::size_t>(std::max(from, 0.0) / width);
                 i < segments && static_cast<double>(i) * width < to; ++i) {
                double const begin = std::max(from, static_cast<double>(i) * width),
                             end = std::min(to, static_cast<double>(i + 1) * width);
                if (end > begin) counts[static_cast<std::size_t>(p.phase)][i] += (end - begin) / width;
            }
        }
    json.key("phase_counts").object([&] {
        json.member("width", width / 1e9);
        json.key("counts").array([&] {
            for (auto const& of_phase : counts)
                json.array([&] {
                    for (double const v : of_phase) json.value(six_digits(v));
                });
        });
    });
}

/// Every stretch of every job, as place, phase, from, to; for many jobs how many are in each phase.
void write_phases(json_writer& json, run_history const& run) {
    std::size_t segments = 0;
    for (auto const& job : run.jobs) segments += job.phases.size();
    if (run.jobs.size() > most_gantt_jobs || segments > most_gantt_segments) return write_phase_counts(json, run);
    json.key("phases").array([&] {
        for (std::size_t place = 0; place < run.jobs.size(); ++place)
            for (auto const& p : run.jobs[place].phases)
                json.array([&] {
                    json.value(place);
                    json.value(static_cast<int>(p.phase));
                    json.value(p.from);
                    json.value(p.to);
                });
    });
}

/// Every stretch as device, job, from, to; nothing where no job had a device.
void write_devices(json_writer& json, run_history const& run, page_room const& room) {
    auto const& all = run.devices.segments();
    if (all.empty()) return;
    std::size_t reported = 0;
    json.key("devices").object([&] {
        json.key("names").array([&] {
            for (auto const& name : run.devices.names()) json.value(name);
        });
        json.key("stretches").array([&] {
            for (auto const& s : all) {
                if (s.job >= room.jobs || reported == most_gantt_segments) continue;
                ++reported;
                json.array([&] {
                    json.value(s.device);
                    json.value(s.job);
                    json.value(s.from);
                    json.value(s.to);
                });
            }
        });
        json.member("left_out", run.devices.left_out() + static_cast<std::int64_t>(all.size() - reported));
    });
}

/// The places of those of the first `jobs` that have most of it over the run, in the order of the jobs.
[[nodiscard]] std::vector<std::size_t> largest(job_series const& series, std::size_t jobs) {
    std::vector<double> total(jobs);
    for (auto const& s : series.segments())
        for (std::size_t i = 0; i < std::min(jobs, s.of.size()); ++i)
            total[i] += (std::isinf(s.of[i]) ? 0 : s.of[i]) * static_cast<double>(s.to - s.from);
    std::vector<std::size_t> places(jobs);
    std::iota(places.begin(), places.end(), std::size_t{0});
    std::ranges::sort(places, [&](auto a, auto b) { return total[a] != total[b] ? total[a] > total[b] : a < b; });
    places.resize(std::min(jobs, jobs <= most_stacked_jobs + 1 ? jobs : most_stacked_jobs));
    std::ranges::sort(places);
    return places;
}

/// `to`: ends of the stretches in seconds; `of`: for each place its means; `others`: all others together.
void write_series(json_writer& json, std::string_view name, job_series const& series,
                  std::vector<std::size_t> const& places) {
    auto const& all = series.segments();
    std::vector<double> to, others;
    std::vector<std::vector<double>> of(places.size());
    for (auto const& s : all) {
        to.push_back(in_seconds(s.to));
        double rest = 0;
        for (std::size_t i = 0; i < s.of.size(); ++i)
            if (!std::ranges::binary_search(places, i)) rest += s.of[i];
        others.push_back(rest);
        for (std::size_t i = 0; i < places.size(); ++i) of[i].push_back(places[i] < s.of.size() ? s.of[places[i]] : 0);
    }
    json.key(name).object([&] {
        write_numbers(json, "to", to);
        json.key("of").object([&] {
            for (std::size_t i = 0; i < places.size(); ++i) write_numbers(json, fmt::format("{}", places[i]), of[i]);
        });
        write_numbers(json, "others", others);
    });
}

[[nodiscard]] bool reports_something(job_series const& series) {
    return std::ranges::any_of(
        series.segments(), [](auto const& s) { return std::ranges::any_of(s.of, [](double v) { return v != 0; }); });
}

void write_resources(json_writer& json, run_history& run, page_room const& room) {
    json.key("resources").object([&] {
        for (auto& [name, r] : run.resources) {
            if (!reports_something(r.used) && !reports_something(r.held)) continue;
            for (auto* const series : {&r.used, &r.held, &r.room}) series->fold_to(room.segments);
            auto const places =
                largest(reports_something(r.used) ? r.used : r.held, std::min(run.jobs.size(), room.jobs));
            json.key(name).object([&] {
                write_series(json, "used", r.used, places);
                write_series(json, "held", r.held, places);
                write_series(json, "room", r.room, {});
            });
        }
    });
}

template <class When>
[[nodiscard]] std::vector<double> times_of(run_history const& run, When when) {
    std::vector<double> all;
    for (auto const& job : run.jobs)
        if (auto const t = since_arrival(job, when(job))) all.push_back(*t);
    return all;
}

void write_distributions(json_writer& json, run_history const& run) {
    auto const finished = [](job_record const& j) { return j.how == "finished" ? j.ended_at : std::nullopt; };
    json.key("distributions").object([&] {
        write_distribution(json, "wait", times_of(run, [](auto const& j) { return j.started; }), run.jobs.size());
        write_distribution(json, "to_acceptable", times_of(run, [](auto const& j) { return j.acceptable_at; }),
                           run.jobs.size());
        write_distribution(json, "to_objective", times_of(run, [](auto const& j) { return j.objective_at; }),
                           run.jobs.size());
        write_distribution(json, "to_end", times_of(run, finished), run.jobs.size());
    });
}

void write_log(json_writer& json, run_history const& run, page_room const& room) {
    json.key("log").object([&] {
        json.member("seen", run.entries.seen());
        json.key("entries").array([&] {
            for (auto const& e : run.entries.cut_to(room.entries))
                json.array([&] {
                    json.value(e.t);
                    json.value(e.last);
                    json.value(e.times);
                    json.value(e.decision);
                    for (auto const* const text : {&e.what, &e.job, &e.resource, &e.from, &e.to, &e.why})
                        json.value(*text);
                });
        });
    });
}

void write_decisions(json_writer& json, run_history const& run) {
    auto times = run.decision_times;
    std::ranges::sort(times);
    std::int64_t unanswered = 0;
    for (auto const& [status, count] : run.statuses) unanswered += status == 0 ? 0 : count;
    json.key("decisions").object([&] {
        json.member("count", times.size());
        json.member("no_answer", unanswered);
        if (times.empty()) return;
        json.member("p50", sim::quantile(times, 0.5));
        json.member("p99", sim::quantile(times, 0.99));
        json.member("longest", times.back());
    });
}

void write_facts(json_writer& json, run_history const& run, std::string const& label) {
    json.member("label", label);
    json.member("file", run.file);
    json.member("line", run.first_line);
    json.member("policy", run.policy);
    json.member("policy_version", run.policy_version);
    json.member("isolation", run.isolation);
    json.member("program", run.program);
    json.member("jobs_file", run.jobs_file);
    json.member("unix_time", run.unix_time);
    json.member("cpus", run.cpus);
    json.member("machine", run.machine);
    json.member("memory", run.memory);
    json.member("tick", run.tick);
    json.member("end", run.end);
    json.member("makespan", run.makespan);
    json.member("mean_cpu", run.mean_cpu);
    json.member("interrupted", run.interrupted);
    json.member("lost_events", run.lost_events);
    json.member("changes", run.changes);
    json.member("deferred", run.deferred);
    json.member("rejected", run.rejected);
    json.member("warnings", run.warnings);
    json.key("approximate").array([&] {
        for (auto const& text : run.approximate) json.value(text);
    });
    json.key("unknown").object([&] {
        for (auto const& [event, count] : run.unknown) json.member(event, count);
    });
}

}  // namespace

bool failed(job_record const& job) noexcept { return job.how == "failed" || job.how == "diverged"; }

page_room room_for(std::size_t runs) noexcept {
    std::size_t const n = std::max<std::size_t>(runs, 1), curves = std::clamp<std::size_t>(200 / n, 12, 100);
    return {.jobs = 12'000 / n,
            .curves = curves,
            .points = std::clamp<std::size_t>(20'000 / (n * curves), 24, 200),
            .segments = std::clamp<std::size_t>(1200 / n, 40, 300),
            .entries = std::clamp<std::size_t>(2400 / n, 60, 1200)};
}

std::optional<double> since_arrival(job_record const& job, std::optional<std::int64_t> when) noexcept {
    if (!when || !job.arrived) return std::nullopt;
    return in_seconds(std::max<std::int64_t>(*when - *job.arrived, 0));
}

std::string side_label(run_history const& run) {
    auto const& name = run.label.starts_with(run.policy) ? run.label : run.policy;
    auto const folder = run.policy.rfind('/');
    return name.substr(folder == std::string::npos ? 0 : folder + 1);
}

std::vector<std::string> labels_of(std::vector<run_history> const& runs) {
    std::vector<std::string> labels;
    labels.reserve(runs.size());
    for (auto const& run : runs) labels.push_back(side_label(run));
    for (std::size_t i = 0; i < runs.size(); ++i)
        if (runs[i].round > 0) labels[i] += fmt::format(", round {}", runs[i].round);
    auto const plain = labels;
    for (std::size_t i = 0; i < labels.size(); ++i)
        if (std::ranges::count(plain, plain[i]) > 1)
            labels[i] =
                fmt::format("{} {}", plain[i],
                            std::count(plain.begin(), plain.begin() + static_cast<std::ptrdiff_t>(i), plain[i]) + 1);
    return labels;
}

void write_runs(json_writer& json, std::vector<run_history>& runs) {
    auto const labels = labels_of(runs);
    auto const room = room_for(runs.size());
    json.array([&] {
        for (std::size_t i = 0; i < runs.size(); ++i)
            json.object([&] {
                auto& run = runs[i];
                write_facts(json, run, labels[i]);
                write_decisions(json, run);
                write_jobs(json, run, std::min(run.jobs.size(), room.jobs));
                write_curves(json, run, room);
                write_phases(json, run);
                write_devices(json, run, room);
                write_resources(json, run, room);
                write_distributions(json, run);
                write_log(json, run, room);
            });
    });
}

}  // namespace ration::program
