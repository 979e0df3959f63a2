// SPDX-License-Identifier: BSL-1.0
// `ration sim --noise`.
#include "program.hpp"

using namespace simulate_test;

namespace {

[[nodiscard]] words on_eight_devices(words more) {
    words all{"--generate", "rigid:jobs=150,per_hour=60", "--cluster", "2x4", "--policy", "fifo,srtf", "--seeds", "2"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

[[nodiscard]] std::string refused(std::string const& noise) { return refusal(on_eight_devices({"--noise", noise})); }

}  // namespace

TEST_CASE("--noise: a wrong word earns one sentence") {
    std::string const known =
        "; choose a prediction: remaining, total_steps, nominal_steps_per_second, restart_cost, speedup, goodput, "
        "goodput.fixed";
    CHECK(refused("remainig=1") == "ration: --noise: 'remainig' is not a column of jobs" + known);
    CHECK(refused("=1") == "ration: --noise: '' is not a column of jobs" + known);
    for (std::string const counted : {"attained", "step", "held.gpu", "submitted", "measured_steps_per_second"})
        CHECK(refused(counted + "=1") == "ration: --noise: '" + counted +
                                             "' is exact in a simulation, which counts it or takes it from the trace" +
                                             known);
    for (std::string const bad : {"", "-1", "11", "nan", "1x"})
        CHECK(refused("remaining=" + bad) == "ration: --noise: '" + bad +
                                                 "' is not a standard deviation of remaining; write a number from 0 to "
                                                 "10, as in remaining=0.5");
    CHECK(refused("remaining").starts_with("ration: --noise: '' is not a standard deviation"));
}

TEST_CASE("--noise: 0 gives the bytes of a run without it") {
    ran const plain(on_eight_devices({})), exact(on_eight_devices({"--noise", "remaining=0,restart_cost=0"}));
    REQUIRE((plain.problems.empty() && exact.problems.empty()));
    CHECK(table_json(plain.results()) == table_json(exact.results()));
    CHECK(table_text(plain.results()) == table_text(exact.results()));
}

TEST_CASE("--noise: the same for one seed, only for policies that read the column, and told in the output") {
    ran const plain(on_eight_devices({})),
        noisy(on_eight_devices({"--noise", "remaining=1.5", "--noise", "total_steps=0.25"}));
    auto const exact = plain.results(), wrong = noisy.results();
    CHECK(table_json(wrong) == table_json(noisy.results()));
    auto const figures = [](simulation_results const& of, int policy) {
        return json::parse(table_json(of))["policies"][policy]["figures"];
    };
    CHECK(figures(exact, 0) == figures(wrong, 0));
    CHECK(figures(exact, 1) != figures(wrong, 1));
    CHECK(headline(wrong) == headline(exact) + ", noise remaining=1.5, total_steps=0.25");
    CHECK(json::parse(table_json(wrong))["noise"] == json::parse(R"(["remaining=1.5", "total_steps=0.25"])"));
    CHECK(json::parse(table_json(exact))["noise"] == json::array());
}

TEST_CASE("--noise: a trace is a sample for each seed") {
    three_jobs const jobs;
    ran const trace(
        {"--trace", jobs.path(), "--cluster", "1x1", "--policy", "srtf", "--seeds", "3", "--noise", "remaining=0.5"});
    REQUIRE(trace.input.samples.size() == 3);
    CHECK((trace.input.samples[0].seed == 1 && trace.input.samples[2].seed == 3));
    CHECK(table_text(trace.results()).find("leaves nothing to chance") == std::string::npos);
}
