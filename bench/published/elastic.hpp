// SPDX-License-Identifier: BSL-1.0
// Batches as something to be scheduled, against the same autoscaler that leaves them as they were submitted. Source: V. Saxena et al.,
// "Effective Elastic Scaling of Deep Learning Workloads", MASCOTS 2020, arXiv:2006.13878.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include <ration/policies/elastic_batch_dp.hpp>
#include <ration/sim/generator.hpp>

#include "scene.hpp"

namespace published {

struct elastic_scale {
    double hours = 24;
    std::int64_t devices = 400;
    bool whole_sweep = true;  ///< else a low load and a high one, and the controls
};

namespace elastic {

using policies::elastic_batch_overflow;
using parameters = policies::elastic_batch_dp_parameters;

inline constexpr std::int64_t batches[] = {64, 128, 256, 512};
inline constexpr std::int64_t most_devices = 16;

/// The baseline, written down on its own: the autoscaler that gives devices and knows no batches. Its dynamic programme is the plain
/// recurrence. Whoever holds devices stays; arrivals come in, in order, while the fewest devices of all fit.
class fixed_batch_autoscaler {
public:
    using policy_concept = policy_tag;
    using inputs = columns<in<std::uint64_t, "jobs/id">, in<std::uint32_t, "jobs/state">, in_rows<double, "jobs/goodput.fixed">,
                           in<double, "jobs/restart_cost">, in<std::int64_t, "jobs/held.gpu">, in<std::int64_t, "nodes/capacity.gpu">>;
    static constexpr meta about{.id = "org.example.fixed-batch-autoscaler", .version = "1.0.0"};

    explicit fixed_batch_autoscaler(parameters const& p) : parameters_(p) {}

    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        if (!decided_ || t.now() - decided_at_ >= seconds(parameters_.interval)) decide_anew(t);
        for (std::size_t row = 0; row < t.jobs(); ++row)
            if (active(t, row) && (of(t, row).given > 0 || t.get<"jobs/held.gpu">()[row] > 0)) static_cast<void>(out.set(row, 0, resource_id::gpu, of(t, row).given));
        return status::ok;
    }

private:
    struct standing {
        std::int64_t given = 0;
        bool is_in = false, is_out = false;
    };
    struct player {
        std::size_t row;
        std::vector<std::int64_t> worth;  // by devices; 0 = impossible. In units of 2^-40: sums of integers are equal when they should be
        std::size_t least = 0;
    };

    parameters parameters_;
    std::vector<standing> jobs_;  // by id
    bool decided_ = false;
    nanoseconds decided_at_{0};

    [[nodiscard]] static bool active(tick<inputs> const& t, std::size_t row) noexcept {
        return is_active(static_cast<job_state>(t.get<"jobs/state">()[row]));
    }
    [[nodiscard]] standing& of(tick<inputs> const& t, std::size_t row) {
        std::size_t const id = t.get<"jobs/id">()[row];
        if (jobs_.size() <= id) jobs_.resize(id + 1);
        return jobs_[id];
    }

    /// F(k) in units of the speed of each of the fewest devices; less for a change.
    [[nodiscard]] player player_of(tick<inputs> const& t, std::size_t row) const {
        auto const speed = t.get<"jobs/goodput.fixed">()[row];
        auto const held = static_cast<std::size_t>(t.get<"jobs/held.gpu">()[row]);
        double const lost = parameters_.restart_penalty + (parameters_.horizon > 0 ? t.get<"jobs/restart_cost">()[row] / parameters_.horizon : 0);
        player p{row, std::vector<std::int64_t>(speed.size()), 0};
        double one = 0;
        for (std::size_t k = 1; k < speed.size(); ++k) {
            if (one == 0 && speed[k] > 0) one = speed[k] / static_cast<double>(k), p.least = k;
            double const f = one > 0 ? speed[k] / one : 0;
            p.worth[k] = static_cast<std::int64_t>(0x1p40 * (held == 0 || k == held ? f : f * (1 - lost)));
        }
        return p;
    }

    void decide_anew(tick<inputs> const& t) {
        std::vector<player> in;
        auto const capacity = static_cast<std::size_t>(t.get<"nodes/capacity.gpu">()[0]);
        std::size_t left = capacity;
        for (bool const was_in : {true, false})
            for (std::size_t row = 0; row < t.jobs(); ++row) {
                standing& s = of(t, row);
                if (!active(t, row) || s.is_in != was_in || s.is_out) continue;
                auto p = player_of(t, row);
                bool const fits = p.least > 0 && p.least <= left;
                s = {.is_in = fits || was_in, .is_out = !fits && parameters_.overflow == elastic_batch_overflow::drop};
                if (!fits) continue;
                left -= p.least;
                in.push_back(std::move(p));
            }
        divide(t, in, capacity);
        decided_ = true, decided_at_ = t.now();
    }

    void divide(tick<inputs> const& t, std::vector<player> const& in, std::size_t capacity) {
        std::vector<std::int64_t> before(capacity + 1, 0), now;
        std::vector<std::vector<std::uint8_t>> choice;
        for (auto const& p : in) {
            now.assign(capacity + 1, std::int64_t{-1} << 60);
            choice.emplace_back(capacity + 1, 0);
            for (std::size_t k = 1; k <= capacity; ++k)
                for (std::size_t g = 1; g < p.worth.size() && g <= k; ++g)
                    if (p.worth[g] > 0 && before[k - g] + p.worth[g] > now[k]) now[k] = before[k - g] + p.worth[g], choice.back()[k] = static_cast<std::uint8_t>(g);
            before.swap(now);
        }
        for (std::size_t j = in.size(), k = capacity; j-- > 0;) {
            std::size_t const g = choice[j][k];
            of(t, in[j].row).given = static_cast<std::int64_t>(g);
            k -= g;
        }
    }
};
static_assert(Policy<fixed_batch_autoscaler>);

/// Which batch users submit: one of the four, or each of them equally often.
enum class submitted : std::uint8_t { b64, b128, b256, b512, mixed };
inline constexpr char const* submitted_names[] = {"64", "128", "256", "512", "mixed"};

/// Jobs of the four categories. The policy serves one node: it stands for the cluster, and its devices are linked as nodes are.
[[nodiscard]] inline sim::workload jobs_of(elastic_scale const& scale, double per_hour, submitted by_users, bool fixed_range) {
    auto w = sim::make_scaling({.seed = 5, .jobs = static_cast<std::size_t>(per_hour * scale.hours), .jobs_per_hour = per_hour}, {.most_devices = most_devices});
    auto const categories = sim::scaling_categories();
    w.models.clear();
    for (auto const& category : categories)
        for (std::int64_t const batch : batches) {
            auto of = category.of;
            of.node_bytes_per_second = of.link_bytes_per_second;
            if (fixed_range && of.least_batch != of.most_batch) of.least_batch = of.most_batch = batch;
            w.models.push_back(std::make_shared<sim::parametric_model>(of));
        }
    sim::dice const thrown(5, 77);
    for (std::size_t j = 0; j < w.jobs.size(); ++j) {
        auto& job = w.jobs[j];
        bool const varies = categories[job.model].of.least_batch != categories[job.model].of.most_batch;
        std::size_t const which = !varies ? 1 : by_users == submitted::mixed ? thrown.below(4, j) : static_cast<std::size_t>(by_users);
        job.model = static_cast<std::uint32_t>(job.model * std::size(batches) + which);
        job.batch = batches[which];
        job.request = job.batch / 64, job.least = 1;
    }
    return w;
}

struct counted {
    std::size_t completed = 0, dropped = 0;
    double mean_jct = 0;  ///< seconds; of all jobs when all are done
};

[[nodiscard]] inline counted count(sim::run_outcome const& run, double hours, bool drops) {
    counted c;
    for (auto const& job : run.jobs) {
        bool const is_done = job.finished.count >= 0;
        c.completed += is_done && job.finished <= seconds(hours * 3600);
        c.dropped += drops && job.started.count < 0 && job.submitted < run.end - seconds(600);
        if (is_done) c.mean_jct += to_seconds(job.finished - job.submitted) / static_cast<double>(run.jobs.size());
    }
    return c;
}

struct pair_of_runs {
    sim::run_outcome fixed, elastic;
};

[[nodiscard]] inline pair_of_runs run_both(elastic_scale const& scale, sim::workload const& w, elastic_batch_overflow overflow) {
    parameters const p{.interval = 600, .overflow = overflow};
    bool const drops = overflow == elastic_batch_overflow::drop;
    sim::sim_options options{.interval = seconds(600)};
    if (drops) options.limit = seconds(scale.hours * 3600);
    auto const machine = nodes_of(1, scale.devices);
    bound_policy<fixed_batch_autoscaler> baseline{fixed_batch_autoscaler(p)};
    return {simulate(w, machine, static_cast<decider&>(baseline), options), simulate(w, machine, policies::elastic_batch_dp(p), options)};
}

[[nodiscard]] inline bool same_schedule(sim::run_outcome const& a, sim::run_outcome const& b) {
    bool same = a.end == b.end && a.jobs.size() == b.jobs.size();
    for (std::size_t j = 0; same && j < a.jobs.size(); ++j) {
        auto const &x = a.jobs[j], &y = b.jobs[j];
        same = x.started == y.started && x.finished == y.finished && x.device_seconds == y.device_seconds && x.restarts == y.restarts;
    }
    return same;
}

struct row {
    double load = 0, completed = 0, dropped = 0, jct = 0;  ///< ratios, elastic : fixed; dropped 0 : 0 is 1
    counted fixed, elastic;
};

[[nodiscard]] inline row sweep_row(elastic_scale const& scale, double load, submitted by_users) {
    double const per_hour = load * static_cast<double>(scale.devices) / 2;  // at load 1 two devices of each job are all there are, for an hour
    auto const w = jobs_of(scale, per_hour, by_users, false);
    auto const with_drops = run_both(scale, w, elastic_batch_overflow::drop), with_queue = run_both(scale, w, elastic_batch_overflow::queue);
    row r{.load = load, .fixed = count(with_drops.fixed, scale.hours, true), .elastic = count(with_drops.elastic, scale.hours, true)};
    r.completed = static_cast<double>(r.elastic.completed) / static_cast<double>(r.fixed.completed);
    r.dropped = r.fixed.dropped == 0 && r.elastic.dropped == 0 ? 1 : static_cast<double>(r.elastic.dropped) / static_cast<double>(r.fixed.dropped);
    r.fixed.mean_jct = count(with_queue.fixed, scale.hours, false).mean_jct, r.elastic.mean_jct = count(with_queue.elastic, scale.hours, false).mean_jct;
    r.jct = r.fixed.mean_jct / r.elastic.mean_jct;
    return r;
}

inline void print_row(findings& found, row const& r, submitted by_users) {
    found.print("%5.2f %8s %7zu %7zu %7.2f %8zu %7zu %7.2f %9.0f %8.0f %7.2f\n", r.load, submitted_names[static_cast<std::size_t>(by_users)],
                r.fixed.completed, r.elastic.completed, r.completed, r.fixed.dropped, r.elastic.dropped, r.dropped, r.fixed.mean_jct, r.elastic.mean_jct, r.jct);
}

inline void expect_shape(std::vector<row> const& rows, row const& smallest, row const& largest, findings& found) {
    double const most_gain = std::max_element(rows.begin(), rows.end(), [](row const& a, row const& b) { return a.jct < b.jct; })->jct;
    for (auto const& r : rows) {
        char at[32];
        std::snprintf(at, sizeof at, " at load %.2f", r.load);
        if (r.load < 1) found.expect(r.completed > 0.98 && r.completed < 1.06, std::string("elastic batches complete as many jobs") + at);
        if (r.load >= 1) found.expect(r.completed > 1.3, std::string("elastic batches complete at least 1.3 times as many jobs") + at);
        bool const is_best = 3 * r.dropped <= 1 && r.jct == most_gain;
        if (r.load == 1) found.expect(r.fixed.dropped > 0 && is_best, std::string("a third of the drops or fewer, and the largest gain in mean JCT,") + at);
        found.expect(r.jct > 1.2, std::string("the mean JCT is at least 1.2 times shorter") + at);
    }
    found.expect(largest.completed > 1.6 && largest.completed < 2.2, "where users submit the largest batch, about twice as many jobs complete when saturated");
    found.expect(std::fabs(smallest.completed - 1) < 0.03 && std::fabs(smallest.jct - 1) < 0.05,
                 "control: where users submit the smallest batch, saturated, nothing is gained");
}

inline void control(elastic_scale const& scale, findings& found) {
    found.print("\ncontrol, batch ranges of one value: load, variant, jobs, restarts of both\n");
    for (double const load : {0.5, 2.0})
        for (auto const overflow : {elastic_batch_overflow::drop, elastic_batch_overflow::queue}) {
            auto const w = jobs_of(scale, load * static_cast<double>(scale.devices) / 2, submitted::mixed, true);
            auto const both = run_both(scale, w, overflow);
            char const* const name = overflow == elastic_batch_overflow::drop ? "drop" : "queue";
            std::size_t restarts[2] = {0, 0};
            for (auto const& job : both.fixed.jobs) restarts[0] += job.restarts;
            for (auto const& job : both.elastic.jobs) restarts[1] += job.restarts;
            found.print("%5.2f %8s %7zu %7zu %7zu\n", load, name, w.jobs.size(), restarts[0], restarts[1]);
            found.expect(same_schedule(both.fixed, both.elastic),
                         std::string("control: with batch ranges of one value the schedules are equal to the bit, ") + name + (load > 1 ? ", saturated" : ""));
        }
}

}  // namespace elastic

[[nodiscard]] inline findings elastic_scenario(elastic_scale const& scale = {}) {
    using namespace elastic;
    findings found;
    found.print("%lld devices, %.0f h of arrivals; completed and dropped in the dropping variant, mean JCT in seconds in the queueing one\n"
                "%5s %8s %7s %7s %7s %8s %7s %7s %9s %8s %7s\n", static_cast<long long>(scale.devices), scale.hours, "load", "batch", "done", "elastic",
                "ratio", "dropped", "elastic", "ratio", "JCT", "elastic", "ratio");
    auto const with = [&](double load, submitted by_users) {
        row const r = sweep_row(scale, load, by_users);
        print_row(found, r, by_users);
        return r;
    };
    std::vector<row> rows;
    for (double const load : {0.25, 0.5, 1.0, 1.5, 2.0, 3.0})
        if (scale.whole_sweep || load == 0.25 || load == 1) rows.push_back(with(load, submitted::mixed));
    row const smallest = with(2, submitted::b64);
    if (scale.whole_sweep) static_cast<void>(with(2, submitted::b128)), static_cast<void>(with(2, submitted::b256));
    expect_shape(rows, smallest, with(2, submitted::b512), found);
    control(scale, found);
    return found;
}

}  // namespace published
