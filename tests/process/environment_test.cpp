// SPDX-License-Identifier: BSL-1.0
#include <algorithm>
#include <cstdlib>

#include <ration/process/environment.hpp>

#include "support/catch.hpp"

using ration::millicores;
namespace process = ration::process;

namespace {

std::vector<std::string> made(process::environment_request const& request) {
    auto const out = process::make_environment(request);
    REQUIRE(out);
    return std::move(out).value();
}

/// The value, which must be there once; "(none)" when it is not there.
std::string value(std::vector<std::string> const& environment, std::string const& name) {
    std::vector<std::string> found;
    for (std::string const& entry : environment)
        if (entry.starts_with(name + '=')) found.push_back(entry.substr(name.size() + 1));
    CHECK(found.size() <= 1);
    return found.empty() ? "(none)" : found.front();
}

}  // namespace

TEST_CASE("thread counts are whole cores, rounded down, and never none") {
    CHECK(process::threads_for({0}) == 1);
    CHECK(process::threads_for({999}) == 1);
    CHECK(process::threads_for({1000}) == 1);
    CHECK(process::threads_for({1999}) == 1);
    CHECK(process::threads_for({2000}) == 2);
    CHECK(process::threads_for({64'500}) == 64);
    auto const environment = made({.cpu = {3900}});
    for (std::string_view const name : process::thread_count_variables)
        CHECK(value(environment, std::string(name)) == "3");
    CHECK(value(environment, "RATION_THREADS") == "3");
    CHECK(value(environment, "RATION_CPUS") == "3.900");
    CHECK(value(made({.cpu = {1005}}), "RATION_CPUS") == "1.005");
}

TEST_CASE("the user's word counts more than the defaults, the job's more than the shell's") {
    auto const environment =
        made({.inherited = {"OMP_NUM_THREADS=7", "MKL_NUM_THREADS=7", "HOME=/home/a", "PYTHONUNBUFFERED="},
              .declared = {"OMP_NUM_THREADS=5", "SEED=1", "HOME=/home/b"},
              .cpu = {2000}});
    CHECK(value(environment, "OMP_NUM_THREADS") == "5");
    CHECK(value(environment, "MKL_NUM_THREADS") == "7");
    CHECK(value(environment, "OPENBLAS_NUM_THREADS") == "5");
    CHECK(value(environment, "HOME") == "/home/b");
    CHECK(value(environment, "SEED") == "1");
    CHECK(value(environment, "PYTHONUNBUFFERED").empty());
    CHECK(value(made({}), "PYTHONUNBUFFERED") == "1");
    CHECK(value(made({.declared = {"A=1", "A=2"}}), "A") == "2");
    CHECK(value(made({.declared = {"A=x=y"}}), "A") == "x=y");
    // A longer name is another name
    CHECK(value(made({.inherited = {"OMP_NUM_THREADS_MAX=9"}}), "OMP_NUM_THREADS") == "1");
}

TEST_CASE("make_environment: jobs that run at once share the cores, and no core stays without a thread") {
    CHECK(process::even_share({8000}, 1) == millicores{8000});
    CHECK(process::even_share({8000}, 3) == millicores{3000});
    CHECK(process::even_share({2000}, 4) == millicores{1000});
    auto const environment = made({.cpu = {8000}, .share = {3000}});
    CHECK(value(environment, "OMP_NUM_THREADS") == "3");
    CHECK(value(environment, "RATION_CPUS") == "8.000");
    CHECK(value(made({.cpu = {2000}, .share = {3000}}), "OMP_NUM_THREADS") == "2");
    CHECK(value(made({.cpu = {8000}, .share = {4000}, .ranks = 2}), "OMP_NUM_THREADS") == "2");
    CHECK(value(made({.declared = {"OMP_NUM_THREADS=8"}, .cpu = {8000}, .share = {1000}}), "OMP_NUM_THREADS") == "8");
}

TEST_CASE("make_environment: OMP_NUM_THREADS of the user decides the other numbers of threads") {
    for (auto const& [set, others] : {std::pair("3", "3"), {"4,2", "4"}, {"0", "2"}, {"many", "2"}, {"", "2"}}) {
        INFO(set);
        auto const environment =
            made({.declared = {std::string("OMP_NUM_THREADS=") + set, "NUMBA_NUM_THREADS=1"}, .cpu = {2000}});
        CHECK(value(environment, "OMP_NUM_THREADS") == set);
        CHECK(value(environment, "NUMBA_NUM_THREADS") == "1");
        for (auto const* name : {"MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "RATION_THREADS"})
            CHECK(value(environment, name) == others);
    }
    CHECK(value(made({.inherited = {"OMP_NUM_THREADS=3"}}), "MKL_NUM_THREADS") == "3");
    CHECK(value(made({.declared = {"MKL_NUM_THREADS=3"}, .cpu = {2000}}), "OMP_NUM_THREADS") == "2");
}

TEST_CASE("make_environment: threads sleep while they wait, unless the user sets how they wait") {
    auto const environment = made({});
    CHECK(value(environment, "OMP_WAIT_POLICY") == "PASSIVE");
    CHECK(value(environment, "GOMP_SPINCOUNT") == "0");
    CHECK(value(environment, "KMP_BLOCKTIME") == "0");
    CHECK(value(environment, "OPENBLAS_THREAD_TIMEOUT") == "4");
    auto const active = made({.declared = {"OMP_WAIT_POLICY=ACTIVE"}});
    CHECK(value(active, "OMP_WAIT_POLICY") == "ACTIVE");
    CHECK(value(active, "GOMP_SPINCOUNT") == "(none)");
    CHECK(value(active, "KMP_BLOCKTIME") == "(none)");
    CHECK(value(active, "OPENBLAS_THREAD_TIMEOUT") == "4");
    auto const timed = made({.inherited = {"KMP_BLOCKTIME=50", "OPENBLAS_THREAD_TIMEOUT=20"}});
    CHECK(value(timed, "OMP_WAIT_POLICY") == "(none)");
    CHECK(value(timed, "KMP_BLOCKTIME") == "50");
    CHECK(value(timed, "OPENBLAS_THREAD_TIMEOUT") == "20");
}

TEST_CASE("RATION_ names are ours, and those of an outer run do not leak in") {
    auto const environment = made({.inherited = {"RATION_TOKEN=outer", "RATION_PROGRESS=unix:/outer", "RATION_X=1"},
                                   .job = "vae",
                                   .incarnation = {3},
                                   .token = "0123456789abcdef",
                                   .progress = "unix:/run/p.sock"});
    CHECK(value(environment, "RATION_JOB") == "vae");
    CHECK(value(environment, "RATION_INCARNATION") == "3");
    CHECK(value(environment, "RATION_TOKEN") == "0123456789abcdef");
    CHECK(value(environment, "RATION_PROGRESS") == "unix:/run/p.sock");
    CHECK(value(environment, "RATION_X") == "(none)");
    CHECK(std::ranges::find(environment, process::mark_of("0123456789abcdef")) != environment.end());
    CHECK(value(made({.inherited = {"RATION_PROGRESS=unix:/outer"}}), "RATION_PROGRESS") == "(none)");

    auto const refused = process::make_environment({.declared = {"RATION_TOKEN=mine"}});
    REQUIRE_FALSE(refused);
    CHECK(refused.failure().code == ration::errc::invalid_value);
    CHECK(refused.failure().subject == std::string_view("RATION_TOKEN"));
}

TEST_CASE("choices of ration for a job are not those of its user, so that jobs which it starts get their own") {
    auto const outer = made({.declared = {"MKL_NUM_THREADS=7", "RANK=5", "SEED=1"},
                             .cpu = {1000},
                             .masks = {"CUDA_VISIBLE_DEVICES=GPU-a GPU-b", "CUDA_DEVICE_ORDER=PCI_BUS_ID"},
                             .world = {"RANK=2", "MASTER_ADDR=node-1"}});
    CHECK(value(outer, "RANK") == "2");
    auto const inner = made({.inherited = outer, .cpu = {4000}});
    for (auto const* name : {"OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "RATION_THREADS"})
        CHECK(value(inner, name) == "4");
    CHECK(value(inner, "MKL_NUM_THREADS") == "7");
    CHECK(value(inner, "SEED") == "1");
    CHECK(value(inner, "RANK") == "(none)");
    CHECK(value(inner, "MASTER_ADDR") == "(none)");
    CHECK(value(inner, "RATION_MASKS") == "(none)");
    CHECK(value(inner, "CUDA_VISIBLE_DEVICES") == "GPU-a GPU-b");  // the run inside the job has no other devices

    auto const sent = process::without_listed(outer, process::mask_entries);
    CHECK(value(sent, "CUDA_VISIBLE_DEVICES") == "(none)");
    CHECK(value(sent, "CUDA_DEVICE_ORDER") == "(none)");
    CHECK(value(sent, "RANK") == "2");

    auto changed = outer;  // by the script of the job
    for (auto& entry : changed)
        if (entry.starts_with("OMP_NUM_THREADS=")) entry = "OMP_NUM_THREADS=3";
    CHECK(value(made({.inherited = changed, .cpu = {4000}}), "OMP_NUM_THREADS") == "3");
    CHECK(process::without_listed({"A=1"}, process::mask_entries) == std::vector<std::string>{"A=1"});
}

TEST_CASE("what is not NAME=VALUE is refused from a user and passed over in a shell") {
    for (std::string const bad : {"", "NAME", "=value", "=", "A B"}) {
        INFO(bad);
        CHECK_FALSE(process::make_environment({.declared = {bad}}));
    }
    CHECK_FALSE(process::make_environment({.declared = {std::string("A=1\0B=2", 7)}}));
    auto const environment = made({.inherited = {"", "NAME", "=odd", "GOOD=1"}});
    CHECK(value(environment, "GOOD") == "1");
    CHECK(std::ranges::all_of(
        environment, [](std::string const& e) { return e.find('=') != std::string::npos && e.front() != '='; }));
}

TEST_CASE("our own environment can be read") {
    ::setenv("RATION_TEST_VALUE", "a=b", 1);
    CHECK(std::ranges::count(process::current_environment(), "RATION_TEST_VALUE=a=b") == 1);
    ::unsetenv("RATION_TEST_VALUE");
}

TEST_CASE("a job with devices is told which, and shares its cores among its ranks") {
    auto const job = made({.inherited = {"CUDA_VISIBLE_DEVICES=0,1,2", "RATION_DEVICES=GPU-of-somebody"},
                           .declared = {"CUDA_VISIBLE_DEVICES=7"},
                           .cpu = {4500},
                           .ranks = 2,
                           .devices = "cpu-0,cpu-3",
                           .batch = "512",
                           .checkpoint = "/tmp/there",
                           .masks = {"CUDA_DEVICE_ORDER=PCI_BUS_ID", "CUDA_VISIBLE_DEVICES="}});
    CHECK(value(job, "RATION_DEVICES") == "cpu-0,cpu-3");
    CHECK(value(job, "RATION_BATCH") == "512");
    CHECK(value(job, "RATION_CHECKPOINT") == "/tmp/there");
    CHECK(value(job, "CUDA_VISIBLE_DEVICES").empty());  // an empty mask is not the same as none
    CHECK(value(job, "CUDA_DEVICE_ORDER") == "PCI_BUS_ID");
    CHECK(value(job, "OMP_NUM_THREADS") == "2");
    CHECK(value(job, "RATION_CPUS") == "4.500");
    auto const none = made({.inherited = {"CUDA_VISIBLE_DEVICES=0,1,2"}});
    CHECK(value(none, "RATION_DEVICES") == "(none)");
    CHECK(value(none, "CUDA_VISIBLE_DEVICES") == "0,1,2");
    CHECK(value(made({.cpu = {500}, .ranks = 3}), "OMP_NUM_THREADS") == "1");
}
