// SPDX-License-Identifier: BSL-1.0
// Batches as something to be scheduled, against the same autoscaler that leaves them as they were submitted. Source: V.
// Saxena et al., "Effective Elastic Scaling of Deep Learning Workloads", MASCOTS 2020, arXiv:2006.13878.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ration/sim/generator.hpp>

#include "fixed_batch_autoscaler.hpp"

namespace published {

struct elastic_scale {
    double hours = 24;
    std::int64_t devices = 400;
    std::uint64_t seeds = 5;
    bool whole_sweep = true;    ///< else a low load and a high one, and the controls
    bool control_fixed = true;  ///< the control has batch ranges of one value; others break it
};

namespace elastic {

inline constexpr std::int64_t batches[] = {64, 128, 256, 512};
inline constexpr std::int64_t most_devices = 16;

/// Which batch users submit: one of the four, or each of them equally often.
enum class submitted : std::uint8_t { b64, b128, b256, b512, mixed };
inline constexpr char const* submitted_names[] = {"64", "128", "256", "512", "mixed"};

[[nodiscard]] inline sim::data_parallel linked_as_nodes(sim::data_parallel of) {
    of.node_bytes_per_second = of.link_bytes_per_second;
    return of;
}

/// Jobs of the four categories. The policy serves one node: it represents the cluster, and its devices are linked as
/// nodes are.
[[nodiscard]] inline sim::workload jobs_of(elastic_scale const& scale, double per_hour, submitted by_users,
                                           bool fixed_range, std::uint64_t seed) {
    auto w = sim::make_scaling(
        {.seed = seed, .jobs = static_cast<std::size_t>(per_hour * scale.hours), .jobs_per_hour = per_hour},
        {.most_devices = most_devices});
    auto const categories = sim::scaling_categories();
    w.models.clear();
    for (auto const& category : categories)
        for (std::int64_t const batch : batches) {
            auto of = linked_as_nodes(category.of);
            if (fixed_range && of.least_batch != of.most_batch) of.least_batch = of.most_batch = batch;
            w.models.push_back(std::make_shared<sim::parametric_model>(of));
        }
    sim::rng const thrown(seed, 77);
    for (std::size_t j = 0; j < w.jobs.size(); ++j) {
        auto& job = w.jobs[j];
        bool const varies = categories[job.model].of.least_batch != categories[job.model].of.most_batch;
        std::size_t const which = !varies                        ? 1
                                  : by_users == submitted::mixed ? thrown.below(4, j)
                                                                 : static_cast<std::size_t>(by_users);
        job.model = static_cast<std::uint32_t>(job.model * std::size(batches) + which);
        job.batch = batches[which];
        job.request = job.batch / 64;
        job.least = 1;
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

[[nodiscard]] inline pair_of_runs run_both(elastic_scale const& scale, sim::workload const& w,
                                           elastic_batch_overflow overflow) {
    parameters const p{.interval = 600, .at_changes = false, .overflow = overflow};
    bool const drops = overflow == elastic_batch_overflow::drop;
    sim::sim_options options{.interval = seconds(600)};
    if (drops) options.limit = seconds(scale.hours * 3600);
    auto const machine = nodes_of(1, scale.devices);
    policy_adapter<fixed_batch_autoscaler> baseline{fixed_batch_autoscaler(p)};
    return {simulate(w, machine, static_cast<any_policy&>(baseline), options),
            simulate(w, machine, policies::elastic_batch_dp(p), options)};
}

[[nodiscard]] inline bool same_schedule(sim::run_outcome const& a, sim::run_outcome const& b) {
    bool same = a.end == b.end && a.jobs.size() == b.jobs.size();
    for (std::size_t j = 0; same && j < a.jobs.size(); ++j) {
        auto const &x = a.jobs[j], &y = b.jobs[j];
        same = x.started == y.started && x.finished == y.finished && x.device_seconds == y.device_seconds &&
               x.restarts == y.restarts;
    }
    return same;
}

/// Elastic batches against fixed ones with one seed.
struct row {
    counted fixed, elastic;

    [[nodiscard]] double completed() const noexcept {
        return static_cast<double>(elastic.completed) / static_cast<double>(fixed.completed);
    }
    [[nodiscard]] double dropped() const noexcept {
        if (fixed.dropped == 0 && elastic.dropped == 0) return 1;
        return static_cast<double>(elastic.dropped) / static_cast<double>(fixed.dropped);
    }
    [[nodiscard]] double jct() const noexcept { return fixed.mean_jct / elastic.mean_jct; }
};

[[nodiscard]] inline row sweep_row(elastic_scale const& scale, double load, submitted by_users, std::uint64_t seed) {
    // At load 1 two devices of each job are all there are, for an hour
    double const per_hour = load * static_cast<double>(scale.devices) / 2;
    auto const w = jobs_of(scale, per_hour, by_users, false, seed);
    auto const with_drops = run_both(scale, w, elastic_batch_overflow::drop),
               with_queue = run_both(scale, w, elastic_batch_overflow::queue);
    row r{.fixed = count(with_drops.fixed, scale.hours, true), .elastic = count(with_drops.elastic, scale.hours, true)};
    r.fixed.mean_jct = count(with_queue.fixed, scale.hours, false).mean_jct;
    r.elastic.mean_jct = count(with_queue.elastic, scale.hours, false).mean_jct;
    return r;
}

/// The same over all seeds.
struct swept {
    double load = 0;
    std::vector<row> rows{};

    template <class Figure>
    [[nodiscard]] over_seeds of(Figure const& figure) const {
        std::vector<double> values;
        for (auto const& r : rows) values.push_back(figure(r));
        return over_seeds(std::move(values));
    }
    [[nodiscard]] over_seeds completed() const {
        return of([](row const& r) { return r.completed(); });
    }
    [[nodiscard]] over_seeds dropped() const {
        return of([](row const& r) { return r.dropped(); });
    }
    [[nodiscard]] over_seeds jct() const {
        return of([](row const& r) { return r.jct(); });
    }
};

[[nodiscard]] inline swept sweep(elastic_scale const& scale, double load, submitted by_users, findings& found) {
    swept all{.load = load};
    for (std::uint64_t seed = 1; seed <= scale.seeds; ++seed)
        all.rows.push_back(sweep_row(scale, load, by_users, seed));
    auto const median = [&](std::size_t counted::* which, counted row::* of) {
        return all.of([&](row const& r) { return static_cast<double>(r.*of.*which); }).median;
    };
    found.print("| %.2f | %s | %.0f | %.0f | %s |", load, submitted_names[static_cast<std::size_t>(by_users)],
                median(&counted::completed, &row::fixed), median(&counted::completed, &row::elastic),
                all.completed().text(2).c_str());
    double const fixed_drops = median(&counted::dropped, &row::fixed),
                 elastic_drops = median(&counted::dropped, &row::elastic);
    found.print(" %.0f | %.0f | %s | %s |\n", fixed_drops, elastic_drops,
                fixed_drops > 0 ? all.dropped().text(2).c_str() : "", all.jct().text(2).c_str());
    return all;
}

inline void expect_shape(std::vector<swept> const& rows, swept const& smallest, swept const& largest, findings& found) {
    double most_gain = 0;
    for (auto const& r : rows) most_gain = std::max(most_gain, r.jct().median);
    for (auto const& r : rows) {
        char at[64];
        std::snprintf(at, sizeof at, " at load %.2f, with every seed", r.load);
        auto const completed = r.completed(), dropped = r.dropped(), jct = r.jct();
        if (r.load < 1)
            found.expect(completed.least > 0.98 && completed.most < 1.06,
                         std::string("elastic batches complete as many jobs") + at);
        if (r.load >= 1)
            found.expect(completed.least > 1.3,
                         std::string("elastic batches complete at least 1.3 times as many jobs") + at);
        if (r.load == 1) found.expect(dropped.most <= 1.0 / 3, std::string("a third of the drops or fewer") + at);
        if (r.load == 1) found.expect(jct.median == most_gain, "the largest gain in mean JCT is at load 1, by medians");
        found.expect(jct.least > 1.2, std::string("the mean JCT is at least 1.2 times shorter") + at);
    }
    found.expect(
        largest.completed().least > 1.6 && largest.completed().most < 2.2,
        "where users submit the largest batch, about twice as many jobs complete when saturated, with every seed");
    found.expect(std::fabs(smallest.completed().median - 1) < 0.03 && std::fabs(smallest.jct().median - 1) < 0.05,
                 "control: where users submit the smallest batch, saturated, nothing is gained");
}

/// The prediction from the exchange of gradients alone, saturated: elastic jobs run with the smallest batch on one
/// device, fixed ones with theirs on B / 64.
class prediction {
    std::array<sim::scaling_category, 4> categories_ = sim::scaling_categories();

    [[nodiscard]] static double device_seconds(sim::data_parallel const& of, std::int64_t batch) {
        std::int64_t const devices = batch / of.most_local_batch;
        // Of one sample
        return static_cast<double>(devices) / sim::parametric_model(linked_as_nodes(of)).rate(batch, devices, false, 0);
    }

public:
    [[nodiscard]] std::array<sim::scaling_category, 4> const& categories() const noexcept { return categories_; }
    /// Time of an iteration over processing alone; 1 where the batch is fixed.
    [[nodiscard]] static double factor(sim::data_parallel const& of, std::int64_t batch) {
        return of.least_batch == of.most_batch ? 1 : device_seconds(of, batch) / device_seconds(of, of.least_batch);
    }
    /// Of a mean job with its smallest batch. Its length is an hour with a batch of 128 on two devices of one node.
    [[nodiscard]] static double device_hours(sim::data_parallel const& of) {
        return sim::parametric_model(of).rate(128, 2, false, 0) * device_seconds(of, of.least_batch);
    }
    /// How many times as many jobs elastic batches complete where all users submit this one.
    [[nodiscard]] double gain(std::int64_t batch) const {
        double fixed = 0, elastic = 0;
        for (auto const& c : categories_) {
            fixed += device_hours(c.of) * factor(c.of, batch);
            elastic += device_hours(c.of);
        }
        return fixed / elastic;
    }
};

inline void print(prediction const& predicted, findings& found) {
    found.print(
        "\n| category | processing | k = 2 | k = 4 | k = 8 | device-hours of a mean job |\n|---|---|---|---|---|---|\n");
    for (auto const& c : predicted.categories())
        found.print("| %s | %.3f s | %.2f | %.2f | %.2f | %.2f |\n", c.name.data(),
                    c.of.step_seconds + 64 * c.of.sample_seconds, prediction::factor(c.of, 128),
                    prediction::factor(c.of, 256), prediction::factor(c.of, 512), prediction::device_hours(c.of));
}

/// The predicted gains beside those of runs at load 2, for each batch that all users submit.
inline void compare(prediction const& predicted, std::vector<std::pair<std::int64_t, swept>> const& runs,
                    findings& found) {
    found.print("\n| all users submit | predicted | simulated at load 2 |\n|---|---|---|\n");
    for (auto const& [batch, of] : runs) {
        double const gain = predicted.gain(batch);
        found.print("| %lld | %.2f | %s |\n", static_cast<long long>(batch), gain, of.completed().text(2).c_str());
        found.expect(
            std::fabs(of.completed().median / gain - 1) < 0.12,
            "batch " + std::to_string(batch) + ": the cost of exchanging gradients predicts the gain within 12 %");
    }
}

inline void control(elastic_scale const& scale, findings& found) {
    found.print(
        "\n| control, batch ranges of one value: load | variant | jobs | restarts, fixed | elastic |\n|---|---|---|---|---|\n");
    for (double const load : {0.5, 2.0})
        for (auto const overflow : {elastic_batch_overflow::drop, elastic_batch_overflow::queue}) {
            auto const w =
                jobs_of(scale, load * static_cast<double>(scale.devices) / 2, submitted::mixed, scale.control_fixed, 1);
            auto const both = run_both(scale, w, overflow);
            char const* const name = overflow == elastic_batch_overflow::drop ? "drop" : "queue";
            std::size_t restarts[2] = {0, 0};
            for (auto const& job : both.fixed.jobs) restarts[0] += job.restarts;
            for (auto const& job : both.elastic.jobs) restarts[1] += job.restarts;
            found.print("| %.2f | %s | %zu | %zu | %zu |\n", load, name, w.jobs.size(), restarts[0], restarts[1]);
            found.expect(same_schedule(both.fixed, both.elastic),
                         std::string("control: with batch ranges of one value the schedules are equal to the bit, ") +
                             name + (load > 1 ? ", saturated" : ""));
        }
}

}  // namespace elastic

[[nodiscard]] inline findings elastic_scenario(elastic_scale const& scale = {}) {
    using namespace elastic;
    findings found;
    found.print(
        "%lld devices, %.0f h of arrivals, %llu seeds: medians, of ratios with the range. Jobs are counted where those that do not fit are dropped, mean JCT where "
        "they queue.\n\n",
        static_cast<long long>(scale.devices), scale.hours, static_cast<unsigned long long>(scale.seeds));
    found.print(
        "| load | batch | completed, fixed | elastic | ratio | dropped, fixed | elastic | ratio | mean JCT, fixed : elastic |\n"
        "|---|---|---|---|---|---|---|---|---|\n");
    std::vector<swept> rows;
    for (double const load : {0.25, 0.5, 1.0, 1.5, 2.0, 3.0})
        if (scale.whole_sweep || load == 0.25 || load == 1) rows.push_back(sweep(scale, load, submitted::mixed, found));
    std::vector<std::pair<std::int64_t, swept>> alike{{64, sweep(scale, 2, submitted::b64, found)}};
    if (scale.whole_sweep)
        for (auto const batch : {submitted::b128, submitted::b256})
            alike.emplace_back(batches[static_cast<std::size_t>(batch)], sweep(scale, 2, batch, found));
    alike.emplace_back(512, sweep(scale, 2, submitted::b512, found));
    expect_shape(rows, alike.front().second, alike.back().second, found);
    prediction const predicted;
    print(predicted, found);
    compare(predicted, alike, found);
    control(scale, found);
    return found;
}

}  // namespace published
