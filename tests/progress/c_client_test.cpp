// SPDX-License-Identifier: BSL-1.0
// The C client against the real receiver over a real socket.
#include <chrono>
#include <cmath>
#include <limits>
#include <sys/wait.h>
#include <thread>

#include <ration/progress/client.h>

#include "session_c99.h"
#include "support.hpp"

using namespace progress_test;
using rp::message_type;
using rp::phase;

namespace {

/// A handle that closes itself.
struct handle {
    ration_progress* p = ration_progress_open();
    handle() = default;
    handle(handle const&) = delete;
    handle& operator=(handle const&) = delete;
    ~handle() { ration_progress_close(p); }
};

void pause_past_interval() { std::this_thread::sleep_for(std::chrono::milliseconds(250)); }

std::uint64_t losses_in(notebook const& reported) {
    std::uint64_t sum = 0;
    for (auto const& one : reported.of(message_type::step)) sum += one.update.body.loss_count;
    return sum;
}

}  // namespace

TEST_CASE("a session in C99 arrives whole", "[client]") {
    listener ear;
    ear.set_environment();
    double const nan = std::numeric_limits<double>::quiet_NaN();
    double const inf = std::numeric_limits<double>::infinity();
    double const losses[] = {4, 1, nan, 2, -inf, 3};
    progress_session_in_c(losses, 6);
    ear.drain();
    auto const& all = ear.reported.all;
    REQUIRE(all.size() == 8);
    CHECK(all[0].update.body.type == message_type::hello);
    CHECK(all[0].update.body.world == 1);
    CHECK(all[0].update.body.threads == 2);
    CHECK(all[1].update.body.now == phase::train);
    CHECK(all[2].update.body.step == 1);
    CHECK(all[2].update.body.loss_mean == 4);
    CHECK(all[3].update.body.step == 6);
    CHECK(all[3].update.body.loss_count == 3);
    CHECK(all[3].update.body.loss_mean == Catch::Approx(2));
    CHECK(all[3].update.body.non_finite == 2);
    CHECK(all[3].update.body.total_steps == 6);
    CHECK(all[3].update.body.step_seconds > 0);
    CHECK(all[4].metric == "accuracy");
    CHECK(all[5].update.body.durable);
    CHECK(all[6].update.body.type == message_type::heartbeat);
    CHECK(all[7].why == "done");
    CHECK(ear->counts().received == 8);
    CHECK(ear->counts().lost == 0);
}

TEST_CASE("without a handle or an environment nothing happens", "[client]") {
    progress_nothing_in_c();
    listener ear;
    ear.set_environment();
    auto const silent = [&] {
        double const loss = 1;
        progress_session_in_c(&loss, 1);
        ear.drain();
        return ear->counts().received == 0;
    };
    for (auto const* const name : {"RATION_PROGRESS", "RATION_JOB", "RATION_INCARNATION", "RATION_TOKEN"}) {
        ear.set_environment();
        ::unsetenv(name);
        INFO(name);
        CHECK(silent());
    }
    for (auto const* const incarnation : {"", "-1", "1x", "4294967296", "99999999999999999999"}) {
        ear.set_environment();
        ::setenv("RATION_INCARNATION", incarnation, 1);
        INFO(incarnation);
        CHECK(silent());
    }
    ear.set_environment();
    for (auto const& where : {ear.path, "unix:" + std::string("p.sock"), "unix:/" + std::string(107, 'x')}) {
        ::setenv("RATION_PROGRESS", where.c_str(), 1);
        CHECK(silent());
    }
}

TEST_CASE("steps are gathered: the first goes out at once, then five a second", "[client]") {
    listener ear;
    ear.set_environment();
    handle const h;
    double const start = ration_progress_now_();
    for (std::uint64_t step = 1; step <= 1000; ++step) ration_progress_step(h.p, step, 1, 0);
    ear.drain();
    auto const early = ear.reported.all.size();
    CHECK(early >= 1);
    CHECK(static_cast<double>(early) <= 1 + 5 * (ration_progress_now_() - start));
    pause_past_interval();
    ration_progress_step(h.p, 1001, 1, 0);
    ear.drain();
    CHECK(ear.reported.all.size() == early + 1);
    CHECK(losses_in(ear.reported) == 1001);
}

TEST_CASE("with a full queue every loss is kept and told later", "[client]") {
    listener ear;
    ear.set_environment();
    handle const h;
    raw_sender const other(ear.path);
    REQUIRE(other.fill() > 0);
    for (int step = 1; step <= 40; ++step) ration_progress_step(h.p, static_cast<std::uint64_t>(step), step, 0);
    ration_progress_phase(h.p, "eval");
    ration_progress_eval(h.p, 40, "accuracy", 0.5);
    ear.drain();
    CHECK(ear.reported.all.empty());
    ration_progress_step(h.p, 41, 41, 0);
    ear.drain();
    REQUIRE(ear.reported.all.size() == 3);
    CHECK(ear.reported.of(message_type::phase).size() == 1);
    CHECK(ear.reported.of(message_type::eval).size() == 1);
    auto const steps = ear.reported.of(message_type::step);
    REQUIRE(steps.size() == 1);
    CHECK(steps[0].update.body.loss_count == 41);
    CHECK(steps[0].update.body.loss_mean == Catch::Approx(21));
    CHECK(ear->counts().lost == 0);
}

TEST_CASE("the outbox keeps the last eight", "[client]") {
    listener ear;
    ear.set_environment();
    handle const h;
    raw_sender const other(ear.path);
    other.fill();
    for (std::uint64_t at = 1; at <= 20; ++at) ration_progress_checkpoint(h.p, at, 1);
    ear.drain();
    ration_progress_heartbeat(h.p);
    ear.drain();
    auto const saved = ear.reported.of(message_type::checkpoint);
    REQUIRE(saved.size() == 8);
    CHECK(saved.front().update.body.step == 13);
    CHECK(saved.back().update.body.step == 20);
}

TEST_CASE("a receiver that goes away and comes back misses no loss", "[client]") {
    listener ear;
    ear.set_environment();
    handle const h;
    ration_progress_step(h.p, 1, 1, 0);
    ear.drain();
    ear.stop();
    pause_past_interval();
    for (std::uint64_t step = 2; step <= 10; ++step) ration_progress_step(h.p, step, 1, 0);
    ration_progress_phase(h.p, "eval");
    ear.start();
    pause_past_interval();
    ration_progress_step(h.p, 11, 1, 0);
    ear.drain();
    CHECK(losses_in(ear.reported) == 11);
    CHECK(ear.reported.of(message_type::phase).size() == 1);
    CHECK(ear->counts().lost == 0);
}

TEST_CASE("a receiver that was replaced at once is found by the same call", "[client]") {
    listener ear;
    ear.set_environment();
    handle const h;
    ration_progress_heartbeat(h.p);
    ear.drain();
    ear.stop();
    ear.start();
    ration_progress_heartbeat(h.p);
    ear.drain();
    CHECK(ear.reported.all.size() == 2);
}

TEST_CASE("bye takes along what has gathered", "[client]") {
    listener ear;
    ear.set_environment();
    handle const h;
    for (std::uint64_t step = 1; step <= 3; ++step) ration_progress_step(h.p, step, 1, 0);
    ration_progress_bye(h.p, 3, nullptr);
    ear.drain();
    REQUIRE(ear.reported.all.size() >= 2);
    CHECK(losses_in(ear.reported) == 3);
    CHECK(ear.reported.all.back().update.body.exit_code == 3);
    CHECK(ear.reported.all.back().why == "error");
}

TEST_CASE("closing waits for room, but not for ever", "[client]") {
    listener ear;
    ear.set_environment();
    raw_sender const other(ear.path);
    auto const final_message = [&] {
        other.fill();
        auto* const p = ration_progress_open();
        ration_progress_step(p, 1, 1, 0);
        ration_progress_bye(p, 0, nullptr);
        ration_progress_close(p);
    };
    final_message();  // without a reader it returns all the same
    ear.drain();
    CHECK(ear.reported.all.empty());

    // On a busy machine the reader may come too late
    for (int attempt = 0; attempt < 10 && ear.reported.all.empty(); ++attempt) {
        std::thread reader([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            ear.drain();
        });
        final_message();
        reader.join();
        ear.drain();
    }
    CHECK(ear->counts().losses == 1);
    CHECK(ear.reported.of(message_type::bye).size() == 1);
}

TEST_CASE("words from outside cannot break the grammar", "[client]") {
    listener ear;
    ear.set_environment();
    handle const h;
    ration_progress_eval(h.p, 1, "my metric=\n1", 1);
    ration_progress_eval(h.p, 1, "", 1);
    ration_progress_eval(h.p, 1, nullptr, 1);
    ration_progress_eval(h.p, 1, std::string(500, 'm').c_str(), 1);
    ration_progress_eval(h.p, 1, "nan", std::numeric_limits<double>::quiet_NaN());
    ration_progress_phase(h.p, "tr\xc3\xa4in q=5");
    ration_progress_bye(h.p, -1, "wh y");
    ear.drain();
    CHECK(ear->counts().malformed == 0);
    REQUIRE(ear.reported.all.size() == 7);
    CHECK(ear.reported.all[0].metric == "my_metric__1");
    CHECK(ear.reported.all[1].metric == "_");
    CHECK(ear.reported.all[2].metric == "_");
    CHECK(ear.reported.all[3].metric == std::string(64, 'm'));
    CHECK(ear.reported.all[4].update.body.non_finite == 1);
    CHECK(ear.reported.all[5].update.body.now == phase::other);
    CHECK(ear.reported.all[6].why == "wh_y");
}

TEST_CASE("the longest of everything still fits a message", "[client]") {
    listener ear;
    ::setenv("RATION_PROGRESS", ("unix:" + ear.path).c_str(), 1);
    ::setenv("RATION_JOB", std::string(64, 'j').c_str(), 1);
    ::setenv("RATION_TOKEN", std::string(64, 't').c_str(), 1);
    ::setenv("RATION_INCARNATION", "4294967295", 1);
    REQUIRE(ear->register_job({9}, std::string(64, 'j'), {4294967295}, std::string(64, 't')));
    handle const h;
    auto constexpr most = std::numeric_limits<std::uint64_t>::max();
    h.p->sequence_ = most - 4;
    ration_progress_step(h.p, most, -std::numeric_limits<double>::max(), most);
    ration_progress_eval(h.p, most, std::string(64, 'm').c_str(), -std::numeric_limits<double>::denorm_min());
    ration_progress_bye(h.p, std::numeric_limits<int>::min(), std::string(64, 'w').c_str());
    ear.drain();
    REQUIRE(ear.reported.all.size() == 3);
    CHECK(ear.reported.all[0].update.body.loss_mean == -std::numeric_limits<double>::max());
    CHECK(ear.reported.all[1].update.body.value == -std::numeric_limits<double>::denorm_min());
    CHECK(ear.reported.all[2].update.body.exit_code == std::numeric_limits<int>::min());
}

TEST_CASE("losses near the end of the range do not overflow their mean", "[client]") {
    listener ear;
    ear.set_environment();
    handle const h;
    auto constexpr huge = std::numeric_limits<double>::max();
    raw_sender const other(ear.path);
    other.fill();
    for (double const loss : {huge, huge, -huge, huge}) ration_progress_step(h.p, 1, loss, 0);
    ear.drain();
    ration_progress_heartbeat(h.p);
    ear.drain();
    auto const steps = ear.reported.of(message_type::step);
    REQUIRE(steps.size() == 1);
    CHECK(steps[0].update.body.loss_count == 4);
    CHECK(steps[0].update.body.loss_mean / huge == Catch::Approx(0.5));
}

TEST_CASE("a locale's decimal point becomes a point", "[client]") {
    auto const plain = [](std::string text) {
        ration_progress_plain_(text.data());
        return std::string(text.c_str());
    };
    CHECK(plain("0.5") == "0.5");
    CHECK(plain("-1,25e-07") == "-1.25e-07");
    CHECK(plain("3\xd9\xab"
                "5e+10") == "3.5e+10");
    CHECK(plain("12") == "12");
}

TEST_CASE("ranks other than 0 report no steps, and say which they are", "[client]") {
    listener ear;
    ear.set_environment();
    ::setenv("RANK", "3", 1);
    handle const h;
    ration_progress_hello(h.p, 4, 1);
    ration_progress_step(h.p, 1, 1, 0);
    ration_progress_bye(h.p, 0, nullptr);
    ear.drain();
    REQUIRE(ear.reported.all.size() == 2);
    CHECK(ear.reported.all[0].update.rank == 3);
    CHECK(ear.reported.all[0].update.body.world == 4);
    ::unsetenv("RANK");
}

TEST_CASE("a forked child's copy of the handle is silent", "[client]") {
    listener ear;
    ear.set_environment();
    handle const h;
    ration_progress_hello(h.p, 1, 1);
    pid_t const child = ::fork();
    if (child == 0) {
        ration_progress_step(h.p, 1, 1, 0);
        ration_progress_bye(h.p, 0, nullptr);
        ration_progress_close(h.p);
        ::_exit(0);
    }
    REQUIRE(::waitpid(child, nullptr, 0) == child);
    ration_progress_step(h.p, 1, 1, 0);
    ear.drain();
    CHECK(ear.reported.all.size() == 2);
    CHECK(ear->counts().received == 2);
}

TEST_CASE("errno is the program's own", "[client]") {
    listener ear;
    ear.set_environment();
    ear.stop();
    errno = 4242;
    {
        handle const h;
        ration_progress_hello(h.p, 1, 1);
        ration_progress_step(h.p, 1, 1, 0);
        ration_progress_heartbeat(h.p);
        ration_progress_bye(h.p, 0, nullptr);
    }
    CHECK(errno == 4242);
}
