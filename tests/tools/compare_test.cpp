// SPDX-License-Identifier: BSL-1.0
#include <cmath>
#include <nlohmann/json.hpp>

#include "common/statistics.hpp"
#include "comparison/output.hpp"
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
            .label = "none",
            .jobs = {job("first", 0, 10, 20, 40), job("second", 5, 25, 35, 45), job("third", 10, 50, -1, 60)},
            .makespan = seconds(60),
            .mean_cpu = 1.9,
            .approximate = {}};
}

[[nodiscard]] run_summary tradl_run() {
    return {.policy = "tradl",
            .label = "tradl",
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

/// The table of these runs.
[[nodiscard]] std::string text_of(std::vector<run_summary> const& runs) { return comparison_text(compare(runs)); }

[[nodiscard]] bool has_line(std::string const& table, std::string const& line) {
    return table.find('\n' + line + '\n') != std::string::npos;
}

}  // namespace

TEST_CASE("comparison: the table of two runs") {
    std::vector<run_summary> const runs{none_run(), tradl_run()};
    CHECK('\n' + text_of(runs) == R"(
                                   none       tradl   change
time to Acceptable
  first                          10.0 s      10.0 s   +0.0 %
  second                         20.0 s      15.0 s  -25.0 %
  third                          40.0 s      30.0 s  -25.0 %
  mean of 3                      23.3 s      18.3 s  -21.4 %
  median of 3                    20.0 s      15.0 s  -25.0 %
  mean of 2 after the first      30.0 s      22.5 s  -25.0 %
time to Objective
  first                          20.0 s      25.0 s  +25.0 %
  second                         30.0 s      29.0 s   -3.3 %
  third                           never      45.0 s        -
  mean of 2                      25.0 s      27.0 s   +8.0 %
  median of 2                    25.0 s      27.0 s   +8.0 %
time to the end
  first                          40.0 s      44.0 s  +10.0 %
  second                         40.0 s      38.0 s   -5.0 %
  third                          50.0 s      47.0 s   -6.0 %
  mean of 3                      43.3 s      43.0 s   -0.8 %
  median of 3                    40.0 s      44.0 s  +10.0 %
makespan                         60.0 s      57.0 s   -5.0 %
mean cpu use                 1.90 cores  1.95 cores   +2.6 %
Mean and median of the time to Objective leave out third, which did not get there in every run.
)");
}

TEST_CASE("comparison: three runs: each against the first") {
    std::vector<run_summary> runs{none_run(), tradl_run(), tradl_run()};
    runs[1].label = "equal_share";
    runs[1].makespan = seconds(66);
    CHECK(has_line(squeezed(text_of(runs)), "makespan 60.0 s 66.0 s +10.0 % 57.0 s -5.0 %"));
}

TEST_CASE("comparison: what went wrong or was approximate is said once, in sentences") {
    std::vector<run_summary> runs{none_run(), tradl_run()};
    runs[0].approximate = runs[1].approximate = {"cpu is held back by stopping processes"};
    runs[1].interrupted = true;
    runs[1].jobs[0].how = condition::failed;
    runs[1].jobs[0].why = "exit code 3";
    runs[1].jobs[1].how = condition::stopped;
    runs[1].jobs[2] = job("third", 10, -1, -1, -1);
    auto const text = text_of(runs);
    CHECK(text.ends_with(
        "Mean and median of the time to Acceptable leave out third, which did not get there in every run.\n"
        "Mean and median of the time to Objective leave out third, which did not get there in every run.\n"
        "Mean and median of the time to the end leave out first, second, third, which did not get there in every run.\n"
        "The run under tradl was interrupted.\n"
        "first failed under tradl: exit code 3\n"
        "Approximate: cpu is held back by stopping processes\n"));
    CHECK(has_line(squeezed(text), " first 40.0 s failed 44.0 s -"));
    CHECK(has_line(squeezed(text), " second 40.0 s stopped 38.0 s -"));
    CHECK(has_line(squeezed(text), " third 50.0 s running -"));
    CHECK(has_line(squeezed(text), " mean of 1 after the first 20.0 s 15.0 s -25.0 %"));
    CHECK(has_line(squeezed(text), "makespan, unequal work 60.0 s 57.0 s -5.0 %"));
}

TEST_CASE("comparison: the mean is over the same jobs in every run") {
    std::vector<run_summary> runs{none_run(), tradl_run()};
    using jobs = std::vector<std::size_t>;
    CHECK(choose_jobs(compare(runs), milestone::acceptable, true).counted == jobs{1, 2});
    CHECK(choose_jobs(compare(runs), milestone::acceptable).counted == jobs{0, 1, 2});
    runs[1].jobs[1].acceptable_at.reset();
    auto const late = choose_jobs(compare(runs), milestone::acceptable, true);
    CHECK((late.counted == jobs{2} && late.left_out == jobs{1}));
    CHECK(has_line(squeezed(text_of(runs)), " mean of 1 after the first 40.0 s 30.0 s -25.0 %"));
    CHECK(has_line(squeezed(text_of(runs)), " mean of 2 25.0 s 20.0 s -20.0 %"));
    runs[0].jobs[2].acceptable_at.reset();
    CHECK(text_of(runs).find("after the first") == std::string::npos);
}

TEST_CASE("comparison: jobs that arrive together with the earliest one, wherever it stands, are not late") {
    std::vector<run_summary> runs{none_run()};
    runs[0].jobs[0].arrived = seconds(7);
    runs[0].jobs[1].arrived = runs[0].jobs[2].arrived = seconds(3);
    CHECK(choose_jobs(compare(runs), milestone::acceptable, true).counted == std::vector<std::size_t>{0});
    for (auto& j : runs[0].jobs) j.arrived = seconds(0);
    CHECK(text_of(runs).find("after the first") == std::string::npos);
}

TEST_CASE("comparison: jobs without a tier have no row for it") {
    std::vector<run_summary> runs{none_run(), tradl_run()};
    for (auto& run : runs) {
        run.jobs[1].has_acceptable = false;
        for (auto& j : run.jobs) j.has_objective = false;
    }
    auto const text = text_of(runs);
    CHECK(text.find("time to Objective") == std::string::npos);
    CHECK(has_line(squeezed(text), " mean of 1 after the first 40.0 s 30.0 s -25.0 %"));
    auto const acceptable = text.substr(0, text.find("time to the end"));
    CHECK(acceptable.find("second") == std::string::npos);
}

TEST_CASE("comparison: one run has a table without changes") {
    std::vector<run_summary> const one{none_run()};
    auto const text = text_of(one);
    CHECK(text.starts_with(
        "                                   none\ntime to Acceptable\n  first                          10.0 s\n"));
    CHECK(text.find('%') == std::string::npos);
    CHECK(text_of({}).empty());
}

TEST_CASE("comparison: the same as JSON") {
    std::vector<run_summary> const runs{none_run(), tradl_run()};
    auto const j = json::parse(comparison_json(compare(runs)));
    CHECK(j["event"] == "comparison");
    REQUIRE(j["runs"].size() == 2);
    CHECK(j["runs"][1]["policy"] == "tradl");
    CHECK(j["runs"][1]["interrupted"] == false);
    CHECK(j["runs"][0]["makespan"] == 60.0);
    CHECK(j["runs"][1]["makespan_change"] == Approx(-5.0));
    CHECK(j["runs"][1]["mean_to_acceptable_after_the_first"] == 22.5);
    CHECK(j["runs"][1]["mean_to_acceptable_after_the_first_change"] == Approx(-25.0));
    CHECK(j["runs"][1]["mean_to_acceptable"] == Approx(55.0 / 3));
    CHECK(j["runs"][1]["median_to_acceptable_change"] == Approx(-25.0));
    CHECK((j["rounds"] == 1 && j["unequal_work"] == false && j["runs"][1]["makespan_half"].is_null()));
    CHECK(j["runs"][0]["jobs"][2] == json::parse(R"({"job":"third","arrived":10,"how":"finished","released":0,
          "to_acceptable":40,"to_acceptable_change":null,"to_acceptable_half":null,"to_objective":null,
          "to_objective_change":null,"to_objective_half":null,"to_end":50,"to_end_change":null,"to_end_half":null,"why":""})"));
    CHECK(j["runs"][1]["jobs"][2]["to_objective"] == 45.0);
    CHECK(j["runs"][1]["jobs"][2]["to_objective_change"].is_null());
    CHECK(j["runs"][1]["jobs"][1]["to_acceptable_change"] == Approx(-25.0));
}

TEST_CASE("interval_of, median_of: figures of a handful of values") {
    // 2, 4, 9: mean 5, s = sqrt(13), t(0.975, 2) = 4.303
    CHECK(interval_of(std::vector{2.0, 4.0, 9.0}).mean == 5.0);
    CHECK(interval_of(std::vector{2.0, 4.0, 9.0}).half == Approx(4.303 * std::sqrt(13.0 / 3)));
    CHECK(interval_of(std::vector{3.0, 5.0}).half == Approx(12.706));  // s = sqrt(2), over sqrt(2)
    CHECK((interval_of(std::vector{7.0}).mean == 7.0 && std::isnan(interval_of(std::vector{7.0}).half)));
    CHECK(std::isnan(interval_of({}).mean));
    CHECK(median_of({9, 2, 4}) == 4.0);
    CHECK(median_of({9, 2, 4, 5}) == 4.5);
    CHECK((median_of({7}) == 7.0 && std::isnan(median_of({}))));
}

TEST_CASE("compared: the change of repeated runs is over the differences of each round") {
    // 10, 20, 30 against 9, 17, 25: differences -1, -3, -5, mean -3, s = 2; the means are 20 and 17
    auto const both = compared({{10.0, 20.0, 30.0}, {9.0, 17.0, 25.0}});
    CHECK((both[0].mean == 20.0 && both[1].mean == 17.0 && !both[0].change));
    CHECK(*both[1].change == Approx(-15));
    CHECK(*both[1].half == Approx(4.303 * 2 / std::sqrt(3.0) / 20 * 100));
    auto const once = compared({{10.0}, {9.0}});
    CHECK((*once[1].change == Approx(-10) && !once[1].half));
    auto const partly = compared({{10.0, 20.0}, {9.0, std::nullopt}});
    CHECK((!partly[1].mean && partly[1].rounds == 1 && !partly[1].change));
    CHECK_FALSE(compared({{0.0}, {9.0}})[1].change);
}

namespace {

/// Two rounds in which tradl needs 2 s and 4 s less for each job.
[[nodiscard]] std::vector<run_summary> two_rounds() {
    std::vector<run_summary> runs{none_run(), tradl_run(), tradl_run(), none_run()};
    for (std::size_t i = 0; i < runs.size(); ++i) {
        bool const is_tradl = runs[i].label == "tradl";
        for (std::size_t j = 0; j < 3; ++j) {
            runs[i].jobs[j] = none_run().jobs[j];
            auto const less = seconds(is_tradl ? (i < 2 ? 2 : 4) : 0);
            runs[i].jobs[j].acceptable_at = *runs[i].jobs[j].acceptable_at - less;
        }
        runs[i].makespan = seconds(is_tradl ? 54 : 60);
    }
    return runs;
}

}  // namespace

TEST_CASE("comparison: repeated runs are means with intervals") {
    auto const text = squeezed(text_of(two_rounds()));
    // Differences -2 and -4 s: mean -3, half 12.706 * sqrt(2) / sqrt(2) = 12.706 s; of 20 s these are 15 % and 63.5 %
    CHECK(has_line(text, " second 20.0 s 17.0 s -15.0 \u00b1 63.5 %"));
    CHECK(has_line(text, " median of 3 20.0 s 17.0 s -15.0 \u00b1 63.5 %"));
    CHECK(has_line(text, "makespan 60.0 s 54.0 s -10.0 \u00b1 0.0 %"));
    CHECK(text.ends_with(
        "\u00b1 is half of the 95 % confidence interval (Student's t) over the differences of 2 rounds.\n"));
    auto const j = json::parse(comparison_json(compare(two_rounds())));
    CHECK((j["rounds"] == 2 && j["runs"].size() == 2));
    CHECK(j["runs"][1]["jobs"][1]["to_acceptable_half"] == Approx(63.53));
}

TEST_CASE("comparison: what happened in some of the rounds is told as a part of them") {
    auto runs = two_rounds();
    runs[2].jobs[0].acceptable_at.reset();
    runs[2].jobs[1].released = true;
    runs[2].jobs[2].how = condition::failed;
    runs[2].jobs[2].why = "exit code 3";
    auto const text = squeezed(text_of(runs));
    CHECK(has_line(text, " first 10.0 s reached 1/2 -"));
    CHECK(has_line(text, " second 40.0 s released 1/2 40.0 s +0.0 \u00b1 0.0 %"));
    CHECK(has_line(text, " third 50.0 s failed 1/2 -"));
    CHECK(json::parse(comparison_json(compare(runs)))["runs"][1]["jobs"][2]["how"] == "mixed");
}

TEST_CASE("comparison: a round that was interrupted is left out, unless it is the only one") {
    auto runs = two_rounds();
    runs.back().interrupted = true;
    CHECK(compare(runs).rounds() == 1);
    CHECK(text_of(runs).ends_with("The last round was interrupted, and is left out.\n"));
    runs.pop_back();
    CHECK(compare(runs).rounds() == 1);
    CHECK(text_of(runs).ends_with("The last round was interrupted, and is left out.\n"));
    std::vector<run_summary> only{none_run(), tradl_run()};
    only[1].interrupted = true;
    CHECK(compare(only).sides.size() == 2);
    CHECK(text_of(only).find("left out") == std::string::npos);
}

TEST_CASE("comparison: jobs that were released are marked, and unequal work is said") {
    std::vector<run_summary> runs{none_run(), tradl_run()};
    runs[1].jobs[0].released = true;
    CHECK(has_line(squeezed(text_of(runs)), " first 40.0 s released 44.0 s +10.0 %"));
    CHECK(has_line(squeezed(text_of(runs)), "makespan, unequal work 60.0 s 57.0 s -5.0 %"));
    CHECK(has_line(text_of(runs),
                   "Unequal work: ration released jobs at their Objective (0 of 3 under none, 1 of 3 "
                   "under tradl); the others trained to their end."));
    CHECK(json::parse(comparison_json(compare(runs)))["unequal_work"] == true);
    runs[0].jobs[0].released = true;
    CHECK(has_line(squeezed(text_of(runs)), " first released 40.0 s released 44.0 s +10.0 %"));
    CHECK(has_line(squeezed(text_of(runs)), "makespan 60.0 s 57.0 s -5.0 %"));
    CHECK(has_line(text_of(runs), "Jobs marked as released were ended by ration at their Objective."));
    runs[0].jobs[0].released = runs[1].jobs[0].released = false;
    runs[0].jobs[1].step = 100;
    runs[1].jobs[1].step = 105;
    CHECK(text_of(runs).find("nequal") == std::string::npos);
    runs[0].jobs[0].step = 15;
    runs[1].jobs[0].step = 16;
    CHECK(text_of(runs).find("nequal") == std::string::npos);
    runs[1].jobs[1].step = 106;
    CHECK(has_line(text_of(runs), "Unequal work: second ended at step 100 under none, and at step 106 under tradl."));
    CHECK(has_line(squeezed(text_of(runs)), "makespan, unequal work 60.0 s 57.0 s -5.0 %"));
}

TEST_CASE("comparison: a job that did not train in one run has unequal work") {
    std::vector<run_summary> runs{none_run(), tradl_run()};
    runs[0].jobs[1].step = 24;
    CHECK(has_line(text_of(runs), "Unequal work: second ended at step 24 under none, and without a step under tradl."));
    CHECK(has_line(squeezed(text_of(runs)), "makespan, unequal work 60.0 s 57.0 s -5.0 %"));
    std::swap(runs[0].jobs[1].step, runs[1].jobs[1].step);
    CHECK(has_line(text_of(runs), "Unequal work: second ended without a step under none, and at step 24 under tradl."));
}

TEST_CASE("comparison: rounds of one side may differ in their steps") {
    auto runs = two_rounds();
    runs[0].jobs[0].step = runs[1].jobs[0].step = 100;
    runs[2].jobs[0].step = runs[3].jobs[0].step = 200;
    CHECK(text_of(runs).find("nequal") == std::string::npos);
    runs[2].jobs[0].step = 150;
    CHECK(has_line(text_of(runs),
                   "Unequal work: first ended at step 200 under none, and at step 150 under tradl in round 2."));
}

TEST_CASE("comparison: CPU time that other programs took from one run is said") {
    std::vector<run_summary> runs{none_run(), tradl_run()};
    runs[0].available_cpu = 2;
    runs[1].available_cpu = 1.91;
    CHECK(has_line(squeezed(text_of(runs)), "cpu available 2.00 cores 1.91 cores -4.5 %"));
    CHECK(text_of(runs).find("Other programs") == std::string::npos);
    runs[1].available_cpu = 1.89;
    CHECK(has_line(text_of(runs),
                   "Other programs disturbed this comparison: the jobs could use 2.00 cores under none, "
                   "and 1.89 under tradl."));
    auto rounds = two_rounds();
    for (auto& run : rounds) run.available_cpu = 2;
    rounds[3].available_cpu = 1;  // none, in the second round
    rounds[1].available_cpu = 2.2;
    CHECK(has_line(
        text_of(rounds),
        "Other programs disturbed 2 of 2 rounds: in round 2, the jobs could use 2.00 cores under tradl, and 1.00 "
        "under none."));
    runs[0].available_cpu.reset();
    CHECK(text_of(runs).find("Other programs") == std::string::npos);
}

TEST_CASE("comparison: how long levels were met, as a mean over the rounds") {
    auto one = none_run(), two = tradl_run();
    CHECK(text_of({one, two}).find("level") == std::string::npos);
    one.jobs[1].level_met = 0.97;
    two.jobs[1].level_met = 0.551;
    auto const remark = "Part of the time in which second met its level: 97 % under none, 55 % under tradl.";
    CHECK(has_line(text_of({one, two}), remark));
    two.jobs[1].level_met.reset();  // it has reported no value
    CHECK(has_line(text_of({one, two}), "Part of the time in which second met its level: 97 % under none."));
}
