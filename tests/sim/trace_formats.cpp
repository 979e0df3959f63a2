// SPDX-License-Identifier: BSL-1.0
// Traces of other schedulers: their units, their clocks, and the lines that are no jobs.
#include <ration/sim/trace/stream.hpp>

#include "support/catch.hpp"
#include "traces.hpp"

using namespace ration;
using namespace ration::sim;
using trace::format;

namespace {

[[nodiscard]] workload parsed(std::string_view text, double unit = 0) {
    auto made = trace::read(text, traces::library(), "synthetic", format::detect, unit);
    INFO((made ? std::string() : to_text(in_file("t.csv", made.failure()))));
    REQUIRE(made);
    return *made;
}

}  // namespace

TEST_CASE("traces: times count from the first submission, and deadlines with them", "[trace]") {
    workload const common =
        parsed("job_id,submit_time,num_gpus,duration,deadline\nb,1700000060,1,20,1700000100\na,1700000000,1,10,\n");
    CHECK(common.job_names == std::vector<std::string>{"a", "b"});
    CHECK(common.jobs[0].submitted.count == 0);
    CHECK(common.jobs[0].deadline.count == -1);
    CHECK(common.jobs[1].submitted == seconds(60));
    CHECK(common.jobs[1].deadline == seconds(100));
    CHECK(parsed(traces::tiresias).jobs[1].submitted == seconds(5));
    CHECK(parsed(traces::swf).jobs[0].submitted.count == 0);
}

TEST_CASE("swf: the requested processors, or else those given, and lines that are no jobs", "[trace]") {
    workload const w = parsed(traces::swf);
    REQUIRE(w.jobs.size() == 2);
    CHECK(w.job_names == std::vector<std::string>{"1", "2"});
    CHECK((w.jobs[0].request == 2 && w.jobs[0].length == 4173));
    CHECK((w.jobs[1].request == 4 && w.jobs[1].length == 0.5));  // a run time of 0 is below half a second
    CHECK(w.jobs[1].submitted == seconds(3));
    CHECK(w.tenants == std::vector<std::string>{"1", "2"});
    CHECK(w.left_out == 2);  // 4 did not run, 5 has no processors
    CHECK(w.not_jobs == 2);  // 10000 is not a job, 3 is a part of one
    CHECK(traces::refusal("1 -5 0 1 1 -1 -1 2 3600 -1 0 1 7 -1 1 -1 -1 -1\n") ==
          "t.csv:1: field 2 is '-5'; write seconds, from 0 to 9000000000");
}

TEST_CASE("acme: times with an offset, and the run time from start to end", "[trace]") {
    workload const w = parsed(traces::acme);
    REQUIRE(w.jobs.size() == 2);
    CHECK((w.jobs[0].request == 8 && w.jobs[0].length == 600));
    CHECK((w.jobs[1].request == 1 && w.jobs[1].length == 8));
    CHECK(w.jobs[1].submitted == seconds(3600));  // 17:00 UTC is 01:00 in China
    CHECK(w.tenants == std::vector<std::string>{"u1", "u2"});
    CHECK(w.left_out == 2);
    double utc = 0;
    for (auto const* wrong : {"2023-03-01 00:00:00+8:000", "2023-03-01 00:00:00+15:00", "2023-03-01 00:00:00 08:00",
                              "1970-01-01 00:00:00+08:00"})
        CHECK_FALSE(trace::to_timestamp(wrong, utc));
}

TEST_CASE("openb: pods run from their placement to their deletion, on whole devices", "[trace]") {
    workload const w = parsed(traces::openb);
    REQUIRE(w.jobs.size() == 2);
    CHECK((w.jobs[0].request == 2 && w.jobs[0].length == 600));
    CHECK((w.jobs[1].request == 1 && w.jobs[1].length == 870));
    CHECK(w.jobs[1].submitted == seconds(25));
    CHECK(w.left_out == 2);
}

TEST_CASE("shockwave: the steps of a model that is loaded, otherwise the run time", "[trace]") {
    workload const w = parsed(traces::shockwave);
    CHECK(w.model_names == std::vector<std::string>{"ResNet-18 (batch size 32)", "rigid"});
    CHECK((w.jobs[0].length == 5000 && w.jobs[0].request == 2));
    CHECK((w.jobs[1].length == 1418 && w.jobs[1].weight == 2.5));
    CHECK(w.jobs[1].submitted == seconds(55));
}

TEST_CASE("muri has milliseconds, chronus minutes and deadlines after the submission", "[trace]") {
    workload const m = parsed(traces::muri), c = parsed(traces::chronus);
    CHECK(m.jobs[1].submitted == seconds(30));
    CHECK((m.jobs[0].length == 60 && m.jobs[1].length == 120.5));
    REQUIRE(c.jobs.size() == 3);
    CHECK(c.jobs[1].submitted == seconds(15 * 60));
    CHECK((c.jobs[0].length == 3600 && c.jobs[1].length == 7200));
    CHECK(c.jobs[0].deadline == seconds(70 * 60));
    CHECK(c.jobs[1].deadline == seconds((15 + 159) * 60));
    CHECK(c.jobs[2].deadline.count == -1);  // best effort
    CHECK(c.left_out == 1);
}

TEST_CASE("traces: another unit holds for all times that are numbers", "[trace]") {
    std::string const titles = "job_id,submit_time,num_gpus,duration,restart_cost,deadline\n";
    workload const w = parsed(titles + "a,5000,1,60000,,\nb,65000,1,1500,2000,95000\n", 1e-3);
    CHECK(w.jobs[1].submitted == seconds(60));
    CHECK((w.jobs[0].length == 60 && w.jobs[1].length == 1.5));
    CHECK(w.jobs[1].restart_cost == 2);
    CHECK(w.jobs[1].deadline == seconds(90));
    CHECK(parsed(traces::muri, 1).jobs[0].length == 60'000);
    CHECK(parsed(traces::acme, 60).jobs[0].length == 600);  // timestamps have no unit
    CHECK(traces::refusal(titles + "a,1700000000000,1,1,,\n") ==
          "t.csv:2: submit_time is '1700000000000'; write seconds, from 0 to 9000000000, or name another unit with "
          "--time-unit");
}

TEST_CASE("traces: jobs of more than 30 days are counted, for a question on the unit", "[trace]") {
    CHECK(parsed("job_id,submit_time,num_gpus,duration\na,0,1,2592000\nb,0,1,2592001\n").long_jobs == 1);
}
