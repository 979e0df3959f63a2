// SPDX-License-Identifier: BSL-1.0
#include "bench/options.hpp"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "problem.hpp"

namespace ration::program {
namespace {

constexpr auto help_of_bench = R"(Examples:
  ration bench --policies equal_share,tradl
  ration bench --policies ./libmine.so,srtf --jobs 100,10000 --devices 1024
  ration bench --policies ./libmine.so --isolation in-process --seed 7 --json | jq '.policies[].quality'

docs/bench.md says how it is measured and what a good number is. Exit codes: 0 every answer was good; 1 a policy granted what the rules do
not allow, gave no answer, or had to be ended; 2 wrong command line or file, or no policy that can be measured.)";

constexpr int most_count = 100'000;
constexpr std::size_t most_digits = 6;

[[nodiscard]] std::string problem_with_count(std::string const& word) {
    bool const digits =
        !word.empty() && word.size() <= most_digits && word.find_first_not_of("0123456789") == std::string::npos;
    if (digits && std::stoi(word) >= 1 && std::stoi(word) <= most_count) return {};
    return fmt::format("{} is no number from 1 to {}", program::quoted(word), most_count);
}

[[nodiscard]] std::string problem_with_place(std::string const& word) {
    if (word == "worker" || word == "in-process") return {};
    return "it may be worker or in-process, not " + program::quoted(word) + suggestion(word, {"worker", "in-process"});
}

}  // namespace

void add_bench_options(CLI::App& bench, bench_options& into, word_check const& problem_with_policy,
                       word_check const& problem_with_setting) {
    bench.footer(help_of_bench);
    auto const list = [&](char const* name, auto& values, char const* help) {
        return bench.add_option(name, values, help)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)->expected(1);
    };
    list("--policies", into.policies, "Names of policies, or paths of a .so; 'ration policies' lists them")
        ->required()
        ->delimiter(',')
        ->type_name("A,B")
        ->check(problem_with_policy);
    list("--jobs", into.jobs, "How many jobs there are, one cluster for each number; 1,100,10000 when left out")
        ->delimiter(',')
        ->type_name("N,M")
        ->check(problem_with_count);
    list("--devices", into.devices, "How many devices there are, each with 8 cores, likewise; 64,1024 when left out")
        ->delimiter(',')
        ->type_name("N,M")
        ->check(problem_with_count);
    bench
        .add_option_function<std::string>(
            "--isolation", [&into](std::string const& word) { into.in_process = word == "in-process"; },
            "Where a .so runs: worker, as 'ration run' does it, or in-process; worker when left out")
        ->type_name("WORD")
        ->check(problem_with_place);
    list("--set", into.settings, "A parameter of a policy, as in las.promote=0")
        ->type_name("POLICY.NAME=VALUE")
        ->check(problem_with_setting);
    bench.add_option("--seed", into.seed, "Of the clusters and the small problems; 1 when left out")
        ->type_name("N")
        ->check(problem_with_seed);
    bench.add_flag("--json", into.json, "All figures, and what machine this is, as one JSON object");
}

}  // namespace ration::program
