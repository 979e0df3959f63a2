// SPDX-License-Identifier: BSL-1.0
// The user's commands: their time and their number are bounded.
#include "run/hook_runner.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <unistd.h>

#include "support/catch.hpp"

namespace {

using namespace ration;
using namespace ration::program;
namespace fs = std::filesystem;

[[nodiscard]] std::string text_of(std::string const& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// Runs commands in a temporary folder.
struct runner {
    std::string folder = (fs::temp_directory_path() / "ration-hooks-XXXXXX").string();
    std::optional<reporter> out;
    std::optional<event_sink> events;
    std::optional<hook_runner> hooks;

    runner() {
        REQUIRE(::mkdtemp(folder.data()) != nullptr);
        run_options options;
        options.quiet = true;
        options.log = folder + "/log";
        auto opened = reporter::open(options);
        REQUIRE(opened);
        out.emplace(std::move(opened).value());
        events.emplace(*out);
        hooks.emplace(1, *events, folder);
    }
    runner(runner const&) = delete;
    runner& operator=(runner const&) = delete;
    ~runner() { fs::remove_all(folder); }

    void start(std::string const& script, nanoseconds now) {
        job_config job{};
        job.name = "vae";
        job.directory = folder;
        job.hooks[static_cast<std::size_t>(hook::end)] = {"sh", "-c", script};
        hooks->start(make_hook_call(job, hook::end, {}, folder), now);
    }

    [[nodiscard]] auto begun() const {
        auto const text = text_of(folder + "/begun");
        return std::ranges::count(text, '\n');
    }

    template <class Condition>
    void advance_until(nanoseconds now, Condition condition) {
        for (int i = 0; i < 60'000 && !condition(); ++i) {
            hooks->advance(now);
            ::usleep(1'000);
        }
        REQUIRE(condition());
    }
};

}  // namespace

TEST_CASE("a command that hangs is killed after a minute, with its children and one warning") {
    runner one;
    one.start("sleep 1000 & echo $! > child; echo >> begun; wait", {});
    one.advance_until(hook_runner::longest - nanoseconds{1}, [&] { return one.begun() == 1; });
    CHECK_FALSE(one.hooks->idle());
    auto const child = std::stoi(text_of(one.folder + "/child"));
    one.advance_until(hook_runner::longest, [&] { return one.hooks->idle(); });
    one.advance_until(hook_runner::longest, [&] {
        auto const stat = text_of("/proc/" + std::to_string(child) + "/stat");
        return stat.empty() || stat.find(") Z") != stat.npos;
    });
    one.out->close();
    auto const log = text_of(one.folder + "/log");
    auto const sentence = log.find("its command on_end has failed: it has not ended within 60 s");
    REQUIRE(sentence != log.npos);
    CHECK(log.find("its command", sentence + 1) == log.npos);
}

TEST_CASE("of many commands sixteen run at once, and the others follow") {
    runner one;
    for (std::size_t i = 0; i < hook_room::most_of_own + 3; ++i)
        one.start("echo >> begun; until test -e end; do sleep 0.01; done", {});
    one.advance_until({}, [&] { return one.begun() >= 16; });
    CHECK(one.begun() == 16);
    std::ofstream(one.folder + "/end").put('\n');
    one.advance_until({}, [&] { return one.hooks->idle(); });
    CHECK(one.begun() == 19);
}

TEST_CASE("other users have places of their own, and none of them takes those of another") {
    constexpr uid_t greedy = 5001, other = 5002;
    hook_room room;
    std::size_t taken = 0;
    while (room.take(greedy)) ++taken;
    CHECK(taken == hook_room::most_of_other_user);
    CHECK(room.take(other));
    for (uid_t user = 6000; user < 6100; ++user)
        while (room.take(user)) {
        }
    CHECK_FALSE(room.take(7000));
    CHECK(room.take(std::nullopt, hook_room::most_of_own));
    CHECK_FALSE(room.take(std::nullopt));
}
