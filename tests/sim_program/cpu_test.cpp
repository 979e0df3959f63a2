// SPDX-License-Identifier: BSL-1.0
// Jobs on processors under `ration sim`.
#include "program.hpp"

using namespace simulate_test;

namespace {

/// Two trainers, the second 2 s later.
class two_trainers {
    temporary_file file_;

public:
    two_trainers() {
        std::ofstream(file_.path()) << "job_id,submit_time,num_gpus,model,length\na,0,0,vae,4000\nb,2,,vae,\n";
    }
    [[nodiscard]] std::string const& path() const noexcept { return file_.path(); }
};

}  // namespace

TEST_CASE("a node may have devices, cores or both") {
    auto const groups = [](char const* text) { return parse_cluster(text).value().groups; };
    CHECK((groups("1x1core")[0].devices == 0 && groups("1x1core")[0].cores == 1));
    CHECK((groups("1x4+16cores:v100,8x4")[0].devices == 4 && groups("1x4+16cores:v100,8x4")[0].cores == 16 &&
           groups("1x4+16cores:v100,8x4")[1].cores == 0));
    CHECK(groups("16x4")[0].cores == 0);
}

TEST_CASE("jobs on processors: their tiers are in the table, in JSON and in the report") {
    two_trainers const jobs;
    ran const one({"--trace", jobs.path(), "--models", fits, "--cluster", "1x1core", "--policy",
                   "none,equal_share,flowcon,tradl", "--interval", "1"});
    REQUIRE(one.problems.empty());
    auto const results = one.results();
    auto const text = table_text(results);
    CHECK(text.find(": 2 jobs on 1 core (1x1core)\n") != std::string::npos);
    for (auto const* line : {"\nmean to Acceptable (s) ", "\nmean to Objective (s) ", "\nmean rho ",
                             "\nNo schedule can beat a mean JCT of "}) {
        INFO(line);
        CHECK(text.find(line) != std::string::npos);
    }
    CHECK(text.find("utilisation") == std::string::npos);  // it is of devices
    auto const j = json::parse(table_json(results));
    CHECK(j["cluster"] ==
          json::parse(R"({"devices":0,"cores":1,"groups":[{"nodes":1,"devices":0,"cores":1,"type":"gpu"}]})"));
    CHECK(j["samples"][0]["bound"]["jobs"] == 2);
    auto const& none = j["policies"][0]["figures"];
    auto const& tradl = j["policies"][3]["figures"];
    CHECK(tradl["mean_to_acceptable"]["mean"] < none["mean_to_acceptable"]["mean"]);
    CHECK(tradl["mean_jct_gap"]["mean"] >= 0);
    CHECK(none["worst_rho"]["mean"] == Approx(1).epsilon(0.1));
    auto const page = report_html(results);
    CHECK(imbalance(page).empty());
    auto const shown = element_of(page, "simulations")[0]["policies"][0];
    CHECK(shown["distributions"]["to_acceptable"]["reached"] == 2);
    CHECK(shown["series"]["cores"]["means"].size() == results.runs[0].cores.means.size());
    CHECK(shown["series"]["there"]["means"][0] == 1);
    for (auto const& waiting : shown["series"]["waiting"]["means"]) CHECK(waiting == 0);
    CHECK(std::ranges::count(results.runs[0].cores.means, 1.0) > 5);
    for (double const waiting : results.runs[0].queue.means) CHECK(waiting == 0);
}

TEST_CASE("jobs on processors and on devices share a cluster without standing in each other's way") {
    temporary_file const jobs;
    std::ofstream(jobs.path())
        << "job_id,submit_time,num_gpus,model,length,duration\na,0,0,vae,,\nb,0,2,,,10\nc,0,3,,,10\n";
    std::string const all =
        "fifo,sjf,srtf,las,gittins,max_min,drf,pack,spread,gang,optimus,afs,edf,pollux,sia,good_enough,loss_delta_ratio";
    ran const both(
        {"--trace", jobs.path(), "--models", fits, "--cluster", "1x4+1core", "--policy", all, "--interval", "1"});
    REQUIRE(both.problems.empty());
    for (auto const& run : both.results().runs) {
        INFO(both.policies[run.policy].label);
        CHECK(run.outcome.how == sim::ending::all_done);
        CHECK(run.outcome.rejected == 0);
        CHECK(run.outcome.jobs[0].device_seconds == 0);
        CHECK(run.outcome.jobs[0].finished == both.results().runs[0].outcome.jobs[0].finished);
    }
}

TEST_CASE("seeds are workloads, and for a trace the noise of what its jobs report") {
    two_trainers const jobs;
    three_jobs const rigid;
    ran const made({"--generate", "cpu:jobs=20", "--models", fits, "--seeds", "3", "--cluster", "1x2cores", "--policy",
                    "flowcon"});
    REQUIRE(made.problems.empty());
    CHECK(made.input.samples.size() == 3);
    CHECK(made.input.samples[0].jobs.jobs[1].submitted != made.input.samples[1].jobs.jobs[1].submitted);
    CHECK(headline(made.results()) == "cpu: 20 jobs on 2 cores (1x2cores), 3 seeds");

    ran const noisy({"--trace", jobs.path(), "--models", fits, "--seeds", "3", "--cluster", "1x1core", "--policy",
                     "flowcon", "--interval", "1", "--set", "flowcon.interval=2"});
    REQUIRE(noisy.problems.empty());
    REQUIRE(noisy.input.samples.size() == 3);
    CHECK((noisy.input.samples[0].seed == 1 && noisy.input.samples[2].seed == 3));
    CHECK(noisy.input.remarks.empty());
    auto const results = noisy.results();
    CHECK(results.runs[0].figures.mean_jct != results.runs[1].figures.mean_jct);
    CHECK(headline(results).ends_with(": 2 jobs on 1 core (1x1core), 3 seeds"));

    ran const both({"--trace", jobs.path(), "--trace", rigid.path(), "--models", fits, "--seeds", "3", "--cluster",
                    "1x1+1core", "--policy", "fifo"});
    REQUIRE(both.problems.empty());
    REQUIRE(both.input.samples.size() == 4);
    CHECK(both.input.samples[3].seed == 0);
    CHECK(headline(both.results()).ends_with("1 device and 1 core (1x1+1core), 4 samples"));
    REQUIRE(both.input.remarks.size() == 1);
    CHECK(both.input.remarks[0].ends_with(" leaves nothing to chance, so that it is run once and not 3 times"));
}

TEST_CASE("jobs or policies that the machines have nothing for earn one sentence") {
    two_trainers const trainers;
    three_jobs const rigid;
    auto const problem = [](words w) { return ran(std::move(w)).problem(); };
    CHECK(
        problem({"--trace", trainers.path(), "--models", fits, "--cluster", "1x4", "--policy", "none"})
            .ends_with(
                " run on processors, and --cluster has none: write 1x8cores for a node with 8 of them, or 1x4+8cores for one with devices too"));
    CHECK(
        problem({"--trace", rigid.path(), "--cluster", "1x4cores", "--policy", "none"})
            .ends_with(
                " need devices, and --cluster has none: write 1x4 for a node with 4 of them, or 1x4+8cores for one with cores too"));
    CHECK(problem({"--generate", "cpu", "--models", fits, "--cluster", "1x4", "--policy", "none"})
              .starts_with("--generate: these jobs run on processors, and --cluster has none: "));
    CHECK(problem({"--generate", "rigid", "--cluster", "1x4cores", "--policy", "none"})
              .starts_with("--generate: these jobs need devices, and --cluster has none: "));
    CHECK(
        problem({"--generate", "cpu", "--cluster", "1x4cores", "--policy", "none"}) ==
        "--generate: jobs on processors need fitted losses: name their file with --models, as in --models bench/data/loss/fits.csv");
    CHECK(
        problem({"--trace", trainers.path(), "--models", fits, "--cluster", "1x1core", "--policy", "fifo"}) ==
        "the policy 'fifo' shares devices, and --cluster has none: choose one that shares cores, such as equal_share, or write 1x4+8cores for a node with both");
    CHECK(
        problem({"--trace", rigid.path(), "--cluster", "1x4", "--policy", "tradl"}) ==
        "the policy 'tradl' shares cores, and --cluster has none: choose one that shares devices, such as fifo, or write 1x4+8cores for a node with both");
    temporary_file const wrong;
    std::ofstream(wrong.path()) << "job_id,submit_time,num_gpus,model\na,0,2,vae\n";
    CHECK(problem({"--trace", wrong.path(), "--models", fits, "--cluster", "1x4+1core", "--policy", "fifo"}) ==
          wrong.path() + ":2: num_gpus is '2'; write 0, or leave it empty: jobs of this model run on processors");
    CHECK(
        to_text(ran({"--generate", "cpu", "--models", wrong.path(), "--cluster", "1x1core", "--policy", "none"})
                    .problems.front()) ==
        wrong.path() +
            ":1: this is not a file of models; write one whose first column is called model (measured rates) or name (fitted losses)");
}
