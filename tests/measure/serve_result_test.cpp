// SPDX-License-Identifier: BSL-1.0
// Figures, tables and JSON of servers alone and together.
#include "measure/serve_result.hpp"

#include <nlohmann/json.hpp>

#include "support/catch.hpp"

using namespace ration::program;

namespace {

[[nodiscard]] load_pass pass(double rate, double lateness = 0) {
    return {.offered = rate, .served = rate, .p50 = 0.01, .p95 = 0.05, .lateness = lateness};
}

/// Two rounds in which the second server has `ramped` of its 40 requests per second beside the first one.
[[nodiscard]] serve_result two_servers(double ramped) {
    serve_round const round{.alone = {pass(20), pass(40)}, .together = {{5, ramped}, {10, 24}, {15, 10}}};
    return {.file = "jobs.toml", .jobs = {"cnn", "lstm"}, .limit = 1, .rounds = {round, round}};
}

}  // namespace

TEST_CASE("saving_of: one machine beside the parts of two dedicated ones") {
    auto const all = two_servers(34);
    CHECK(dedicated_machines(all.rounds[0], 0) == Approx(0.25 + 0.85));
    CHECK(saving_of(all, 0).mean == Approx(1 - 1 / 1.1));
    CHECK(saving_of(all, 2).mean == Approx(0).margin(1e-12));
}

TEST_CASE("serve_text: the servers alone and together") {
    CHECK(serve_text(two_servers(34)) ==
          "alone  requests/s     range      p50      p95  sent late, p95\n"
          "cnn            20  20 to 20  10.0 ms  50.0 ms          0.0 ms\n"
          "lstm           40  40 to 40  10.0 ms  50.0 ms          0.0 ms\n"
          "\n"
          "cnn at  cnn/s  lstm/s  dedicated machines  saving  95 % interval\n"
          "25 %        5      34                1.10   9.1 %   9.1 to 9.1 %\n"
          "50 %       10      24                1.10   9.1 %   9.1 to 9.1 %\n"
          "75 %       15      10                1.00   0.0 %   0.0 to 0.0 %\n");
    serve_result const one{
        .file = "f", .jobs = {"a\x1b[2J"}, .limit = 0.1, .rounds = {{.alone = {pass(7, 0.02)}, .together = {}}}};
    auto const text = serve_text(one);
    CHECK(text.find('\x1b') == text.npos);
    CHECK(text.find("together") == text.npos);
    CHECK(
        text.ends_with("\n\nrequests were sent late by more than a tenth of the limit; leave a core to ration, or "
                       "lengthen --limit\n"));
}

TEST_CASE("serve_json: all figures") {
    auto const json = nlohmann::json::parse(serve_json(two_servers(34)));
    CHECK((json["jobs"] == std::vector<std::string>{"cnn", "lstm"} && json["limit"] == 1));
    CHECK(json["rounds"][1]["alone"][0]["served_per_second"] == 20);
    CHECK(json["rounds"][0]["together"][0]["ramped"] == 34);
    CHECK((json["together"][1]["share"] == 0.5 && json["together"][1]["saving"] > 0.09));
}
