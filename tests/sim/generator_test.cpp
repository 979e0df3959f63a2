// SPDX-License-Identifier: BSL-1.0
// Synthetic workloads: the same for the same seed, and like what they are fitted to.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ration/sim/cpu_model.hpp>
#include <ration/sim/generator.hpp>
#include <ration/sim/profile_files.hpp>
#include <ration/sim/trace/read.hpp>
#include <ration/sim/trace/write.hpp>

#include "support/catch.hpp"
#include "traces.hpp"

using namespace ration;
using namespace ration::sim;
using Catch::Approx;

namespace {

/// FNV-1a.
[[nodiscard]] std::uint64_t fingerprint(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (unsigned char const c : text) hash = (hash ^ c) * 0x100000001b3;
    return hash;
}
[[nodiscard]] double hours(nanoseconds t) { return to_seconds(t) / 3600; }

/// Share of jobs for which something holds.
template <class Is>
[[nodiscard]] double share(workload const& w, Is const& is) {
    return static_cast<double>(std::count_if(w.jobs.begin(), w.jobs.end(), is)) / static_cast<double>(w.jobs.size());
}

}  // namespace

TEST_CASE("a seed is a workload, bit for bit, with every compiler", "[generator]") {
    generator_options const o{.seed = 7, .jobs = 500, .jobs_per_hour = 30, .arrivals = arrival_pattern::diurnal};
    std::string const rigid = trace::written(make_rigid(o)), scaling = trace::written(make_scaling(o));
    CHECK(rigid == trace::written(make_rigid(o)));
    CHECK(fingerprint(rigid) == 0x1c05e48d34691c50);
    CHECK(fingerprint(scaling) == 0x0906165fe988b964);
    generator_options other = o;
    other.seed = 8;
    CHECK(trace::written(make_rigid(other)) != rigid);
    CHECK(trace::written(make_scaling(other)) != scaling);
    other = o;
    other.jobs = 100;  // the first hundred are the same
    CHECK(rigid.starts_with(trace::written(make_rigid(other))));
}

TEST_CASE("jobs on processors: of all models that run there, longer than their usual length by up to once more",
          "[generator]") {
    auto const curves = [](double steps) {
        return std::make_shared<cpu_model>(loss_curve{.floor = 0, .power = 1, .power_steps = steps}, 100, 1, 0.1);
    };
    model_library const library{{"rigid", std::make_shared<rigid_model>(), {}},
                                {"short", curves(10), {.request = 0, .least = 0, .most = 0, .length = 100}},
                                {"long", curves(100), {.request = 0, .least = 0, .most = 0, .length = 1000}}};
    auto const made = make_cpu({.seed = 7, .jobs = 2000, .jobs_per_hour = 200}, library);
    REQUIRE(made.jobs.size() == 2000);
    CHECK(made.model_names == std::vector<std::string>{"short", "long"});
    CHECK(share(made, [](auto const& job) { return job.model == 0; }) == Approx(0.5).margin(.03));
    CHECK(share(made, [](auto const& job) {
              return job.length >= (job.model == 0 ? 100 : 1000) && job.length <= (job.model == 0 ? 200 : 2000);
          }) == 1);
    CHECK(share(made, [](auto const& job) { return job.length > (job.model == 0 ? 150 : 1500); }) ==
          Approx(0.5).margin(.04));
    CHECK(share(made, [&](auto const& job) { return made.runs_on_cpu(job) && job.request == 0 && job.most == 0; }) ==
          1);
    CHECK(fingerprint(trace::written(make_cpu({.seed = 7, .jobs = 500, .jobs_per_hour = 200}, library))) ==
          0x811ba93d07969554);
    CHECK(make_cpu({}, {library[0]}).jobs.empty());

    auto const again = trace::read(trace::written(made), library, made.name);
    REQUIRE(again);
    CHECK(trace::written(*again) == traces::written_from_first(made));
}

TEST_CASE("arrivals: ascending, at the rate that was asked for, in their pattern", "[generator]") {
    for (auto const pattern : {arrival_pattern::poisson, arrival_pattern::bursty, arrival_pattern::diurnal}) {
        auto const times = arrivals(pattern, 40, 20'000, 3);
        REQUIRE(times.size() == 20'000);
        CHECK(std::is_sorted(times.begin(), times.end()));
        CHECK(20'000 / hours(times.back()) == Approx(40).epsilon(pattern == arrival_pattern::bursty ? .08 : .03));
        double gaps = 0, squares = 0, night = 0;
        for (std::size_t i = 1; i < times.size(); ++i) {
            double const gap = to_seconds(times[i] - times[i - 1]);
            gaps += gap;
            squares += gap * gap;
            double const hour = std::fmod(hours(times[i]), 24.0);
            night += hour < 6 || hour >= 18;
        }
        double const mean = gaps / 19'999, deviation = std::sqrt(squares / 19'999 - mean * mean);
        if (pattern == arrival_pattern::poisson) CHECK(deviation / mean == Approx(1).epsilon(.05));
        if (pattern == arrival_pattern::bursty) CHECK(deviation / mean > 2.5);
        // (0.2 + 1) / 2 of half a day
        CHECK(night / 19'999 == Approx(pattern == arrival_pattern::diurnal ? .3 : .5).margin(.025));
    }
}

TEST_CASE("bursts are as frequent as the rate asks for, also where jobs are nearly as close to each other without them",
          "[generator]") {
    auto const times = arrivals(arrival_pattern::bursty, 400, 20'000, 3);
    CHECK(20'000 / hours(times.back()) == Approx(400).epsilon(.05));
    // A mean gap of 1 s, below the 5 s of a burst
    auto const crowded = arrivals(arrival_pattern::bursty, 3600, 20'000, 3);
    CHECK(20'000 / hours(crowded.back()) == Approx(3600).epsilon(.05));
}

TEST_CASE("rigid: the figures of a large cluster", "[generator]") {
    workload const w = make_rigid({.seed = 2, .jobs = 80'000}, {.most_devices = 64, .shortest = 1, .longest = 5e6});
    CHECK(share(w, [](auto const& j) { return j.request == 1; }) == Approx(.9317).margin(.004));
    CHECK(share(w, [](auto const& j) { return j.request > 8; }) == Approx(.0035).margin(.0012));
    CHECK(share(w, [](auto const& j) { return j.tenant == 0; }) == Approx(.501).margin(.008));
    CHECK(w.tenants.size() == 15);
    CHECK(share(w, [](auto const& j) { return j.length <= 1144; }) == Approx(.5).margin(.015));
    CHECK(share(w, [](auto const& j) { return j.length > 11'266; }) == Approx(.1).margin(.01));
    CHECK(share(w, [](auto const& j) { return j.length > 147'876; }) == Approx(.02).margin(.004));
    for (auto const& j : w.jobs)
        REQUIRE((std::has_single_bit(static_cast<std::uint64_t>(j.request)) && j.least == j.request &&
                 j.most == j.request));
    workload const common = make_rigid({.seed = 2, .jobs = 20'000});
    for (auto const& j : common.jobs) REQUIRE((j.request <= 32 && j.length >= 60 && j.length <= 172'800));
}

TEST_CASE("scaling: four categories, and a control in which no batch can change", "[generator]") {
    workload const w = make_scaling({.seed = 4, .jobs = 8000});
    for (std::uint32_t m = 0; m < 4; ++m)
        CHECK(share(w, [m](auto const& j) { return j.model == m; }) == Approx(.25).margin(.02));
    auto const all = scaling_categories();
    auto const speedup = [&](std::size_t c, std::int64_t k) {
        parametric_model const m(all[c].of);
        return m.rate(std::min(k * 64, all[c].of.most_batch), k, k > 4, 0) / m.rate(64, 1, false, 0);
    };
    CHECK(speedup(0, 8) > speedup(2, 8));
    CHECK(speedup(2, 8) > speedup(1, 8));
    double seconds = 0;
    for (auto const& j : w.jobs) {
        auto const& m = static_cast<parametric_model const&>(*w.models[j.model]);
        seconds += j.length / m.rate(j.batch, j.request, false, 0);
        REQUIRE(j.least <= j.request);
    }
    CHECK(seconds / 8000 == Approx(3600).epsilon(.06));
    workload const control = make_scaling({.seed = 4, .jobs = 50}, {.fixed_batches = true});
    for (auto const& model : control.models) {
        auto const& of = static_cast<parametric_model const&>(*model).parameters();
        CHECK(of.least_batch == of.most_batch);
    }
    for (auto const& j : control.jobs)
        CHECK(static_cast<parametric_model const&>(*control.models[j.model]).rate(j.batch, j.least, false, 0) > 0);
}

TEST_CASE("profiled: the mix of the workloads that come with the profiles", "[generator]") {
    auto const library = load_profiles(RATION_BENCH_DATA "/pollux");
    REQUIRE(library);
    workload const w = make_profiled({.seed = 5, .jobs = 6400}, *library);
    auto const of = [&](std::string_view name) {
        return share(w, [&](auto const& j) { return w.model_names[j.model] == name; });
    };
    CHECK(of("ncf") == Approx(263 / 640.0).margin(.025));
    CHECK(of("cifar10") == Approx(242 / 640.0).margin(.025));
    CHECK(of("imagenet") == Approx(11 / 640.0).margin(.007));
    for (auto const& j : w.jobs) REQUIRE((j.length > 0 && j.restart_cost == 30 && j.request <= j.most && j.batch > 0));
    CHECK(w.job_names.size() == 6400);
    auto const again = trace::read(trace::written(w), *library, "profiled");
    REQUIRE(again);
    CHECK(trace::written(*again) == traces::written_from_first(w));
    CHECK(make_profiled({.jobs = 10}, {}).jobs.empty());
}
