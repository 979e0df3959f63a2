// SPDX-License-Identifier: BSL-1.0
// TRADL: who is good enough gives up CPU to those that are not. Source: W. Zheng et al., "Target-based Resource
// Allocation for Deep Learning Applications in a Multi-tenancy System", HPEC 2019. Scenarios: NA without the policy, AO
// limits at Acceptable, FT ends jobs at Objective too.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <ration/policies/none.hpp>
#include <ration/policies/tradl.hpp>
#include <ration/sim/cpu_files.hpp>
#include <ration/sim/trace/read.hpp>

#include "scene.hpp"

namespace published {
namespace tradl_scenes {

using policies::tradl;
using policies::tradl_parameters;
using policies::tradl_scenario;
using times = std::vector<double>;  ///< seconds, one for each job

inline constexpr double published_reduction = 0.482;

[[nodiscard]] inline sim::cluster box(double of_cores) {
    sim::cluster c;
    c.groups.push_back({.nodes = 1, .devices = 0, .cores = of_cores});
    return c;
}

/// The outcome of the jobs in one scenario.
struct outcome {
    times acceptable, objective;
    double end = 0;

    explicit outcome(sim::run_outcome const& run) : end(to_seconds(run.end)) {
        for (auto const& job : run.jobs) {
            acceptable.push_back(to_seconds(job.acceptable - job.submitted));
            objective.push_back(to_seconds(job.objective - job.submitted));
        }
    }
    [[nodiscard]] double mean_late() const noexcept {  // of the jobs after the first
        return std::accumulate(acceptable.begin() + 1, acceptable.end(), 0.0) /
               static_cast<double>(acceptable.size() - 1);
    }
};

[[nodiscard]] inline outcome under(tradl_parameters const& p, sim::workload const& jobs, double of_cores) {
    return outcome(simulate(jobs, box(of_cores), tradl(p), {.interval = seconds(1)}));
}

struct three {
    outcome na, ao, ft;

    three(sim::workload const& jobs, double of_cores)
        : na(under({.scenario = tradl_scenario::NA}, jobs, of_cores)),
          ao(under({.scenario = tradl_scenario::AO}, jobs, of_cores)),
          ft(under({.scenario = tradl_scenario::FT}, jobs, of_cores)) {}
};

// Equal jobs, of which all but one are good enough: what the rule can give.

/// How the one that is not shares the core with the others.
enum class situation : std::uint8_t {
    at_fair_share,     ///< all came together: 1/(n+1)
    above_fair_share,  ///< it came when the others were good enough, each with 1/(n-1): 1/(2n)
};

// Of the machine, and all that a job can use: limits are whole milli-cores, of which one core has few
inline constexpr double cores = 1000;

/// n jobs that make a step a second with the whole machine. n-1 are good enough after 1 s of work and outlast the last
/// one, which needs `needed` seconds.
[[nodiscard]] inline sim::workload all_but_one(std::size_t n, situation how, double needed) {
    sim::loss_curve const curve{.floor = 0, .power = 1, .power_steps = 1, .exponent = 1};
    sim::workload w;
    w.models.push_back(std::make_shared<sim::cpu_model>(curve, 1 / cores, cores, 0, std::vector{curve.at(1)}));
    w.models.push_back(std::make_shared<sim::cpu_model>(curve, 1 / cores, cores, 0, std::vector{curve.at(needed)}));
    auto const n_seconds = static_cast<double>(n);
    for (std::size_t j = 0; j < n; ++j) {
        bool const last = j + 1 == n;
        double const submitted = last && how == situation::above_fair_share ? 2 * n_seconds : 0;
        w.jobs.push_back({.submitted = seconds(submitted),
                          .model = last,
                          .request = 0,
                          .least = 0,
                          .most = 0,
                          .length = last ? needed : 2 * needed});
    }
    return w;
}

/// By how much the rest of the last job's time to Acceptable shortens, from when the others are good enough.
[[nodiscard]] inline double simulated_reduction(std::size_t n, situation how, tradl_parameters p = {}) {
    constexpr double needed = 200;
    auto const jobs = all_but_one(n, how, needed);
    // N seconds until each has done its first
    double const before = how == situation::at_fair_share ? static_cast<double>(n) : 0;
    auto const late = [&](tradl_scenario scenario) {
        p.scenario = scenario;
        return under(p, jobs, cores).acceptable.back() - before;
    };
    return 1 - late(tradl_scenario::AO) / late(tradl_scenario::NA);
}

/// 1 - (share now) / (share then) for one job beside n-1 that hold `limit` each.
[[nodiscard]] inline double reduction(std::size_t n, double limit) noexcept {
    auto const all = static_cast<double>(n);
    return 1 - (1 / all) / (1 - (all - 1) * limit);
}

inline void rule_table(findings& found) {
    found.print(
        "equal jobs on one machine, all but one good enough: by how much the time shortens that the last one still needs, %%\n%6s %20s %20s %20s\n",
        "jobs", "1/(n+1): rule, sim", "1/(2n): rule, sim", "all released: rule");
    bool same = true;
    for (std::size_t const n : {2, 3, 4, 5, 8, 9, 27, 28}) {
        auto const all = static_cast<double>(n);
        double const fair = reduction(n, 1 / (all + 1)), above = reduction(n, 1 / (2 * all));
        double const fair_ran = simulated_reduction(n, situation::at_fair_share),
                     above_ran = simulated_reduction(n, situation::above_fair_share, {.dead_band = 0});
        found.print("%6zu %11.1f %8.1f %11.1f %8.1f %20.1f\n", n, 100 * fair, 100 * fair_ran, 100 * above,
                    100 * above_ran, 100 * reduction(n, 0));
        same = same && std::fabs(fair - fair_ran) < 0.003 && std::fabs(above - above_ran) < 0.003;
    }
    found.expect(same, "the simulation agrees with the rule's arithmetic within 0.3 points");
    found.expect(reduction(9, 1.0 / 10) < published_reduction && reduction(27, 1.0 / 28) < published_reduction &&
                     reduction(28, 1.0 / 29) > published_reduction,
                 "by 1/(n+1) alone the published 48.2 % needs 28 equal jobs: eight get 43.8 %, nine 44.4 %");
    found.expect(reduction(2, 1.0 / 4) < published_reduction && reduction(3, 1.0 / 6) > published_reduction,
                 "by 1/(2n) it needs three jobs: two get 33.3 %");
}

/// Equal jobs use 1/n but for rounding, so without a dead band the last bit decides the branch of each.
inline void without_dead_band(findings& found) {
    found.print(
        "\nequal jobs that came together, dead band 0: by how much the last one's time shortens, %%\n%6s %12s %12s\n",
        "jobs", "1/(n+1)", "sim");
    for (std::size_t const n : {2, 3, 4, 5, 8, 9}) {
        double const fair = reduction(n, 1 / static_cast<double>(n + 1)),
                     ran = simulated_reduction(n, situation::at_fair_share, {.dead_band = 0});
        bool const some_above = n == 3 || n == 9;
        found.print("%6zu %12.1f %12.1f\n", n, 100 * fair, 100 * ran);
        found.expect(some_above ? ran > fair + 0.05 : std::fabs(ran - fair) < 0.003,
                     "dead band 0: " + std::to_string(n) +
                         (some_above ? " equal jobs, some are on 1/(2n)" : " equal jobs, all are on 1/(n+1)"));
    }
}

/// A job alone that is good enough after a fifth of its work: by how much longer it takes for the rest.
[[nodiscard]] inline double lone_job(tradl_parameters const& p) {
    sim::loss_curve const curve{.floor = 0, .power = 1, .power_steps = 1, .exponent = 1};
    sim::workload w;
    w.models.push_back(std::make_shared<sim::cpu_model>(curve, 1 / cores, cores, 0, std::vector{curve.at(100)}));
    w.jobs.push_back({.submitted = {}, .model = 0, .request = 0, .least = 0, .most = 0, .length = 500});
    outcome const ran = under(p, w, cores);
    return (ran.end - ran.acceptable[0]) / 400;
}

inline void strict_rule(findings& found) {
    constexpr std::size_t n = 8;
    tradl_parameters const bare{.dead_band = 0, .scenario = tradl_scenario::AO, .strict = true};
    double const kept = simulated_reduction(n, situation::above_fair_share, {.dead_band = 0}),
                 strict = simulated_reduction(n, situation::above_fair_share, bare);
    found.print("\nthe bare rule (strict), asked every second\n");
    found.print(
        "eight jobs, seven above their fair share: the last one's time shortens by %.1f %%; %.1f %% where the branch is kept\n",
        100 * strict, 100 * kept);
    found.expect(std::fabs(strict - reduction(n, 1 / 9.0)) < 0.003,
                 "strict: a job limited to 1/(2n) uses less than 1/n, so 1/(n+1) is all that remains");
    double const longer = lone_job(bare), usual = lone_job({.scenario = tradl_scenario::AO});
    found.print(
        "a job alone past Acceptable: the rest takes %.2f times as long; %.2f times where the rule does not limit a lone job\n",
        longer, usual);
    found.expect(std::fabs(longer - 4.0 / 3) < 0.01 && std::fabs(usual - 1) < 0.001,
                 "strict: a job alone is limited to a half every other second");
}

// The eight models of the paper, as this project's own trainers of these kinds do them.

inline constexpr std::array<char const*, 8> models{"torch-gru",         "torch-lstm-crf",          "torch-vae",
                                                   "torch-dynamic-rnn", "torch-bidirectional-rnn", "torch-cnn",
                                                   "torch-rnn",         "torch-lstm-cfc"};
// docs/tradl.md: the runs on a real core
inline constexpr std::array<double, 8> measured_arrivals{0, 1.6, 5.5, 25.8, 39.0, 45.6, 47.2, 50.0};

/// A job of each model, in this order, half as long again as it needs to its Objective.
[[nodiscard]] inline sim::workload eight(sim::model_library const& library, std::array<std::size_t, 8> const& order,
                                         std::array<double, 8> const& arrivals) {
    sim::workload w;
    for (std::size_t j = 0; j < order.size(); ++j) {
        auto const* const known = sim::find_model(library, models[order[j]]);
        RATION_ASSERT(known != nullptr, "bench/data/loss/fits.csv has all eight models");
        sim::job_description job = known->usual;
        job.submitted = seconds(arrivals[j]);
        job.model = static_cast<std::uint32_t>(j);
        job.length *= 1.5;
        w.models.push_back(known->model);
        w.model_names.push_back(known->name);
        w.jobs.push_back(job);
    }
    return w;
}

inline constexpr std::array<std::size_t, 8> as_listed{0, 1, 2, 3, 4, 5, 6, 7};

[[nodiscard]] inline double largest_reduction(outcome const& of, outcome const& na) noexcept {
    double largest = -1;
    for (std::size_t j = 0; j < of.acceptable.size(); ++j)
        largest = std::max(largest, 1 - of.acceptable[j] / na.acceptable[j]);
    return largest;
}

[[nodiscard]] inline bool none_later(outcome const& of, outcome const& na) noexcept {
    bool none = true;
    for (std::size_t j = 0; j < of.acceptable.size(); ++j) none = none && of.acceptable[j] <= na.acceptable[j] * 1.001;
    return none;
}

inline void eight_models(findings& found, sim::model_library const& library) {
    auto const jobs = eight(library, as_listed, measured_arrivals);
    three const t(jobs, 1);
    found.print(
        "\neight models on one core, seconds from arrival\n%-24s %8s %24s %24s\n%-24s %8s %8s %7s %7s %8s %7s %7s\n",
        "", "", "to Acceptable", "to Objective", "", "arrives", "NA", "AO", "FT", "NA", "AO", "FT");
    for (std::size_t j = 0; j < jobs.jobs.size(); ++j)
        found.print("%-24s %8.1f %8.1f %7.1f %7.1f %8.1f %7.1f %7.1f\n", models[j], measured_arrivals[j],
                    t.na.acceptable[j], t.ao.acceptable[j], t.ft.acceptable[j], t.na.objective[j], t.ao.objective[j],
                    t.ft.objective[j]);
    found.print("%-24s %8s %8.1f %7.1f %7.1f\n%-24s %8s %8.1f %7.1f %7.1f\n%-24s %8s %8s %6.1f%% %6.1f%%\n",
                "mean after the first", "", t.na.mean_late(), t.ao.mean_late(), t.ft.mean_late(), "last job ends", "",
                t.na.end, t.ao.end, t.ft.end, "largest reduction", "", "", 100 * largest_reduction(t.ao, t.na),
                100 * largest_reduction(t.ft, t.na));
    found.expect(t.ft.mean_late() <= t.ao.mean_late() && t.ao.mean_late() < t.na.mean_late(),
                 "eight models: mean time to Acceptable of those after the first, FT <= AO < NA");
    found.expect(none_later(t.ao, t.na) && none_later(t.ft, t.na),
                 "eight models: no job reaches Acceptable later than in NA");
    found.expect(t.ao.objective[0] > t.na.objective[0],
                 "eight models: the first one pays, its Objective comes later in AO");
    found.expect(t.ao.end <= t.na.end * 1.01 && t.ft.end < t.ao.end,
                 "eight models: AO ends no later than NA, and FT earlier");
}

struct schedules {
    std::size_t runs = 0, in_order = 0, none_later = 0;
    double na = 0, ao = 0, ft = 0, largest_ao = 0, largest_ft = 0;
};

/// The eight in random order, each at a whole second below 100: as the group's next program, FlowCon, draws its lists
/// of jobs.
[[nodiscard]] inline schedules random_schedules(sim::model_library const& library, std::uint64_t runs) {
    schedules s;
    for (std::uint64_t seed = 1; seed <= runs; ++seed) {
        sim::rng const of(seed, 0);
        auto order = as_listed;
        std::array<double, 8> arrivals{};
        for (std::uint32_t j = 0; j < 8; ++j) arrivals[j] = of.below(100, j);
        for (std::uint32_t j = 7; j > 0; --j) std::swap(order[j], order[of.below(j + 1, 100 + j)]);
        std::sort(arrivals.begin(), arrivals.end());
        three const t(eight(library, order, arrivals), 1);
        double const n = static_cast<double>(runs);
        s.na += t.na.mean_late() / n;
        s.ao += t.ao.mean_late() / n;
        s.ft += t.ft.mean_late() / n;
        ++s.runs;
        s.in_order += t.ft.mean_late() <= t.ao.mean_late() && t.ao.mean_late() <= t.na.mean_late();
        s.none_later += none_later(t.ao, t.na);
        s.largest_ao = std::max(s.largest_ao, largest_reduction(t.ao, t.na));
        s.largest_ft = std::max(s.largest_ft, largest_reduction(t.ft, t.na));
    }
    return s;
}

inline void many_schedules(findings& found, sim::model_library const& library, std::uint64_t runs) {
    auto const s = random_schedules(library, runs);
    found.print(
        "\n%zu random schedules of the eight: mean time to Acceptable of those after the first, NA %.1f s, AO %.1f s, FT %.1f s\n",
        s.runs, s.na, s.ao, s.ft);
    found.print(
        "FT <= AO <= NA in %zu, no job later in AO in %zu; the largest reduction of one job %.1f %% in AO, %.1f %% in FT\n",
        s.in_order, s.none_later, 100 * s.largest_ao, 100 * s.largest_ft);
    found.expect(s.ft <= s.ao && s.ao < s.na, "random schedules: FT <= AO < NA on average");
}

inline void controls(findings& found, sim::model_library const& library, double control_cores) {
    auto const jobs = eight(library, as_listed, measured_arrivals);
    three const apart(eight(library, as_listed, {}), control_cores), together(jobs, 1);
    found.expect(
        apart.ao.acceptable == apart.na.acceptable && apart.ft.acceptable == apart.na.acceptable &&
            apart.ao.objective == apart.na.objective,
        "control: with a core for each of eight at once, on 8.9, nothing changes, to the bit: the machine is not full");
    outcome const nobody(simulate(jobs, box(1), policies::none(), {.interval = seconds(1)}));
    found.expect(nobody.acceptable == together.na.acceptable && nobody.objective == together.na.objective &&
                     nobody.end == together.na.end,
                 "control: NA is the run without a policy, to the bit");
}

}  // namespace tradl_scenes

struct tradl_size {
    std::uint64_t random_schedules = 200;
    double control_cores = 8.9;  ///< for eight jobs in the control; fewer than eight break it
};

/// `fits`: the path of bench/data/loss/fits.csv.
[[nodiscard]] inline findings tradl_scenario(tradl_size const& size, char const* fits) {
    using namespace tradl_scenes;
    findings found;
    rule_table(found);
    without_dead_band(found);
    strict_rule(found);
    auto const text = sim::trace::contents(fits);
    RATION_ASSERT(text, "bench/data/loss/fits.csv is there");
    auto const library = sim::read_cpu_models(*text);
    RATION_ASSERT(library, "bench/data/loss/fits.csv is right");
    eight_models(found, *library);
    many_schedules(found, *library, size.random_schedules);
    controls(found, *library, size.control_cores);
    return found;
}

}  // namespace published
