// SPDX-License-Identifier: BSL-1.0
#include "program.hpp"
#include "report/assets.hpp"
#include "sim/cost.hpp"
#include "sim/progress.hpp"

using namespace simulate_test;

TEST_CASE("every option of sim arrives where it belongs") {
    auto const o = options_of({"--trace",        "a.csv",
                               "--trace",        "b.csv",
                               "--format",       "philly",
                               "--cluster",      "16x4",
                               "--policy",       "fifo,las",
                               "--policy",       "./mine.so",
                               "--set",          "las.promote=0",
                               "--interval",     "90",
                               "--seeds",        "5",
                               "--until",        "2h",
                               "--threads",      "3",
                               "--on-bad-grant", "stop",
                               "--report",       "out.html",
                               "--json",         "--quiet",
                               "--models",       "m",
                               "--interference", "0.3",
                               "--faults",       "crashes:every=2h",
                               "--faults",       "losses:every=30h",
                               "--checkpoint",   "10m"});
    CHECK(o.traces == words{"a.csv", "b.csv"});
    CHECK(o.format == "philly");
    CHECK(o.cluster == "16x4");
    CHECK(o.policies == words{"fifo", "las", "./mine.so"});
    CHECK(o.settings == words{"las.promote=0"});
    CHECK(o.interval == seconds(90));
    CHECK(o.until == seconds(7200));
    CHECK((o.seeds == 5 && o.threads == 3 && o.stop_at_bad_grant && o.json && o.quiet));
    CHECK((o.report == "out.html" && o.models == words{"m"}));
    CHECK((o.interference == 0.3 && o.faults == words{"crashes:every=2h", "losses:every=30h"} &&
           o.checkpoint == seconds(600)));
    auto const plain = options_of({"--cluster", "1x1", "--policy", "fifo"});
    CHECK(plain.interval == seconds(60));
    CHECK_FALSE((plain.until.has_value() || plain.stop_at_bad_grant || plain.json || plain.quiet));
}

TEST_CASE("a wrong command line earns one sentence") {
    CHECK(refusal({"--policy", "fifo"}) == "ration: --cluster is required; see 'ration sim --help'");
    CHECK(refusal({"--cluster", "1x1"}) == "ration: --policy is required; see 'ration sim --help'");
    CHECK(refusal({"--cluster", "1x1", "--policy", "fiffo"}) ==
          "ration: --policy: unknown policy 'fiffo'; did you mean 'fifo'?");
    CHECK(refusal({"--cluster", "16", "--policy", "fifo"})
              .starts_with("ration: --cluster: '16' is not a group of nodes: write NODESxDEVICES, as in 16x4"));
    for (auto const* bad : {"0x4", "16x", "x4", "16x4,", "16x4:", "1x1001", "-1x4", "16x4x2", "1x0cores", "1xcores",
                            "1x4+", "1x4+8", "1x+8cores", "1x0+8cores", "1x8cores+4", "1x10001cores"})
        CHECK(refusal({"--policy", "fifo", "--cluster=" + std::string(bad)}).starts_with("ration: --cluster: '"));
    CHECK(refusal({"--policy", "fifo", "--cluster", "100000x1,1x1"}) ==
          "ration: --cluster: the groups have 100001 nodes together, of 100000 that there may be");
    CHECK(refusal({"--cluster", "1x1", "--policy", "fifo", "--set", "promote=0"}) ==
          "ration: --set: 'promote=0' is not a parameter: write POLICY.PARAMETER=VALUE, as in las.promote=0");
    CHECK(refusal({"--cluster", "1x1", "--policy", "fifo", "--interval", "soon"}) ==
          "ration: --interval: 'soon' is not a time: write seconds, or a number with ms, s, m or h, up to 365 days");
    CHECK(refusal({"--cluster", "1x1", "--policy", "fifo", "--on-bad-grant", "halt"})
              .starts_with("ration: --on-bad-grant: it may be go-on or stop, not 'halt'"));
    CHECK(refusal({"--cluster", "1x1", "--policy", "fifo", "--generate", "rigit"}) ==
          "ration: --generate: unknown kind of jobs 'rigit'; did you mean 'rigid'?");
    CHECK(refusal({"--cluster", "1x1", "--policy", "fifo", "--generate", "rigid:jobs=0"}) ==
          "ration: --generate: jobs is a whole number from 1 to 1000000000, not '0'");
    CHECK(
        refusal({"--cluster", "1x1", "--policy", "fifo", "--generate", "scaling:jobs=1000001"}) ==
        "ration: --generate: 'scaling' are not the kind rigid, and 1000001 of them are too many: write jobs=1 to 1000000");
    CHECK(refusal({"--cluster", "1x1", "--policy", "fifo", "--generate", "rigid:job=5"}) ==
          "ration: --generate: unknown option 'job'; did you mean 'jobs'?");
    for (char const* share : {"1.5", "nan", "-nan", "inf", "-0.1", "1e999", "0x1", "0.5x", ""})
        CHECK(refusal({"--cluster", "1x1", "--policy", "fifo", "--interference", share})
                  .starts_with("ration: --interference: "));
    CHECK(refusal({"--cluster", "1x1", "--policy", "fifo", "--seeds", "0"}).starts_with("ration: --seeds"));
}

TEST_CASE("wrong files and parameters earn a sentence each") {
    three_jobs const jobs;
    auto const problem = [&](words w) {
        w.insert(w.end(), {"--cluster", "1x1"});
        return ran(std::move(w)).problem();
    };
    CHECK(problem({"--policy", "fifo"}) == "name the jobs: either --trace FILE, or --generate KIND");
    CHECK(problem({"--policy", "fifo", "--trace", "/nowhere.csv"}).starts_with("/nowhere.csv: cannot be opened"));
    CHECK(problem({"--policy", "fifo", "--trace", jobs.path(), "--format", "philli"}) ==
          "unknown format 'philli'; did you mean 'philly'?");
    CHECK(problem({"--policy", "fifo", "--trace", jobs.path(), "--set", "las.promote=0"})
              .starts_with("--set: 'las' is not one of the policies that are run"));
    CHECK(problem({"--policy", "las", "--trace", jobs.path(), "--set", "las.promot=0"}) ==
          "las has no parameter 'promot'; did you mean 'promote'?");
    for (char const* number : {"1e999", "nan", "inf", "-inf", "1e99999", "0x10"})
        CHECK_FALSE(
            problem({"--generate", "rigid:jobs=2", "--policy", "las", "--set", std::string("las.promote=") + number})
                .empty());
    CHECK(problem({"--policy", "fifo", "--generate", "profiled"})
              .starts_with("--generate: profiled jobs need the measured profiles"));
    CHECK(
        problem({"--policy", "fifo", "--trace", jobs.path(), "--interference", "0.5"}) ==
        "--interference: only jobs with measured profiles feel it: name their folder with --models, as in --models bench/data/pollux");
    temporary_file nothing;
    std::ofstream(nothing.path()) << "job_id,submit_time,num_gpus,duration\n1,0,1,x\n";
    CHECK(problem({"--policy", "fifo", "--trace", nothing.path()}).starts_with(nothing.path() + ":2: "));
}

TEST_CASE("the table of one run, as text") {
    three_jobs const jobs;
    ran const one({"--trace", jobs.path(), "--cluster", "1x1", "--policy", "fifo"});
    REQUIRE(one.problems.empty());
    auto text = table_text(one.results());
    text.erase(0, text.find(':'));  // the file's name
    CHECK('\n' + text == R"(
: 3 jobs on 1 device (1x1)

                      fifo
mean JCT (s)         30.00
  above the bound   +0.0 %
median JCT (s)       30.00
p95 JCT (s)          48.00
p99 JCT (s)          49.60
mean wait (s)        10.00
makespan (s)         60.00
  above the bound   +0.0 %
utilisation        100.0 %
restarts per job         0
Jain's index         0.949
mean rho             0.813
worst rho            1.190
jobs with rho > 1   33.3 %

No schedule can beat a mean JCT of 30.00 s and a makespan of 60.00 s.
)");
}

TEST_CASE("jobs that nobody starts, limits and jobs that are too large are told") {
    three_jobs const jobs;
    ran const starving({"--trace", jobs.path(), "--cluster", "1x1", "--policy", "none", "--interval", "0"});
    CHECK(table_text(starving.results())
              .find("none: 3 jobs wait, nothing runs, and it starts none of them; the run ends there") !=
          std::string::npos);
    ran const cut({"--trace", jobs.path(), "--cluster", "1x1", "--policy", "fifo", "--until", "20"});
    CHECK(table_text(cut.results()).find("fifo: 2 of 3 jobs are not done at the time limit\n") != std::string::npos);
    ran const seeds({"--trace", jobs.path(), "--cluster", "1x1", "--policy", "fifo", "--seeds", "5"});
    CHECK(table_text(seeds.results()).find(" leaves nothing to chance, so that it is run once and not 5 times\n") !=
          std::string::npos);
}

TEST_CASE("what was wrong with a policy names the tick, the rule and the job") {
    three_jobs const jobs;
    ran const one({"--trace", jobs.path(), "--cluster", "1x1", "--policy", "fifo"});
    auto results = one.results();
    auto& run = results.runs[0];
    run.outcome.rejected = 3;
    run.outcome.first_bad = sim::bad_grant{.tick = 7,
                                           .at = seconds(420),
                                           .row = {.job = 1, .node = 0, .resource = 2, .amount = 9},
                                           .job = 2,
                                           .rule = check_rule::over_capacity};
    run.lost = lost_tick{9, seconds(540), "did not answer"};
    run.outcome.refused_ticks = 4;
    auto const reply = remarks_on(run, "mine", one.input);
    REQUIRE(reply.size() == 2);
    CHECK(
        reply[0] ==
        "mine: at tick 7 (7:00) it granted 9 of gpu on node 0 to job 'b', but the node would promise more than it has; "
        "3 of its grants were refused in all");
    CHECK(
        reply[1] ==
        "mine: at tick 9 (9:00) it gave no answer: did not answer; 4 ticks went without one, and everything stayed as it was");
    run.outcome.how = sim::ending::bad_grant;
    CHECK(remarks_on(run, "mine", one.input)[0].ends_with("; the run ends there"));
}

TEST_CASE("the JSON has every figure of every policy and every run") {
    three_jobs const jobs;
    ran const one({"--trace", jobs.path(), "--cluster", "1x1:v100", "--policy", "fifo,las", "--set", "las.promote=0"});
    auto const j = json::parse(table_json(one.results()));
    CHECK(j["event"] == "simulation");
    CHECK(j["cluster"] ==
          json::parse(R"({"devices":1,"cores":0,"groups":[{"nodes":1,"devices":1,"cores":0,"type":"v100"}]})"));
    CHECK(j["samples"][0]["bound"] == json::parse(R"({"jobs":3,"mean_jct":30.0,"makespan":60.0})"));
    REQUIRE(j["policies"].size() == 2);
    CHECK(j["policies"][1]["parameters"] == json::parse(R"({"promote":0})"));
    auto const& fifo = j["policies"][0];
    CHECK(fifo["id"] == "ration.fifo");
    CHECK(fifo["figures"].size() == figure_lines().size());
    CHECK(fifo["figures"]["mean_jct"]["mean"] == Approx(30));
    CHECK(fifo["figures"]["mean_jct"]["half_of_95"].is_null());
    CHECK(fifo["figures"]["deadlines_met"]["mean"].is_null());
    auto const& run = fifo["runs"][0];
    CHECK(run["figures"].size() == figure_lines().size());
    CHECK((run["ending"] == "all jobs are done" && run["finished"] == 3 && run["failure"].is_null() &&
           run["first_bad_grant"].is_null()));
    auto const measured = json::parse(measured_json(one.results()));
    CHECK((measured["event"] == "measured" && measured["runs"].size() == 2 && measured["runs"][0]["decisions"] > 0));
}

TEST_CASE("two runs give the same bytes, with one thread and with two") {
    words const asked{
        "--generate", "rigid:jobs=60,per_hour=60", "--seeds", "3", "--cluster", "2x4", "--policy", "fifo,srtf,las",
        "--threads"};
    auto with = [&](char const* threads) {
        auto w = asked;
        w.emplace_back(threads);
        ran const made(w);
        REQUIRE(made.problems.empty());
        auto const results = made.results();
        return table_text(results) + table_json(results) + without_measured(report_html(results));
    };
    auto const first = with("1");
    CHECK(first == with("1"));
    CHECK(first == with("2"));
    CHECK(first.find(" \u00b1 ") != std::string::npos);
}

TEST_CASE("the report is whole and asks nobody for anything") {
    three_jobs const jobs;
    ran const made({"--trace", jobs.path(), "--cluster", "1x1", "--policy", "fifo,srtf,none", "--interval", "0"});
    auto results = made.results();
    results.policies[1].name = "</script><b>&\"'";
    auto const page = report_html(results);
    CHECK(imbalance(page).empty());
    for (auto const* outside : {"</script><b>", "src=", "@import", "href=\"http"})
        CHECK(page.find(outside) == std::string::npos);
    auto const data = element_of(page, "simulations")[0];
    REQUIRE(data["policies"].size() == 3);
    CHECK(data["policies"][1]["policy"] == "</script><b>&\"'");
    auto const& jct = data["policies"][0]["distributions"]["jct"];
    CHECK((jct["of"] == 3 && jct["reached"] == 3 && jct["mean"] == 30));
    CHECK((jct["quantiles"][0] == 10 && jct["quantiles"][50] == 30 && jct["quantiles"][100] == 50));
    CHECK(jct["bins"]["counts"] == json::parse("[1,0,0,1,0,1]"));      // 10 s in bin 8, 30 s in bin 11, 50 s in bin 13
    CHECK(data["policies"][0]["series"]["waiting"]["means"][5] == 1);  // one waits at 5 s
    CHECK(data["policies"][0]["series"]["devices"]["means"][5] == 1);
    CHECK(element_of(page, "measured")[0][0]["policy"] == "fifo");
}

TEST_CASE("a report of many jobs and policies stays below half a megabyte, and the library") {
    ran const made({"--generate", "rigid:jobs=2000,per_hour=100", "--cluster", "16x4", "--policy",
                    "fifo,sjf,las,fifo,sjf,las,fifo,sjf"});
    auto const page = report_html(made.results());
    auto const& library = page_assets().chart_library;
    CHECK(page.size() > library.size() + 100'000);
    CHECK(page.size() < library.size() + 500'000);
    CHECK(imbalance(page).empty());
}

TEST_CASE("Student's interval") {
    double const values[] = {1, 2, 3};
    CHECK(interval_of(values).mean == Approx(2));
    CHECK(interval_of(values).half == Approx(4.303 / std::sqrt(3.0)));
    CHECK(std::isnan(interval_of(std::span(values).first(1)).half));
}

TEST_CASE("numbers have the digits that say something") {
    CHECK(short_number(0) == "0");
    CHECK(short_number(0.0123456) == "0.012");
    CHECK(short_number(9.8765) == "9.877");
    CHECK(short_number(98.765) == "98.77");
    CHECK(short_number(987.65) == "987.6");
    CHECK(short_number(98765.4) == "98765");
    CHECK(short_number(sim::no_figure) == "-");
    CHECK(short_time(0.00000123) == "1.230 us");
    CHECK(short_time(0.0123) == "12.30 ms");
}

TEST_CASE("the progress says how far, how fast and how long") {
    progress_state const half{.jobs_done = 50, .jobs = 100, .runs_done = 1, .runs = 2, .elapsed = seconds(10)};
    CHECK(progress_text(half, false, 80) == "50 %  1 of 2 runs  5 jobs/s  10.0 s left");
    CHECK(progress_text(half, true, 80) == "[############------------] 50 %  1 of 2 runs  5 jobs/s  10.0 s left");
    CHECK(progress_text(half, true, 10).size() == 10);
    CHECK(progress_text({.jobs_done = 0, .jobs = 100, .runs_done = 0, .runs = 2, .elapsed = {}}, false, 80) ==
          "0 %  0 of 2 runs  0 jobs/s");
}

TEST_CASE("more jobs than are kept are a stream, with the same figures on any number of threads") {
    words const line{"--generate", "rigid:jobs=1000001,per_hour=20000",
                     "--cluster",  "12500x8",
                     "--policy",   "fifo",
                     "--until",    "2000",
                     "--seeds",    "2"};
    auto const together = ran(line);
    REQUIRE(together.problems.empty());
    auto const& runs = together.results().runs;
    REQUIRE(runs.size() == 2);
    for (auto const& run : runs) {
        CHECK(run.failure.empty());
        CHECK(run.outcome.how == sim::ending::time_limit);
        CHECK(run.outcome.jobs.empty());
        CHECK((run.figures.jobs > 10'000 && run.figures.jobs < 12'500));
        REQUIRE(run.times);
        CHECK(run.times->jct.size() == run.figures.finished);
    }
    CHECK(runs[0].figures.mean_jct != runs[1].figures.mean_jct);
    auto const json = nlohmann::json::parse(table_json(together.results()));
    CHECK(json["samples"][0]["jobs"] == 1'000'001);
    auto const& jct = json["policies"][0]["distributions"]["jct"];
    CHECK(jct["of"] == runs[0].figures.jobs + runs[1].figures.jobs);
    CHECK(jct["reached"] == runs[0].figures.finished + runs[1].figures.finished);
    std::size_t counted = 0;
    for (auto const& count : jct["bins"]["counts"]) counted += count.get<std::size_t>();
    CHECK(counted == jct["reached"]);
    auto with_faults = line;
    with_faults.insert(with_faults.end(), {"--faults", "crashes:every=2h"});
    CHECK(ran(with_faults).problem() ==
          "--faults: the end of 1000001 jobs is not known before the run: generate at most 1000000 jobs");
}

TEST_CASE("a trace with more jobs than are kept is a stream, and notices that its file changes") {
    temporary_file const file;
    {
        std::ofstream out(file.path());
        out << "job_id,submit_time,num_gpus,duration\n";
        for (int i = 0; i <= 1'000'000; ++i) out << i << ',' << i << ",1,60\n";
    }
    ran const all({"--trace", file.path(), "--cluster", "10x8", "--policy", "fifo", "--until", "2000"});
    REQUIRE(all.problems.empty());
    REQUIRE(all.input.samples.size() == 1);
    CHECK(all.input.samples[0].size() == 1'000'001);
    CHECK(all.input.samples[0].jobs.jobs.empty());
    auto const results = all.results();
    auto const& run = results.runs.at(0);
    CHECK(run.failure.empty());
    CHECK(run.outcome.jobs.empty());
    CHECK(run.figures.jobs == 2001);
    CHECK(run.figures.finished == 1941);
    CHECK(run.figures.mean_jct == 60);
    std::ofstream(file.path()) << "job_id,submit_time,num_gpus,duration\n1,0,1,60\n";
    auto const again = all.results();
    CHECK(again.runs.at(0).failure.find("leave its file unchanged") != std::string::npos);
}

TEST_CASE("a run that will take long is announced") {
    auto const costs = [](char const* jobs, char const* policy, char const* interval) {
        auto const all =
            ran({"--generate", jobs, "--cluster", "1x8", "--policy", policy, "--until", "1", "--interval", interval});
        REQUIRE(all.problems.empty());
        auto options = all.results().options;
        options.until.reset();
        return long_runs(options, all.results().input, all.results().policies);
    };
    CHECK(costs("rigid:jobs=300", "gittins", "60").empty());
    CHECK(costs("rigid:jobs=40000", "fifo", "60").empty());
    auto const often = costs("rigid:jobs=40000", "fifo", "1");
    REQUIRE(often.size() == 1);
    CHECK(often[0].starts_with("fifo is asked 6"));
    auto const said = costs("rigid:jobs=40000", "gittins", "1");
    REQUIRE(said.size() == 1);
    CHECK(said[0].starts_with("gittins reads all jobs and nodes at each tick: "));
    CHECK(costs("rigid:jobs=40000", "gittins", "0").empty());
}
