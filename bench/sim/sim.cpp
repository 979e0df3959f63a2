// SPDX-License-Identifier: BSL-1.0
// The cost of whole simulations, in time of the processor, which does not count what others do on the machine; and what
// they find.
//   bench.sim                            synthetic workloads: eight policies, and the cost of an event from 10^3 to
//   10^6 jobs; then the
//                                        four published workloads of elastic jobs beside their published means, and
//                                        good_enough with predictions that are wrong
//   bench.sim TRACE NODESxDEVICES...     from the file to the figures, under eight policies
//   bench.sim estimates                  the mean JCT of good_enough with parts of its inputs estimated
//   bench.sim noise                      good_enough with predictions that are wrong
//   bench.sim patience [--json]          its figures by patience, beside those of other policies; `short` instead of
//                                        --json prints those of few jobs
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <vector>

#include <ration/policies/afs.hpp>
#include <ration/policies/fifo.hpp>
#include <ration/policies/gang.hpp>
#include <ration/policies/gittins.hpp>
#include <ration/policies/good_enough.hpp>
#include <ration/policies/las.hpp>
#include <ration/policies/optimus.hpp>
#include <ration/policies/pack.hpp>
#include <ration/policies/pollux.hpp>
#include <ration/policies/sia.hpp>
#include <ration/policies/sjf.hpp>
#include <ration/policies/spread.hpp>
#include <ration/policies/srtf.hpp>
#include <ration/sim/bounds.hpp>
#include <ration/sim/cpu_files.hpp>
#include <ration/sim/generator.hpp>
#include <ration/sim/prediction_noise.hpp>
#include <ration/sim/profile_files.hpp>
#include <ration/sim/simulation.hpp>
#include <ration/sim/summary.hpp>
#include <ration/sim/trace/read.hpp>

#include "sim/estimate_cost.hpp"
#include "sim/measured_run.hpp"

namespace {

using namespace ration;
using namespace ration::bench;

[[nodiscard]] std::vector<named_policy> rigid_policies() {
    using namespace policies;
    return {named<fifo>("fifo"),       named<sjf>("sjf"),   named<srtf>("srtf"), named<las>("las"),
            named<gittins>("gittins"), named<gang>("gang"), named<pack>("pack"), named<spread>("spread")};
}

[[nodiscard]] double megabytes() noexcept {
    rusage use{};
    getrusage(RUSAGE_SELF, &use);
    return static_cast<double>(use.ru_maxrss) / 1024;
}

void print_rigid(sim::workload const& jobs, sim::cluster const& machines, double reading) {
    auto const needs = sim::needs_of(jobs, machines);
    auto const bounds = sim::bounds_of(jobs, needs, machines);
    std::printf("%-10s %9s %9s %10s %12s %11s %11s %9s\n", "", "seconds", "ticks", "us/tick", "mean JCT h",
                "over bound", "makespan h", "MB");
    double sum = 0;
    for (auto const& p : rigid_policies()) {
        auto const m = simulate(jobs, machines, p);
        double const start = processor_seconds();
        auto const f = sim::figures_of(jobs, machines, needs, m.outcome);
        double const all = reading + m.seconds + processor_seconds() - start;
        sum += all;
        std::printf("%-10s %9.3f %9llu %10.2f %12.3f %10.2fx %11.2f %9.0f%s%s\n", p.name, all,
                    static_cast<unsigned long long>(m.outcome.ticks),
                    m.seconds * 1e6 / static_cast<double>(m.outcome.ticks), f.mean_jct / 3600,
                    f.mean_jct / bounds.mean_jct, f.makespan / 3600, megabytes(),
                    m.outcome.how == sim::ending::all_done ? "" : "  ",
                    m.outcome.how == sim::ending::all_done ? "" : name_of(m.outcome.how).data());
    }
    std::printf("%-10s %9.3f\n", "all", sum);
}

void bench_trace(char const* path, std::string const& shape) {
    std::size_t const x = shape.find('x');
    std::size_t nodes = 0;
    std::int64_t devices = 0;
    std::from_chars(shape.data(), shape.data() + x, nodes);
    if (x != shape.npos) std::from_chars(shape.data() + x + 1, shape.data() + shape.size(), devices);
    if (nodes == 0 || devices == 0)
        stop("'" + shape + "' is not a cluster; write nodes and devices of each, such as 128x8");
    double const start = processor_seconds();
    auto const jobs = sim::trace::read_file(path, {});
    if (!jobs) stop(to_text(jobs.failure()));
    double const reading = processor_seconds() - start;
    std::printf("\n%s: %zu jobs on %s devices; with reading, %.4f s, and figures\n", path, jobs->jobs.size(),
                shape.c_str(), reading);
    print_rigid(*jobs, nodes_of(nodes, devices), reading);
}

/// The same load on the same cluster for longer and longer.
void bench_growth() {
    std::printf("\nmicroseconds an event, 256 devices kept as busy for longer and longer\n%-10s", "");
    std::vector<std::size_t> const sizes{1000, 10'000, 100'000, 1'000'000};
    for (auto const size : sizes) std::printf(" %11zu", size);
    std::printf("   most / least\n");
    auto const machines = nodes_of(32, 8);
    std::vector<sim::workload> workloads;
    for (auto const size : sizes) workloads.push_back(sim::make_rigid({.jobs = size, .jobs_per_hour = 25}, {}));
    for (auto const& p : {named<policies::fifo>("fifo"), named<policies::srtf>("srtf"), named<policies::las>("las")}) {
        std::printf("%-10s", p.name);
        double least = 1e9, most = 0;
        for (auto const& jobs : workloads) {
            double best = 1e9;
            for (int again = jobs.jobs.size() < 100'000 ? 5 : 1; again > 0; --again) {
                auto const m = simulate(jobs, machines, p);
                best = std::min(best, m.seconds * 1e6 / static_cast<double>(m.outcome.events));
            }
            least = std::min(least, best);
            most = std::max(most, best);
            std::printf(" %11.3f", best);
        }
        std::printf(" %14.2f\n", most / least);
    }
}

/// Divisions only at intervals, as in the papers.
[[nodiscard]] std::vector<named_policy> elastic_policies() {
    using namespace policies;
    return {named("optimus", optimus({.at_changes = false})),
            named<las>("las"),
            named<srtf>("srtf"),
            named<afs>("afs"),
            named("sia", sia({.at_changes = false})),
            named("pollux", pollux({.at_changes = false})),
            named("pollux p=1", pollux({.at_changes = false, .p = 1})),
            named("good_enough", good_enough({.at_changes = false}))};
}

[[nodiscard]] sim::model_library profiles() {
    auto library = sim::load_profiles(RATION_BENCH_DATA "/pollux");
    if (!library) stop(library.failure().text);
    return std::move(*library);
}

[[nodiscard]] std::vector<sim::workload> published_workloads() {
    std::string const data = RATION_BENCH_DATA "/pollux";
    auto const library = profiles();
    std::vector<sim::workload> workloads;
    for (int i = 1; i <= 4; ++i) {
        auto jobs = sim::trace::read_file((data + "/workload-" + std::to_string(i) + ".csv").c_str(), library);
        if (!jobs) stop(jobs.failure().text);
        workloads.push_back(std::move(*jobs));
    }
    return workloads;
}

void bench_elastic(std::vector<sim::workload> const& workloads) {
    std::printf(
        "\nthe published workloads of 160 elastic jobs on 16x4 devices: mean JCT in seconds (seconds of the processor)\n%-14s",
        "");
    for (std::size_t i = 1; i <= workloads.size(); ++i) std::printf("     workload-%zu", i);
    std::printf("      mean\n");
    auto const machines = nodes_of(16, 4);
    auto const row = [&](named_policy const& p) {
        std::printf("%-14s", p.name);
        double sum = 0;
        for (auto const& jobs : workloads) {
            auto const m = simulate(jobs, machines, p, {.interval = seconds(60)});
            auto const f = sim::figures_of(jobs, machines, sim::needs_of(jobs, machines), m.outcome);
            if (m.outcome.how != sim::ending::all_done)
                stop(std::string(p.name) + ": " + std::string(name_of(m.outcome.how)));
            sum += f.mean_jct;
            std::printf("  %6.0f (%.2f)", f.mean_jct, m.seconds);
        }
        std::printf("  %8.0f\n", sum / 4);
    };
    for (auto const& p : elastic_policies()) row(p);
    std::printf("%-14s", "bound");
    for (auto const& jobs : workloads)
        std::printf("  %6.0f       ", sim::bounds_of(jobs, sim::needs_of(jobs, machines), machines).mean_jct);
    std::printf("\npublished: pollux 2089 3323 2188 2721, optimus 4087 6914 3944 5968, tiresias 2474 5145 3876 3280\n");
}

/// Workloads by the seed of the errors; a published one is the same for all.
struct noisy_workload {
    std::string name;
    std::function<sim::workload(std::uint64_t)> make;
    std::uint64_t seeds = 5;
    double student = 2.776;  // 95 %, 4 degrees of freedom
};

[[nodiscard]] std::vector<noisy_workload> noisy_workloads(std::vector<sim::workload> const& published,
                                                          sim::model_library const& library) {
    constexpr std::uint64_t seeds = 20;
    constexpr double student = 2.093;  // 19 degrees of freedom
    std::vector<noisy_workload> all;
    for (std::size_t w = 0; w < published.size(); ++w)
        all.push_back({"workload-" + std::to_string(w + 1), [&, w](std::uint64_t) { return published[w]; }});
    for (double const per_hour : {20.0, 40.0})
        all.push_back({"profiled " + std::to_string(static_cast<int>(per_hour)),
                       [&, per_hour](std::uint64_t seed) {
                           return sim::make_profiled({.seed = seed, .jobs = 160, .jobs_per_hour = per_hour}, library);
                       },
                       seeds, student});
    all.push_back(
        {"scaling 20",
         [](std::uint64_t seed) { return sim::make_scaling({.seed = seed, .jobs = 400, .jobs_per_hour = 20}); }, seeds,
         student});
    return all;
}

/// Prints good_enough minus another policy, paired by seed.
void print_noise(noisy_workload const& from, named_policy const& tested, named_policy const& other) {
    auto const machines = nodes_of(16, 4);
    auto const seeds = static_cast<double>(from.seeds);
    double sum = 0, squares = 0, p99 = 0, makespan = 0, rho = 0;
    for (std::uint64_t seed = 1; seed <= from.seeds; ++seed) {
        auto const jobs = from.make(seed);
        sim::sim_options how{.interval = seconds(60), .seed = seed};
        how.noise.set(sim::prediction_named("jobs/remaining"), 0.5);
        auto const figures = [&](named_policy const& p) {
            return sim::figures_of(jobs, machines, sim::needs_of(jobs, machines),
                                   simulate(jobs, machines, p, how).outcome);
        };
        auto const a = figures(tested), b = figures(other);
        double const difference = a.mean_jct - b.mean_jct;
        sum += difference;
        squares += difference * difference;
        p99 += (a.p99_jct - b.p99_jct) / seeds;
        makespan += (a.makespan - b.makespan) / seeds;
        rho += (a.worst_rho - b.worst_rho) / seeds;
    }
    double const mean = sum / seeds, variance = (squares - sum * mean) / (seeds - 1);
    std::printf("%-12s %-8s %+8.0f +- %4.0f %+9.0f %+11.0f %+10.1f\n", from.name.c_str(), other.name, mean,
                from.student * std::sqrt(variance / seeds), p99, makespan, rho);
}

/// The remaining work that good_enough reads is wrong by a log-normal factor with sigma 0.5; pollux and sia do not read
/// it.
void bench_noise(std::vector<sim::workload> const& published, sim::model_library const& library) {
    named_policy const tested = named("good_enough", policies::good_enough({.at_changes = false}));
    std::printf(
        "\nnoise of 0.5 on the remaining work: good_enough minus the other policy\n%-12s %-8s %16s %9s %11s %10s\n", "",
        "other", "mean JCT s", "p99 s", "makespan s", "worst rho");
    for (auto const& from : noisy_workloads(published, library))
        for (auto const& other : {named("pollux", policies::pollux({.at_changes = false})),
                                  named("sia", policies::sia({.at_changes = false}))})
            print_noise(from, tested, other);
}

void bench_estimates() {
    auto const library = profiles();
    std::ifstream file(RATION_BENCH_DATA "/loss/fits.csv");
    auto const losses = sim::read_cpu_models(std::string{std::istreambuf_iterator<char>(file), {}});
    if (!losses) stop(losses.failure().text);
    auto const curves = bench::curves_to_follow(*losses);
    auto const profiled = [&](std::uint64_t seed) {
        return sim::make_profiled({.seed = seed, .jobs = 80, .jobs_per_hour = 30}, library);
    };
    auto const scaling = [](std::uint64_t seed) {
        return sim::make_scaling({.seed = seed, .jobs = 80, .jobs_per_hour = 30});
    };
    auto const with_losses = [&](auto const& make) {
        return [&](std::uint64_t seed) {
            auto jobs = make(seed);
            sim::add_losses(jobs, curves);
            return jobs;
        };
    };
    bench::print_estimate_cost({{"profiled", profiled},
                                {"and remaining est.", with_losses(profiled), true},
                                {"scaling", scaling},
                                {"and remaining est.", with_losses(scaling), true}},
                               nodes_of(8, 4), 20);
}

/// Workloads that count as one.
struct workload_group {
    char const* name;
    std::vector<sim::workload> workloads;
};

/// Means of figures of a policy over workloads, each once: as a line of a table, or as a line of JSON in seconds.
/// `patience`: of good_enough.
void print_figures(workload_group const& of, named_policy const& p, double const* patience, bool as_json) {
    auto const machines = nodes_of(16, 4);
    double mean = 0, p99 = 0, makespan = 0, rho = 0, restarts = 0;
    auto const n = static_cast<double>(of.workloads.size());
    for (auto const& jobs : of.workloads) {
        auto const m = simulate(jobs, machines, p, {.interval = seconds(60)});
        auto const f = sim::figures_of(jobs, machines, sim::needs_of(jobs, machines), m.outcome);
        mean += f.mean_jct / n;
        p99 += f.p99_jct / n;
        makespan += f.makespan / n;
        rho += f.worst_rho / n;
        for (auto const& job : m.outcome.jobs)
            restarts += job.restarts / n / static_cast<double>(m.outcome.jobs.size());
    }
    std::string const value = patience != nullptr ? std::to_string(static_cast<int>(*patience)) : "null";
    if (as_json)
        std::printf(R"({"workload":"%s","policy":"%s","patience":%s,"mean_jct":%.1f,"p99_jct":%.1f,)"
                    R"("makespan":%.1f,"worst_rho":%.2f,"restarts":%.2f})"
                    "\n",
                    of.name, p.name, value.c_str(), mean, p99, makespan, rho, restarts);
    else
        std::printf("%-24s %9.1f %9.1f %9.0f %9.1f %9.2f\n",
                    (p.name + (patience != nullptr ? ", " + value + " s" : "")).c_str(), mean / 60, p99 / 60,
                    makespan / 60, rho, restarts);
}

/// good_enough by patience, beside other policies. `short_form`: of few jobs, for a test.
void bench_patience(bool as_json, bool short_form) {
    auto const library = profiles();
    std::vector<workload_group> groups{{"profiled:jobs=160,per_hour=20", {}},
                                       {"profiled:jobs=160,per_hour=40", {}},
                                       {"scaling:jobs=400,per_hour=20", {}}};
    for (std::uint64_t seed = 1; seed <= (short_form ? 1 : 5); ++seed) {
        std::size_t const jobs = short_form ? 8 : 160;
        for (std::size_t i = 0; i < 2; ++i)
            groups[i].workloads.push_back(
                sim::make_profiled({.seed = seed, .jobs = jobs, .jobs_per_hour = i == 0 ? 20.0 : 40.0}, library));
        groups[2].workloads.push_back(
            sim::make_scaling({.seed = seed, .jobs = short_form ? 8UL : 400UL, .jobs_per_hour = 20}));
    }
    if (!short_form) groups.push_back({"the four published workloads", published_workloads()});
    for (auto const& group : groups) {
        if (!as_json)
            std::printf("\n%s\n%-24s %9s %9s %9s %9s %9s\n", group.name, "", "mean min", "p99 min", "makespan",
                        "worst rho", "restarts");
        for (auto const& p : elastic_policies())
            if (std::string_view const name = p.name;
                name == "pollux" || name == "sia" || name == "srtf" || name == "afs")
                print_figures(group, p, nullptr, as_json);
        for (double const patience : {0.0, 28'800.0, 7200.0, 3600.0, 1800.0, 900.0, 450.0})
            print_figures(group,
                          named("good_enough", policies::good_enough({.at_changes = false, .patience = patience})),
                          &patience, as_json);
    }
}

}  // namespace

int main(int count, char** words) {
    std::string_view const first = count > 1 ? words[1] : "", option = count == 3 ? words[2] : "";
    if (first == "patience" && (count == 2 || option == "--json" || option == "short")) {
        bench_patience(count == 3, option == "short");
        return 0;
    }
    if (count == 2 && first == "estimates") bench_estimates();
    if (count == 2 && first == "noise") bench_noise(published_workloads(), profiles());
    if (count == 2 && (first == "estimates" || first == "noise")) return 0;
    if (count % 2 == 0)
        stop("give each trace its cluster: bench.sim TRACE NODESxDEVICES; or write estimates, noise or patience");
    for (int i = 1; i + 1 < count; i += 2) bench_trace(words[i], words[i + 1]);
    if (count > 1) return 0;
    std::printf("20 000 synthetic jobs on 128x8 devices\n");
    print_rigid(sim::make_rigid({.jobs = 20'000, .jobs_per_hour = 160}, {}), nodes_of(128, 8), 0);
    bench_growth();
    auto const workloads = published_workloads();
    bench_elastic(workloads);
    bench_noise(workloads, profiles());
}
