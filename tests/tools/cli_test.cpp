// SPDX-License-Identifier: BSL-1.0
#include <algorithm>

#include "cli/bench_command.hpp"
#include "cli/check_command.hpp"
#include "cli/clean_command.hpp"
#include "cli/commands.hpp"
#include "cli/doctor_command.hpp"
#include "cli/list_command.hpp"
#include "cli/logs_command.hpp"
#include "cli/measure_command.hpp"
#include "cli/new_command.hpp"
#include "cli/policies_command.hpp"
#include "cli/replay_command.hpp"
#include "cli/report_command.hpp"
#include "cli/run_anywhere_command.hpp"
#include "cli/runs_command.hpp"
#include "cli/twin_command.hpp"
#include "command_line/command_line.hpp"
#include "command_line/run_command.hpp"
#include "config/config.hpp"
#include "support/catch.hpp"
#include "tools/options_of.hpp"

using namespace ration::program;

namespace {

using words = std::vector<std::string>;

[[nodiscard]] parsed_command_line parsed(words w) {
    return parse_command_line(std::move(w), all_commands(), {"none", "equal_share", "tradl"});
}

/// The sentence that refuses the words, without its newline.
[[nodiscard]] std::string refusal(words w) {
    auto const c = parsed(std::move(w));
    auto const* const reply = std::get_if<answer>(&c);
    if (reply == nullptr || reply->code != exit_code::bad_input || !reply->text.ends_with('\n')) return "not refused";
    return reply->text.substr(0, reply->text.size() - 1);
}

[[nodiscard]] run_options options(words w) {
    w.insert(w.begin(), {"run", "jobs.toml"});
    return options_of<run_anywhere_options>(parsed(std::move(w)));
}

}  // namespace

TEST_CASE("run: defaults of the options") {
    auto const o = options({});
    CHECK(o.file == "jobs.toml");
    CHECK(o.policies.empty());
    CHECK(o.policy.empty());
    CHECK_FALSE((o.compare || o.dry_run || o.explain || o.json || o.reattach || o.quiet));
    CHECK(o.log.empty());
    CHECK(o.backend == "auto");
    CHECK_FALSE(o.cpus.has_value());
}

TEST_CASE("run: every option arrives where it belongs") {
    CHECK(options({"--policy", "tradl"}).policy == "tradl");
    CHECK(options({"--policy=./libmine.so"}).policy == "./libmine.so");
    CHECK(options({"--dry-run"}).dry_run);
    CHECK(options({"--explain"}).explain);
    CHECK(options({"--json"}).json);
    CHECK(options({"--reattach"}).reattach);
    CHECK(options({"--quiet"}).quiet);
    CHECK(options({"--log", "run.jsonl"}).log == "run.jsonl");
    CHECK(options({"--metrics", "unix:m.sock"}).metrics == "unix:m.sock");
    CHECK(options({"--metrics=127.0.0.1:9555"}).metrics == "127.0.0.1:9555");
    CHECK(options({"--backend", "process"}).backend == "process");
    CHECK(options({"--backend", "cgroup"}).backend == "cgroup");
    CHECK(options({"--backend", "auto"}).backend == "auto");
    CHECK(options({"--cpus", "4096"}).cpus == 4096u);
    auto const o = options({"--compare", "none,equal_share"});
    CHECK(o.compare);
    CHECK((o.compared == words{"none", "equal_share"} && o.repeat == 1));
    auto const sets = options({"--compare", "none,tradl:scenario=AO,alpha=0.9", "--compare", "tradl", "--repeat", "5",
                               "--set", "tradl.alpha=0.8", "--set", "none.x=1"});
    CHECK(sets.compared == words{"none", "tradl:scenario=AO", "alpha=0.9", "tradl"});
    CHECK(sets.settings == words{"tradl.alpha=0.8", "none.x=1"});
    CHECK(sets.repeat == 5);
    CHECK_FALSE(options({"--policy", "none"}).compare);
}

TEST_CASE("parse_command_line: the other commands") {
    CHECK(options_of<doctor_options>(parsed({"doctor", "--json"})).json);
    CHECK_FALSE(options_of<doctor_options>(parsed({"doctor"})).json);
    CHECK(options_of<policies_options>(parsed({"policies", "--json"})).json);
    CHECK(options_of<clean_options>(parsed({"clean", "--dry-run"})).dry_run);
    CHECK_FALSE(options_of<clean_options>(parsed({"clean"})).dry_run);
    auto const check =
        options_of<check_options>(parsed({"check", "./mine.so", "--seed", "7", "--config", "{}", "--json"}));
    CHECK(options_of<check_options>(parsed({"check", "f", "--seed", "18446744073709551615"})).seed ==
          ~std::uint64_t{0});
    CHECK(options_of<check_options>(parsed({"check", "f", "--seed", "0"})).seed == 0);
    CHECK((check.file == "./mine.so" && check.seed == 7 && check.config == "{}" && check.json));
    auto const project = options_of<new_options>(parsed({"new", "my-policy", "--lang", "c"}));
    CHECK((project.name == "my-policy" && project.language == "c"));
    CHECK(options_of<new_options>(parsed({"new", "my-policy"})).language == "c++");
    auto const replay = options_of<replay_options>(
        parsed({"replay", "run.jsonl", "--policy", "tradl,none", "--set", "tradl.alpha=0.8", "--json"}));
    CHECK((replay.log == "run.jsonl" && replay.policies == std::vector<std::string>{"tradl", "none"} && replay.json));
    CHECK(replay.settings == std::vector<std::string>{"tradl.alpha=0.8"});
    auto const twin = options_of<twin_options>(parsed(
        {"twin", "a.jsonl", "--against", "b.jsonl", "--policy", "tradl,none", "--set", "tradl.alpha=0.8", "--json"}));
    CHECK((twin.log == "a.jsonl" && twin.against == "b.jsonl" && twin.json));
    CHECK(twin.policies == std::vector<std::string>{"tradl", "none"});
    CHECK(twin.settings == std::vector<std::string>{"tradl.alpha=0.8"});
    auto const usual = options_of<bench_options>(parsed({"bench", "--policies", "tradl"}));
    CHECK((usual.jobs == std::vector<std::uint32_t>{1, 100, 10'000} &&
           usual.devices == std::vector<std::uint32_t>{64, 1024}));
    CHECK((usual.seed == 1 && !usual.in_process && !usual.json && usual.settings.empty()));
    auto const bench = options_of<bench_options>(
        parsed({"bench", "--policies", "tradl,./libmine.so", "--jobs", "1,20", "--devices", "4", "--isolation",
                "in-process", "--seed", "7", "--set", "tradl.alpha=0.8", "--json"}));
    CHECK((bench.policies == std::vector<std::string>{"tradl", "./libmine.so"} &&
           bench.jobs == std::vector<std::uint32_t>{1, 20}));
    CHECK((bench.devices == std::vector<std::uint32_t>{4} && bench.in_process && bench.seed == 7 && bench.json));
    CHECK(bench.settings == std::vector<std::string>{"tradl.alpha=0.8"});
    auto const plain = options_of<check_options>(parsed({"check", "./mine.so"}));
    CHECK((plain.seed == 1 && plain.config.empty() && !plain.json));
}

TEST_CASE("parse_command_line: a word that is wrong, missing or surplus earns one sentence") {
    CHECK(
        refusal({}) ==
        "ration: say what to do: run, node, serve, submit, status, cancel, pause, resume, drain, policy, top, wait, list, logs, runs, doctor, policies, try-log, clean, check, decide, sim, measure, replay, twin, report, bench, new; see 'ration --help'");
    CHECK(refusal({"rnu"}) == "ration: unknown command 'rnu'; did you mean 'run'?");
    CHECK(
        refusal({"start"}) ==
        "ration: unknown command 'start'; use one of: run, node, serve, submit, status, cancel, pause, resume, drain, policy, top, wait, list, logs, runs, doctor, policies, try-log, clean, check, decide, sim, measure, replay, twin, report, bench, new");
    CHECK(refusal({"run"}) == "ration: FILE is required; see 'ration run --help'");
    CHECK(refusal({"run", "f", "g"}) == "ration: 'g' is one word too many for 'run'; see 'ration run --help'");
    CHECK(refusal({"replay", "run.jsonl"}) == "ration: --policy is required; see 'ration replay --help'");
    CHECK(refusal({"check"}) == "ration: FILE is required; see 'ration check --help'");
    CHECK(refusal({"doctor", "x"}) == "ration: 'x' is one word too many for 'doctor'; see 'ration doctor --help'");
    CHECK(refusal({"run", "f", "--polcy=none"}) == "ration: unknown option '--polcy=none'; did you mean '--policy'?");
    CHECK(refusal({"doctor", "--jsn"}) == "ration: unknown option '--jsn'; did you mean '--json'?");
    CHECK(refusal({"\x1b[2J"}).find('\x1b') == std::string::npos);
}

TEST_CASE("parse_command_line: the sentence on a wrong option is the same before a program behind '--'") {
    std::string const array = "ration: --array: write the first and the last number, at most 1000, as in 1-20";
    for (std::string const word : {"5-1", "3", "x"}) {
        CHECK(refusal({"submit", "--array", word, "echo"}) == array);
        CHECK(refusal({"submit", "--array", word, "--", "echo", "a", "--retries"}) == array);
    }
    CHECK(refusal({"submit", "--retries", "many", "--", "echo"}) == refusal({"submit", "--retries", "many", "echo"}));
    CHECK(refusal({"submit", "--retries", "many", "--", "echo"}).find("'--'") == std::string::npos);
    for (auto const& behind : std::vector<std::vector<std::string>>{{"--", "echo", "-x"}, {"--", "echo"}, {}}) {
        std::vector<std::string> words{"submit", "--arry", "1-2"};
        words.insert(words.end(), behind.begin(), behind.end());
        CHECK(refusal(words) == "ration: unknown option '--arry'; did you mean '--array'?");
    }
    CHECK(refusal({"doctor", "--jsn", "--", "x"}) == "ration: unknown option '--jsn'; did you mean '--json'?");
    CHECK(refusal({"doctor", "--", "x"}) ==
          "ration: 'x' is one word too many for 'doctor'; see 'ration doctor --help'");
}

TEST_CASE("measure scaling: a command of a group") {
    auto const usual = options_of<scaling_options>(parsed({"measure", "scaling", "jobs.toml"}));
    CHECK((usual.file == "jobs.toml" && usual.job.empty() && usual.devices.empty() && usual.repeat == 3));
    CHECK((usual.time == ration::seconds(10) && usual.warm_up == ration::seconds(3) && !usual.json && !usual.write));
    auto const all = options_of<scaling_options>(
        parsed({"measure", "scaling", "jobs.toml", "--job", "vae", "--devices", "4,1", "--repeat", "5", "--time", "1m",
                "--warm-up", "250ms", "--json", "--write"}));
    CHECK((all.job == "vae" && all.devices == std::vector<std::int64_t>{4, 1} && all.repeat == 5));
    CHECK((all.time == ration::seconds(60) && all.warm_up == ration::milliseconds(250) && all.json && all.write));
    CHECK(refusal({"measure"}) == "ration: say what to do: scaling, tune, serve, phases; see 'ration measure --help'");
    CHECK(refusal({"measure", "scalng"}) == "ration: unknown command 'scalng'; did you mean 'scaling'?");
    CHECK(refusal({"measure", "scaling"}) == "ration: FILE is required; see 'ration measure scaling --help'");
    CHECK(refusal({"measure", "scaling", "f", "g"}) ==
          "ration: 'g' is one word too many for 'scaling'; see 'ration measure scaling --help'");
    CHECK(refusal({"measure", "scaling", "f", "--jsn"}) == "ration: unknown option '--jsn'; did you mean '--json'?");
    CHECK(refusal({"measure", "scaling", "f", "--time", "10"}) ==
          "ration: --time: '10' is not a duration; write a number and one of ms, s, m, h");
    CHECK(refusal({"measure", "scaling", "f", "--devices", "0,1"}) ==
          "ration: --devices: '0' is not a number of devices from 1 to 1024");
    CHECK(refusal({"measure", "scaling", "f", "--repeat", "nan"}) ==
          "ration: --repeat: 'nan' is not a number of rounds from 1 to 100");
}

TEST_CASE("measure tune: its options") {
    auto const usual = options_of<tune_options>(parsed({"measure", "tune", "jobs.toml", "--try", "t=1,2"}));
    CHECK((usual.file == "jobs.toml" && usual.candidates == std::vector<std::string>{"t=1,2"} && usual.fit.empty()));
    CHECK((usual.runs == 0 && usual.repeat == 5 && usual.seed == 1 && !usual.json && !usual.write));
    auto const all = options_of<tune_options>(
        parsed({"measure", "tune",   "f",          "--job",     "a",  "--try",    "t=1,2",  "--try",
                "u=a",     "--fit",  "2 * t <= 4", "--runs",    "30", "--repeat", "3",      "--seed",
                "7",       "--time", "1m",         "--warm-up", "0s", "--json",   "--write"}));
    CHECK((all.job == "a" && all.candidates.size() == 2 && all.fit.front() == "2 * t <= 4" && all.runs == 30));
    CHECK((all.repeat == 3 && all.seed == 7 && all.time == ration::seconds(60) && all.json && all.write));
    CHECK(refusal({"measure", "tune", "f"}) == "ration: --try is required; see 'ration measure tune --help'");
    CHECK(refusal({"measure", "tune", "f", "--try", "t"}) ==
          "ration: --try: 't' is not a list of values; write NAME=VALUE,VALUE, such as threads=1,2");
    CHECK(refusal({"measure", "tune", "f", "--try", "t=1", "--runs", "0"}) ==
          "ration: --runs: '0' is not a number of launches from 1 to 9999");
}

TEST_CASE("measure serve: its options") {
    auto const usual = options_of<serve_measure_options>(parsed({"measure", "serve", "jobs.toml"}));
    CHECK((usual.file == "jobs.toml" && usual.jobs.empty() && usual.limit == ration::seconds(1) && !usual.json));
    CHECK((usual.time == ration::seconds(5) && usual.first_rate == 10 && usual.repeat == 3 && usual.seed == 1));
    auto const all = options_of<serve_measure_options>(
        parsed({"measure", "serve", "f", "--job", "a", "--job", "b", "--limit", "200ms", "--time", "1s", "--rate", "50",
                "--repeat", "5", "--seed", "7", "--json"}));
    CHECK((all.jobs == std::vector<std::string>{"a", "b"} && all.limit == ration::milliseconds(200) && all.json));
    CHECK((all.time == ration::seconds(1) && all.first_rate == 50 && all.repeat == 5 && all.seed == 7));
    CHECK(refusal({"measure", "serve", "f", "--rate", "0"}) ==
          "ration: --rate: '0' is not a number of requests from 1 to 9999");
}

TEST_CASE("measure phases: its options") {
    auto const usual = options_of<phases_options>(parsed({"measure", "phases", "a.jsonl", "b.jsonl"}));
    CHECK((usual.logs == std::vector<std::string>{"a.jsonl", "b.jsonl"} && usual.phases == 5 && !usual.json));
    CHECK((usual.period == ration::seconds(2) && usual.horizon == ration::seconds(60) && usual.seed == 123));
    auto const all = options_of<phases_options>(parsed(
        {"measure", "phases", "f", "--phases", "8", "--period", "500ms", "--horizon", "5m", "--seed", "7", "--json"}));
    CHECK((all.phases == 8 && all.period == ration::milliseconds(500) && all.horizon == ration::seconds(300)));
    CHECK((all.seed == 7 && all.json));
    CHECK(refusal({"measure", "phases", "f", "--phases", "9"}) ==
          "ration: --phases: '9' is not a number of phases from 1 to 8");
    CHECK(refusal({"measure", "phases"}) == "ration: LOG is required; see 'ration measure phases --help'");
}

TEST_CASE("--seed: a value that is not a whole number of 64 bits earns one sentence") {
    for (auto const* bad : {"x", "-1", "1.5", "007", "0x10", "+1", "", " 1", "18446744073709551616"}) {
        std::string const reply =
            "--seed: '" + std::string(bad) +
            "' is not a seed: write a whole number from 0 to 18446744073709551615, without a 0 in front";
        CHECK(refusal({"check", "f", "--seed", bad}) == "ration: " + reply);
        CHECK(refusal({"bench", "--policies", "tradl", "--seed", bad}) == "ration: " + reply);
    }
}

TEST_CASE("run: a wrong time of --node-wait earns one sentence") {
    CHECK(refusal({"run", "f", "--nodes", "local:2", "--node-wait", "long"}) ==
          "ration: --node-wait: 'long' is not a time; write 10min or 30s");
}

TEST_CASE("run: a wrong value of an option, or one that another excludes, earns one sentence") {
    CHECK(
        refusal({"run", "f", "--nodes", "local:0"}) ==
        "ration: --nodes: 'local:0' names no nodes; write local:2, slurm, or a command such as 'ssh {host} ration node'");
    CHECK(refusal({"run", "f", "--nodes", "local:2", "--node-lease", "1s"}) ==
          "ration: --node-lease: '1s' is not a time of at least two seconds; write 5min or 30s");
    CHECK(refusal({"run", "f", "--policy", "tardl"}) ==
          "ration: --policy: unknown policy 'tardl'; did you mean 'tradl'?");
    CHECK(refusal({"run", "f", "--policy", ""}) ==
          "ration: --policy: unknown policy ''; use one of: none, equal_share, tradl");
    CHECK(refusal({"run", "f", "--compare", "none,tardl"}) ==
          "ration: --compare: unknown policy 'tardl'; did you mean 'tradl'?");
    CHECK(refusal({"run", "f", "--compare", "tardl:scenario=AO"}) ==
          "ration: --compare: unknown policy 'tardl'; did you mean 'tradl'?");
    CHECK(refusal({"run", "f", "--compare", "none,:x=1"}) ==
          "ration: --compare: unknown policy ''; use one of: none, equal_share, tradl");
    CHECK(refusal({"run", "f", "--set", "alpha=0.9"}) ==
          "ration: --set: 'alpha=0.9' is not a parameter: write POLICY.PARAMETER=VALUE, as in las.promote=0");
    CHECK(refusal({"run", "f", "--repeat", "3"}) == "ration: --repeat requires --compare; see 'ration run --help'");
    for (auto const* bad : {"0", "101", "x", "-1", "99999"})
        CHECK(refusal({"run", "f", "--compare", "none", "--repeat", bad}) ==
              "ration: --repeat: '" + std::string(bad) + "' is not a number of rounds from 1 to 100");
    CHECK(refusal({"run", "f", "--backend", "cgrop"}) ==
          "ration: --backend: unknown backend 'cgrop'; did you mean 'cgroup'?");
    for (auto const* bad : {"0", "4097", "x", "1.5", "-1", "99999999999"})
        CHECK(refusal({"run", "f", "--cpus=" + std::string(bad)}).starts_with("ration: --cpus"));
    CHECK(refusal({"run", "f", "--cpus", "0"}) == "ration: --cpus: '0' is not a number of cores from 1 to 4096");
    CHECK(refusal({"run", "f", "--log"}) == "ration: '--log' takes one value; see 'ration run --help'");
    CHECK(refusal({"run", "f", "--log", "a", "--log", "b"}) ==
          "ration: '--log' takes one value; see 'ration run --help'");
    CHECK(refusal({"run", "f", "--compare", "none", "--dry-run"}) ==
          "ration: --compare excludes --dry-run; see 'ration run --help'");
    CHECK(refusal({"run", "f", "--compare", "none", "--reattach"}) ==
          "ration: --compare excludes --reattach; see 'ration run --help'");
    CHECK(refusal({"run", "f", "--metrics", "unix:x", "--dry-run"}) ==
          "ration: --dry-run excludes --metrics; see 'ration run --help'");
    CHECK(refusal({"run", "f", "--metrics", "0.0.0.0:9555"})
              .starts_with("ration: --metrics: '0.0.0.0' is not a loopback address"));
}

TEST_CASE("--help, --version: answers, not refusals") {
    auto const reply = [](words w) {
        auto const c = parsed(std::move(w));
        REQUIRE(std::holds_alternative<answer>(c));
        CHECK(std::get<answer>(c).code == exit_code::ok);
        return std::get<answer>(c).text;
    };
    auto const top = reply({"--help"});
    for (auto const* part : {"run ", "doctor ", "policies ", "clean ", "Examples:", "check ", "Exit codes: 0 ",
                             "1 a job or a probe failed", "4 interrupted"})
        CHECK(top.find(part) != std::string::npos);
    auto const run = reply({"run", "--help"});
    for (auto const* part : {"--policy NAME", "--compare A,B[:NAME=VALUE,...]", "--repeat N", "--set POLICY.NAME=VALUE",
                             "--dry-run", "--explain", "--json", "--log FILE", "--backend NAME", "--cpus N",
                             "--reattach", "--quiet", "--metrics unix:PATH|127.0.0.1:PORT", "Examples:", "Ctrl-C"})
        CHECK(run.find(part) != std::string::npos);
    CHECK(reply({"--version"}).starts_with("ration "));
    CHECK(std::count(top.begin(), top.end(), '\n') > 10);
}

TEST_CASE("report: takes logs and the name of a page") {
    auto const c = parsed({"report", "a.jsonl", "b.jsonl", "--out", "page.html"});
    CHECK(options_of<report_options>(c).logs == words{"a.jsonl", "b.jsonl"});
    CHECK(options_of<report_options>(c).out == "page.html");
    CHECK(refusal({"report"}) == "ration: LOG is required; see 'ration report --help'");
    auto const help = parsed({"report", "--help"});
    for (auto const* part :
         {"--out FILE.html", "Examples:",
          "ration run jobs.toml --compare none --log run.jsonl; ration report run.jsonl", "Exit codes: 0 "})
        CHECK(std::get<answer>(help).text.find(part) != std::string::npos);
}

TEST_CASE("list, logs, runs: defaults, options and refusals") {
    CHECK_FALSE(options_of<list_options>(parsed({"list"})).json);
    CHECK(options_of<list_options>(parsed({"list", "--json"})).json);
    CHECK(refusal({"list", "x"}) == "ration: 'x' is one word too many for 'list'; see 'ration list --help'");
    auto const logs = options_of<logs_options>(parsed({"logs", "vae"}));
    CHECK((logs.job == "vae" && logs.run.empty() && logs.state.empty() && !logs.follow));
    auto const followed = options_of<logs_options>(parsed({"logs", "vae", "-f", "--run", "20261124-124813-tradl"}));
    CHECK((followed.run == "20261124-124813-tradl" && followed.follow));
    CHECK(refusal({"logs"}) == "ration: JOB is required; see 'ration logs --help'");
    auto const runs = options_of<runs_options>(parsed({"runs"}));
    CHECK((runs.folder == "." && !runs.json));
    CHECK(options_of<runs_options>(parsed({"runs", "x", "--json"})).folder == "x");
    for (auto const* command : {"list", "logs", "runs"})
        for (auto const* part : {"Examples:", "Exit codes: 0 "})
            CHECK(std::get<answer>(parsed({command, "--help"})).text.find(part) != std::string::npos);
}

TEST_CASE("run: which policies run, and in which order") {
    run_config config;
    config.policy = "tradl";
    auto const chosen = [&](words w) {
        auto o = options(std::move(w));
        REQUIRE(choose_policies(o, config));
        words labels;
        for (auto const& choice : o.policies) labels.push_back(choice.label);
        return labels;
    };
    CHECK(chosen({}) == words{"tradl"});
    CHECK(chosen({"--policy", "none"}) == words{"none"});
    CHECK(chosen({"--compare", "none,equal_share"}) == words{"none", "equal_share", "tradl"});
    CHECK(chosen({"--compare", "tradl,none"}) == words{"tradl", "none"});
    CHECK(chosen({"--compare", "tradl:scenario=AO,alpha=0.9,tradl:scenario=FT"}) ==
          words{"tradl:scenario=AO,alpha=0.9", "tradl:scenario=FT"});
    CHECK(chosen({"--compare", "none,none:x=1"}) == words{"none", "none:x=1", "tradl"});
    CHECK(chosen({"--compare", "none", "--policy", "equal_share"}) == words{"none", "equal_share"});
    config.policy.clear();
    CHECK(chosen({"--compare", "none"}) == words{"none"});
}
