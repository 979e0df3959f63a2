// SPDX-License-Identifier: BSL-1.0
// The choice of the job and of the numbers of devices, and each sentence that refuses one.
#include "measure/scaling_plan.hpp"

#include "support/catch.hpp"

using namespace ration::program;
using ration::to_text;

namespace {

using sizes = std::vector<std::int64_t>;

[[nodiscard]] run_config config_of(std::string const& jobs) {
    auto read = parse_config("policy = 'fifo'\n" + jobs, "jobs.toml");
    REQUIRE(read.problems.empty());
    return std::move(read.config);
}

[[nodiscard]] std::string job(std::string const& name, std::string const& more) {
    return "[[job]]\nname = '" + name +
           "'\ncommand = ['true']\ntarget = { loss = { acceptable = 2, objective = 1 } }\n" + more + '\n';
}

constexpr auto elastic = "bounds = { gpu = { min = 1, max = 4 } }";

[[nodiscard]] std::string refusal(std::string const& jobs, std::string const& name = {}) {
    auto const chosen = choose_job(config_of(jobs), name);
    return chosen ? "chosen" : to_text(chosen.failure());
}

[[nodiscard]] std::string refused_sizes(sizes const& wanted, std::string const& bounds = elastic) {
    auto const config = config_of(job("a", bounds));
    auto const chosen = chosen_sizes({.file = {}, .job = {}, .devices = wanted}, config.jobs.front());
    return chosen ? "chosen" : to_text(chosen.failure());
}

}  // namespace

TEST_CASE("choose_job: the only job whose devices can change, or the named one") {
    CHECK(*choose_job(config_of(job("a", "") + job("b", elastic)), "") == 1);
    CHECK(*choose_job(config_of(job("a", "bounds = { gpu = 2 }") + job("b", elastic)), "") == 1);
    CHECK(*choose_job(config_of(job("a", elastic) + job("b", elastic)), "b") == 1);
}

TEST_CASE("choose_job: a sentence for each job that cannot be measured") {
    CHECK(refusal(job("a", "")) ==
          "jobs.toml:2:1: job 'a' uses no devices; add bounds = { gpu = { min = 1, max = 4 } } to it");
    CHECK(refusal(job("a", "bounds = { gpu = 2 }")) ==
          "jobs.toml:6:18: job 'a' has a fixed number of devices; give it a range, such as gpu = { min = 1, max = 4 }");
    CHECK(refusal(job("a", "") + job("b", elastic), "a") ==
          "jobs.toml:2:1: job 'a' uses no devices; add bounds = { gpu = { min = 1, max = 4 } } to it");
    CHECK(refusal(job("vae", elastic), "vea") == "jobs.toml: job 'vea' is unknown; did you mean 'vae'?");
    CHECK(
        refusal(job("a", "") + job("b", "")) ==
        "jobs.toml: no job can change its devices; add bounds = { gpu = { min = 1, max = 4 } } to the one to measure");
    CHECK(refusal(job("a", elastic) + job("b", elastic)) ==
          "jobs.toml: 2 jobs can change their devices; choose one by --job: a, b");
}

TEST_CASE("default_sizes: powers of two with both ends") {
    CHECK(default_sizes(1, 8) == sizes{1, 2, 4, 8});
    CHECK(default_sizes(1, 6) == sizes{1, 2, 4, 6});
    CHECK(default_sizes(3, 12) == sizes{3, 4, 8, 12});
    CHECK(default_sizes(1, 1) == sizes{1});
    CHECK(default_sizes(2, 2) == sizes{2});
}

TEST_CASE("chosen_sizes: in ascending order, each once") {
    auto const config = config_of(job("a", elastic));
    CHECK(*chosen_sizes({.file = {}, .job = {}, .devices = {4, 1, 2, 1}}, config.jobs.front()) == sizes{1, 2, 4});
    CHECK(refused_sizes({1, 5}) ==
          "--devices: job 'a' accepts 1 to 4 devices, not 5; choose numbers within its bounds");
    CHECK(refused_sizes({1, 2}, "bounds = { gpu = { min = 2 } }") ==
          "--devices: job 'a' accepts 2 or more devices, not 1; choose numbers within its bounds");
    CHECK(refused_sizes({2, 2}) == "--devices: one number has nothing to compare with; name at least two");
}

TEST_CASE("measured_config: one job, without effects beyond its training") {
    auto const jobs = "tradl = { alpha = 0.5 }\n[[tenant]]\nname = 't'\nlimit = { gpu = 1 }\n" +
                      job("b", "tenant = 't'") +
                      job("a", std::string(elastic) +
                                   "\nat = '20s'\ntenant = 't'\ncheckpoint = 'mine'\non_end = ['upload']\n"
                                   "on_acceptable = 'save'\nat_objective = 'stop'");
    auto const config = config_of(jobs);
    auto const definition = config.jobs[1].definition;
    auto const measured = measured_config(config, 1);
    REQUIRE(measured.jobs.size() == 1);
    auto const& one = measured.jobs.front();
    CHECK((one.name == "a" && one.at.count == 0 && one.tenant.empty() && !one.saves_at_acceptable));
    CHECK(one.elastic->checkpoint.empty());
    CHECK(one.at_objective == objective_action::continuation);
    for (auto const& hook : one.hooks) CHECK(hook.empty());
    CHECK(one.definition != definition);
    CHECK((measured.policy == "fifo" && measured.fallback == "fifo"));
    CHECK((measured.tenants.tenants.empty() && measured.parameters.empty()));
}
