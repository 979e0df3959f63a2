// SPDX-License-Identifier: BSL-1.0
// Figures, table and JSON of a measurement.
#include <nlohmann/json.hpp>

#include "measure/scaling_output.hpp"
#include "support/catch.hpp"

using namespace ration::program;

namespace {

[[nodiscard]] measured_size size(std::int64_t devices, std::vector<double> const& speeds, std::uint64_t batch = 0) {
    measured_size out{.devices = devices};
    for (double const speed : speeds) out.launches.push_back({speed, batch});
    return out;
}

[[nodiscard]] measured_size failed(std::int64_t devices, std::string why) {
    return {.devices = devices, .launches = {}, .failure = std::move(why)};
}

[[nodiscard]] scaling_result result(std::int64_t most, std::vector<measured_size> sizes) {
    return {.file = "jobs.toml", .job = "vae", .most = most, .sizes = std::move(sizes)};
}

}  // namespace

TEST_CASE("speedup_list: sizes without a measurement are 0") {
    auto const all = result(5, {size(1, {10, 10}), size(2, {18, 18}), size(4, {30, 30})});
    CHECK(speedup_list(all) == std::vector<double>{0, 1, 1.8, 0, 3, 0});
    CHECK_FALSE(has_failure(all));
}

TEST_CASE("speedup_of: each round is compared with itself, so that a slower machine cancels out") {
    auto const all = result(2, {size(1, {10, 5}), size(2, {20, 10})});
    CHECK(speedup_of(all, all.sizes[1]) == Approx(2));
    auto const uneven = result(2, {size(1, {10, 5}), size(2, {15, 10})});
    CHECK(speedup_of(uneven, uneven.sizes[1]) == Approx(1.75));
}

TEST_CASE("speedup_list: without one device the smallest size counts as its number") {
    CHECK(speedup_list(result(4, {size(2, {10}), size(4, {15})})) == std::vector<double>{0, 0, 2, 0, 3});
    CHECK(speedup_list(result(4, {failed(1, "exit code 3"), size(2, {10}), size(4, {15})})) ==
          std::vector<double>{0, 0, 2, 0, 3});
    CHECK(speedup_list(result(2, {failed(1, "exit code 3"), failed(2, "exit code 3")})).empty());
}

TEST_CASE("compares_samples: only with different batches, and all of them known") {
    CHECK_FALSE(compares_samples(result(2, {size(1, {10}, 64), size(2, {16}, 64)})));
    CHECK_FALSE(compares_samples(result(2, {size(1, {10}, 64), size(2, {16}, 0)})));
    auto const all = result(2, {size(1, {10}, 64), size(2, {8}, 128)});
    CHECK(compares_samples(all));
    CHECK(speedup_list(all) == std::vector<double>{0, 1, 1.6});
}

TEST_CASE("scaling_text: the table, the line and the remarks") {
    auto slow = size(4, {24, 26});
    slow.note = "it reports 1 process; ration.ranks or {devices} starts one for each device";
    CHECK(scaling_text(result(4, {size(1, {10, 10}), failed(2, "it failed: exit code 3"), slow})) ==
          "devices  steps/s     range  speedup  efficiency\n"
          "1             10  10 to 10     1.00       100 %\n"
          "2         failed\n"
          "4             25  24 to 26     2.50        62 %\n"
          "\n"
          "speedup = [0, 1, 0, 0, 2.5]\n"
          "\n"
          "2 devices: it failed: exit code 3\n"
          "4 devices: it reports 1 process; ration.ranks or {devices} starts one for each device\n"
          "not measured: 2, 3; the 0 in the list excludes them from the choices of elastic_batch_dp\n");
    CHECK(scaling_text(result(2, {size(1, {10}, 64), size(2, {8}, 128)})) ==
          "devices  steps/s     range  batch  speedup  efficiency\n"
          "1             10  10 to 10     64     1.00       100 %\n"
          "2              8    8 to 8    128     1.60        80 %\n"
          "\n"
          "speedup = [0, 1, 1.6]\n"
          "\n"
          "the batch differs, so that the speedup compares samples per second\n");
    CHECK(scaling_text(result(1, {failed(1, "it reported no step within 5:00")})) ==
          "devices  steps/s  range  speedup  efficiency\n"
          "1         failed\n"
          "\n"
          "1 device: it reported no step within 5:00\n");
    CHECK(remarks_on(result(4, {size(2, {10}), size(4, {15})})) ==
          std::vector<std::string>{
              "the list counts from 2 devices as 2: fewer were not measured",
              "not measured: 3; the 0 in the list excludes them from the choices of elastic_batch_dp"});
}

TEST_CASE("scaling_text: texts of the job cannot steer the terminal") {
    auto const text = scaling_text(result(1, {failed(1, "its last line: \x1b[2J")}));
    CHECK(text.find('\x1b') == text.npos);
}

TEST_CASE("scaling_json: all figures") {
    auto const json = nlohmann::json::parse(
        scaling_json(result(3, {size(1, {10, 10}, 64), size(2, {16, 14}, 64), failed(3, "it failed: exit code 3")})));
    CHECK(json["file"] == "jobs.toml");
    CHECK(json["job"] == "vae");
    CHECK(json["compares"] == "steps");
    CHECK(json["speedup"] == std::vector<double>{0, 1, 1.5, 0});
    auto const& two = json["sizes"][1];
    CHECK((two["devices"] == 2 && two["speedup"] == 1.5 && two["efficiency"] == 0.75 && two["failure"].is_null()));
    CHECK((two["steps_per_second"] == std::vector<double>{16, 14} && two["batch"] == std::vector<int>{64, 64}));
    auto const& three = json["sizes"][2];
    CHECK((three["failure"] == "it failed: exit code 3" && three["speedup"].is_null()));
    CHECK(json["remarks"].size() == 2);
}
