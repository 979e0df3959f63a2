// SPDX-License-Identifier: BSL-1.0
// `ration sim --estimate`.
#include "program.hpp"

using namespace simulate_test;

namespace {

[[nodiscard]] words with(words more) {
    words all{"--generate", "rigid:jobs=60,per_hour=60", "--cluster", "2x4", "--interval", "15", "--seeds", "2"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

[[nodiscard]] words estimated(words more) {
    more.insert(more.end(), {"--models", fits, "--estimate", "remaining"});
    return with(more);
}

[[nodiscard]] json figures(ran const& of, int policy) {
    return json::parse(table_json(of.results()))["policies"][policy]["figures"];
}

}  // namespace

TEST_CASE("--estimate: a name without an estimator, noise on top, and no losses are refused in one sentence") {
    CHECK(
        refusal(with({"--policy", "srtf", "--estimate", "speedup"})) ==
        "ration: --estimate: 'speedup' has no estimator; choose remaining, speed, duration, phases, or name the file of one");
    CHECK(ran(estimated({"--policy", "srtf", "--noise", "remaining=0.5"})).problem() ==
          "--estimate: an estimate has its own errors: leave --noise remaining out");
    CHECK(ran(with({"--policy", "srtf", "--estimate", "remaining"})).problem() ==
          "--estimate: jobs on devices have no losses: name fitted ones with --models, as in --models "
          "bench/data/loss/fits.csv");
    CHECK(ran(estimated({"--policy", "fifo,las"})).problem() ==
          "--estimate: no policy reads jobs/remaining; choose one that does, such as srtf");
    CHECK(ran(with({"--policy", "srtf", "--estimate", "speed"})).problem() ==
          "--estimate: no policy reads jobs/goodput, jobs/goodput.fixed, jobs/speedup; choose one that does, such as "
          "pollux");
    CHECK(ran(with({"--policy", "pollux", "--estimate", "speed", "--noise", "goodput=0.5"})).problem() ==
          "--estimate: an estimate has its own errors: leave --noise goodput out");
    CHECK(ran({"--generate", "rigid:jobs=9", "--cluster", "2x4:a,2x4:b", "--policy", "sia", "--estimate", "speed"})
              .problem() ==
          "--estimate: speeds on one type of nodes do not predict those on another: name nodes of one type in "
          "--cluster");
    CHECK(ran({"--generate", "rigid:jobs=1000001", "--cluster", "2x4", "--policy", "srtf", "--models", fits,
               "--estimate", "remaining"})
              .problem() == "--estimate: a stream of jobs has no losses; generate at most 1000000 jobs");
}

TEST_CASE("--estimate: each policy that reads the column has a row with the exact values behind its own") {
    ran const both(estimated({"--policy", "fifo,srtf", "--set", "srtf.unknown=first"})),
        exact(with({"--policy", "srtf", "--set", "srtf.unknown=first"}));
    REQUIRE(both.problems.empty());
    auto const results = both.results();
    REQUIRE(results.policies.size() == 3);
    CHECK(results.policies[1].label == "srtf");
    CHECK(results.policies[2].label == "srtf (exact)");
    CHECK(headline(results).ends_with(", estimated remaining"));
    CHECK(json::parse(table_json(results))["estimates"] == json::array({"remaining"}));
    CHECK(figures(both, 2) == figures(exact, 0));
    CHECK(figures(both, 1) != figures(both, 2));
    CHECK(table_json(both.results()) == table_json(results));
}

TEST_CASE("--estimate: srtf without lengths in advance is within a quarter of exact ones, and ahead of fifo") {
    ran const both(estimated({"--policy", "fifo,srtf", "--set", "srtf.unknown=first"}));
    auto const mean = [&](int policy) { return figures(both, policy)["mean_jct"]["mean"].get<double>(); };
    CHECK(mean(1) >= mean(2));
    CHECK(mean(1) < 1.25 * mean(2));
    CHECK(mean(1) < mean(0));
}

TEST_CASE("--estimate: a trace is a sample for each seed of the losses") {
    three_jobs const jobs;
    ran const trace({"--trace", jobs.path(), "--cluster", "1x1", "--policy", "srtf", "--seeds", "3", "--models", fits,
                     "--estimate", "remaining"});
    CHECK(trace.input.samples.size() == 3);
}

TEST_CASE("--estimate speed: each elastic policy learns speeds as its jobs run, and pays less than a tenth for it") {
    ran const both({"--generate", "profiled:jobs=60,per_hour=30", "--models", RATION_BENCH_DATA "/pollux", "--cluster",
                    "4x4", "--policy", "optimus,pollux,sia,elastic_batch_dp", "--seeds", "1", "--estimate", "speed"});
    REQUIRE(both.problems.empty());
    for (int policy = 0; policy < 8; policy += 2) {
        auto const mean = [&](int p) { return figures(both, p)["mean_jct"]["mean"].get<double>(); };
        INFO(both.results().policies[policy].label);
        CHECK(mean(policy) != mean(policy + 1));
        CHECK(mean(policy) < 1.1 * mean(policy + 1));
    }
}

TEST_CASE(
    "--estimate duration: policies learn lengths as jobs end; gittins pays nothing, and sjf stays ahead of fifo") {
    ran const both(with({"--policy", "fifo,gittins,sjf", "--estimate", "duration"}));
    REQUIRE(both.problems.empty());
    REQUIRE(both.results().policies.size() == 5);
    auto const mean = [&](int policy) { return figures(both, policy)["mean_jct"]["mean"].get<double>(); };
    CHECK(mean(1) != mean(2));
    CHECK(mean(1) < 1.1 * mean(2));
    CHECK(mean(3) > mean(4));
    CHECK(mean(3) < 0.5 * mean(0));
    CHECK(headline(both.results()).ends_with(", estimated duration"));
}

TEST_CASE("--estimate remaining,speed: good_enough, which reads both, pays less than a third and stays ahead of srtf") {
    ran const both({"--generate", "profiled:jobs=60,per_hour=30", "--models", RATION_BENCH_DATA "/pollux", "--models",
                    fits, "--cluster", "4x4", "--interval", "15", "--policy", "srtf,good_enough", "--set",
                    "srtf.unknown=first", "--estimate", "remaining,speed"});
    REQUIRE(both.problems.empty());
    auto const mean = [&](int policy) { return figures(both, policy)["mean_jct"]["mean"].get<double>(); };
    CHECK(mean(0) < 1.25 * mean(1));
    CHECK(mean(2) < 1.33 * mean(3));
    CHECK(mean(2) < mean(1));
    CHECK(headline(both.results()).ends_with(", estimated remaining, speed"));
}
