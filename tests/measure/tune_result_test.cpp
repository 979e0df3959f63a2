// SPDX-License-Identifier: BSL-1.0
// Table, JSON and outcome of a search.
#include "measure/tune_result.hpp"

#include <nlohmann/json.hpp>

#include "support/catch.hpp"

using namespace ration::program;

namespace {

/// A search with the present setting t=1, and t=2, t=4 and t=8, where t=8 failed.
[[nodiscard]] tune_result search(std::vector<double> const& present, std::vector<double> const& fast) {
    tune_result all{.file = "jobs.toml",
                    .job = "gru",
                    .space = {{"t", {"1", "2", "4", "8"}}},
                    .settings = {{"1"}, {"2"}, {"4"}, {"8"}},
                    .failures = {"", "", "", "it failed: exit code 3"},
                    .ranking = {{1, fast}, {0, present}, {2, {9}}, {3, {}, true}},
                    .fitting = 6,
                    .runs = 8,
                    .repeat = 3};
    if (present.empty()) all.ranking[1].failed = true;
    return all;
}

}  // namespace

TEST_CASE("tune_text: the table and the best setting") {
    CHECK(tune_text(search({10, 10, 10}, {15, 15.5, 14.5})) ==
          "setting        steps/s  launches   gain   95 % interval\n"
          "t=2                 15         3  1.499  1.380 to 1.629\n"
          "t=1 (present)       10         3\n"
          "t=4                  9         1  0.900\n"
          "t=8             failed\n"
          "\n"
          "4 of 6 settings measured in 8 launches\n"
          "t=8: it failed: exit code 3\n"
          "best: t = 2\n");
}

TEST_CASE("best_of: the present setting stays where the gain may be an error") {
    auto const unsure = search({10, 10, 10}, {15, 9, 12});
    CHECK(best_of(unsure)->index == 0);
    CHECK(tune_text(unsure).ends_with(
        "\nthe present setting stays: no other one is faster beyond the error of the measurement\n"));
    CHECK(best_of(search({}, {15, 9, 12}))->index == 1);
    auto none = search({}, {1});
    for (auto& one : none.ranking) one.failed = true;
    CHECK(best_of(none) == nullptr);
    CHECK(tune_text(none).ends_with("\nno setting has a speed\n"));
}

TEST_CASE("tune_text: texts of the job cannot steer the terminal") {
    auto all = search({10, 10, 10}, {15, 15.5, 14.5});
    all.failures[3] = "its last line: \x1b[2J";
    CHECK(tune_text(all).find('\x1b') == std::string::npos);
}

TEST_CASE("tune_json: all figures") {
    auto const json = nlohmann::json::parse(tune_json(search({10, 10, 10}, {15, 15.5, 14.5})));
    CHECK((json["job"] == "gru" && json["compares"] == "steps" && json["launches"] == 8 && json["fitting"] == 6));
    CHECK((json["best"]["t"] == "2" && json["changes"] == true));
    auto const& first = json["settings"][0];
    CHECK((first["setting"]["t"] == "2" && first["speeds"].size() == 3 && first["failure"].is_null()));
    CHECK((first["gain_low"] > 1.3 && first["gain_high"] < 1.7));
    CHECK(json["settings"][1]["present"] == true);
    CHECK(json["settings"][2]["gain_low"].is_null());
    CHECK(json["settings"][3]["failure"] == "it failed: exit code 3");
}
