// SPDX-License-Identifier: BSL-1.0
// Every sentence about the devices of a bad jobs file.
#include "config_sentences.hpp"
#include "support/catch.hpp"

using namespace config_test;
using namespace ration::program;

TEST_CASE("parse_config: devices of the file") {
    CHECK(
        message_of_file("policy = 'none'\ndevices = 4") ==
        sentences{
            "jobs.toml:2:11: 'devices' must be \"gpus\" or a table, such as { count = 4, cpu = 0.5 } or { count = 4, gpu = 0.25 }, not a whole number"});
    CHECK(
        message_of_file("policy = 'none'\ndevices = 'gpu'") ==
        sentences{
            "jobs.toml:2:11: unknown devices 'gpu'; did you mean 'gpus'?; write \"gpus\" or a table, such as { count = 4, cpu = 0.5 } or { count = 4, gpu = 0.25 }"});
    CHECK(
        message_of_file("policy = 'none'\ndevices = { count = 4 }") ==
        sentences{
            "jobs.toml:2:11: 'devices' needs count, and either cpu or gpu; write \"gpus\" or a table, such as { count = 4, cpu = 0.5 } or { count = 4, gpu = 0.25 }"});
    for (auto const* other : {"{ cpu = 0.5 }", "{ gpu = 0.25 }", "{ count = 4, cpu = 0.5, gpu = 0.25 }"})
        CHECK(message_of_file(std::string("policy = 'none'\ndevices = ") + other) ==
              message_of_file("policy = 'none'\ndevices = { count = 4 }"));
    CHECK(message_of_file("policy = 'none'\ndevices = { count = 2, gpu = 1 }") ==
          sentences{"jobs.toml:2:30: devices.gpu is 1; write a part of a GPU from 0.01 to 0.5"});
    CHECK(message_of_file("policy = 'none'\ndevices = { count = 5, gpu = 0.25 }") ==
          sentences{"jobs.toml:2:30: 5 shares of 0.25 are more than one GPU; write fewer or smaller ones"});
    CHECK(message_of_file("policy = 'none'\ndevices = { count = 100, gpu = 0.01 }").empty());
    CHECK(message_of_file("policy = 'none'\ndevices = { count = 0, cpu = 0.5 }") ==
          sentences{"jobs.toml:2:21: devices.count is 0; write a number from 1 to 1024"});
    CHECK(message_of_file("policy = 'none'\ndevices = { count = 4, cpu = 0 }") ==
          sentences{"jobs.toml:2:30: devices.cpu is 0; write a number of cores from 0.01 to 4096"});
    CHECK(message_of_file("policy = 'none'\ndevices = { count = 4, cpus = 1 }").size() == 2);
}

TEST_CASE("parse_config: preload") {
    CHECK(message_of_job("preload = 'torch'") ==
          sentences{"jobs.toml:6:11: 'preload' must be an array with names of modules, such as [\"torch\"], not text"});
    CHECK(message_of_job("preload = []") ==
          sentences{"jobs.toml:6:11: 'preload' names no module; write [\"torch\"], or leave the key out"});
    for (auto const* other : {"1", "'import os'", "'.torch'", "''"})
        CHECK(message_of_job(std::string("preload = ['torch', ") + other + "]") ==
              sentences{"jobs.toml:6:21: 'preload' has an entry that is not the name of a module; write names such as "
                        "\"torch\""});
    std::string const no_python =
        "'preload' is for a script of Python; write command = [\"python3\", \"train.py\"] or "
        "[\"python3\", \"-m\", \"module\"]";
    auto const preloads_for = [](std::string const& command) {
        return reply("policy = 'none'\n[[job]]\nname = 'a'\ntarget = { loss = { objective = 1 } }\ncommand = " +
                     command + "\npreload = ['torch.nn']\n");
    };
    for (auto const* other : {"['x']", "['x','y']", "['python3']", "['python3','-c','pass']", "['python3','-m']"}) {
        CAPTURE(other);
        CHECK(preloads_for(other) == sentences{"jobs.toml:6:11: " + no_python});
    }
    CHECK(preloads_for("['python3','train.py']").empty());
    CHECK(preloads_for("['/opt/bin/python3.12','-m','ration.ranks','train.py']").empty());
}

TEST_CASE("parse_config: devices of a job") {
    CHECK(message_of_job("bounds = { gpu = 'many' }") ==
          sentences{
              "jobs.toml:6:18: 'gpu' must be a number of devices or a table, such as { min = 1, max = 4 }, not text"});
    CHECK(message_of_job("bounds = { gpu = 0 }") ==
          sentences{"jobs.toml:6:18: gpu is 0; write a number of devices from 1 to 1024"});
    CHECK(message_of_job("bounds = { gpu = { min = 0 } }") ==
          sentences{"jobs.toml:6:26: gpu.min is 0; write a number from 1 to 1024"});
    CHECK(message_of_job("bounds = { gpu = { min = 3, max = 2 } }") ==
          sentences{"jobs.toml:6:26: gpu.min is more than gpu.max; make it at most as much"});
    CHECK(message_of_job("bounds = { gpu = { mni = 3 } }") ==
          sentences{"jobs.toml:6:20: unknown key 'mni' in 'gpu'; did you mean 'min'?"});
    CHECK(message_of_job("bounds = { gpu = 1, gpu_memory = '40G' }") ==
          sentences{"jobs.toml:6:34: gpu_memory '40G' is not a size; write a number and a unit, such as \"40GiB\""});
    CHECK(message_of_job("bounds = { gpu = 1, gpu_memory = '0B' }").size() == 1);
    CHECK(message_of_job("bounds = { gpu_memory = '40GiB' }") ==
          sentences{
              "jobs.toml:6:25: gpu_memory is for a job with GPUs; add gpu = { min = 1, max = 4 }, or leave it out"});
    CHECK(
        message_of_job("bounds = { batch = { min = 3 } }") ==
        sentences{
            "jobs.toml:6:20: bounds on the batch are for a job with devices; add gpu = { min = 1, max = 4 }, or leave them out"});
    CHECK(
        message_of_job("speedup = [0, 1]") ==
        sentences{
            "jobs.toml:6:11: 'speedup' is for a job with devices; add bounds = { gpu = { min = 1, max = 4 } } to job 'a', or leave it out"});
}

TEST_CASE("parse_config: what a job with devices says of itself") {
    auto const message_of = [](std::string const& line) { return message_of_job("bounds = { gpu = 2 }\n" + line); };
    CHECK(
        message_of("speedup = [1, 2]") ==
        sentences{"jobs.toml:7:11: 'speedup' begins with 0 for no device, then one device, and so on; write a list of "
                  "numbers by number of devices, such as [0, 1, 1.8]"});
    CHECK(message_of("speedup = [0, -1]") ==
          sentences{"jobs.toml:7:15: 'speedup' has the entry -1; write 0, or a number from 1e-06 to 1000000000"});
    for (auto const* odd : {"nan", "inf", "1e300", "1e-300", "5e-324"})
        CHECK(message_of(std::string("speedup = [0, 1, ") + odd + "]").size() == 1);
    CHECK(message_of("speedup = [0, 0, 1.5]").empty());
    CHECK(message_of("speedup = [0, 1, 0, 2]") ==
          sentences{"jobs.toml:7:11: 'speedup' is 0 for each number of devices within the bounds, so the job could "
                    "never run; correct the list or the bounds"});
    CHECK(message_of("speedup = [0, 0]").size() == 1);
    CHECK(message_of("batch = [0, 1.5]") ==
          sentences{"jobs.toml:7:13: 'batch' must be a list of whole numbers by number of devices, such as [0, 128, "
                    "256]; this entry is a decimal number"});
    CHECK(
        message_of("checkpoint = ''") ==
        sentences{
            "jobs.toml:7:14: 'checkpoint' is not a path; leave the key out to keep checkpoints with the run's output"});
    CHECK(message_of("restart_cost = '1ms'") ==
          sentences{"jobs.toml:7:16: 'restart_cost' is '1ms'; write a duration from \"100ms\" to \"24h\""});
    CHECK(message_of("deadlines = { safe = '1s' }") ==
          sentences{"jobs.toml:7:15: unknown key 'safe' in 'deadlines'; did you mean 'save'?"});
    CHECK(message_of("deadlines = { stop = '2 s' }").size() == 1);
}

TEST_CASE("environment: names and values that a job cannot have") {
    CHECK(message_of_job("environment = { 'A=B' = 'x' }") ==
          sentences{"jobs.toml:6:17: 'A=B' cannot be the name of a variable; use a name without '='"});
    CHECK(message_of_job("environment = { '' = 'x' }").size() == 1);
    CHECK(message_of_job("environment = { RATION_JOB = 'x' }") ==
          sentences{"jobs.toml:6:17: 'RATION_JOB' is for ration to set; use a name that does not begin with RATION_"});
    CHECK(message_of_job("environment = { A = 1.5 }") ==
          sentences{
              "jobs.toml:6:21: variable 'A' must be text or a whole number, not a decimal number; put it in quotes"});
    CHECK(message_of_job("environment = { A = \"\\u0000\" }") ==
          sentences{"jobs.toml:6:21: the value of a variable cannot hold a zero byte; remove \\u0000"});
}

TEST_CASE("log: an expression that cannot be used, or does not read the target") {
    CHECK(message_of_job("log = ''") ==
          sentences{
              "jobs.toml:6:7: 'log' is not a regular expression; leave the key out for a job that reports by itself"});
    CHECK(
        message_of_job("log = '(?<loss>'") ==
        sentences{
            "jobs.toml:6:7: 'log' cannot be used: it is not an ECMAScript regular expression without back-references or "
            "look-behind"});
    CHECK(message_of_job("log = 'loss (.*)'")
              .front()
              .starts_with("jobs.toml:6:7: 'log' cannot be used: it needs a group (?<loss>...)"));
    CHECK(
        message_of_job("log = 'acc (?<acc>\\S+)'") ==
        sentences{
            "jobs.toml:6:7: 'log' does not read the metric of the target; put its number into a group: (?<loss>\\S+)"});
    CHECK(message_of_job("log = 'loss (?P<loss>\\S+)'").empty());
}

TEST_CASE("parse_config: directory, tenant and weight of a job, and a key that a job does not have") {
    CHECK(
        message_of_job("directory = ''") ==
        sentences{
            "jobs.toml:6:13: 'directory' is not a path; leave the key out to start the job where ration was started"});
    CHECK(
        message_of_job("tenant = 'a/b'").front().starts_with("jobs.toml:6:10: 'a/b' cannot be a tenant; use letters"));
    for (auto const* bad : {"0", "-1", "nan", "inf", "1e7"})
        CHECK(message_of_job("weight = " + std::string(bad))
                  .front()
                  .ends_with("; write a number above 0 and at most 1000000"));
    CHECK(message_of_job("weight = -1").front() ==
          "jobs.toml:6:10: the weight is -1; write a number above 0 and at most 1000000");
    for (auto const* bad : {"1000001", "-1000001"})
        CHECK(message_of_job("priority = " + std::string(bad)) ==
              sentences{"jobs.toml:6:12: the priority is " + std::string(bad) +
                        "; write a whole number from -1000000 to 1000000"});
    CHECK(message_of_job("priority = 1.5").size() == 1);
    CHECK(message_of_job("colour = 1")
              .front()
              .starts_with("jobs.toml:6:1: unknown key 'colour' in [[job]]; use one of: name, command"));
}
