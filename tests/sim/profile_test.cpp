// SPDX-License-Identifier: BSL-1.0
// Measured profiles: single values against the rows they were measured in, whole jobs against published completion
// times.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <ration/sim/profile_files.hpp>

#include "support/catch.hpp"

using namespace ration::sim;
using Catch::Approx;

namespace {

[[nodiscard]] model_library const& applications() {
    static model_library const library = [] {
        auto read = load_profiles(RATION_BENCH_DATA "/pollux", {.interference = 0.25});
        INFO((read ? std::string() : to_text(in_file("pollux", read.failure()))));
        REQUIRE(read);
        return *read;
    }();
    return library;
}
[[nodiscard]] named_model const& named(std::string_view name) {
    named_model const* const found = find_model(applications(), name);
    REQUIRE(found != nullptr);
    return *found;
}
[[nodiscard]] profile_model const& model_of(std::string_view name) {
    return static_cast<profile_model const&>(*named(name).model);
}

using spread = std::vector<std::int32_t>;
[[nodiscard]] std::int64_t sum(spread const& s) {
    std::int64_t devices = 0;
    for (auto const d : s) devices += d;
    return devices;
}
[[nodiscard]] spread on_nodes_of(std::int64_t per_node, std::int64_t devices) {
    spread s;
    for (; devices > 0; devices -= per_node) s.push_back(static_cast<std::int32_t>(std::min(devices, per_node)));
    return s;
}
[[nodiscard]] step_time time_of(char const* application, spread const& s, double local) {
    return model_of(application).time(s, sum(s), local);
}

struct shown_values {
    std::vector<double> goodput, fixed;
    std::vector<std::int64_t> batch;
};
[[nodiscard]] shown_values shown(named_model const& of, std::int64_t batch, double step, std::int64_t per_node,
                                 std::int64_t most = 64) {
    job_description job = of.usual;
    job.batch = batch;
    auto const width = static_cast<std::size_t>(most + 1);
    shown_values v{std::vector<double>(width, -1), std::vector<double>(width, -1),
                   std::vector<std::int64_t>(width, -1)};
    of.model->show(job, step, 0, per_node, {v.goodput, v.fixed, v.batch});
    return v;
}

/// Seconds from the submission of a job to its end in the artifact's simulator. The job runs alone from its first round
/// on. The simulator decides every 60 s, takes 30 s to start, and rounds the end of every row of the statistics to
/// whole seconds.
[[nodiscard]] double completion(std::string_view application, std::int64_t devices, std::int64_t batch,
                                double submitted) {
    named_model const& of = named(application);
    job_description job = of.usual;
    job.batch = batch;
    spread const s = on_nodes_of(4, devices);
    double progress = 0, restart = job.restart_cost;
    for (double round = std::ceil(submitted / 60) * 60;; round += 60) {
        double now = round + std::min(restart, 60.0), left = round + 60 - now;
        restart = 0;
        while (left > 0) {
            speed_segment const p = of.model->at(job, {.spread = s, .devices = devices}, progress);
            double const next = std::min(p.until, job.length);
            if (progress + p.steps_per_second * left < next) {
                progress += p.steps_per_second * left;
                break;
            }
            double const taken = std::nearbyint((next - progress) / p.steps_per_second);
            progress = next;
            now += taken;
            left -= taken;
            if (next == job.length) return now - submitted;
        }
    }
}

}  // namespace

TEST_CASE("the times of measured placements and batches are those of their rows", "[profile]") {
    CHECK(time_of("cifar10", {1}, 64).step == Approx(0.0598334));
    CHECK(time_of("cifar10", {1}, 64).sync == Approx(0.000508045));
    CHECK(time_of("cifar10", {1}, 54.5).step == Approx((0.0504853 + 0.0598334) / 2));
    CHECK(time_of("cifar10", {4, 2}, 45).step == Approx(0.187353));        // the row 24
    CHECK(time_of("cifar10", {3, 2, 1, 1}, 32).step == Approx(0.149029));  // the row 1132, which is the same ring
    CHECK(time_of("cifar10", {3, 2, 1, 1}, 32).sync == Approx(0.106933));
    CHECK(time_of("cifar10", on_nodes_of(2, 16), 64).step == Approx(0.184607));  // 8 nodes, 16 devices
}

TEST_CASE("times between measured counts lie on straight lines of as many devices for each node, and stop at the edges",
          "[profile]") {
    // 14 devices on 5 nodes: 11.2 on 4 (between 0.159125 for 11 and 0.161459 for 12) and 16.8 on 6 (0.16209 for 16,
    // 0.170521 for 20)
    CHECK(time_of("cifar10", {3, 3, 3, 3, 2}, 64).step == Approx((0.1595918 + 0.1637762) / 2).epsilon(1e-5));
    CHECK(time_of("cifar10", {8}, 64).step == time_of("cifar10", {4}, 64).step);
    CHECK(time_of("cifar10", on_nodes_of(1, 20), 64).step == time_of("cifar10", on_nodes_of(1, 16), 64).step);
    CHECK(time_of("cifar10", {4, 4}, 1024).step > time_of("cifar10", {4, 4}, 725).step);
}

TEST_CASE("the gain of a batch follows from the statistics of its row", "[profile]") {
    // cifar10, first row: batch 128 has sqr 8.94731, var 5.06659; batch 256 sqr 17.3795, var 13.9378
    auto const& cifar10 = model_of("cifar10");
    CHECK(cifar10.gain(128, 0) == Approx(1));
    CHECK(cifar10.gain(256, 0) == Approx((13.9378 + 17.3795) / (13.9378 / 2 + 17.3795)));
    double const square = (8.94731 + 17.3795) / 2, variance = (5.06659 + 13.9378) / 2;
    CHECK(cifar10.gain(192, 0) == Approx((variance + square) / (variance * 128 / 192 + square)));
}

TEST_CASE("speed is gain over the time of a step with its accumulations", "[profile]") {
    job_description job = named("yolov3").usual;
    job.batch = 64;
    auto const& yolov3 = model_of("yolov3");
    // 4 devices, 16 samples each, at most 8 at once: one accumulation
    auto const [step, sync] = time_of("yolov3", {4}, 8);
    spread const four{4}, one{1}, two_nodes{2, 2};
    CHECK(yolov3.at(job, {.spread = four, .devices = 4}, 0).steps_per_second ==
          Approx(yolov3.gain(64, 0) / (2 * step - sync)));
    // On one device above the initial batch of 8: accumulated though 12 would otherwise be two times 6 anyway
    job.batch = 12;
    CHECK(yolov3.at(job, {.spread = one, .devices = 1}, 0).steps_per_second ==
          Approx(yolov3.gain(12, 0) / (2 * time_of("yolov3", {1}, 6).step - time_of("yolov3", {1}, 6).sync)));
    named_model const& cifar10 = named("cifar10");
    job = cifar10.usual;
    job.batch = 256;  // fits at once, and is accumulated all the same
    CHECK(cifar10.model->at(job, {.spread = one, .devices = 1}, 0).steps_per_second ==
          Approx(model_of("cifar10").gain(256, 0) / (2 * 0.103351 - 0.000525232)).epsilon(0.01));
    CHECK(cifar10.model->at(job, {.spread = two_nodes, .devices = 4, .batch = 512}, 0).steps_per_second ==
          Approx(model_of("cifar10").gain(512, 0) / time_of("cifar10", {2, 2}, 128).step));
}

TEST_CASE("what is impossible has speed 0", "[profile]") {
    named_model const& cifar10 = named("cifar10");
    job_description job = cifar10.usual;
    job.batch = 256;  // at least 32 on each device: at most 8 devices
    spread const eight = on_nodes_of(4, 8), nine = on_nodes_of(4, 9), many = on_nodes_of(4, 68);
    CHECK(cifar10.model->at(job, {.spread = eight, .devices = 8}, 0).steps_per_second > 0);
    CHECK(cifar10.model->at(job, {.spread = nine, .devices = 9}, 0).steps_per_second == 0);
    CHECK(cifar10.model->at(job, {}, 0).steps_per_second == 0);
    job.batch = 4096;
    CHECK(cifar10.model->at(job, {.spread = many, .devices = 68}, 0).steps_per_second == 0);
    shown_values const v = shown(cifar10, 256, 0, 4, 70);
    CHECK(v.fixed[8] > 0);
    CHECK(v.fixed[9] == 0);
    CHECK(v.goodput[64] > 0);
    CHECK(v.goodput[65] == 0);
    CHECK(v.batch[70] == 0);
    CHECK(v.goodput[0] == 0);
}

TEST_CASE("only jobs on several nodes are slowed by others that share one", "[profile]") {
    named_model const& cifar10 = named("cifar10");
    job_description const job = cifar10.usual;
    spread const one{4}, two{2, 2};
    auto const speed = [&](spread const& s, bool shares) {
        return cifar10.model->at(job, {.spread = s, .devices = 4, .batch = 512, .shares_node = shares}, 0)
            .steps_per_second;
    };
    CHECK(speed(two, true) == 0.75 * speed(two, false));
    CHECK(speed(one, true) == speed(one, false));
}

TEST_CASE("the pace holds until the statistics change, and rounding does not make a row that never ends", "[profile]") {
    auto const& m = model_of("cifar10");
    job_description const job = named("cifar10").usual;
    spread const one{1};
    auto const until = [&](double step) { return m.at(job, {.spread = one, .devices = 1}, step).until; };
    auto const& ends = m.measured().ends;
    REQUIRE(ends.size() == 100);
    CHECK(until(0) == ends[0]);
    CHECK(until(std::nextafter(ends[0], 0.0)) == ends[1]);
    CHECK(until(ends[0]) == ends[1]);
    CHECK(until(ends[0] - 0.01) == ends[0]);
    CHECK(until(ends[98]) == std::numeric_limits<double>::infinity());
    CHECK(m.length() == ends[99]);
    CHECK(named("cifar10").usual.length == ends[99]);
}

TEST_CASE("what policies are shown is what they get", "[profile]") {
    for (auto const& one : applications()) {
        bool const fixed = model_of(one.name).measured().fixed_batch;
        auto const half = static_cast<std::int64_t>(model_of(one.name).measured().max_batch) / 2;
        // One that was measured, and one that was not
        for (std::int64_t const batch : {fixed ? 2 * half : half, half + 1})
            for (double const part : {0.0, 0.3, 0.9})
                for (std::int64_t const per_node : {4, 3}) {  // prepared, and computed when asked
                    double const step = part * one.usual.length;
                    shown_values const v = shown(one, batch, step, per_node, one.usual.most);
                    job_description job = one.usual;
                    job.batch = batch;
                    for (std::int64_t k = 1; k <= one.usual.most; ++k) {
                        auto const i = static_cast<std::size_t>(k);
                        spread const s = on_nodes_of(per_node, k);
                        INFO(one.name << ' ' << k << " devices");
                        REQUIRE(one.model->at(job, {.spread = s, .devices = k}, step).steps_per_second == v.fixed[i]);
                        REQUIRE(one.model->at(job, {.spread = s, .devices = k, .batch = v.batch[i]}, step)
                                    .steps_per_second == v.goodput[i]);
                        REQUIRE(v.goodput[i] >= 0.97 * v.fixed[i]);
                    }
                }
    }
}

TEST_CASE("the best batch is near the best of all batches", "[profile]") {
    for (char const* const name : {"cifar10", "bert", "yolov3"}) {
        named_model const& one = named(name);
        shown_values const v = shown(one, 0, 0.5 * one.usual.length, 4);
        for (std::int64_t const k : {1, 2, 3, 6, 16, 40}) {
            double best = 0;
            spread const s = on_nodes_of(4, k);
            auto const& m = model_of(name).measured();
            for (auto b = static_cast<std::int64_t>(m.initial_batch); b <= static_cast<std::int64_t>(m.max_batch); ++b)
                best = std::max(
                    best, one.model->at(one.usual, {.spread = s, .devices = k, .batch = b}, 0.5 * one.usual.length)
                              .steps_per_second);
            INFO(name << ' ' << k);
            CHECK(v.goodput[static_cast<std::size_t>(k)] <= best);
            CHECK(v.goodput[static_cast<std::size_t>(k)] >= 0.97 * best);
        }
    }
}

TEST_CASE("a fixed batch is never another one", "[profile]") {
    for (std::int64_t const batch : {32768, 1024}) {
        shown_values const v = shown(named("ncf"), batch, 0, 4, 1);
        CHECK(v.batch[1] == batch);
        CHECK(v.goodput[1] == v.fixed[1]);
        CHECK(v.fixed[1] > 0);
    }
}

TEST_CASE("jobs that ran alone are done when the published runs say, to the second", "[profile]") {
    // Of summary.json in the artifact's results-jobload/tiresias-1.0, workload-4 and workload-2.
    CHECK(completion("bert", 6, 384, 259) == 3163);
    CHECK(completion("cifar10", 6, 2048, 289) == 951);
    CHECK(completion("cifar10", 6, 2048, 498) == 982);
    CHECK(completion("cifar10", 8, 2048, 1915) == 900);
    CHECK(completion("cifar10", 16, 4096, 447) == 545);
    CHECK(completion("cifar10", 16, 4096, 1314) == 518);
    CHECK(completion("deepspeech2", 8, 320, 543) == 3617);
    CHECK(completion("ncf", 1, 32768, 1107) == 110);
    CHECK(completion("ncf", 1, 32768, 1543) == 94);
    CHECK(completion("yolov3", 4, 64, 10930) == 14182);
}

TEST_CASE("the workloads that come with the profiles can be read", "[profile]") {
    for (int i = 1; i <= 4; ++i) {
        auto const made = trace::read_file((RATION_BENCH_DATA "/pollux/workload-" + std::to_string(i) + ".csv").c_str(),
                                           applications());
        REQUIRE(made);
        CHECK(made->jobs.size() == 160);
        for (auto const& job : made->jobs) {
            REQUIRE(job.restart_cost == 30);
            spread const s = on_nodes_of(4, job.request);
            REQUIRE(made->models[job.model]->at(job, {.spread = s, .devices = job.request}, 0).steps_per_second > 0);
        }
    }
}

TEST_CASE("a wrong profile is refused with its file and line", "[profile]") {
    std::string const applications =
        "application,initial_batch,max_batch,min_local_batch,max_local_batch,most_devices,fixed_batch,restart_cost\na,8,16,4,8,2,0,30\n";
    std::string const times =
        "application,nodes,devices,spread,local_batch,step_time,sync_time\na,1,1,1,4,0.5,0.1\na,1,1,,4,0.5,0.1\n";
    std::string const gradients =
        "application,progress,batch,grad_sqr,grad_var\na,10,8,1,2\na,10,16,1,2\na,20,8,1,2\na,20,16,1,2\n";
    auto const error_of = [](std::string const& a, std::string const& t, std::string const& g) {
        auto const read = read_profiles({a, t, g});
        return read ? std::string() : to_text(in_file("p", read.failure()));
    };
    CHECK(error_of(applications, times, gradients).empty());
    CHECK(error_of("x\n", times, gradients)
              .starts_with("p: applications.csv:1: the columns have to be application,initial_batch"));
    CHECK(error_of("", times, gradients).starts_with("p: applications.csv: there is nothing in this file"));
    CHECK(error_of(applications + "a,8,16,4,8,2,0,30\n", times, gradients)
              .starts_with("p: applications.csv:3: an application has a unique name"));
    CHECK(error_of(applications + "b,8,16,4,8,65,0,30\n", times, gradients).starts_with("p: applications.csv:3: "));
    CHECK(error_of(applications + "b,8,nan,4,8,2,0,30\n", times, gradients) ==
          "p: applications.csv:3: 'nan' is not a number from 0 to 1e300");
    CHECK(error_of(applications, times + "b,1,1,1,4,0.5,0.1\n", gradients)
              .starts_with("p: step_times.csv:4: a row has an application"));
    CHECK(error_of(applications, times + "a,1,1,1,4,0.5,0.1\n", gradients) ==
          "p: step_times.csv:4: the local batches of one placement have to ascend");
    CHECK(error_of(applications, times + "a,1,1,1,5,0.5,0.6\n", gradients).starts_with("p: step_times.csv:4: "));
    // Their speeds would be infinite, or no number
    for (auto const* const seconds : {"0", "1e-320", "9e-10", "1.1e9", "1e300"})
        CHECK(error_of(applications, times + "a,1,1,1,5," + seconds + ",0\n", gradients)
                  .starts_with("p: step_times.csv:4: a row has an application"));
    CHECK(error_of(applications, times + "a,1,1\n", gradients) ==
          "p: step_times.csv:4: this line has 3 columns; write 7");
    CHECK(error_of(applications, times, gradients + "a,30,16,1,2\n")
              .starts_with("p: gradients.csv:6: for each application progress ascends"));
    CHECK(error_of(applications, times, gradients + "a,20,8,1,2\n").starts_with("p: gradients.csv:6: "));
    CHECK(error_of(applications, times, gradients + "a,30,8,0,0\n").starts_with("p: gradients.csv:6: "));
    CHECK(error_of(applications, times, gradients + "a,30,8,1,2\n")
              .starts_with("p: applications.csv: a has no step times, or no statistics"));
    CHECK(error_of(applications + "b,8,16,4,8,2,0,30\n", times, gradients)
              .starts_with("p: applications.csv: b has no step times"));
}
