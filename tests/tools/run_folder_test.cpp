// SPDX-License-Identifier: BSL-1.0
// The folder of a run: its name, the link to the newest one, the files that only the user can read, and the words of
// the command line that name it.
#include "run/run_folder.hpp"

#include <cerrno>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error_text.hpp"
#include "run/kept_run.hpp"
#include "run/run_order.hpp"
#include "support/catch.hpp"

using namespace ration::program;
namespace fs = std::filesystem;

namespace {

/// A separate working directory.
struct working_directory {
    fs::path before = fs::current_path();
    fs::path here = fs::temp_directory_path() / ("ration-test-" + std::to_string(::getpid()));

    working_directory() {
        fs::create_directory(here);
        fs::current_path(here);
    }
    ~working_directory() {
        fs::current_path(before);
        fs::remove_all(here);
    }
    working_directory(working_directory const&) = delete;
    working_directory& operator=(working_directory const&) = delete;
};

void write(fs::path const& path, std::string const& text) { std::ofstream(path, std::ios::binary) << text; }

[[nodiscard]] std::string content_of(fs::path const& path) {
    std::ostringstream out;
    out << std::ifstream(path, std::ios::binary).rdbuf();
    return out.str();
}

[[nodiscard]] std::time_t noon() {
    std::tm local{};
    local.tm_year = 126;
    local.tm_mon = 10;
    local.tm_mday = 24;
    local.tm_hour = 12;
    local.tm_min = 48;
    local.tm_sec = 13;
    local.tm_isdst = -1;
    return std::mktime(&local);
}

/// The folder of the last run of `rounds`, each under this policy.
[[nodiscard]] std::string made(std::string const& policy, std::string parameters = {}, std::uint32_t rounds = 1) {
    auto const runs = order_runs({{.policy = policy, .label = policy + parameters}}, rounds);
    auto const folder = make_run_folder(runs.back().folder, noon());
    REQUIRE(folder);
    CHECK(fs::is_directory(*folder));
    return fs::path(*folder).lexically_relative(fs::current_path()).string();
}

[[nodiscard]] std::string why_not_latest(std::string const& folder) {
    auto const done = point_latest_to(fs::absolute(folder).string());
    return done ? std::string() : to_text(done.failure());
}

[[nodiscard]] mode_t mode_of(fs::path const& path) {
    struct stat about{};
    REQUIRE(::stat(path.c_str(), &about) == 0);
    return about.st_mode & 0777;
}

void keep(std::string const& folder, std::string log) {
    kept_run const run{.run = "7-0123456789abcdef",
                       .started_ms = 1,
                       .file = "jobs.toml",
                       .policy = "none",
                       .log = std::move(log),
                       .jobs = {}};
    write(summary_in(folder), to_json(run));
}

}  // namespace

TEST_CASE("make_run_folder: runs of one second have folders of their own") {
    working_directory const w;
    CHECK(made("tradl") == "ration-output/20261124-124813-tradl");
    CHECK(made("tradl") == "ration-output/20261124-124813-tradl-2");
    CHECK(made("tradl") == "ration-output/20261124-124813-tradl-3");
    CHECK(made("none") == "ration-output/20261124-124813-none");
}

TEST_CASE("make_run_folder: the name of a policy's file stays inside the folder") {
    working_directory const w;
    CHECK(made("./plugins/libmine.so") == "ration-output/20261124-124813-mine");
    CHECK(made("/tmp/..so") == "ration-output/20261124-124813-.");
    CHECK(made("./a b\n.so") == "ration-output/20261124-124813-a-b-");
}

TEST_CASE("make_run_folder: parameters and the round stand in the name") {
    working_directory const w;
    CHECK(made("tradl", ":scenario=AO,file=../$x", 12) ==
          "ration-output/20261124-124813-tradl-scenario=AO-file=..--x-round-12");
    CHECK(made("tradl", ':' + std::string(500, 'x'), 2).size() ==
          std::string_view("ration-output/20261124-124813-").size() + 100 + 8);
}

TEST_CASE("make_run_folder: what is in the way is named") {
    working_directory const w;
    write("ration-output", "");
    auto const folder = make_run_folder("none", noon());
    REQUIRE_FALSE(folder);
    CHECK(to_text(folder.failure()) ==
          "make the folder of the run " + (w.here / "ration-output").string() +
              ": not found (Not a directory); a file is in its place or on its way: move that file");
}

TEST_CASE("point_latest_to: the newest run, also in the place of a link of somebody else") {
    working_directory const w;
    auto const first = made("none"), second = made("none");
    CHECK(why_not_latest(first).empty());
    CHECK(fs::read_symlink("ration-output/latest") == "20261124-124813-none");
    CHECK(why_not_latest(second).empty());
    CHECK(fs::read_symlink("ration-output/latest") == "20261124-124813-none-2");
    fs::create_directory("elsewhere");
    fs::remove("ration-output/latest");
    fs::create_symlink(w.here / "elsewhere", "ration-output/latest");
    CHECK(why_not_latest(first).empty());
    CHECK(fs::is_empty("elsewhere"));
    CHECK(fs::read_symlink("ration-output/latest") == "20261124-124813-none");
}

TEST_CASE("point_latest_to: a file or folder of this name stays") {
    working_directory const w;
    auto const folder = made("none");
    auto const sentence = "replace the link " + (w.here / "ration-output/latest").string() +
                          ": already exists; remove it, so that ration can link the newest run there";
    write("ration-output/latest", "mine");
    CHECK(why_not_latest(folder) == sentence);
    CHECK(content_of("ration-output/latest") == "mine");
    fs::remove("ration-output/latest");
    fs::create_directory("ration-output/latest");
    CHECK(why_not_latest(folder) == sentence);
    CHECK(fs::is_directory(fs::symlink_status("ration-output/latest")));
    CHECK(std::distance(fs::directory_iterator("ration-output"), {}) == 2);
}

TEST_CASE("open_private_log: continues after the last whole line of a killed run") {
    working_directory const w;
    std::string const long_tail(10'000, 'x');
    for (auto const& [before, kept] : {std::pair<std::string, std::string>{"", ""},
                                       {"one\n", "one\n"},
                                       {"one\ntorn", "one\n"},
                                       {"torn", ""},
                                       {"one\ntwo\n" + long_tail, "one\ntwo\n"},
                                       {long_tail, ""}}) {
        write("log", before);
        auto const log = open_private_log("log");
        REQUIRE(log);
        CHECK(::write(log->get(), "new\n", 4) == 4);
        CHECK(content_of("log") == kept + "new\n");
    }
    fs::remove("log");
    REQUIRE(open_private_log("log"));
    CHECK(mode_of("log") == 0600);
    fs::remove("log");
    fs::create_symlink("other", "log");
    CHECK_FALSE(open_private_log("log"));
    CHECK_FALSE(fs::exists("other"));
}

TEST_CASE("replace_private_file: nobody else can read it, and the old content stays after a failure") {
    working_directory const w;
    REQUIRE(replace_private_file("jobs.toml", "one"));
    REQUIRE(replace_private_file("jobs.toml", "two"));
    CHECK(content_of("jobs.toml") == "two");
    CHECK(mode_of("jobs.toml") == 0600);
    fs::create_directory("jobs.toml.new");
    CHECK_FALSE(replace_private_file("jobs.toml", "three"));
    CHECK(content_of("jobs.toml") == "two");
}

TEST_CASE("run_folder_named: a name, latest or a path") {
    working_directory const w;
    auto const folder = made("none");
    CHECK(run_folder_named("latest") == "ration-output/latest");
    REQUIRE(why_not_latest(folder).empty());
    CHECK(run_folder_named("latest") == folder);
    CHECK(run_folder_named("20261124-124813-none") == folder);
    CHECK(run_folder_named("./x/y") == "./x/y");
    CHECK(run_folder_named("..") == "ration-output/..");
}

TEST_CASE("event_log_named: the log of a run, or the file of this name") {
    working_directory const w;
    auto const named = [](std::string const& word) {
        auto const log = event_log_named(word);
        return log ? *log : log.failure().text;
    };
    CHECK(named("run.jsonl") == "run.jsonl");
    CHECK(
        named("latest") ==
        "ration-output/latest is not the folder of a run; name a run that 'ration runs' lists, or the path of its folder");
    auto const folder = made("none");
    REQUIRE(why_not_latest(folder).empty());
    CHECK(named("20261124-124813-none") == "20261124-124813-none");  // not a run without a summary
    keep(folder, "");
    for (std::string const word : {"latest", "20261124-124813-none", folder.c_str(), "ration-output/latest"})
        CHECK(fs::equivalent(fs::path(named(word)).parent_path(), folder));
    CHECK(named("latest") == folder + "/events.jsonl");
    keep(folder, "/var/log/run.jsonl");
    CHECK(named("latest") == folder + ": the events of this run were written to /var/log/run.jsonl; name that file");
    write("latest", "");
    CHECK(named("latest") == "latest");
}
