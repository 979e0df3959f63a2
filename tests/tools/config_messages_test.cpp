// SPDX-License-Identifier: BSL-1.0
// Every sentence that a bad jobs file can earn, as people read it.
#include "config_sentences.hpp"
#include "support/catch.hpp"

using namespace config_test;
using namespace ration::program;

TEST_CASE("load_config: files that are not jobs files") {
    CHECK(reply("") ==
          sentences{"jobs.toml: the file is empty; write a policy and a [[job]] with name, command and target"});
    CHECK(reply(" \n\t\r\n") == reply(""));
    CHECK(reply("policy = 'none'\n") ==
          sentences{"jobs.toml: the file has no job; add a [[job]] with name, command and target"});
    CHECK(reply("policy = 'none'\njob = []\n") ==
          sentences{"jobs.toml:2:7: the list of jobs is empty; add a [[job]] with name, command and target"});
    CHECK(
        reply("policy = 'none'\n[job]\nname = 'a'\n") ==
        sentences{
            "jobs.toml:2:1: 'job' must be a list; write a [[job]] with name, command and target, in double brackets"});
    CHECK(
        reply("policy = 'none'\njob = [3]\n") ==
        sentences{
            "jobs.toml:2:8: a job must be a table, not a whole number; write a [[job]] with name, command and target"});
    CHECK(
        reply("a = 1\na = 2\n") ==
        sentences{
            "jobs.toml:2:5: this is not TOML: Error while parsing key-value pair: cannot redefine existing integer 'a'"});
    CHECK(reply("policy == 2") ==
          sentences{"jobs.toml:1:9: this is not TOML: Error while parsing value: could not determine value type"});
    CHECK(reply("\xff\xfe").size() == 1);
}

TEST_CASE("parse_config: too many jobs") {
    std::string text = "policy = 'none'\n";
    for (std::size_t i = 0; i <= max_jobs; ++i)
        text +=
            "[[job]]\nname = 'j" + std::to_string(i) + "'\ncommand = ['x']\ntarget = { loss = { acceptable = 1 } }\n";
    CHECK(reply(text) == sentences{"jobs.toml:2:1: there are 513 jobs; one run takes at most 512"});
}

TEST_CASE("parse_config: no more unknown keys are named than people read") {
    std::string lines;
    for (int i = 0; i < 2000; ++i) lines += "k" + std::to_string(i) + " = 1\n";
    auto const named = message_of_job(lines);
    CHECK(named.size() == 500);
    CHECK(named.front().starts_with("jobs.toml:6:1: unknown key 'k0' in [[job]]"));
}

TEST_CASE("parse_config: keys of the file") {
    CHECK(message_of_file("").front() ==
          "jobs.toml: no policy is named; add policy = \"tradl\" at the top, or say --policy");
    CHECK(message_of_file("policy = 'tardl'") ==
          sentences{"jobs.toml:1:10: unknown policy 'tardl'; did you mean 'tradl'?"});
    CHECK(message_of_file("policy = 'fifo'") ==
          sentences{"jobs.toml:1:10: unknown policy 'fifo'; use one of: none, equal_share, tradl"});
    CHECK(message_of_file("policy = ''") ==
          sentences{"jobs.toml:1:10: unknown policy ''; use one of: none, equal_share, tradl"});
    CHECK(
        message_of_file("policy = 3") ==
        sentences{
            "jobs.toml:1:10: 'policy' must be the name of a policy in quotes, such as \"tradl\", not a whole number"});
    CHECK(message_of_file("policy = 'none'\npolcy = 'none'") ==
          sentences{"jobs.toml:2:1: unknown key 'polcy' in the file; did you mean 'policy'?"});
    CHECK(
        message_of_file("policy = 'none'\nverbosity = 2") ==
        sentences{
            "jobs.toml:2:1: unknown key 'verbosity' in the file; use one of: policy, fallback, cpus, tick, cache, devices, estimators, isolation, half_life, tenant, job, none, equal_share, tradl, shared_cache, phases"});
    CHECK(message_of_file("policy = 'none'\ntardl = { alpha = 1 }") ==
          sentences{"jobs.toml:2:1: unknown key 'tardl' in the file; did you mean 'tradl'?"});
    CHECK(message_of_file("policy = 'none'\ntradl = 0.9") ==
          sentences{"jobs.toml:2:9: 'tradl' must be the table of the policy's parameters, not a decimal number"});
    CHECK(message_of_file("policy = 'none'\ntradl = { alpha = [1] }") ==
          sentences{"jobs.toml:2:19: parameter 'alpha' must be a number, text, true or false, not an array"});
    CHECK(message_of_file("policy = 'none'\ncpus = 0") ==
          sentences{"jobs.toml:2:8: 'cpus' is 0; write a number of cores from 1 to 4096"});
    CHECK(message_of_file("policy = 'none'\ncpus = 4097").size() == 1);
    CHECK(message_of_file("policy = 'none'\ncpus = 1.5") ==
          sentences{"jobs.toml:2:8: 'cpus' must be a whole number of cores, not a decimal number"});
    CHECK(message_of_file("policy = 'none'\ntick = '9ms'") ==
          sentences{"jobs.toml:2:8: the tick is '9ms'; write a duration from \"10ms\" to \"60s\""});
    CHECK(message_of_file("policy = 'none'\ntick = '61s'").size() == 1);
    CHECK(message_of_file("policy = 'none'\ntick = 1") ==
          sentences{"jobs.toml:2:8: 'tick' must be a duration in quotes, such as \"500ms\", not a whole number"});
}

TEST_CASE("parse_config: a cache and its files that are no such are named") {
    for (auto const* const size : {"'20'", "'4095B'", "'-1GiB'"})
        CHECK(message_of_file("policy = 'none'\ncache = " + std::string(size)) ==
              sentences{"jobs.toml:2:9: 'cache' is " + std::string(size) +
                        "; write a size from \"4KiB\", such as \"20GiB\""});
    CHECK(message_of_file("policy = 'none'\ncache = 4096") ==
          sentences{"jobs.toml:2:9: 'cache' must be a size in quotes, such as \"20GiB\", not a whole number"});
    CHECK(message_of_file("policy = 'none'\nshared_cache = 1") ==
          sentences{"jobs.toml:2:16: 'shared_cache' must be the table of the policy's parameters, not a whole number"});
    CHECK(message_of_job("reads = 'a'") ==
          sentences{"jobs.toml:6:9: 'reads' must be an array of paths, such as [\"data/images.bin\"], not text"});
    CHECK(message_of_job("reads = ['a', '', 3]") ==
          sentences{"jobs.toml:6:15: 'reads' must be an array of paths, such as [\"data/images.bin\"]; correct this "
                    "element",
                    "jobs.toml:6:19: 'reads' must be an array of paths, such as [\"data/images.bin\"]; correct this "
                    "element"});
    std::string many;
    for (int i = 0; i < 65; ++i) many += "'" + std::to_string(i) + "', ";
    CHECK(message_of_job("reads = [" + many + "]") ==
          sentences{"jobs.toml:6:9: 'reads' has 65 paths; name at most 64"});
}

TEST_CASE("parse_config: where policies run") {
    auto const estimators = [](std::string const& files) {
        return message_of_file("policy = 'tradl'\nestimators = " + files);
    };
    CHECK(estimators("['lib/libmine.so', './yours.so']\nmine = { total = 5 }\nisolation = { yours = 'in-process' }")
              .empty());
    CHECK(estimators("['mine']") ==
          sentences{"jobs.toml:2:15: 'estimators' has the paths of .so files, each in quotes"});
    CHECK(estimators("['./mine.so', 7]") ==
          sentences{"jobs.toml:2:28: 'estimators' has the paths of .so files, each in quotes"});
    auto const isolation = [](std::string const& table) {
        return message_of_file("policy = 'lib/libmine.so'\nisolation = " + table);
    };
    CHECK(isolation("{ mine = 'worker' }").empty());
    CHECK(isolation("{ mine = 'in-process', tradl = 'in-process' }").empty());
    CHECK(isolation("{ mine = 'inprocess' }") ==
          sentences{"jobs.toml:2:22: unknown isolation 'inprocess'; did you mean 'in-process'?"});
    CHECK(isolation("{ mine = 'thread' }") ==
          sentences{"jobs.toml:2:22: unknown isolation 'thread'; use one of: worker, in-process"});
    CHECK(isolation("{ mine = true }") ==
          sentences{"jobs.toml:2:22: where 'mine' runs must be \"worker\" or \"in-process\", not true or false"});
    CHECK(isolation("{ mime = 'worker' }") == sentences{"jobs.toml:2:15: unknown policy 'mime'; did you mean 'mine'?"});
    CHECK(isolation("{ other = 'worker' }") ==
          sentences{"jobs.toml:2:15: unknown policy 'other'; use one of: none, equal_share, tradl, mine"});
    CHECK(isolation("{ tradl = 'worker' }").empty());
    CHECK(isolation("'worker'") ==
          sentences{
              "jobs.toml:2:13: 'isolation' must be a table of policies, such as { mine = \"in-process\" }, not text"});
}

TEST_CASE("parse_config: names of jobs") {
    auto const named = [](std::string const& name) {
        return reply("policy = 'none'\n[[job]]\nname = '" + name +
                     "'\ncommand = ['x']\ntarget = { loss = { acceptable = 1 } }\n");
    };
    std::string const rule = "use letters, digits, '.', '_' and '-', no '.' or '-' in front, at most 48 characters";
    CHECK(named("../x") == sentences{"jobs.toml:3:8: '../x' cannot be a name; " + rule});
    for (std::string const bad : {"", ".", "..", ".hidden", "-rf", "a/b", "a b", "ä", "a:b", "a*", "a@b"})
        CHECK(named(bad) == sentences{"jobs.toml:3:8: '" + bad + "' cannot be a name; " + rule});
    CHECK(named(std::string(49, 'a')).size() == 1);
    CHECK(named(std::string(48, 'a')).empty());
    CHECK(named("A-z_0.9").empty());
    CHECK(named("cpu.max") ==
          sentences{"jobs.toml:3:8: 'cpu.max' is the name of a file of the kernel; choose another name"});
    CHECK(named("tasks").size() == 1);
    CHECK(
        reply(
            "policy = 'none'\n[[job]]\nname = \"a\\u001b[31m\"\ncommand = ['x']\ntarget = { loss = { acceptable = 1 } }\n") ==
        sentences{"jobs.toml:3:8: 'a?[31m' cannot be a name; " + rule});
    CHECK(reply("policy = 'none'\n[[job]]\ncommand = ['x']\ntarget = { loss = { acceptable = 1 } }\n") ==
          sentences{"jobs.toml:2:1: this job has no name; add name = \"...\""});
}

TEST_CASE("parse_config: two jobs of one name are both named by their lines") {
    constexpr auto job = "[[job]]\nname = 'a'\ncommand = ['x']\ntarget = { loss = { acceptable = 1 } }\n";
    CHECK(reply(std::string("policy = 'none'\n") + job + job + job) ==
          sentences{"jobs.toml:7:8: this job and the one in line 3 are both named 'a'; give each a unique name",
                    "jobs.toml:11:8: this job and the one in line 3 are both named 'a'; give each a unique name"});
}

TEST_CASE("parse_config: commands") {
    auto const command = [](std::string const& line) {
        return reply("policy = 'none'\n[[job]]\nname = 'a'\n" + line + "\ntarget = { loss = { acceptable = 1 } }\n");
    };
    CHECK(command("") == sentences{"jobs.toml:2:1: job 'a' has no command; add command = [\"program\", \"argument\"]"});
    CHECK(command("comand = ['x']") ==
          sentences{"jobs.toml:2:1: job 'a' has no command; add command = [\"program\", \"argument\"]",
                    "jobs.toml:4:1: unknown key 'comand' in [[job]]; did you mean 'command'?"});
    std::string const none =
        "the command names no program; write the program first, such as [\"python3\", \"train.py\"]";
    CHECK(command("command = []") == sentences{"jobs.toml:4:11: " + none});
    CHECK(command("command = ['', 'x']") == sentences{"jobs.toml:4:11: " + none});
    CHECK(command("command = 'python3 x.py'") ==
          sentences{
              "jobs.toml:4:11: 'command' must be an array of texts, such as [\"python3\", \"train.py\"], not text"});
    CHECK(command("command = ['x', 1]") ==
          sentences{"jobs.toml:4:17: 'command' must be an array of texts, such as [\"python3\", "
                    "\"train.py\"]; this word of it is a whole number"});
    CHECK(command("command = ['x', \"a\\u0000b\"]") ==
          sentences{"jobs.toml:4:17: a word of a command cannot hold a zero byte; remove \\u0000"});
    CHECK(command("command = ['x', '']").empty());
}

TEST_CASE("target: tiers that are not finite, or in the wrong order for the direction") {
    CHECK(message_of_target("{ loss = { acceptable = nan } }") ==
          sentences{"jobs.toml:5:34: the tier 'acceptable' is nan; write a finite number"});
    CHECK(message_of_target("{ loss = { objective = -inf } }") ==
          sentences{"jobs.toml:5:33: the tier 'objective' is -inf; write a finite number"});
    CHECK(
        message_of_target("{ loss = { acceptable = 110, objective = 120 } }") ==
        sentences{
            "jobs.toml:5:51: the objective 120 is easier than the acceptable 110, since 'loss' goes down; swap them, or add "
            "direction = \"up\""});
    CHECK(
        message_of_target("{ accuracy = { acceptable = 0.9, objective = 0.8 } }") ==
        sentences{
            "jobs.toml:5:55: the objective 0.8 is easier than the acceptable 0.9, since 'accuracy' goes up; swap them, or add "
            "direction = \"down\""});
    CHECK(
        message_of_target("{ x = { acceptable = 1, objective = 2, direction = 'down' } }") ==
        sentences{
            "jobs.toml:5:46: the objective 2 is easier than the acceptable 1, since 'x' goes down; swap them, or turn the "
            "direction round"});
    std::string const unsaid = "the direction of 'latency' is missing; add direction = \"down\" or direction = \"up\"";
    CHECK(message_of_target("{ latency = { acceptable = 3 } }") == sentences{"jobs.toml:5:12: " + unsaid});
    CHECK(message_of_target("{ latency = { acceptable = 3, objective = 3 } }") ==
          sentences{"jobs.toml:5:12: " + unsaid});
    CHECK(message_of_target("{ loss = { acceptable = 1, direction = 'sideways' } }") ==
          sentences{"jobs.toml:5:49: 'sideways' is not a direction; write \"down\" or \"up\""});
}

TEST_CASE("target: levels that cannot be") {
    std::string const level = "target = { p95 = { at_most = 0.2, over = \"10s\" } }";
    CHECK(message_of_target("{ p95 = { at_most = 0.2, over = '10s' } }").empty());
    CHECK(message_of_target("{ p95 = { at_most = 1, at_least = 2, over = '10s' } }") ==
          sentences{"jobs.toml:5:44: a level has one bound; remove at_most or at_least"});
    CHECK(message_of_target("{ p95 = { over = '10s' } }") ==
          sentences{"jobs.toml:5:12: the level on 'p95' has no bound; add at_most or at_least, such as " + level});
    CHECK(message_of_target("{ p95 = { at_most = 1 } }") ==
          sentences{"jobs.toml:5:12: the level on 'p95' has no window; add over, such as " + level});
    CHECK(message_of_target("{ p95 = { at_most = 1, over = '0s' } }") ==
          sentences{"jobs.toml:5:40: 'over' is 0; write a duration above 0, such as \"10s\""});
    CHECK(message_of_target("{ p95 = { at_most = 1, over = '-1s' } }") ==
          sentences{
              "jobs.toml:5:40: 'over' is '-1s', which is not a duration; write a number and one of ms, s, m, h, such "
              "as \"20s\", at most 365 days"});
    CHECK(message_of_target("{ p95 = { at_most = 1, over = 10 } }") ==
          sentences{"jobs.toml:5:40: 'over' must be a duration in quotes, such as \"10s\", not a whole number"});
    std::string const relative = "; write a finite number other than 0, because the slack is relative to it";
    CHECK(message_of_target("{ p95 = { at_most = 0, over = '1s' } }") ==
          sentences{"jobs.toml:5:30: the level 'at_most' is 0" + relative});
    CHECK(message_of_target("{ rate = { at_least = inf, over = '1s' } }") ==
          sentences{"jobs.toml:5:32: the level 'at_least' is inf" + relative});
    CHECK(message_of_target("{ p95 = { at_most = 'low', over = '1s' } }") ==
          sentences{"jobs.toml:5:30: 'at_most' must be a number, not text"});
    CHECK(message_of_target("{ p95 = { at_most = 1, over = '1s', ovr = 1 } }") ==
          sentences{"jobs.toml:5:46: unknown key 'ovr' in the target; did you mean 'over'?"});
}

TEST_CASE("target: a level has none of the keys of tiers, and no commands at them") {
    for (auto const& [key, value] :
         {std::pair("acceptable", "1"), {"objective", "1"}, {"mean_of", "3"}, {"direction", "'up'"}})
        CHECK(message_of_target(std::string("{ p95 = { at_most = 1, over = '1s', ") + key + " = " + value + " } }") ==
              sentences{"jobs.toml:5:" + std::to_string(49 + std::string_view(key).size()) + ": '" + key +
                        "' is not for a level, which 'at_most' describes; remove one of them"});
    CHECK(message_of_target("{ p95 = { at_most = 1, over = '1s' } }\non_acceptable = 'save'") ==
          sentences{"jobs.toml:6:17: 'on_acceptable' is for a target with that tier; add acceptable, or leave it out"});
}

TEST_CASE("target: wrong keys and values of a metric") {
    CHECK(
        message_of_target("{ loss = { } }") ==
        sentences{std::string(
                      "jobs.toml:5:12: the target on 'loss' has no tier; add acceptable, objective or both, such as ") +
                  example});
    CHECK(message_of_target("{ loss = { mean_of = 2 } }").size() == 1);
    CHECK(message_of_target("{ loss = { acceptable = '1' } }") ==
          sentences{"jobs.toml:5:34: 'acceptable' must be a number, not text"});
    CHECK(message_of_target("{ loss = { aceptable = 1, objective = 0 } }") ==
          sentences{"jobs.toml:5:21: unknown key 'aceptable' in the target; did you mean 'acceptable'?"});
    for (auto const* count : {"0", "-1", "100001"})
        CHECK(message_of_target(std::string("{ loss = { acceptable = 1, mean_of = ") + count + " } }") ==
              sentences{std::string("jobs.toml:5:47: 'mean_of' is ") + count + "; write a number from 1 to 100000"});
    CHECK(message_of_target("{ loss = 3 }") ==
          sentences{std::string("jobs.toml:5:19: 'loss' must be a table of tiers, not a whole number; write ") +
                    example});
    CHECK(message_of_target("{ 'a b' = { acceptable = 1, direction = 'up' } }") ==
          sentences{"jobs.toml:5:12: 'a b' cannot be a metric; use at most 32 visible characters without '='"});
}

TEST_CASE("target: a table with exactly one metric") {
    std::string const without = "policy = 'none'\n[[job]]\nname = 'a'\ncommand = ['x']\n";
    CHECK(reply(without).empty());
    CHECK(reply(without + "log = 'acc (?<accuracy>.*)'\n").empty());
    CHECK(reply(without + "on_acceptable = ['x']\n").size() == 1);
    CHECK(message_of_target("{ loss = { acceptable = 1 }, accuracy = { acceptable = 1 } }") ==
          sentences{std::string("jobs.toml:5:10: a target is on one metric, here are 2; write ") + example});
    CHECK(message_of_target("{ }") ==
          sentences{std::string("jobs.toml:5:10: a target is on one metric, here are 0; write ") + example});
    CHECK(message_of_target("3") ==
          sentences{std::string("jobs.toml:5:10: 'target' must be a table: ") + example + ", not a whole number"});
}

TEST_CASE("parse_config: start times") {
    std::string const rule =
        ", which is not a duration; write a number and one of ms, s, m, h, such as \"20s\", at most 365 days";
    CHECK(message_of_job("at = '20'") == sentences{"jobs.toml:6:6: 'at' is '20'" + rule});
    for (auto const* bad : {"-1s", "", "s", "1e3s", "20 s", "9999h"})
        CHECK(message_of_job("at = '" + std::string(bad) + "'").size() == 1);
    CHECK(message_of_job("at = 20") ==
          sentences{"jobs.toml:6:6: 'at' must be a duration in quotes, such as \"20s\", not a whole number"});
    CHECK(message_of_job("at = 07:32:00") ==
          sentences{"jobs.toml:6:6: 'at' must be a duration in quotes, such as \"20s\", not a date or time"});
}

TEST_CASE("parse_config: bounds") {
    CHECK(message_of_job("bounds = { cpu = { min = -0.5 } }") ==
          sentences{"jobs.toml:6:26: cpu.min is -0.5; write a number of cores from 0 to 4096"});
    CHECK(message_of_job("bounds = { cpu = { max = 0 } }") ==
          sentences{"jobs.toml:6:26: cpu.max is 0; write a number of cores from 0.01 to 4096"});
    for (auto const* bad : {"nan", "inf", "-inf", "4096.5", "1e300"})
        CHECK(message_of_job("bounds = { cpu = { max = " + std::string(bad) + " } }").size() == 1);
    CHECK(message_of_job("bounds = { cpu = { min = 3, max = 2 } }") ==
          sentences{"jobs.toml:6:26: cpu.min is more than cpu.max; make it at most as much"});
    CHECK(message_of_job("bounds = { cpu = { min = 2, max = 2 } }").empty());
    CHECK(message_of_job("bounds = { cpu = 2 }") ==
          sentences{
              "jobs.toml:6:18: 'cpu' must be a table in cores, such as { min = 0.1, max = 2 }, not a whole number"});
    CHECK(message_of_job("bounds = { cpu = { most = 2 } }") ==
          sentences{"jobs.toml:6:20: unknown key 'most' in 'cpu'; use one of: min, max"});
    CHECK(message_of_job("bounds = { gpus = 1 }") ==
          sentences{"jobs.toml:6:12: unknown key 'gpus' in 'bounds'; did you mean 'gpu'?"});
    CHECK(
        message_of_job("bounds = { memory = '2G' }") ==
        sentences{
            "jobs.toml:6:21: '2G' is not a size; write a number and one of B, KiB, MiB, GiB, TiB, kB, MB, GB, TB, such as "
            "\"2GiB\""});
    CHECK(message_of_job("bounds = { memory = '1023KiB' }") ==
          sentences{
              "jobs.toml:6:21: no job fits into less than \"1MiB\" of memory; write a larger limit, or leave it out"});
    CHECK(message_of_job("bounds = { memory = '1MiB' }").empty());
    CHECK(message_of_job("bounds = { memory = 4096 }") ==
          sentences{"jobs.toml:6:21: 'memory' must be a size in quotes, such as \"2GiB\", not a whole number"});
}

TEST_CASE("parse_config: all problems of a file are reported, in the order of its lines") {
    CHECK(
        reply("cpus = 0\npolcy = 'none'\n[[job]]\nname = '../x'\nat = 3\nweight = 0\n[[job]]\ncommand = 3\n") ==
        sentences{
            "jobs.toml: no policy is named; add policy = \"tradl\" at the top, or say --policy",
            "jobs.toml:1:8: 'cpus' is 0; write a number of cores from 1 to 4096",
            "jobs.toml:2:1: unknown key 'polcy' in the file; did you mean 'policy'?",
            "jobs.toml:3:1: this job has no command; add command = [\"program\", \"argument\"]",
            "jobs.toml:4:8: '../x' cannot be a name; use letters, digits, '.', '_' and '-', no '.' or '-' in front, at most "
            "48 characters",
            "jobs.toml:5:6: 'at' must be a duration in quotes, such as \"20s\", not a whole number",
            "jobs.toml:6:10: the weight is 0; write a number above 0 and at most 1000000",
            "jobs.toml:7:1: this job has no name; add name = \"...\"",
            "jobs.toml:8:11: 'command' must be an array of texts, such as [\"python3\", \"train.py\"], not a whole number"});
}
