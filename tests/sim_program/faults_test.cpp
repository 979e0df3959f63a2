// SPDX-License-Identifier: BSL-1.0
// What `ration sim` lets go wrong: --faults, --checkpoint and --interference.
#include "program.hpp"
#include "sim/fault_options.hpp"

using namespace simulate_test;

namespace {

/// The sentence about these faults, without its beginning "ration: --faults: ".
[[nodiscard]] std::string refusal_of_faults(char const* faults) {
    auto const reply = refusal({"--cluster", "1x1", "--policy", "fifo", "--faults", faults});
    std::string const front = "ration: --faults: ";
    return reply.starts_with(front) ? reply.substr(front.size()) : reply;
}

}  // namespace

TEST_CASE("--faults: a wrong kind or key earns one sentence") {
    CHECK(refusal_of_faults("crash:every=1h") ==
          "unknown kind of faults 'crash'; use one of: losses, revocations, crashes, stragglers");
    CHECK(refusal_of_faults("crashes") ==
          "crashes need every=TIME, the mean time between two on one device, as in crashes:every=200h");
    CHECK(refusal_of_faults("losses:repair=1h") ==
          "losses need every=TIME, the mean time between two on one node, as in losses:every=200h");
    CHECK(refusal_of_faults("losses:every=0") == "every is a time from 1 s to 365 days, not '0'");
    CHECK(refusal_of_faults("losses:every=1h,repair=soon") == "repair is a time from 1 s to 365 days, not 'soon'");
    CHECK(refusal_of_faults("losses:every=1h,") ==
          "unknown option '' for fault kind losses; use one of: every, repair");
    CHECK(refusal_of_faults("stragglers:every=1h,speeed=0.5") ==
          "unknown option 'speeed' for fault kind stragglers; did you mean 'speed'?");
    CHECK(refusal_of_faults("stragglers:every=1h,speed=1") ==
          "speed is a part of the usual one from 0.01 to 0.99, not '1'");
    CHECK(refusal_of_faults("stragglers:every=1h,speed=nan") ==
          "speed is a part of the usual one from 0.01 to 0.99, not 'nan'");
    CHECK(refusal_of_faults("crashes:every=1h,region=us-west1") ==
          "unknown option 'region' for fault kind crashes; use one of: every");
}

TEST_CASE("--faults: revocations name a region and a GPU of the study") {
    CHECK(refusal_of_faults("revocations:startup=60") ==
          "revocations need the region whose servers live as long, as in revocations:region=us-east1");
    CHECK(refusal_of_faults("revocations:region=us-east") ==
          "lifetimes of K80 servers in 'us-east' are not known; did you mean 'us-east1'?");
    CHECK(refusal_of_faults("revocations:gpu=T4,region=us-east1") ==
          "lifetimes of servers with the GPU 'T4' are not known; use one of: K80, P100, V100");
    CHECK(refusal_of_faults("revocations:region=asia-east1,gpu=P100")
              .starts_with("lifetimes of P100 servers in 'asia-east1' are not known"));
    CHECK(
        refusal_of_faults("revocations:region=asia-east1,gpu=V100") ==
        "the startup of V100 servers was not measured: add startup=TIME, as in revocations:region=asia-east1,gpu=V100,startup=90s");
}

TEST_CASE("--checkpoint: a wrong value earns one sentence") {
    CHECK(refusal({"--cluster", "1x1", "--policy", "fifo", "--checkpoint", "often"})
              .starts_with("ration: --checkpoint: 'often' is not a time"));
}

TEST_CASE("--faults: a kind given twice and too many faults are refused") {
    auto const together = [](words more) {
        more.insert(more.end(), {"--generate", "rigid:jobs=5", "--cluster", "1000x4", "--policy", "fifo"});
        return ran(std::move(more)).problem();
    };
    CHECK(together({"--faults", "crashes:every=1h", "--faults", "crashes:every=2h"}) ==
          "--faults: crashes are given twice: say all of them at once");
    CHECK(
        together({"--faults", "crashes:every=1s", "--until", "10m"}) ==
        "--faults: that makes about 2400000 faults within 10:00, of 1000000 that there may be: let them come less often, or end the runs earlier with --until");
}

TEST_CASE("revocations follow the GPU's servers, in any order of the keys") {
    ration::sim::fault_rates rates;
    CHECK(add_fault_kind("revocations:gpu=P100,region=us-east1", rates));
    REQUIRE(rates.lifetime);
    CHECK((rates.lifetime->gpu == "P100" && rates.lifetime->region == "us-east1"));
    ration::sim::fault_rates volta;
    CHECK(add_fault_kind("revocations:startup=90,region=asia-east1,gpu=V100", volta));
    REQUIRE(volta.lifetime);
    CHECK((volta.lifetime->gpu == "V100" && volta.startup == 90));
}

TEST_CASE("faults: each seed has its own, for a trace too, and every policy meets the same") {
    three_jobs const jobs;
    ran const trace({"--trace", jobs.path(), "--trace", jobs.path(), "--cluster", "1x1", "--policy", "fifo", "--seeds",
                     "3", "--faults", "crashes:every=20s"});
    REQUIRE(trace.problems.empty());
    REQUIRE(trace.input.samples.size() == 6);
    auto const first = [&](std::size_t sample) { return trace.input.samples[sample].faults.at(0).at; };
    CHECK((trace.input.samples[0].seed == 1 && trace.input.samples[5].seed == 3));
    CHECK((first(0) == first(3) && first(0) != first(1) && first(1) != first(2)));
    CHECK(headline(trace.results()).ends_with(", 6 samples"));
    CHECK(table_text(trace.results()).find("leaves nothing to chance") == std::string::npos);
    ran const once({"--trace", jobs.path(), "--cluster", "1x1", "--policy", "fifo", "--faults", "crashes:every=20s"});
    CHECK((once.input.samples.size() == 1 && once.input.samples[0].seed == 1));
    ran const made({"--generate", "rigid:jobs=30", "--seeds", "2", "--cluster", "2x4", "--policy", "fifo", "--faults",
                    "losses:every=2h,repair=10m"});
    CHECK((made.input.samples.size() == 2 &&
           made.input.samples[0].faults.at(0).at != made.input.samples[1].faults.at(0).at));
}

TEST_CASE("save_by_age sets the interval of checkpoints for the servers of --faults") {
    auto const figures = [](char const* policy, char const* interval) {
        ran const one({"--generate", "rigid:jobs=40,per_hour=20", "--cluster", "8x4", "--policy", policy, "--faults",
                       "revocations:region=us-east1,gpu=P100", "--save", "5", "--checkpoint", interval});
        return json::parse(table_json(one.results()))["policies"][0]["figures"];
    };
    auto const mean = [](json const& all, char const* name) { return all[name]["mean"].get<double>(); };
    auto const rarely = figures("fifo", "1h"), by_age = figures("save_by_age", "1h"), often = figures("fifo", "30");
    REQUIRE(mean(rarely, "stops") > 0);
    CHECK(mean(by_age, "lost_work") < 0.5 * mean(rarely, "lost_work"));
    CHECK(mean(by_age, "mean_jct") < mean(rarely, "mean_jct"));
    CHECK(mean(by_age, "mean_jct") < mean(often, "mean_jct"));
}

TEST_CASE("faults are told in the table and the JSON, and none is as before") {
    three_jobs const jobs;
    words const plain{"--trace", jobs.path(), "--cluster", "1x1", "--policy", "fifo"};
    auto const with = [&](words more) {
        more.insert(more.end(), plain.begin(), plain.end());
        return ran(std::move(more));
    };
    ran const none(plain), saved = with({"--checkpoint", "5"});
    CHECK(table_text(saved.results()) == table_text(none.results()));
    auto quiet = saved.results();
    CHECK(json::parse(table_json(none.results()))["policies"] == json::parse(table_json(quiet))["policies"]);
    ran const struck = with({"--faults", "crashes:every=20s", "--checkpoint", "5"});
    auto const results = struck.results();
    auto const& outcome = results.runs[0].outcome;
    auto const j = json::parse(table_json(results));
    auto const& figures = j["policies"][0]["figures"];
    double lost = 0, stops = 0;
    for (auto const& job : outcome.jobs) {
        lost += job.lost_device_seconds;
        stops += job.stops;
    }
    REQUIRE(stops > 0);
    CHECK((j["checkpoint"] == 5 && j["faults"] == json::parse(R"(["crashes:every=20s"])")));
    CHECK(figures["stops"]["mean"] == stops);
    CHECK(figures["faults"]["mean"] == static_cast<double>(outcome.faults));
    CHECK(figures["lost_work"]["mean"].get<double>() == Approx(lost / (60 + lost)));  // three jobs with 60 s of work
    auto const text = table_text(results);
    for (auto const* line : {"\nfaults  ", "\njobs stopped by faults  ", "\nlost work  "})
        CHECK(text.find(line) != std::string::npos);
    CHECK(table_text(none.results()).find("lost work") == std::string::npos);
}

TEST_CASE("saves that take time make jobs later, and need a time between them") {
    three_jobs const jobs;
    words const plain{"--trace", jobs.path(), "--cluster", "1x1", "--policy", "fifo", "--checkpoint", "5"};
    auto const makespan = [&](words more) {
        more.insert(more.end(), plain.begin(), plain.end());
        ran const one(std::move(more));
        auto const j = json::parse(table_json(one.results()));
        return std::pair{j["policies"][0]["figures"]["makespan"]["mean"].get<double>(), j["save"].get<double>()};
    };
    auto const [quick, none] = makespan({});
    auto const [slow, two] = makespan({"--save", "2"});
    CHECK((none == 0 && two == 2));
    CHECK(slow == quick + 2 * 9);  // 10, 20 and 30 s of work, each with a save before every 5 s but the first
    CHECK(refusal({"--cluster", "1x1", "--policy", "fifo", "--save", "2"}).find("--checkpoint") != std::string::npos);
}

TEST_CASE("a run that outlasts its faults says so") {
    three_jobs const jobs;
    ran const made({"--trace", jobs.path(), "--cluster", "1x1", "--policy", "fifo", "--faults", "losses:every=365h"});
    auto results = made.results();
    CHECK(results.input.samples[0].faults_until == seconds(7 * 86400));
    auto run = results.runs[0];
    run.outcome.end = seconds(8 * 86400);
    auto sample = made.input;
    sample.samples[0].faults = {{}};
    CHECK(remarks_on(run, "fifo", sample).at(0) ==
          "fifo: it took longer than faults were drawn for: after 168:00:00 nothing goes wrong");
}

TEST_CASE("interference slows profiled jobs, and none is no interference") {
    auto const figures_with = [](words more) {
        more.insert(more.end(), {"--generate", "profiled:jobs=30,per_hour=60", "--models", RATION_BENCH_DATA "/pollux",
                                 "--cluster", "8x4", "--policy", "las"});
        ran const made(more);
        REQUIRE(made.problems.empty());
        return json::parse(table_json(made.results()));
    };
    auto const plain = figures_with({}), none = figures_with({"--interference", "0"}),
               half = figures_with({"--interference", "0.5"});
    CHECK(plain == none);
    CHECK(half["interference"] == 0.5);
    CHECK(half["policies"][0]["figures"]["mean_jct"]["mean"] > plain["policies"][0]["figures"]["mean_jct"]["mean"]);
}
