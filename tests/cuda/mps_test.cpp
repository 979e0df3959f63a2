// SPDX-License-Identifier: BSL-1.0
// MPS against a fake for nvidia-cuda-mps-control: both interfaces, and the ways in which a job escapes without
// notice.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <signal.h>
#include <sstream>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <ration/cuda/mps.hpp>

#include "support/catch.hpp"

using namespace ration;
using namespace ration::cuda;
namespace fs = std::filesystem;

namespace {

using pids = std::vector<std::int32_t>;
constexpr nanoseconds patient = seconds(50);  // a busy machine takes long to run a script

/// A directory in which the daemon of this script listens.
class daemon_there {
    fs::path root_ = fs::temp_directory_path() / ("ration-mps-" + std::to_string(::getpid()));

public:
    explicit daemon_there(char const* script) {
        fs::create_directories(root_);
        if (script != nullptr) now_has(script);
    }
    ~daemon_there() { fs::remove_all(root_); }
    daemon_there(daemon_there const&) = delete;
    daemon_there& operator=(daemon_there const&) = delete;

    void now_has(std::string const& script) const {  // at once, so that no reader gets half of it
        std::ofstream(root_ / "next") << script;
        fs::rename(root_ / "next", root_ / "control");
    }
    [[nodiscard]] fs::path root() const { return root_; }
    [[nodiscard]] mps_place place() const { return {.pipe_directory = root_, .program = RATION_FAKE_MPS}; }
};

[[nodiscard]] errc refused(daemon_there const& there, nanoseconds at_most = patient) {
    auto const daemon = mps::connect(there.place(), at_most);
    return daemon ? errc::internal : daemon.failure().code;
}

}  // namespace

TEST_CASE("a share becomes whole percents, rounded down, and never none") {
    CHECK(mps_share::of(1000)->percent() == 100);
    CHECK(mps_share::of(259)->percent() == 25);
    CHECK(mps_share::of(10)->percent() == 1);
    CHECK(mps_share::of(1)->percent() == 1);
    for (int wrong : {0, -1, 1001}) CHECK(mps_share::of(wrong).failure().code == errc::out_of_range);
    CHECK(mps_share::of(250)->multiprocessors(188) == 46);
    CHECK(mps_share::of(1000)->multiprocessors(132) == 132);
    CHECK(mps_share::of(1)->multiprocessors(132) == 2);
    for (std::int64_t a = 10; a <= 990; ++a)
        REQUIRE(mps_share::of(a)->percent() + mps_share::of(1000 - a)->percent() <= 100);
    CHECK(mps_share::of(250)->environment({.pipe_directory = "/run/mps"}) ==
          std::array<std::string, 2>{"CUDA_MPS_PIPE_DIRECTORY=/run/mps", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=25"});
}

TEST_CASE("where a client would look for the daemon") {
    ::unsetenv("CUDA_MPS_PIPE_DIRECTORY");
    CHECK(mps_place::here().pipe_directory == "/tmp/nvidia-mps");
    ::setenv("CUDA_MPS_PIPE_DIRECTORY", "/run/mps", 1);
    CHECK(mps_place::here().pipe_directory == "/run/mps");
    ::unsetenv("CUDA_MPS_PIPE_DIRECTORY");
}

TEST_CASE("both interfaces tell who the clients are") {
    {
        daemon_there const there(
            "protocol 2\nserver 100\nserver 200\nclient 100 4711\nclient 200 4712\nclient 200 4713\n");
        auto const daemon = mps::connect(there.place(), patient);
        REQUIRE(daemon);
        CHECK(daemon->protocol() == mps_protocol::v2);
        auto const servers = daemon->servers();
        REQUIRE((servers && servers->size() == 2));
        CHECK(((*servers)[0].pid == 100 && (*servers)[0].clients == pids{4711}));
        CHECK(((*servers)[1].pid == 200 && (*servers)[1].clients == pids{4712, 4713}));
        CHECK(daemon->verify(pids{4713, 4711}));
        CHECK(daemon->quit());
        CHECK(refused(there) == errc::not_found);
    }
    daemon_there const there("protocol 3\nserver 100\nclient 100 4711\nclient 100 4712\n");
    auto const daemon = mps::connect(there.place(), patient);
    REQUIRE(daemon);
    CHECK(daemon->protocol() == mps_protocol::v3);
    CHECK(daemon->servers()->at(0).clients == pids{4711, 4712});
    CHECK(daemon->verify(pids{4712}));
    CHECK(daemon->verify(pids{25}, milliseconds(1)).failure().code == errc::unverified);  // a percentage, not a client
}

TEST_CASE("a daemon without servers is one all the same") {
    daemon_there const there("protocol 2\n");
    auto const daemon = mps::connect(there.place(), patient);
    REQUIRE(daemon);
    CHECK(daemon->servers()->empty());
    CHECK(daemon->verify({}));
}

TEST_CASE("a job that is not a client is reported") {
    daemon_there const there("protocol 2\nserver 100\nclient 100 4711\n");
    auto const daemon = mps::connect(there.place(), patient);
    REQUIRE(daemon);
    auto const verified = daemon->verify(pids{4711, 4799}, milliseconds(100));
    REQUIRE_FALSE(verified);
    CHECK(verified.failure().code == errc::unverified);
    CHECK(verified.failure().subject == "4799");
    CHECK(std::string(verified.failure().remedy).starts_with("it computes without MPS and without its share"));

    std::thread job([&there] { there.now_has("protocol 2\nserver 100\nclient 100 4711\nclient 100 4799\n"); });
    // One becomes a client when it initialises CUDA, after its start
    CHECK(daemon->verify(pids{4711, 4799}, seconds(20)));
    job.join();
}

TEST_CASE("what else there may be instead of an answer") {
    CHECK(refused(daemon_there(nullptr)) == errc::not_found);  // a directory misspelled
    CHECK(refused(daemon_there("dead\n")) == errc::gone);
    CHECK(refused(daemon_there("strange\n")) == errc::not_supported);
    CHECK(refused(daemon_there("hang\n"), milliseconds(300)) == errc::timed_out);
    daemon_there const there("protocol 2\n");
    auto const daemon = mps::connect({.pipe_directory = there.root(), .program = "no-such-mps-control"});
    REQUIRE_FALSE(daemon);
    CHECK((daemon.failure().code == errc::not_found && daemon.failure().subject == "no-such-mps-control"));
    auto const dying = mps::connect(there.place(), patient);
    there.now_has("dead\n");
    CHECK(dying->servers().failure().code == errc::gone);
    CHECK(dying->verify({}).failure().code == errc::gone);
}

TEST_CASE("a daemon is started when somebody asks for it, and may keep our output open") {
    daemon_there const there(nullptr);
    auto place = there.place();
    place.log_directory = "/run/logs";
    ::setenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "50", 1);  // would be the most that any client gets
    auto const daemon = start_mps(place, patient);
    ::unsetenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
    pid_t started = 0;
    std::ifstream(there.root() / "nvidia-cuda-mps-control.pid") >> started;
    REQUIRE(started > 0);
    std::ostringstream variables;
    variables << std::ifstream("/proc/" + std::to_string(started) + "/environ").rdbuf();
    ::kill(started, SIGKILL);
    CHECK(daemon);
    CHECK(variables.str().find(std::string("\0CUDA_MPS_LOG_DIRECTORY=/run/logs\0", 34)) != std::string::npos);
    CHECK(variables.str().find("CUDA_MPS_PIPE_DIRECTORY=" + there.root().string()) != std::string::npos);
    CHECK(variables.str().find("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE") == std::string::npos);
}

TEST_CASE("a daemon hears a signal that its starter has blocked, as ration run does") {
    daemon_there const there(nullptr);
    sigset_t blocked, before;
    ::sigemptyset(&blocked);
    ::sigaddset(&blocked, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
    auto const daemon = start_mps(there.place(), patient);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pid_t started = 0;
    std::ifstream(there.root() / "nvidia-cuda-mps-control.pid") >> started;
    REQUIRE((daemon && started > 0));
    std::ifstream status("/proc/" + std::to_string(started) + "/status");
    std::string mask;
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("SigBlk:")) mask = line;
    ::kill(started, SIGKILL);
    CHECK(mask == "SigBlk:\t0000000000000000");
}

TEST_CASE("ways past a share are named before it is promised") {
    found_gpu open, closed;
    open.what.pci = "0000:17:00.0";
    closed.exclusive = true;
    auto const gpus = std::vector{open, closed};
    auto const ways =
        ways_past_mps(gpus, std::vector<std::string>{"PATH=/bin", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=1G"});
    REQUIRE(ways.size() == 2);
    CHECK(ways[0].subject == "0000:17:00.0");
    CHECK(std::string(ways[0].remedy).find("EXCLUSIVE_PROCESS") != std::string::npos);
    CHECK(ways[1].subject == "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT");
    CHECK(ways_past_mps(std::vector{closed}, {}).empty());
}
