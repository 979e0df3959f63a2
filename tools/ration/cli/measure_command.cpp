// SPDX-License-Identifier: BSL-1.0
#include "cli/measure_command.hpp"

#include <CLI/CLI.hpp>

#include "cli/option_checks.hpp"
#include "common/printable.hpp"
#include "common/quantity.hpp"

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

}  // namespace ration::program
