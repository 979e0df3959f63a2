// SPDX-License-Identifier: BSL-1.0
// The figures as JSON, in the order of the command line; docs/sim.md has the schema.
#include <cmath>

#include "common/version_text.hpp"
#include "events/json_writer.hpp"
#include "sim/distribution.hpp"
#include "sim/noise_options.hpp"
#include "sim/table.hpp"

namespace ration::program {
namespace {

/// A missing value is null.
void write(json_writer& json, std::string_view name, double value) {
    json.member(name, std::isfinite(value) ? std::optional(value) : std::nullopt);
}

/// Divides, so that whole seconds stay whole in the output.
[[nodiscard]] double in_seconds(nanoseconds t) noexcept { return static_cast<double>(t.count) / 1e9; }

/// Cores, which --cluster takes in whole numbers.
[[nodiscard]] std::int64_t whole(double cores) noexcept { return static_cast<std::int64_t>(cores); }

void write_cluster(json_writer& json, sim::cluster const& machines) {
    json.key("cluster").object([&] {
        json.member("devices", devices_of(machines));
        json.member("cores", whole(cores_of(machines)));
        json.key("groups").array([&] {
            for (auto const& g : machines.groups)
                json.object([&] {
                    json.member("nodes", g.nodes);
                    json.member("devices", g.devices);
                    json.member("cores", whole(g.cores));
                    json.member("type", machines.types[g.type]);
                });
        });
    });
}

void write_sample(json_writer& json, sample const& s) {
    json.object([&] {
        json.member("workload", s.jobs.name);
        json.member("seed", s.seed);
        json.member("jobs", s.size());
        json.member("left_out", s.jobs.left_out);
        json.key("bound").object([&] {
            json.member("jobs", s.bounds.jobs);
            write(json, "mean_jct", s.bounds.mean_jct);
            write(json, "makespan", s.bounds.makespan);
        });
    });
}

void write_bad_grant(json_writer& json, sim::run_outcome const& ran) {
    json.key("first_bad_grant");
    if (!ran.first_bad) return json.null();
    auto const& bad = *ran.first_bad;
    json.object([&] {
        json.member("tick", bad.tick);
        json.member("at", in_seconds(bad.at));
        json.member("job", bad.job);
        json.member("node", bad.row.node);
        json.member("resource", bad.row.resource);
        json.member("amount", bad.row.amount);
        json.member("rule", name_of(bad.rule));
    });
}

void write_tenants(json_writer& json, simulated_run const& run, sample const& from) {
    json.key("tenants").array([&] {
        for (std::size_t t = 0; t < run.tenants.size(); ++t)
            json.object([&] {
                auto const& one = run.tenants[t];
                json.member("tenant", from.jobs.tenants[t]);
                json.member("jobs", one.jobs);
                json.member("never_started", one.never_started);
                write(json, "mean_wait", one.mean_wait);
                write(json, "p99_wait", one.p99_wait);
                write(json, "worst_wait", one.worst_wait);
                write(json, "held", one.held);
                write(json, "weight", one.weight);
                write(json, "cached", one.cached);
                write(json, "speed", one.speed);
            });
    });
}

void write_run(json_writer& json, simulated_run const& run, sample const& from) {
    json.object([&] {
        auto const& ran = run.outcome;
        json.member("sample", run.sample);
        json.member("failure", run.failure.empty() ? std::nullopt : std::optional(run.failure));
        if (!run.failure.empty()) return;
        json.member("ending", name_of(ran.how));
        json.member("end", in_seconds(ran.end));
        json.member("jobs", run.figures.jobs);
        json.member("finished", run.figures.finished);
        json.member("never_started", run.figures.never_started);
        json.member("ticks", ran.ticks);
        json.member("events", ran.events);
        json.member("changes", ran.changes);
        json.member("refused_grants", ran.rejected);
        json.member("unanswered_ticks", ran.refused_ticks);
        write_bad_grant(json, ran);
        json.key("figures").object([&] {
            for (auto const& line : figure_lines()) write(json, line.name, line.of(run, from));
        });
        write_tenants(json, run, from);
    });
}

/// The same of streams, which have no tiers.
void write_streamed(json_writer& json, std::string_view name, std::span<simulated_run const> runs,
                    nanoseconds sim::job_outcome::* when) {
    sim::time_distribution all;
    std::size_t of = 0;
    for (auto const& run : runs) {
        of += run.figures.jobs;
        if (!run.times) continue;
        if (when == &sim::job_outcome::finished) all.add(run.times->jct);
        if (when == &sim::job_outcome::started) all.add(run.times->wait);
    }
    write_distribution(json, name, all, of);
}

/// How long jobs took to one of their moments, over all samples of a policy.
void write_times(json_writer& json, std::string_view name, std::span<simulated_run const> runs,
                 nanoseconds sim::job_outcome::* when) {
    std::vector<double> took;
    std::size_t of = 0;
    if (runs.front().times) return write_streamed(json, name, runs, when);
    for (auto const& run : runs) {
        of += run.outcome.jobs.size();
        for (auto const& job : run.outcome.jobs)
            if ((job.*when).count >= 0) took.push_back(in_seconds(job.*when - job.submitted));
    }
    write_distribution(json, name, std::move(took), of);
}

void write_series(json_writer& json, std::string_view name, drawn_series const& series) {
    json.key(name).object([&] {
        json.member("width", in_seconds(series.width));
        write_numbers(json, "means", series.means);
    });
}

void write_charts(json_writer& json, simulation_results const& all, std::size_t policy) {
    auto const runs = all.runs_of(policy);
    json.key("distributions").object([&] {
        write_times(json, "jct", runs, &sim::job_outcome::finished);
        write_times(json, "wait", runs, &sim::job_outcome::started);
        write_times(json, "to_acceptable", runs, &sim::job_outcome::acceptable);
        write_times(json, "to_objective", runs, &sim::job_outcome::objective);
    });
    auto const& first = runs.front();
    json.key("series").object([&] {
        write_series(json, "devices", first.devices);
        write_series(json, "cores", first.cores);
        write_series(json, "there", first.there);
        write_series(json, "waiting", first.queue);
    });
}

void write_policy(json_writer& json, simulation_results const& all, std::size_t policy) {
    json.object([&] {
        auto const& who = all.policies[policy];
        json.member("policy", who.name);
        json.member("id", who.id);
        json.member("version", who.version);
        json.key("parameters").object([&] {
            if (auto const* const set = all.input.settings.parameters_of(who.name))
                for (auto const& p : set->parameters)
                    std::visit([&](auto const& value) { json.member(p.name, value); }, p.value);
        });
        json.key("figures").object([&] {
            for (auto const& line : figure_lines()) {
                auto const figure = figure_of(all, policy, line);
                json.key(line.name).object([&] {
                    write(json, "mean", figure.mean);
                    write(json, "half_of_95", figure.half);
                });
            }
        });
        write_charts(json, all, policy);
        write_jobs_of(json, all, policy);
        json.key("runs").array([&] {
            for (auto const& run : all.runs_of(policy)) write_run(json, run, all.input.samples[run.sample]);
        });
    });
}

}  // namespace

std::string table_json(simulation_results const& all) {
    std::string out;
    json_writer json(out);
    json.object([&] {
        json.member("event", "simulation");
        json.member("version", version_text());
        write_cluster(json, all.input.machines);
        json.member("interval", in_seconds(all.options.interval));
        json.member("interference", all.options.interference);
        json.key("faults").array([&] {
            for (auto const& kind : all.options.faults) json.value(kind);
        });
        json.key("prices").array([&] {
            for (auto const& price : all.options.prices) json.value(price);
        });
        json.key("noise").array([&] {
            for (auto const& word : noise_words(all.input.noise)) json.value(word);
        });
        json.key("estimates").array([&] {
            for (auto const& word : all.options.estimates) json.value(word);
        });
        json.member("checkpoint", in_seconds(all.options.checkpoint));
        json.member("save", in_seconds(all.options.save));
        json.key("samples").array([&] {
            for (auto const& s : all.input.samples) write_sample(json, s);
        });
        write_common_jobs(json, all);
        json.key("policies").array([&] {
            for (std::size_t p = 0; p < all.policies.size(); ++p) write_policy(json, all, p);
        });
        json.key("remarks").array([&] {
            for (auto const& remark : all_remarks(all)) json.value(remark);
        });
    });
    return out;
}

std::string measured_json(simulation_results const& all) {
    std::string out;
    json_writer json(out);
    json.object([&] {
        json.member("event", "measured");
        json.key("runs").array([&] {
            for (auto const& run : all.runs)
                json.object([&] {
                    json.member("policy", all.policies[run.policy].name);
                    json.member("sample", run.sample);
                    json.member("decisions", run.decisions.number());
                    json.member("decision_mean", run.decisions.mean());
                    json.member("decision_p50", run.decisions.quantile(0.5));
                    json.member("decision_p99", run.decisions.quantile(0.99));
                    json.member("decision_longest", run.decisions.longest());
                    json.member("run", run.wall);
                });
        });
    });
    return out;
}

}  // namespace ration::program
