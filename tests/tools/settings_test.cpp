// SPDX-License-Identifier: BSL-1.0
// Parameters of policies on the command line, and the order of the runs of a comparison.
#include "config/settings.hpp"

#include <algorithm>

#include "run/run_order.hpp"
#include "support/catch.hpp"

using namespace ration;
using namespace ration::program;
using words = std::vector<std::string>;

namespace {

[[nodiscard]] run_config with_tradl(std::vector<parameter> parameters) {
    run_config config;
    config.parameters.push_back({.policy = "tradl", .at = {}, .parameters = std::move(parameters)});
    return config;
}

[[nodiscard]] std::string fault_of(words const& choices) {
    auto const read = read_choices(choices);
    return read ? std::string() : read.failure().text;
}

/// As `ration run --compare` splits its value.
[[nodiscard]] std::string repeated(words const& choices, run_config const& config = {}) {
    return repeated_choice(*read_choices(choices), config);
}

}  // namespace

TEST_CASE("policy_of_word: a word begins a policy unless it is NAME=VALUE", "[settings]") {
    CHECK(policy_of_word("tradl") == "tradl");
    CHECK(policy_of_word("tradl:scenario=AO") == "tradl");
    CHECK(policy_of_word("./a:b.so") == "./a:b.so");
    CHECK(policy_of_word("./a:b.so:alpha=1") == "./a:b.so");
    CHECK(policy_of_word("mine:rule=a:b=c") == "mine");
    CHECK_FALSE(policy_of_word("alpha=0.9"));
    CHECK_FALSE(policy_of_word("rule=a:b"));
    CHECK(policy_of_word("") == "");
}

TEST_CASE("read_choices: parameters belong to the policy before them", "[settings]") {
    auto const choices = *read_choices({"none", "tradl:scenario=AO", "alpha=0.9", "tradl:strict=true"});
    REQUIRE(choices.size() == 3);
    CHECK((choices[0].label == "none" && choices[0].parameters.empty()));
    CHECK((choices[1].policy == "tradl" && choices[1].label == "tradl:scenario=AO,alpha=0.9"));
    REQUIRE(choices[1].parameters.size() == 2);
    CHECK(choices[1].parameters[0].value == decltype(parameter::value)(std::string("AO")));
    CHECK(choices[1].parameters[1].value == decltype(parameter::value)(0.9));
    CHECK(choices[2].parameters[0].value == decltype(parameter::value)(true));
}

TEST_CASE("read_choices: a wrong parameter is one sentence", "[settings]") {
    CHECK(fault_of({"alpha=0.9"}) ==
          "'alpha=0.9' has no policy before it: write POLICY:NAME=VALUE, as in tradl:alpha=0.9");
    CHECK(fault_of({"tradl:=5"}) == "'=5' has no name before '=': write NAME=VALUE, as in alpha=0.9");
    CHECK(fault_of({"tradl:alpha=1", "alpha=2"}) == "tradl.alpha is set twice: leave one out");
    CHECK(fault_of({"tradl:alpha=1", "tradl:alpha=2"}).empty());
}

TEST_CASE("with_parameters: those of the command line replace those of the file", "[settings]") {
    auto const config = with_tradl({{.name = "alpha", .value = 0.5, .name_at = {}, .value_at = {}},
                                    {.name = "strict", .value = true, .name_at = {}, .value_at = {}}});
    auto const choice = read_choices({"./libtradl.so:alpha=0.9"})->front();
    auto const own = with_parameters(config, choice);
    auto const& parameters = own.parameters_of("tradl")->parameters;
    REQUIRE(parameters.size() == 2);
    CHECK((parameters[0].name == "strict" && parameters[1].value == decltype(parameter::value)(0.9)));
    CHECK(config.parameters_of("tradl")->parameters.size() == 2);
}

TEST_CASE("repeated_choice: the same parameters twice, also by way of the file", "[settings]") {
    CHECK(repeated({"tradl:alpha=1", "tradl:alpha=2", "none"}).empty());
    CHECK(repeated({"none", "none"}) == "'none' runs with the same parameters as 'none'; leave one out");
    CHECK(repeated({"tradl:a=1", "b=0.50", "tradl:b=0.5", "a=1"}) ==
          "'tradl:b=0.5,a=1' runs with the same parameters as 'tradl:a=1,b=0.50'; leave one out");
    auto const config = with_tradl({{.name = "alpha", .value = 0.5, .name_at = {}, .value_at = {}}});
    CHECK(repeated({"tradl", "tradl:alpha=0.5"}, config) ==
          "'tradl:alpha=0.5' runs with the same parameters as 'tradl'; leave one out");
    CHECK(repeated({"tradl", "tradl:alpha=0.6"}, config).empty());
}

TEST_CASE("add_settings: each is of a policy that is run", "[settings]") {
    run_config config;
    diagnostics problems;
    add_settings({"tradl.alpha=1", "mine.x=2", "mine.x=3", "other"}, {"tradl", "none"}, "run", config, problems);
    words texts;
    for (auto const& one : problems) texts.push_back(one.file + ": " + one.text);
    CHECK(texts == words{"--set: mine.x is set twice: leave one out",
                         "--set: 'other' is not a parameter: write POLICY.PARAMETER=VALUE, as in las.promote=0",
                         "--set: 'mine' is not one of the policies that are run; use one of: tradl, none"});
}

TEST_CASE("order_runs: rounds alternate in their order, and every run has a folder of its own", "[settings]") {
    auto const orders = [](words const& choices, std::uint32_t rounds) {
        words all;
        for (auto const& run : order_runs(*read_choices(choices), rounds)) all.push_back(run.folder);
        return all;
    };
    CHECK(orders({"none", "tradl"}, 1) == words{"none", "tradl"});
    CHECK(orders({"a", "b", "c"}, 2) ==
          words{"a-round-1", "b-round-1", "c-round-1", "c-round-2", "b-round-2", "a-round-2"});
    CHECK(orders({"tradl:scenario=AO", "alpha=0.9", "tradl:scenario=FT"}, 1) ==
          words{"tradl-scenario=AO-alpha=0.9", "tradl-scenario=FT"});
    CHECK(orders({"tradl", "plugins/libtradl.so", "tradl:x=../..", "tradl:x=--/.."}, 1) ==
          words{"tradl", "tradl-2", "tradl-x=..-..", "tradl-x=---.."});
    auto const longest = orders({"tradl:x=" + std::string(400, 'a'), "tradl:x=" + std::string(401, 'a')}, 1);
    CHECK((longest[0].size() == 100 && longest[1] == longest[0] + "-2"));
    auto const runs = order_runs(*read_choices({"none", "tradl"}), 3);
    CHECK((runs[4].round == 3 && runs[4].choice.policy == "none" && runs[3].choice.policy == "none"));
}
