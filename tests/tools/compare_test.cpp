// SPDX-License-Identifier: BSL-1.0
#include "run/compare.hpp"

#include <nlohmann/json.hpp>

#include "support/catch.hpp"

using namespace ration;
using namespace ration::program;
using nlohmann::json;

namespace {

/// All times in seconds on the clock of the run; below 0 is never.
[[nodiscard]] job_summary job(std::string name, double arrived, double acceptable, double objective, double ended) {
    auto const at = [](double s) { return s < 0 ? std::nullopt : std::optional(seconds(s)); };
    job_summary j;
    j.name = std::move(name);
    j.arrived = seconds(arrived);
    j.started = seconds(arrived);
    j.acceptable_at = at(acceptable);
    j.objective_at = at(objective);
    j.ended_at = at(ended);
    j.how = ended < 0 ? condition::running : condition::finished;
    return j;
}

[[nodiscard]] run_summary none_run() {
    return {.policy = "none",
            .jobs = {job("first", 0, 10, 20, 40), job("second", 5, 25, 35, 45), job("third", 10, 50, -1, 60)},
            .makespan = seconds(60),
            .mean_cpu = 1.9,
            .approximate = {}};
}

[[nodiscard]] run_summary tradl_run() {
    return {.policy = "tradl",
            .jobs = {job("first", 0, 10, 25, 44), job("second", 5, 20, 34, 43), job("third", 10, 40, 55, 57)},
            .makespan = seconds(57),
            .mean_cpu = 1.95,
            .approximate = {}};
}

/// The table with one blank where there are several: how it is aligned is one test's business.
[[nodiscard]] std::string squeezed(std::string const& table) {
    std::string out;
    for (char const c : table)
        if (c != ' ' || out.empty() || out.back() != ' ') out += c;
    return out;
}

[[nodiscard]] bool has_line(std::string const& table, std::string const& line) {
    return table.find('\n' + line + '\n') != std::string::npos;
}

}  // namespace

TEST_CASE("comparison: the table of two runs") {
    std::vector<run_summary> const runs{none_run(), tradl_run()};
    CHECK('\n' + comparison_text(runs) == R"(
                                   none       tradl   change
time to Acceptable
  first                          10.0 s      10.0 s   +0.0 %
  second                         20.0 s      15.0 s  -25.0 %
  third                          40.0 s      30.0 s  -25.0 %
  mean of 2 after the first      30.0 s      22.5 s  -25.0 %
time to Objective
  first                          20.0 s      25.0 s  +25.0 %
  second                         30.0 s      29.0 s   -3.3 %
  third                           never      45.0 s        -
time to the end
  first                          40.0 s      44.0 s  +10.0 %
  second                         40.0 s      38.0 s   -5.0 %
  third                          50.0 s      47.0 s   -6.0 %
makespan                         60.0 s      57.0 s   -5.0 %
mean cpu use                 1.90 cores  1.95 cores   +2.6 %
)");
}

TEST_CASE("comparison: three runs: each against the first") {
    std::vector<run_summary> runs{none_run(), tradl_run(), tradl_run()};
    runs[1].policy = "equal_share";
    runs[1].makespan = seconds(66);
    CHECK(has_line(squeezed(comparison_text(runs)), "makespan 60.0 s 66.0 s +10.0 % 57.0 s -5.0 %"));
}

TEST_CASE("comparison: what went wrong or was approximate is said once, in sentences") {
    std::vector<run_summary> runs{none_run(), tradl_run()};
    runs[0].approximate = runs[1].approximate = {"cpu is held back by stopping processes"};
    runs[1].interrupted = true;
    runs[1].jobs[0].how = condition::failed;
    runs[1].jobs[0].why = "exit code 3";
    runs[1].jobs[1].how = condition::stopped;
    runs[1].jobs[2] = job("third", 10, -1, -1, -1);
    auto const text = comparison_text(runs);
    CHECK(
        text.ends_with("The mean leaves out third, which did not reach Acceptable in every run.\n"
                       "The run under tradl was interrupted.\n"
                       "first failed under tradl: exit code 3\n"
                       "Approximate: cpu is held back by stopping processes\n"));
    CHECK(has_line(squeezed(text), " first 40.0 s failed 44.0 s -"));
    CHECK(has_line(squeezed(text), " second 40.0 s stopped 38.0 s -"));
    CHECK(has_line(squeezed(text), " third 50.0 s running -"));
    CHECK(has_line(squeezed(text), " mean after the first 20.0 s 15.0 s -25.0 %"));
}

TEST_CASE("comparison: the mean is over the same jobs in every run") {
    std::vector<run_summary> runs{none_run(), tradl_run()};
    CHECK(jobs_after_the_first(runs).counted == std::vector<std::size_t>{1, 2});
    CHECK(mean_to_acceptable(runs[0], jobs_after_the_first(runs)) == 30.0);
    CHECK(mean_to_acceptable(runs[1], jobs_after_the_first(runs)) == 22.5);
    runs[1].jobs[1].acceptable_at.reset();
    CHECK(jobs_after_the_first(runs).counted == std::vector<std::size_t>{2});
    CHECK(jobs_after_the_first(runs).left_out == std::vector<std::size_t>{1});
    CHECK(mean_to_acceptable(runs[0], jobs_after_the_first(runs)) == 40.0);
    runs[0].jobs[2].acceptable_at.reset();
    CHECK_FALSE(mean_to_acceptable(runs[0], jobs_after_the_first(runs)).has_value());
    CHECK(has_line(squeezed(comparison_text(runs)), " mean after the first never never -"));
}

TEST_CASE("comparison: jobs that arrive together with the earliest one, wherever it stands, are not late") {
    std::vector<run_summary> runs{none_run()};
    runs[0].jobs[0].arrived = seconds(7);
    runs[0].jobs[1].arrived = runs[0].jobs[2].arrived = seconds(3);
    CHECK(jobs_after_the_first(runs).counted == std::vector<std::size_t>{0});
    for (auto& j : runs[0].jobs) j.arrived = seconds(0);
    CHECK(comparison_text(runs).find("after the first") == std::string::npos);
}

TEST_CASE("comparison: jobs without a tier have no row for it") {
    std::vector<run_summary> runs{none_run(), tradl_run()};
    for (auto& run : runs) {
        run.jobs[1].has_acceptable = false;
        for (auto& j : run.jobs) j.has_objective = false;
    }
    auto const text = comparison_text(runs);
    CHECK(text.find("time to Objective") == std::string::npos);
    CHECK(has_line(squeezed(text), " mean after the first 40.0 s 30.0 s -25.0 %"));
    auto const acceptable = text.substr(0, text.find("time to the end"));
    CHECK(acceptable.find("second") == std::string::npos);
}

TEST_CASE("comparison: one run has a table without changes") {
    std::vector<run_summary> const one{none_run()};
    auto const text = comparison_text(one);
    CHECK(text.starts_with(
        "                                   none\ntime to Acceptable\n  first                          10.0 s\n"));
    CHECK(text.find('%') == std::string::npos);
    CHECK(comparison_text({}).empty());
}

TEST_CASE("comparison: the same as JSON") {
    std::vector<run_summary> const runs{none_run(), tradl_run()};
    auto const j = json::parse(comparison_json(runs));
    CHECK(j["event"] == "comparison");
    REQUIRE(j["runs"].size() == 2);
    CHECK(j["runs"][1]["policy"] == "tradl");
    CHECK(j["runs"][1]["interrupted"] == false);
    CHECK(j["runs"][0]["makespan"] == 60.0);
    CHECK(j["runs"][1]["makespan_change"] == Approx(-5.0));
    CHECK(j["runs"][1]["mean_to_acceptable_after_the_first"] == 22.5);
    CHECK(j["runs"][1]["mean_to_acceptable_after_the_first_change"] == Approx(-25.0));
    CHECK(j["runs"][0]["jobs"][2] == json::parse(R"({"job":"third","arrived":10,"how":"finished","to_acceptable":40,
          "to_acceptable_change":0,"to_objective":null,"to_objective_change":null,"to_end":50,"why":""})"));
    CHECK(j["runs"][1]["jobs"][2]["to_objective"] == 45.0);
    CHECK(j["runs"][1]["jobs"][2]["to_objective_change"].is_null());
    CHECK(j["runs"][1]["jobs"][1]["to_acceptable_change"] == Approx(-25.0));
}
