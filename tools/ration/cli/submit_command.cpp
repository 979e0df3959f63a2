// SPDX-License-Identifier: BSL-1.0
#include "cli/submit_command.hpp"

#include <CLI/CLI.hpp>

#include "cli/state_option.hpp"

namespace ration::program {
namespace {

constexpr auto notes_of_submit = R"(Examples:
  ration submit -- python3 train.py --lr 0.1
  ration submit --name vae --priority 5 --retries 2 --time-limit 8h -- python3 vae.py
  ration submit --after vae-17 job.toml
  ration submit --on-end 'notify-send "$RATION_JOB: $RATION_STAGE"' -- python3 train.py
  ration submit --array 1-20 -- sh -c 'python3 train.py --seed $RATION_ARRAY_INDEX'
  ration wait $(ration submit -- make check)

The job runs in this folder with this environment. Its label is printed once the job is on the disk. A file is a jobs file with one
[[job]]. RATION_CHECKPOINT names a folder that stays the same over all launches of the job.
Exit codes: 0 submitted; 2 wrong command line or jobs file; 3 the service cannot be reached, or cannot write to its disk.)";

}  // namespace

void add_options(CLI::App& to, submit_options& into, option_context&) {
    to.footer(notes_of_submit);
    add_state_option(to, into.folder);
    auto* const name = to.add_option("--name", into.name, "The job's name, instead of the program's or the file's");
    name->type_name("NAME");
    to.add_option("--priority", into.priority, "Jobs of a greater priority start first (default 0, or the file's)")
        ->type_name("N")
        ->check(CLI::Range(-1'000'000, 1'000'000));
    to.add_option("--retries", into.retries, "Further launches after failed ones, after 1 s, 2 s, 4 s and so on")
        ->type_name("N")
        ->check(CLI::Range(0, 100));
    to.add_option("--after", into.after, "Start once this job has completed; may be repeated")
        ->type_name("JOB")
        ->expected(1)
        ->allow_extra_args(false)  // else '--' would only end this option
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    to.add_option("--time-limit", into.time_limit, "Stop a launch after this time, such as 90s or 2h")
        ->type_name("TIME");
    to.add_option("--on-end", into.on_end, "Run this once the job has ended, by sh; RATION_STAGE has the outcome")
        ->type_name("COMMAND");
    auto const check_array = [](std::string const& word) {
        return array_of(word) ? std::string() : "write the first and the last number, at most 1000, as in 1-20";
    };
    to.add_option("--array", into.array, "A job for each of these numbers, which is its RATION_ARRAY_INDEX")
        ->type_name("FIRST-LAST")
        ->check(check_array);
    to.add_option("--key", into.key, "A second submission with this key is the same job")->type_name("KEY");
    to.add_flag("--json", into.json, "The job as one JSON line");
    to.add_option("COMMAND", into.words, "The program and its arguments, or one jobs file")->required()->type_name("");
}

}  // namespace ration::program
