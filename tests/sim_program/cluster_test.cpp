// SPDX-License-Identifier: BSL-1.0
// `ration sim` with cores on several nodes.
#include <algorithm>
#include <map>

#include "program.hpp"

using namespace simulate_test;

namespace {

/// Trainers of one core each: of two models and a second apart, or all alike and at once.
class trainers {
    temporary_file file_;

public:
    explicit trainers(int jobs, bool alike = false) {
        std::ofstream out(file_.path());
        out << "job_id,submit_time,num_gpus,model,length\n";
        for (int j = 0; j < jobs; ++j)
            out << "t" << j << ',' << (alike ? 0 : j) << ",0," << (j % 3 == 0 && !alike ? "vae" : "mlp") << ",4000\n";
    }
    [[nodiscard]] std::string const& path() const noexcept { return file_.path(); }
    [[nodiscard]] words on(std::string const& cluster, std::string const& policy) const {
        return {"--trace",  path(), "--models",   fits, "--cluster", cluster,
                "--policy", policy, "--interval", "1",  "--json"};
    }
};

/// The node of a job at this time. `nodes` has its changes in the order of their times.
[[nodiscard]] std::size_t node_at(job_history const& nodes, nanoseconds now) {
    std::size_t node = 0;
    for (auto const& change : nodes.changes)
        if (change.at <= now) node = static_cast<std::size_t>(change.amount);
    return node;
}

/// The most cores that the jobs of one run have together on each node, over all times at which anything changes.
[[nodiscard]] std::vector<double> most_used(simulated_run const& run, std::size_t nodes) {
    std::vector<double> most(nodes, 0.0);
    std::map<std::int64_t, std::vector<std::size_t>> changes;  // at a time: of these jobs
    for (std::size_t job = 0; job < run.ways.size(); ++job) {
        REQUIRE(run.ways[job].count == run.ways[job].changes.size());
        for (auto const& change : run.ways[job].changes) changes[change.at.count].push_back(job);
        for (auto const& change : run.nodes[job].changes) changes[change.at.count].push_back(job);
    }
    std::vector<double> cores(run.ways.size(), 0.0);
    for (auto const& [at, jobs] : changes) {
        for (std::size_t const job : jobs)
            for (auto const& change : run.ways[job].changes)
                if (change.at.count <= at) cores[job] = change.amount;
        std::vector<double> used(nodes, 0.0);
        for (std::size_t job = 0; job < cores.size(); ++job) used[node_at(run.nodes[job], {at})] += cores[job];
        for (std::size_t node = 0; node < nodes; ++node) most[node] = std::max(most[node], used[node]);
    }
    return most;
}

}  // namespace

TEST_CASE("cores may be on any nodes") {
    auto const machines = [](char const* text) { return parse_cluster(text).value(); };
    CHECK((machines("2x8cores").groups[0].nodes == 2 && machines("2x8cores").groups[0].cores == 8));
    CHECK(machines("1x4,1x8cores").groups[1].cores == 8);
    CHECK((machines("2x4+8cores,3x2cores").groups[0].devices == 4 && cores_of(machines("2x4+8cores,3x2cores")) == 22));
    auto const alike = machines("1x8cores:a,2x4cores:a");  // a type is not a name of nodes
    CHECK((alike.types == words{"a"} && alike.groups.size() == 2));
    CHECK(cores_of(machines("100000x10000cores")) == 1e9);
    for (char const* first : {"1x8cores", "1x4+8cores,8x4", "16x4"}) CHECK_FALSE(has_to_place(machines(first)));
    for (char const* several : {"2x8cores", "1x4,1x8cores", "2x4+8cores", "1x1core,1x1core"})
        CHECK(has_to_place(machines(several)));
}

TEST_CASE("an impossible number of cores or nodes earns one sentence with the limits") {
    std::string const limits =
        " is not a group of nodes: write NODESxDEVICES, as in 16x4, up to 100000 nodes with up to 1000 devices each, and a name behind a "
        "colon if they are of several types: 16x4:v100,8x8:a100; a node with cores is 1x8cores, or 1x4+8cores, up to 10000 cores";
    for (std::string const bad : {"2x0cores", "1000000000x8cores", "2x10001cores", "2x99999999999999999999cores",
                                  "2x4+0cores", "2x-8cores", "2xnancores"})
        CHECK(refusal({"--policy", "tradl", "--cluster", "1x1core," + bad}) ==
              "ration: --cluster: '" + bad + "'" + limits);
    CHECK(refusal({"--policy", "tradl", "--cluster", "100000x8cores,1x8cores"}) ==
          "ration: --cluster: the groups have 100001 nodes together, of 100000 that there may be");
}

TEST_CASE("TRADL on two nodes: a job runs on one of them, and no node gives more cores than it has") {
    trainers const jobs(12);
    for (std::string const faults : {"", "losses:every=40s,repair=20s"}) {
        auto asked = jobs.on("1x2cores,1x3cores", "tradl");
        if (!faults.empty()) asked.insert(asked.end(), {"--faults", faults, "--until", "2000"});
        ran const two(asked);
        REQUIRE(two.problems.empty());
        auto const results = two.results();
        auto const& run = results.runs[0];
        INFO(table_text(results));
        CHECK(
            (run.outcome.how == sim::ending::all_done && run.outcome.rejected == 0 && run.outcome.refused_ticks == 0));
        auto const most = most_used(run, 2);
        CHECK((most[0] <= 2 + 1e-9 && most[1] <= 3 + 1e-9));
        CHECK((most[0] > 1.9 && most[1] > 2.9));  // both are full at some time
        bool const moved = std::ranges::any_of(run.nodes, [](job_history const& one) { return one.count > 1; });
        CHECK(moved == !faults.empty());  // only away from a node that was lost
        for (auto const& way : run.ways)
            for (auto const& change : way.changes) CHECK(change.amount <= 1);
    }
}

// For jobs that are all alike. Others may end earlier on two nodes: a fair share of one node slows the longest job down
// beside all others, and on two nodes it may run beside fewer. The bound holds for any jobs: it takes the cores of all
// nodes for one machine.
TEST_CASE("TRADL on two nodes takes at least as long as on one node with the cores of both") {
    auto const checked_makespan = [](trainers const& jobs, char const* cluster) {
        ran const one(jobs.on(cluster, "tradl"));
        REQUIRE(one.problems.empty());
        auto const results = one.results();
        CHECK(results.runs[0].outcome.how == sim::ending::all_done);
        CHECK(results.runs[0].figures.makespan >= one.input.samples[0].bounds.makespan - 1e-6);
        return results.runs[0].figures.makespan;
    };
    trainers const alike(9, true), others(12);
    double const one = checked_makespan(alike, "1x4cores"), two = checked_makespan(alike, "2x2cores"),
                 four = checked_makespan(alike, "4x1core");
    CHECK((one < two && two < four));  // 9 jobs share 4 cores; 5 share 2; 3 share 1
    CHECK(two / one == Approx(5.0 / 2 / (9.0 / 4)).epsilon(0.01));
    for (char const* cluster : {"1x4cores", "2x2cores", "4x1core"})
        static_cast<void>(checked_makespan(others, cluster));
}

TEST_CASE("cores on several nodes: the table and JSON name all of them, and where each job ran") {
    trainers const jobs(4);
    ran const two(jobs.on("2x1core", "tradl"));
    REQUIRE(two.problems.empty());
    auto const results = two.results();
    CHECK(headline(results).ends_with(": 4 jobs on 2 cores (2x1core)"));
    auto const line = json::parse(table_json(results));
    CHECK(line["cluster"] ==
          json::parse(R"({"devices":0,"cores":2,"groups":[{"nodes":2,"devices":0,"cores":1,"type":"gpu"}]})"));
    CHECK(line["policies"][0]["jobs"]["nodes"] == json::parse("[0,1,0,1]"));
    CHECK(line["policies"][0]["figures"]["mean_wait"]["mean"] == 0);
    auto const page = report_html(results);
    CHECK(imbalance(page).empty());
    CHECK(element_of(page, "simulations")[0]["cluster"]["cores"] == 2);
    auto const& cores = results.runs[0].cores.means;
    CHECK(*std::ranges::max_element(cores) == Approx(2));

    ran const last(jobs.on("1x4,1x2cores", "tradl"));
    REQUIRE(last.problems.empty());
    auto const on_the_last = last.results();
    CHECK(on_the_last.runs[0].outcome.how == sim::ending::all_done);
    CHECK(json::parse(table_json(on_the_last))["policies"][0]["jobs"]["nodes"] == json::parse("[1,1,1,1]"));

    ran const one(jobs.on("1x2cores", "tradl"));
    CHECK_FALSE(json::parse(table_json(one.results()))["policies"][0]["jobs"].contains("nodes"));  // there is but one
}

TEST_CASE("a job that moves is in JSON with the times and the nodes") {
    trainers const jobs(2);
    auto asked = jobs.on("2x1core", "tradl");
    asked.insert(asked.end(), {"--faults", "losses:every=30s,repair=30s"});
    ran const two(asked);
    REQUIRE(two.problems.empty());
    auto const results = two.results();
    auto const nodes = json::parse(table_json(results))["policies"][0]["jobs"]["nodes"];
    bool moved = false;
    for (std::size_t job = 0; job < 2; ++job) {
        auto const& changes = results.runs[0].nodes[job].changes;
        if (changes.size() == 1) continue;
        moved = true;
        REQUIRE(nodes[job].size() == 2 * changes.size());
        CHECK(nodes[job][1] == changes[0].amount);
        CHECK(nodes[job][3] == 1 - changes[0].amount);
    }
    CHECK(moved);
}

TEST_CASE("elastic batch DP on two nodes with devices and cores does what it does on the devices alone") {
    words const asked{"--generate", "scaling:jobs=40,per_hour=60", "--policy", "elastic_batch_dp,fifo", "--json",
                      "--cluster"};
    auto const on = [&](char const* cluster) {
        auto w = asked;
        w.emplace_back(cluster);
        ran const one(w);
        REQUIRE(one.problems.empty());
        auto const results = one.results();
        std::vector<nanoseconds> ends;
        for (auto const& run : results.runs) {
            CHECK((run.outcome.how == sim::ending::all_done && run.outcome.rejected == 0));
            for (double const held : run.devices.means) CHECK(held <= 8 + 1e-9);
            for (auto const& job : run.outcome.jobs) ends.push_back(job.finished);
        }
        return ends;
    };
    CHECK(on("2x4+8cores") == on("2x4"));
}

TEST_CASE("a policy that does not place jobs on processors is refused where the first node has not all cores") {
    trainers const jobs(2);
    auto const problem = [&](char const* cluster, std::string const& policy) {
        return ran(jobs.on(cluster, policy)).problem();
    };
    std::string const why =
        "' does not place jobs on processors, and --cluster has cores on other nodes than the first: choose one that does, such as "
        "tradl, or give all cores to the first node, as in 1x8cores or 1x4+8cores,8x4";
    for (std::string const policy : {"none", "equal_share", "flowcon", "fifo", "drf", "elastic_batch_dp"})
        for (char const* cluster : {"2x4+8cores", "1x4,1x1+8cores"})
            CHECK(problem(cluster, policy) == "the policy '" + policy + why);
    CHECK(problem("2x8cores", "fifo").starts_with("the policy 'fifo' shares devices, and --cluster has none"));
    CHECK(ran(jobs.on("2x4+8cores", "tradl")).problems.empty());
    CHECK(ran(jobs.on("1x4+8cores,8x4", "none")).problems.empty());
    three_jobs const rigid;  // no job on processors, so nothing to place
    CHECK(ran({"--trace", rigid.path(), "--cluster", "2x4+8cores", "--policy", "fifo,drf"}).problems.empty());
}
