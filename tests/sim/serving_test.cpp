// SPDX-License-Identifier: BSL-1.0
// Services in traces, from a seed and in runs: their requests, and how far policies are from them.
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ration/policies/elastic_batch_dp.hpp>
#include <ration/policies/fifo.hpp>
#include <ration/policies/max_min.hpp>
#include <ration/policies/wants.hpp>
#include <ration/sim/bounds.hpp>
#include <ration/sim/generator.hpp>
#include <ration/sim/simulation.hpp>
#include <ration/sim/summary.hpp>

#include "support/catch.hpp"
#include "traces.hpp"

using namespace ration;
using namespace ration::sim;
using Catch::Approx;

namespace {

/// One service of 1000 s on up to four devices, which needs 2, then 4, then 1; and a rigid job after it.
constexpr std::string_view service_trace =
    "job_id,submit_time,num_gpus,duration,model,min_gpus,max_gpus,requests\n"
    "a,100,3,1000,,,,0:2 200:4 600:1\n"
    "b,2000,1,50,,,,\n";

/// The trace, with its first job at 100 s and not at 0, so that decisions do not come at the submission.
[[nodiscard]] result<workload, diagnostic> read_late(std::string_view text) {
    auto read = trace::read(text, {}, "t");
    for (std::size_t i = 0; read && i < read->jobs.size(); ++i)
        read->jobs[i].submitted = read->jobs[i].submitted + seconds(100);
    return read;
}

[[nodiscard]] std::string schedule_refusal(std::string const& requests, std::string const& model = "") {
    auto const read = trace::read(
        "job_id,submit_time,num_gpus,duration,model,requests\na,0,1,9," + model + ',' + requests + '\n', {}, "t");
    return read ? "" : read.failure().text;
}

template <Policy P>
figures run_under(workload const& jobs, P const& rule, nanoseconds interval, std::int64_t devices = 8) {
    cluster machines;
    machines.groups.push_back({.nodes = 1, .devices = devices});
    policy_adapter<P> policy(rule);
    policy_adapter<policies::fifo> fallback;
    auto const done = simulation(jobs, machines, policy, fallback, {.interval = interval}).run();
    REQUIRE(done);
    CHECK(done->how == ending::all_done);
    CHECK(done->rejected == 0);
    return figures_of(jobs, machines, needs_of(jobs, machines), *done);
}

}  // namespace

TEST_CASE("a trace gives the requests of a service", "[trace][serving]") {
    auto const read = read_late(service_trace);
    REQUIRE(read);
    auto const& a = read->jobs[0];
    CHECK((a.request == 3 && a.least == 1 && a.most == 4 && a.length == 1000));
    auto const& model = *read->models[a.model];
    CHECK(model.makes_requests());
    auto const requested_at = [&](double second) { return model.requested(a, 0, seconds(100 + second)); };
    CHECK(requested_at(0) == 2);
    CHECK(requested_at(199.9) == 2);
    CHECK(requested_at(200) == 4);
    CHECK(requested_at(600) == 1);
    CHECK(requested_at(5000) == 1);
    CHECK_FALSE(read->models[read->jobs[1].model]->makes_requests());
    auto const again = read_late(trace::written(*read));
    REQUIRE(again);
    CHECK(trace::written(*again) == trace::written(*read));
}

TEST_CASE("a schedule that is not one is refused", "[trace][serving]") {
    std::string const remedy = "; write whole seconds after the submission, and devices, as in 0:2 600:8 1200:3";
    for (std::string const wrong : {"2", "0:", ":2", "0:0", "5:2", "0:2 0:3", "0:2 9:1 8:1", "0:2  9:1", "0:1.5",
                                    "0:-1", "-1:1", "0:1000001", "0:1 9000000001:1", "0:2;9:1", "0:x"})
        CHECK(schedule_refusal(wrong) == "requests is '" + wrong + "'" + remedy);
    CHECK(schedule_refusal("0:1 9000000000:1000000").empty());
    CHECK(schedule_refusal("0:1", "service").empty());
    CHECK(schedule_refusal("0:1", "vgg16") ==
          "model is 'vgg16'; write service, or leave it empty: the job has requests");
}

TEST_CASE("the agility of a policy is its excess and its shortage", "[serving]") {
    auto const jobs = read_late(service_trace);
    REQUIRE(jobs);
    auto const in_time = run_under(*jobs, policies::wants(), seconds(50));
    CHECK(in_time.excess == 0);
    CHECK(in_time.shortage == 0);
    // Decisions at multiples of 80 s: 20 s late with 2 more devices, and 20 s late with 3 fewer
    auto const late = run_under(*jobs, policies::wants(), seconds(80));
    CHECK(late.excess == Approx((720 - 700) * 3 / 1000.0));
    CHECK(late.shortage == Approx((320 - 300) * 2 / 1000.0));
    auto const as_submitted = run_under(*jobs, policies::fifo(), seconds(50));
    CHECK(as_submitted.excess == Approx((200 * 1 + 400 * 2) / 1000.0));
    CHECK(as_submitted.shortage == Approx(400 * 1 / 1000.0));
    auto const most = run_under(*jobs, policies::max_min(), seconds(50));
    CHECK(most.excess == Approx((200 * 2 + 400 * 3) / 1000.0));
    CHECK(most.shortage == 0);
    auto const heeding = run_under(*jobs, policies::max_min({.heed_wants = true}), seconds(50));
    CHECK(heeding.excess == 0);
    CHECK(heeding.shortage == 0);
}

TEST_CASE("elastic_batch_dp gives a service its maximum, or with heed_wants its request", "[serving]") {
    // Without the rigid job, which has no batch
    auto const jobs = read_late(service_trace.substr(0, service_trace.find("b,2000")));
    REQUIRE(jobs);
    auto const most = run_under(*jobs, policies::elastic_batch_dp({.interval = 50}), seconds(50));
    CHECK(most.excess == Approx((200 * 2 + 400 * 3) / 1000.0));
    auto const heeding =
        run_under(*jobs, policies::elastic_batch_dp({.interval = 50, .heed_wants = true}), seconds(50));
    CHECK(heeding.excess == 0);
    CHECK(heeding.shortage == 0);
}

TEST_CASE("the level of a service is met while it holds the devices that it requests", "[serving][levels]") {
    auto const jobs = read_late(service_trace);
    REQUIRE(jobs);
    CHECK(run_under(*jobs, policies::wants(), seconds(50)).level_met == 1);
    // The 20 s in which the decision is late, of 1000
    CHECK(run_under(*jobs, policies::wants(), seconds(80)).level_met == Approx(0.98));
    CHECK(run_under(*jobs, policies::fifo(), seconds(50)).level_met == Approx(0.6));
    CHECK(run_under(*jobs, policies::max_min(), seconds(50)).level_met == 1);
    auto const none = trace::read(traces::common, {}, "t");
    REQUIRE(none);
    CHECK(std::isnan(run_under(*none, policies::fifo(), seconds(50)).level_met));
}

namespace {

/// Records the columns of the first job, and grants it two devices.
struct level_watcher {
    using policy_concept = policy_tag;
    using inputs = columns<in<double, "jobs/slo.met">, in<double, "jobs/slo.slack">, in<std::uint32_t, "jobs/state">>;
    static constexpr meta about{.id = "org.example.level-watcher", .version = "1.0.0"};
    std::vector<std::array<double, 3>>* seen;

    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        if (t.jobs() == 0 || !is_active(static_cast<job_state>(t.get<"jobs/state">()[0]))) return status::ok;
        seen->push_back({to_seconds(t.now()), t.get<"jobs/slo.met">()[0], t.get<"jobs/slo.slack">()[0]});
        return out.set(0, 0, resource_id::gpu, 2) ? status::ok : status::capacity;
    }
};

}  // namespace

TEST_CASE("a simulated service shows its level over the last minute", "[serving][levels]") {
    auto const jobs = read_late(service_trace.substr(0, service_trace.find("b,2000")));
    REQUIRE(jobs);
    std::vector<std::array<double, 3>> seen;
    run_under(*jobs, level_watcher{.seen = &seen}, seconds(20));
    auto const at = [&](double second) {
        for (auto const& [when, met, slack] : seen)
            if (when == second) return std::pair(met, slack);
        return std::pair(-1.0, -1.0);
    };
    CHECK(at(100) == std::pair(0.0, -1.0));  // it waits for devices
    CHECK(at(120) == std::pair(1.0, 0.0));
    CHECK(at(300) == std::pair(1.0, 0.0));
    CHECK(at(320).first == Approx(40 / 60.0));  // since 20 s it needs four
    CHECK(at(320).second == Approx((120.0 - 160) / 160));
    CHECK(at(360) == std::pair(0.0, -0.5));
    CHECK(at(700) == std::pair(0.0, -0.5));
    CHECK(at(760) == std::pair(1.0, 1.0));  // one is enough
}

namespace {

/// A service that needs 2 devices, then 6, then 2, beside two training jobs that can use more than they get.
[[nodiscard]] workload services_and_training() {
    auto jobs = make_scaling({.seed = 1, .jobs = 2}, {.most_devices = 8});
    for (auto& job : jobs.jobs) {
        job.submitted = {};
        job.least = 1;
        job.restart_cost = 0;
    }
    job_description service;
    service.model = static_cast<std::uint32_t>(jobs.models.size());
    service.request = 2;
    service.most = 8;
    service.length = 4000;
    jobs.models.push_back(std::make_shared<serving_model>(*serving_model::schedule_in("0:2 1000:6 3000:2")));
    jobs.model_names.emplace_back("service");
    jobs.jobs.push_back(service);
    for (std::size_t i = 0; i < 2; ++i) jobs.jobs[i].length *= 100;  // longer than the service
    return jobs;
}

}  // namespace

TEST_CASE("levels_first: a service gets the devices of training jobs while it is below its level",
          "[serving][levels]") {
    auto const jobs = services_and_training();
    auto const usual = run_under(jobs, policies::wants(), seconds(50));
    auto const first = run_under(jobs, policies::wants({.levels_first = true}), seconds(50));
    CHECK(usual.level_met == Approx(0.5));     // three devices instead of six, for 2000 of 4000 s
    CHECK(first.level_met == Approx(0.9875));  // one decision shows the lost level, and the next one is right
    CHECK(first.mean_jct > usual.mean_jct);    // the training jobs pay for it
}

TEST_CASE("levels_first: with enough devices, or without services, nothing changes", "[serving][levels]") {
    auto const same = [](workload const& jobs, std::int64_t devices) {
        auto const usual = run_under(jobs, policies::wants(), seconds(50), devices);
        auto const first = run_under(jobs, policies::wants({.levels_first = true}), seconds(50), devices);
        CHECK(first.mean_jct == usual.mean_jct);
        CHECK(first.utilisation == usual.utilisation);
        return usual.level_met;
    };
    CHECK(same(services_and_training(), 24) == 1);
    auto training = services_and_training();
    training.jobs.pop_back();
    CHECK(std::isnan(same(training, 8)));
}

TEST_CASE("the gap to requests is exact at the latest times of a trace", "[serving]") {
    serving_model const model(*serving_model::schedule_in("0:1 9000000000:3"));
    job_description job;
    job.submitted = seconds(8.5e9);
    auto const gap = model.gap_to_requests(job, 2, job.submitted + seconds(10), job.submitted + seconds(70));
    CHECK(gap.excess == 60);
    CHECK(gap.shortage == 0);
}

TEST_CASE("only services have an agility", "[serving]") {
    auto const jobs = trace::read(traces::common, {}, "t");
    REQUIRE(jobs);
    CHECK(std::isnan(run_under(*jobs, policies::fifo(), seconds(50)).excess));
}

TEST_CASE("services from a seed: the same each time, from one device to their peak and back", "[generator][serving]") {
    generator_options const o{.seed = 3, .jobs = 50};
    auto const made = make_serving(o, 6);
    REQUIRE(made.jobs.size() == 50);
    std::int64_t largest = 0;
    for (auto const& job : made.jobs) {
        std::int64_t least = 100, most = 0;
        for (double second = 0; second < job.length; second += 300) {
            auto const devices = made.models[job.model]->requested(job, 0, job.submitted + seconds(second));
            least = std::min(least, devices);
            most = std::max(most, devices);
        }
        CHECK(least == 1);
        CHECK(most <= job.most);
        CHECK((job.most <= 6 && job.length >= 2 * 3600 && job.length <= 8 * 3600));
        largest = std::max(largest, most);
    }
    CHECK(largest == 6);
    auto const text = trace::written(made);
    CHECK(text == trace::written(make_serving(o, 6)));
    CHECK(text != trace::written(make_serving({.seed = 4, .jobs = 50}, 6)));
    auto const again = trace::read(text, {}, "serving");
    REQUIRE(again);
    CHECK(trace::written(*again) == traces::written_from_first(made));
}
