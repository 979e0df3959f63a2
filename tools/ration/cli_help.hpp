// SPDX-License-Identifier: BSL-1.0
/// Examples and exit codes of each command, which --help and the manual pages show below the options.
#pragma once

namespace ration::program {

inline constexpr auto help_of_ration = R"(Examples:
  ration run jobs.toml                          share this machine among the jobs of a file
  ration run jobs.toml --compare none           the same jobs without and with the policy, and a table
  ration run jobs.toml --dry-run                what would be changed, without starting anything
  ration replay run.jsonl --policy equal_share  what another policy would have answered in a recorded run
  ration sim --trace jobs.csv --cluster 16x4 --policy fifo,las   policies on a simulated cluster, and a table
  ration report run.jsonl                       a recorded run, or several beside each other, as one page with charts
  ration bench --policies ./libmine.so,tradl    what a decision costs, and how near it is to the best one
  ration doctor                                 what this machine lets ration control, and how to get more
  ration check ./libmine.so                     whether a plugin keeps the rules, before anybody trusts it
  ration new my-policy                          a folder with a policy of your own, ready to build

Exit codes: 0 all went well; 1 a job or a probe failed; 2 wrong command line or file; 3 this machine cannot do it;
4 interrupted, the jobs were stopped; 5 an error in ration.)";

inline constexpr auto help_of_run = R"(Examples:
  ration run jobs.toml
  ration run jobs.toml --compare none,equal_share --log run.jsonl
  ration run jobs.toml --policy ./libmine.so --cpus 2
  ration run jobs.toml --json | jq -c 'select(.event == "tier_reached")'

Ctrl-C stops all jobs and ends the run; a second one kills them.)";

inline constexpr auto help_of_replay = R"(Example:
  ration run jobs.toml --log run.jsonl && ration replay run.jsonl --policy tradl,equal_share --set tradl.alpha=0.8

Each decision of the log is put to the policies as it was to the recorded one, whatever they answered before: what jobs would have done
under their answers is not in a log. Exit codes: 0 every policy answered; 1 one gave no answer; 2 wrong command line or file.)";

inline constexpr auto help_of_report = R"(Examples:
  ration run jobs.toml --compare none --log run.jsonl; ration report run.jsonl
  ration report monday.jsonl tuesday.jsonl --out week.html
  ration sim --trace jobs.csv --cluster 16x4 --policy fifo,las --json > sim.json && ration report sim.json

The page opens without a network. A log of a run that was killed is fine. docs/report.md tells what the page shows.
Exit codes: 0 the page is there; 2 wrong command line, a file that is no log, or a page that cannot be written; 5 an error in ration.)";

inline constexpr auto help_of_sim = R"(Examples:
  ration sim --trace jobs.csv --cluster 16x4 --policy fifo,srtf,las
  ration sim --generate rigid:jobs=1000,per_hour=20 --seeds 5 --cluster 16x4 --policy fifo,./libmine.so --report out.html
  ration sim --generate cpu --models bench/data/loss/fits.csv --seeds 5 --cluster 1x1core --policy none,equal_share,flowcon,tradl
  ration sim --trace workload-1.csv --models bench/data/pollux --cluster 16x4 --policy las,sia --set las.promote=0
  ration sim --trace jobs.csv --cluster 16x4 --policy fifo,las --faults crashes:every=200h --faults revocations:region=us-east1 --checkpoint 10m --seeds 5
  ration sim --trace jobs.csv --cluster 8x4:v100,8x8:a100 --policy fifo --json | head -1 | jq '.policies[].figures.mean_jct'

docs/sim.md defines every figure. Exit codes: 0 all went well; 1 a policy granted what the rules do not allow, gave no answer, or left
jobs waiting for ever; 2 wrong command line or file; 5 an error in ration.)";

inline constexpr auto help_of_check = R"(Examples:
  ration check ./mine.so
  ration check ./mine.so --seed 7 --json | jq '.probes[] | select(.result != "passed")'

Every probe runs in a sandbox; one that hangs is killed. See docs/check.md. Exit codes: 0 every probe passed or does not apply;
1 a probe is red; 2 wrong command line, or the file cannot be read; 3 this kernel cannot contain the plugin, and no code of it ran.)";

inline constexpr auto help_of_new = R"(Example:
  ration new my-policy && cd my-policy
  cmake -B build && cmake --build build && ctest --test-dir build

Exit codes: 0 the folder is there; 2 wrong command line, or the folder cannot be made.)";

}  // namespace ration::program
