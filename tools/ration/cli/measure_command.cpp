// SPDX-License-Identifier: BSL-1.0
#include "cli/measure_command.hpp"

#include <CLI/CLI.hpp>

#include "command_line/option_checks.hpp"
#include "common/printable.hpp"
#include "common/quantity.hpp"
#include "measure/search_space.hpp"

namespace ration::program {
namespace {

constexpr int most_devices = 1024;

constexpr auto notes_of_scaling = R"(Examples:
  ration measure scaling jobs.toml
  ration measure scaling jobs.toml --job vae --devices 1,2,3 --write
  ration measure scaling jobs.toml --time 1m --warm-up 30s --json | jq -c .speedup

The job starts from its first step in each measurement. Its checkpoints go into a folder below $TMPDIR or /tmp, which
is removed at the end; files that it writes elsewhere stay. Ctrl-C stops the job; a second one kills it.
Exit codes: 0 every size was measured; 1 a size failed; 2 wrong command line or file, no elastic job, or --write cannot
change the file; 3 this machine has too few devices, or jobs of an earlier run exist; 4 interrupted; 5 an error in ration.)";

constexpr int most_launches = 9999;

constexpr auto notes_of_tune = R"(Examples:
  ration measure tune jobs.toml --try threads=1,2,4 --try ranks=1,2,4 --fit 'threads * ranks <= 8'
  ration measure tune jobs.toml --job gru --try tile=4,8,16 --runs 20 --write
  ration measure tune jobs.toml --try threads=1,2,4 --time 1m --json | jq -c .best

The job has a table such as parameters = { threads = 2, ranks = 2 }, and {threads} and {ranks} in its command or its
environment. Each round launches the remaining settings once, in turns, and keeps the fastest third and the present one.
The finalists are launched --repeat times more. Equal seeds launch in equal order.
Exit codes: 0 a setting has a speed; 1 every one failed; 2 wrong command line or file, or --write cannot change the file;
3 this machine has too few devices, or jobs of an earlier run exist; 4 interrupted; 5 an error in ration.)";

constexpr int most_requests_per_second = 9999;

constexpr auto notes_of_measure_serve = R"(Examples:
  ration measure serve jobs.toml --limit 200ms
  ration measure serve jobs.toml --job cnn --job lstm --limit 1s --repeat 5
  ration measure serve jobs.toml --json | jq .together

A server has a table such as parameters = { socket = "server.sock" }, and {socket} in its command. It listens there, and
answers each line with the same line once the request is served. Requests have random planned times, and latencies
count from these. The rate rises by half until a pass misses the limit, and bisection then finds it within 2 %.
With two servers, the first one is also held at 25, 50 and 75 % of its rate while the rate of the second one rises.
Exit codes: 0 all rates are known; 1 a server failed; 2 wrong command line or file; 3 this machine has too few devices,
or jobs of an earlier run exist; 4 interrupted; 5 an error in ration.)";

constexpr int most_phases = 8;

constexpr auto notes_of_phases = R"(Examples:
  ration run jobs.toml --log run.jsonl && ration measure phases run.jsonl
  ration measure phases monday.jsonl tuesday.jsonl --json > phases.json

Jobs of one name are one class. The columns are the 0.5-, 0.9- and 0.99-quantiles of the cores and the memory that a job
uses within the horizon after a sample of the phase. With phases = { models = "phases.json" } in the jobs file, the
policy phase_limits applies the models.
Exit codes: 0 a job has phases; 1 every job has too few samples; 2 wrong command line or file.)";

[[nodiscard]] result<void, diagnostic> check_duration(std::string_view word) {
    if (parse_duration(word)) return {};
    return diagnostic{.text = program::quoted(word) + " is not a duration; write a number and one of ms, s, m, h"};
}

void add_duration(CLI::App& to, char const* name, nanoseconds& into, char const* help) {
    to.add_option_function<std::string>(
          name, [&into](std::string const& word) { into = *parse_duration(word); }, help)
        ->type_name("DURATION")
        ->check(checked_by(check_duration));
}

}  // namespace

void add_options(CLI::App& to, scaling_options& into, option_context&) {
    to.footer(notes_of_scaling);
    to.add_option("FILE", into.file, "The jobs file")->required()->type_name("");
    to.add_option("--job", into.job, "The job to measure; needed if several can change their devices")
        ->type_name("NAME");
    to.add_option("--devices", into.devices, "Numbers of devices, instead of 1, 2, 4 and so on up to the most")
        ->delimiter(',')
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->type_name("N,N")
        ->check(number_check(most_devices, "devices"));
    to.add_option("--repeat", into.repeat, "Measurements of each number, in turns; default 3")
        ->type_name("N")
        ->check(number_check(most_rounds, "rounds"));
    add_duration(to, "--time", into.time, "Length of one measurement, at least 5 steps; default 10s");
    add_duration(to, "--warm-up", into.warm_up, "Time from the first step that is not measured; default 3s");
    to.add_flag("--json", into.json, "The figures as one JSON line");
    to.add_flag("--write", into.write, "Put the list into the jobs file, and change nothing else there");
}

void add_options(CLI::App& to, tune_options& into, option_context&) {
    to.footer(notes_of_tune);
    to.add_option("FILE", into.file, "The jobs file")->required()->type_name("");
    to.add_option("--job", into.job, "The job to tune; needed if several have parameters")->type_name("NAME");
    to.add_option("--try", into.candidates, "Values of a parameter; once for each parameter")
        ->required()
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->type_name("NAME=V,V")
        ->check(checked_by(parse_parameter_values));
    to.add_option("--fit", into.fit, "A limit on a product of parameters, such as 'threads * ranks <= 8'")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->type_name("RULE")
        ->check(checked_by(parse_fit_rule));
    to.add_option("--runs", into.runs, "Launches at most, for a random part of the settings; default all settings")
        ->type_name("N")
        ->check(number_check(most_launches, "launches"));
    to.add_option("--repeat", into.repeat, "Further launches of each finalist; default 5")
        ->type_name("N")
        ->check(number_check(most_rounds, "rounds"));
    to.add_option("--seed", into.seed, "Seed of the order and of the part that --runs chooses; default 1")
        ->type_name("N")
        ->check(checked_by(parse_seed));
    add_duration(to, "--time", into.time, "Length of one measurement, at least 5 steps; default 10s");
    add_duration(to, "--warm-up", into.warm_up, "Time from the first step that is not measured; default 3s");
    to.add_flag("--json", into.json, "The figures as one JSON line");
    to.add_flag("--write", into.write, "Put the best values into the jobs file, and change nothing else there");
}

void add_options(CLI::App& to, serve_measure_options& into, option_context&) {
    to.footer(notes_of_measure_serve);
    to.add_option("FILE", into.file, "The jobs file")->required()->type_name("");
    to.add_option("--job", into.jobs, "A server to measure, at most twice; default those with a parameter 'socket'")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->type_name("NAME");
    add_duration(to, "--limit", into.limit, "Limit on the 95th percentile of the latency; default 1s");
    add_duration(to, "--time", into.time, "Length of one pass, which has at least 20 requests; default 5s");
    to.add_option("--rate", into.first_rate, "Requests per second of the first pass; default 10")
        ->type_name("N")
        ->check(number_check(most_requests_per_second, "requests"));
    to.add_option("--repeat", into.repeat, "Measurements of each rate, in turns; default 3")
        ->type_name("N")
        ->check(number_check(most_rounds, "rounds"));
    to.add_option("--seed", into.seed, "Seed of the times of the requests; default 1")
        ->type_name("N")
        ->check(checked_by(parse_seed));
    to.add_flag("--json", into.json, "The figures as one JSON line");
}

void add_options(CLI::App& to, phases_options& into, option_context&) {
    to.footer(notes_of_phases);
    to.add_option("LOG", into.logs, "Event logs that 'ration run --log' wrote")->required()->type_name("");
    to.add_option("--phases", into.phases, "Phases of each class at most; default 5")
        ->type_name("N")
        ->check(number_check(most_phases, "phases"));
    add_duration(to, "--period", into.period, "Time from one sample to the next; default 2s");
    add_duration(to, "--horizon", into.horizon, "Time for which the demand is estimated; default 1m");
    to.add_option("--seed", into.seed, "Seed of the first centres; default 123")
        ->type_name("N")
        ->check(checked_by(parse_seed));
    to.add_flag("--json", into.json, "The models as one JSON line, which ration run reads");
}

}  // namespace ration::program
