// SPDX-License-Identifier: BSL-1.0
// `ration sim` on jobs with phases: phase_limits, and the estimator beside the phases themselves.
#include "program.hpp"

using namespace simulate_test;

namespace {

[[nodiscard]] words on(char const* jobs, words more) {
    words all{"--generate", jobs, "--cluster", "1x96cores", "--interval", "20"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

[[nodiscard]] double mean(simulation_results const& of, int policy, char const* figure) {
    return json::parse(table_json(of))["policies"][policy]["figures"][figure]["mean"].get<double>();
}

}  // namespace

TEST_CASE("phases: policies and estimators that need them are refused where no job has any") {
    CHECK(ran({"--generate", "rigid:jobs=3", "--cluster", "1x4+4cores", "--policy", "phase_limits"}).problem() ==
          "the policy 'phase_limits' reads the column jobs/phase, and no job has phases: name a trace with the column "
          "phases, or write --generate phases");
    CHECK(
        ran({"--generate", "rigid:jobs=3", "--cluster", "1x4", "--policy", "fifo", "--estimate", "phases"}).problem() ==
        "--estimate: no job of rigid has phases: name a trace with the column phases, or write --generate phases");
    CHECK(ran(on("phases:jobs=3", {"--policy", "none", "--estimate", "phases"})).problem() ==
          "--estimate: no policy reads jobs/phase, jobs/expected.cpu, jobs/expected.memory; choose one that does, such "
          "as phase_limits");
    CHECK(ran({"--generate", "phases:jobs=3", "--cluster", "1x4", "--policy", "phase_limits"})
              .problem()
              .starts_with("--generate: these jobs run on processors, and --cluster has none: write 1x8cores"));
}

// Less than a tenth of the minutes of training has a save in it, so that the 0.9-quantile does not see it coming.
TEST_CASE("phases: estimates save memory at the price of kills, which the phases themselves do not cost") {
    ran const both(on("phases:jobs=16", {"--policy", "none,phase_limits", "--set", "phase_limits.limit_memory=true",
                                         "--estimate", "phases"}));
    REQUIRE(both.problems.empty());
    auto const results = both.results();
    REQUIRE(results.policies.size() == 3);
    CHECK(results.policies[2].label == "phase_limits (exact)");
    CHECK(mean(results, 1, "reserved_memory") < 0.9 * mean(results, 0, "reserved_memory"));
    CHECK(mean(results, 1, "reserved_cpu") > 1.05 * mean(results, 2, "reserved_cpu"));
    CHECK(mean(results, 2, "reserved_cpu") < 0.95 * mean(results, 0, "reserved_cpu"));
    CHECK(mean(results, 1, "kills") > 16);
    CHECK(mean(results, 2, "kills") == 0);
    CHECK(mean(results, 1, "mean_jct") < 1.05 * mean(results, 0, "mean_jct"));
    CHECK(mean(results, 1, "unfinished") == 0);
    CHECK(mean(results, 0, "kills") == 0);
    auto const text = table_text(results);
    CHECK(text.find("CPU reserved / used") != text.npos);
    CHECK(text.find("memory reserved / used") != text.npos);
    CHECK(text.find("kills by memory limits") != text.npos);
    CHECK(table_json(both.results()) == table_json(results));
    CHECK(without_measured(report_html(results)).find("CPU reserved / used") != std::string::npos);
}

TEST_CASE("phases: models are learned for each class, from jobs of that class") {
    temporary_file const file;
    std::ofstream(file.path()) << "job_id,submit_time,num_gpus,model,phases\n"
                                  "a,0,,small,200:1:1e8:0.1 200:2:1e8:0.1\n"
                                  "b,0,,large,200:1:9e9:0.1 200:2:9e9:0.1\n";
    ran const two(
        {"--trace", file.path(), "--cluster", "1x8cores", "--policy", "phase_limits", "--estimate", "phases"});
    REQUIRE(two.problems.empty());
    auto const& models = two.input.samples[0].phases;
    REQUIRE(models.size() == 2);
    CHECK(models[0].memory.mean == Approx(1e8).epsilon(0.05));
    CHECK(models[1].memory.mean == Approx(9e9).epsilon(0.05));
    CHECK(models[0].period == 20);
}

TEST_CASE("phases: other workloads have no such lines in the table") {
    three_jobs const jobs;
    ran const one({"--trace", jobs.path(), "--cluster", "1x1", "--policy", "fifo"});
    auto const text = table_text(one.results());
    CHECK(text.find("reserved") == text.npos);
    CHECK(text.find("kills") == text.npos);
    CHECK(text.find("cost") == text.npos);
}
