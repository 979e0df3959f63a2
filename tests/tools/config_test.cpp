// SPDX-License-Identifier: BSL-1.0
#include "config/config.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "config/parameters_json.hpp"
#include "support/catch.hpp"
#include "whole_jobs_file.hpp"

using namespace ration;
using namespace ration::program;

namespace {

[[nodiscard]] run_config read(std::string text) {
    auto parsed = parse_config(std::move(text), "jobs.toml", {.policies = {"none", "equal_share", "tradl"}});
    for (auto const& p : parsed.problems) UNSCOPED_INFO(to_text(p));
    REQUIRE(parsed.problems.empty());
    return std::move(parsed.config);
}

/// A file with one job that has this target.
[[nodiscard]] target_config target(std::string const& text) {
    return read("policy = 'none'\n[[job]]\nname = 'a'\ncommand = ['x']\ntarget = " + text + "\n").jobs.front().target;
}

/// The elastic part of a job with these lines.
[[nodiscard]] elastic_config elastic(std::string const& lines) {
    auto const config =
        read("policy = 'none'\n[[job]]\nname = 'a'\ncommand = ['x']\ntarget = { loss = { acceptable = 1 } }\n" + lines +
             "\n");
    REQUIRE(config.jobs.front().elastic);
    return *config.jobs.front().elastic;
}

/// A folder that goes away again.
struct folder {
    std::filesystem::path path;
    folder() {
        std::string name = (std::filesystem::temp_directory_path() / "ration-config-XXXXXX").string();
        REQUIRE(::mkdtemp(name.data()) != nullptr);
        path = name;
    }
    ~folder() { std::filesystem::remove_all(path); }
    folder(folder const&) = delete;
    folder& operator=(folder const&) = delete;
};

}  // namespace

TEST_CASE("parse_config: a full file is read to the letter") {
    auto const config = read(std::string(whole_jobs_file));
    CHECK(config.file == "jobs.toml");
    CHECK(config.source == whole_jobs_file);
    CHECK(config.policy == "tradl");
    CHECK(config.policy_at == position{1, 10});
    CHECK(config.cpus == 2u);
    CHECK(config.tick == milliseconds(250));
    REQUIRE(config.jobs.size() == 2);

    auto const& vae = config.jobs[0];
    CHECK(vae.name == "vae");
    CHECK(vae.command == std::vector<std::string>{"build/train", "vae", "--seed", "1"});
    CHECK(vae.directory == "work");
    CHECK(vae.environment == decltype(vae.environment){{"DATA", "/data"}, {"OMP_NUM_THREADS", "1"}});
    CHECK(vae.at == seconds(90));
    CHECK(vae.target.metric == "loss");
    CHECK(vae.target.improves == direction::down);
    CHECK(vae.target.acceptable == 120.0);
    CHECK(vae.target.objective == 110.5);
    CHECK(vae.target.mean_of == 10);
    CHECK(vae.cpu == bounds{100, 2000});
    CHECK(vae.memory == bytes{2ll << 30});
    CHECK(vae.saves_at_acceptable);
    CHECK(vae.log == std::vector<std::string>{"step=(?<step>\\d+) loss=(?<loss>\\S+)"});
    CHECK(vae.log_at == position{18, 7});
    CHECK(vae.tenant == "alice");
    CHECK(vae.weight == 2);
    CHECK(vae.priority == 0);
    CHECK(config.jobs[1].priority == 5);
    CHECK(vae.where == position{10, 1});
}

TEST_CASE("parse_config: the files that jobs read, and the cache for them") {
    auto const config = read(
        "policy = 'none'\ncache = '1.5GiB'\nshared_cache = { mode = 'mmf' }\n[[job]]\nname = 'a'\n"
        "command = ['x']\ntarget = { loss = { objective = 1 } }\ndirectory = 'work'\n"
        "reads = ['data/a', '/b']\n");
    CHECK(config.cache == bytes{3ll << 29});
    CHECK(config.cache_at == position{2, 9});
    auto const& job = config.jobs.front();
    CHECK(job.reads == std::vector<std::string>{"data/a", "/b"});
    CHECK(job.reads_at == position{9, 9});
    CHECK(job.from_here(job.reads[0]) == "work/data/a");
    CHECK(job.from_here(job.reads[1]) == "/b");
    REQUIRE(config.parameters_of("shared_cache") != nullptr);
    CHECK(config.parameters_of("shared_cache")->parameters.front().name == "mode");
}

TEST_CASE("parse_config: the definition of a job changes with what is said of it, and not with how it is written") {
    auto const definition = [](std::string const& lines, std::string const& head = "") {
        return read("policy = 'none'\n" + head +
                    "[[job]]\nname = 'a'\ntarget = { loss = { acceptable = 2, objective = 1 } }\n" + lines + "\n")
            .jobs.front()
            .definition;
    };
    auto const a = definition("command = ['x', 'y']\nenvironment = { A = '1', B = '2' }");
    CHECK(a == std::vector<std::string>{R"("command" = ["x", "y"])", R"("environment" = {"A" = "1", "B" = "2"})",
                                        R"("name" = "a")",
                                        R"("target" = {"loss" = {"acceptable" = 2, "objective" = 1}})"});
    CHECK(definition("# first\nenvironment.B = '2'\nenvironment.A = \"1\"\ncommand = [ 'x',\n  'y' ]") == a);
    for (auto const* const other : {"command = ['x', 'z']\nenvironment = { A = '1', B = '2' }",
                                    "command = ['x', 'y']\nenvironment = { A = '1', B = 2 }",
                                    "command = ['x\", \"y']\nenvironment = { A = '1', B = '2' }",
                                    "command = ['x', 'y']\nenvironment = { A = '1', B = '2' }\nweight = 1.5",
                                    "command = ['x', 'y']\nenvironment = { A = '1\", \"B\" = \"2' }"})
        CHECK(definition(other) != a);
    auto const elastic = [&](std::string const& devices) {
        return definition("command = ['x']\nbounds = { gpu = 1 }", "devices = { " + devices + " }\n");
    };
    // Another number of devices does not make another job
    CHECK(elastic("count = 4, cpu = 0.5") == elastic("count = 2, cpu = 0.5"));
    CHECK(elastic("count = 4, cpu = 0.5") != elastic("count = 4, cpu = 0.25"));
    CHECK(elastic("count = 4, gpu = 0.25") != elastic("count = 4, gpu = 0.1"));
}

TEST_CASE("parse_config: what a job leaves out has a default") {
    auto const job = read(std::string(whole_jobs_file)).jobs[1];
    CHECK(job.name == "cnn.2");
    CHECK(job.directory.empty());
    CHECK(job.environment.empty());
    CHECK(job.at == nanoseconds{0});
    CHECK_FALSE(job.target.acceptable.has_value());
    CHECK(job.target.objective == 0.9);
    CHECK(job.target.improves == direction::up);
    CHECK(job.target.mean_of == 1);
    CHECK(job.cpu == bounds{0, unlimited});
    CHECK_FALSE(job.memory.has_value());
    CHECK(job.log.empty());
    CHECK(job.tenant.empty());
    CHECK(job.weight == 1);

    auto const config =
        read("policy = 'none'\n[[job]]\nname = 'a'\ncommand = ['x']\ntarget = { loss = { acceptable = 1 } }\n");
    CHECK_FALSE(config.cpus.has_value());
    CHECK(config.tick == milliseconds(500));
}

TEST_CASE("parse_config: the parameters of every policy in the file are kept, with their places") {
    auto const config = read(std::string(whole_jobs_file));
    auto const* const tradl = config.parameters_of("tradl");
    REQUIRE(tradl != nullptr);
    REQUIRE(tradl->parameters.size() == 4);
    CHECK(tradl->at == position{2, 1});
    CHECK(tradl->parameters[0].name == "alpha");
    CHECK(std::get<double>(tradl->parameters[0].value) == 0.9);
    CHECK(tradl->parameters[0].name_at == position{2, 11});
    CHECK(tradl->parameters[0].value_at == position{2, 19});
    CHECK(std::get<std::string>(tradl->parameters[1].value) == "FT");
    CHECK(std::get<std::int64_t>(tradl->parameters[2].value) == 3);
    CHECK(std::get<bool>(tradl->parameters[3].value));
    REQUIRE(config.parameters_of("equal_share") != nullptr);
    CHECK(config.parameters_of("equal_share")->parameters.front().name == "slack");
    CHECK(config.parameters_of("none") == nullptr);
}

TEST_CASE("parse_config: a policy in a file has its parameters under the name of the file") {
    auto const config = read(
        "policy = 'build/plugins/libmine.so'\nmine = { a = 1 }\n"
        "[[job]]\nname = 'a'\ncommand = ['x']\ntarget = { loss = { acceptable = 1 } }\n");
    REQUIRE(config.parameters_of(config.policy) != nullptr);
    CHECK(config.parameters_of(config.policy)->parameters.front().name == "a");
    CHECK(policy_stem("tradl") == "tradl");
    CHECK(policy_stem("./mine.so") == "mine");
    CHECK(policy_stem("libmine.so") == "mine");
    CHECK(policy_stem("library") == "library");
}

TEST_CASE("parse_config: the file may speak of policies that only the command line names") {
    constexpr auto text =
        "policy = 'none'\nmine = { a = 1 }\nisolation = { mine = 'in-process', tradl = 'worker' }\n"
        "[[job]]\nname = 'a'\ncommand = ['x']\ntarget = { loss = { acceptable = 1 } }\n";
    auto const parsed = parse_config(text, "f", {.policies = {"none", "tradl"}, .named = {"x/mine.so", "libtradl.so"}});
    REQUIRE(parsed.problems.empty());
    REQUIRE(parsed.config.parameters_of("x/mine.so") != nullptr);
    auto const* const mine = parsed.config.isolation_of("elsewhere/libmine.so");
    REQUIRE(mine != nullptr);
    CHECK(mine->where == policy_location::in_process);
    CHECK(mine->at == position{3, 22});
    REQUIRE(parsed.config.isolation_of("libtradl.so") != nullptr);
    CHECK(parsed.config.isolation_of("libtradl.so")->where == policy_location::worker);
    CHECK(parsed.config.isolation_of("none") == nullptr);
    CHECK(parse_config(text, "f", {.policies = {"none", "tradl"}}).problems.size() == 2);
}

TEST_CASE("parse_config: the direction: what is stated, then what the name tells, then the order of the tiers") {
    CHECK(target("{ loss = { acceptable = 2 } }").improves == direction::down);
    CHECK(target("{ val_loss = { acceptable = 2 } }").improves == direction::down);
    CHECK(target("{ 'eval/accuracy' = { acceptable = 0.5 } }").improves == direction::up);
    CHECK(target("{ loss = { acceptable = 2, direction = 'up' } }").improves == direction::up);
    CHECK(target("{ reached = { acceptable = 1, objective = 2 } }").improves == direction::up);
    CHECK(target("{ distance = { acceptable = 2, objective = 1 } }").improves == direction::down);
    CHECK(target("{ glossary = { acceptable = 2, direction = 'up' } }").improves == direction::up);
    CHECK(target("{ loss = { acceptable = 2, objective = 2 } }").objective == 2.0);
}

TEST_CASE("parse_config: a level has a bound, which is its direction, and a window") {
    auto const most = target("{ p95 = { at_most = 0.2, over = '1.5m' } }");
    REQUIRE(most.level);
    CHECK(most.metric == "p95");
    CHECK(most.level->bound == 0.2);
    CHECK(most.level->over == seconds(90));
    CHECK(most.improves == direction::down);
    CHECK_FALSE((most.acceptable || most.objective));
    auto const least = target("{ loss = { over = '5s', at_least = -3 } }");  // the name does not count
    CHECK(least.improves == direction::up);
    CHECK(least.level->bound == -3);
    CHECK_FALSE(target("{ loss = { acceptable = 2 } }").level);
}

TEST_CASE("--policy: makes the file's policy optional") {
    constexpr auto text = "[[job]]\nname = 'a'\ncommand = ['x']\ntarget = { loss = { acceptable = 1 } }\n";
    CHECK(parse_config(text, "f", {.policies = {}, .policy_given = true}).problems.empty());
    CHECK_FALSE(parse_config(text, "f", {}).problems.empty());
}

TEST_CASE("load_config: reads regular files only, and no endless ones") {
    folder const here;
    auto const reply = [](std::filesystem::path const& path) {
        auto const parsed = load_config(path.string());
        return parsed.problems.size() == 1 ? parsed.problems.front().text : "";
    };
    CHECK(reply(here.path / "none.toml") ==
          "cannot be opened (No such file or directory); give the path of a jobs file");
    CHECK(reply(here.path) == "is a folder; give the path of a jobs file");
    REQUIRE(::mkfifo((here.path / "pipe").c_str(), 0600) == 0);
    CHECK(reply(here.path / "pipe") == "is a pipe; give the path of a jobs file");
    std::ofstream(here.path / "large") << std::string(max_config_bytes + 1, '#');
    CHECK(reply(here.path / "large") == "is larger than 1 MiB; give the path of a jobs file");
    std::ofstream(here.path / "fits") << std::string(max_config_bytes - 1, '#') << '\n';
    CHECK(reply(here.path / "fits") == "");  // two problems: no policy, no job
    std::ofstream(here.path / "good") << whole_jobs_file;
    auto const parsed = load_config((here.path / "good").string());
    CHECK(parsed.problems.empty());
    CHECK(parsed.config.source == whole_jobs_file);
}

TEST_CASE("missing_files: directories and programs that do not exist are named with their places") {
    folder const here;
    std::filesystem::create_directory(here.path / "bin");
    std::ofstream(here.path / "bin" / "mine") << "#!/bin/sh\n";
    std::filesystem::permissions(here.path / "bin" / "mine", std::filesystem::perms::owner_all);
    std::ofstream(here.path / "bin" / "text") << "no program\n";
    auto const job = [&](std::string const& command, std::string const& more) {
        auto const config = read("policy = 'none'\n[[job]]\nname = 'a'\ncommand = ['" + command +
                                 "']\ntarget = { loss = { acceptable = 1 } }\n" + more);
        auto const problems = missing_files(config);
        REQUIRE(problems.size() <= 1);
        return problems.empty() ? std::string() : to_text(problems.front());
    };
    std::string const bin = (here.path / "bin").string();
    CHECK(job("sh", "").empty());
    CHECK(job(bin + "/mine", "").empty());
    CHECK(job("./mine", "directory = '" + bin + "'\n").empty());
    CHECK(job("mine", "environment = { PATH = '/nowhere:" + bin + "' }\n").empty());
    // An empty entry is the directory
    CHECK(job("mine", "directory = '" + bin + "'\nenvironment = { PATH = '' }\n").empty());
    CHECK(job("mine", "") == "jobs.toml:4:11: no directory of PATH has a program 'mine'; install it or write its path");
    CHECK(
        job("./text", "directory = '" + bin + "'\n") ==
        "jobs.toml:4:11: the program './text' does not exist or is not executable; build it or correct the path, which is relative to the job's "
        "directory");
    CHECK(
        job("sh", "directory = 'nowhere'\n") ==
        "jobs.toml:6:13: the directory 'nowhere' does not exist; create it or correct the path, which is relative to where ration was started");
}

TEST_CASE("as_json: parameters of each kind come back from their object") {
    policy_parameters const given{.policy = "mine",
                                  .at = {},
                                  .parameters = {{"flag", true, {}, {}},
                                                 {"count", std::int64_t{-7}, {}, {}},
                                                 {"part", 0.1, {}, {}},
                                                 {"word", std::string("a \"b\""), {}, {}}}};
    CHECK(as_json(nullptr).empty());
    auto const text = as_json(&given);
    CHECK(text == R"({"flag":true,"count":-7,"part":0.1,"word":"a \"b\""})");
    for (auto const& one : parameters_in(nlohmann::json::parse(text))) {
        auto const found = std::ranges::find(given.parameters, one.name, &parameter::name);
        REQUIRE(found != given.parameters.end());
        CHECK(one.value == found->value);
    }
    CHECK(parameters_in(nlohmann::json::parse(text)).size() == 4);
    CHECK(parameters_in(nlohmann::json::parse(R"({"a":null,"b":[1],"c":{}})")).empty());
    CHECK(parameters_in(nlohmann::json::parse("[1]")).empty());
}

TEST_CASE("parse_config: a job with devices") {
    auto const all = elastic(
        "bounds = { gpu = { min = 2, max = 4 }, batch = { min = 32, max = 512 } }\nspeedup = [0, 1, 1.8]\nbatch = [0, 128, 256]\n"
        "checkpoint = 'here'\nrestart_cost = '3s'\ndeadlines = { save = '1m', stop = '2s', start = '4s' }");
    CHECK(all.devices == bounds{2, 4});
    CHECK(all.batch == bounds{32, 512});
    CHECK(all.speedup == std::vector<double>{0, 1, 1.8});
    CHECK(all.batches == std::vector<std::int64_t>{0, 128, 256});
    CHECK(all.checkpoint == "here");
    CHECK(all.restart_cost == seconds(3));
    CHECK(all.deadlines.save == seconds(60));
    CHECK(all.deadlines.stop == seconds(2));
    CHECK(all.deadlines.start == seconds(4));
    CHECK(elastic("bounds = { gpu = 3 }").devices == bounds{3, 3});
    CHECK(elastic("bounds = { gpu = { max = 3 } }").devices == bounds{1, 3});
    CHECK(elastic("bounds = { gpu = {} }").devices == bounds{1, unlimited});
    CHECK(elastic("bounds = { gpu = 3 }").gpu_memory == bytes{0});
    CHECK(elastic("bounds = { gpu = 3, gpu_memory = '40GiB' }").gpu_memory == bytes{std::int64_t{40} << 30U});
}

TEST_CASE("shares_devices: true if a job needs devices or the file has some") {
    std::string const job = "[[job]]\nname = 'a'\ncommand = ['x']\ntarget = { loss = { acceptable = 1 } }\n";
    CHECK_FALSE(read("policy = 'none'\n" + job).shares_devices());
    CHECK_FALSE(read("policy = 'none'\ndevices = 'gpus'\n" + job).shares_devices());
    CHECK(read("policy = 'none'\n" + job + "bounds = { gpu = 1 }\n").shares_devices());
    auto const fake_driver = read("policy = 'none'\ndevices = { count = 4, cpu = 0.5 }\n" + job);
    CHECK(fake_driver.shares_devices());
    CHECK(fake_driver.devices.count == 4);
    CHECK(fake_driver.devices.each == millicores{500});
    CHECK_FALSE(fake_driver.devices.of_shares());
    auto const shares = read("policy = 'none'\ndevices = { count = 3, gpu = 0.333 }\n" + job);
    CHECK(shares.shares_devices());
    CHECK((shares.devices.count == 3 && shares.devices.per_mille == 333 && shares.devices.of_shares()));
    CHECK_FALSE(shares.devices.of_cpu());
}
