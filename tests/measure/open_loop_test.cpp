// SPDX-License-Identifier: BSL-1.0
// Requests at planned times, against servers in threads of the test.
#include "measure/open_loop.hpp"

#include <chrono>
#include <functional>
#include <sys/socket.h>
#include <thread>

#include "support/catch.hpp"

using namespace ration::program;
using ration::milliseconds;
using ration::seconds;
using ration::process::descriptor;

namespace {

using namespace std::chrono_literals;

/// Reads lines, and calls `answer` with each and with its index, until the client closes.
void serve(descriptor socket, std::function<std::string(std::string const&, int)> const& answer) {
    std::string received;
    char buffer[256];
    for (int index = 0;;) {
        auto const count = ::read(socket.get(), buffer, sizeof buffer);
        if (count <= 0) return;
        received.append(buffer, static_cast<std::size_t>(count));
        for (auto end = received.find('\n'); end != received.npos; end = received.find('\n')) {
            auto const reply = answer(received.substr(0, end + 1), index++);
            received.erase(0, end + 1);
            if (reply == "close") return;
            if (::send(socket.get(), reply.data(), reply.size(), MSG_NOSIGNAL) < 0) return;
        }
    }
}

/// One pass, and its failure in the place of an outcome.
struct one_pass {
    load_pass pass{};
    std::string failure{};
};

[[nodiscard]] one_pass measured(pass_plan const& plan,
                                std::function<std::string(std::string const&, int)> const& answer, int passes = 1) {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    std::thread server([&answer, socket = descriptor(ends[1])]() mutable { serve(std::move(socket), answer); });
    one_pass out;
    {
        std::atomic<bool> const cancelled = false;
        open_loop client{descriptor(ends[0]), cancelled};
        for (int i = 0; i < passes && out.failure.empty(); ++i) {
            auto const found = client.run(plan);
            if (found)
                out.pass = *found;
            else
                out.failure = found.failure();
        }
    }
    server.join();
    return out;
}

[[nodiscard]] std::string echo(std::string const& line, int) { return line; }

}  // namespace

TEST_CASE("open_loop: every request is answered, also in the next pass") {
    auto const found = measured({.rate = 2000, .length = milliseconds(50), .limit = 60}, echo, 3);
    CHECK(found.failure.empty());
    CHECK((found.pass.offered == 2000 && found.pass.served > 0 && found.pass.p95 >= found.pass.p50));
}

TEST_CASE("open_loop: requests behind a pause of the server count from their planned times") {
    // The pause is at the first request. A client that waits for answers would see it in one request only
    auto const pause = [](std::string const& line, int index) {
        if (index == 0) std::this_thread::sleep_for(300ms);
        return line;
    };
    auto const found = measured({.rate = 500, .length = milliseconds(100), .limit = 60}, pause);
    CHECK(found.failure.empty());
    CHECK(found.pass.p50 > 0.1);
    CHECK(found.pass.served < 500);
}

TEST_CASE("open_loop: answers may come in any order") {
    std::string first;
    auto const swapped = [&first](std::string const& line, int index) {
        if (index % 2 == 1) return line + first;
        first = line;
        return std::string();
    };
    CHECK(measured({.rate = 2000, .length = milliseconds(20), .limit = 60}, swapped).failure.empty());
}

TEST_CASE("open_loop: a pass ends early once it has missed the limit") {
    int requests = 0;
    auto const slow = [&requests](std::string const& line, int) {
        ++requests;
        std::this_thread::sleep_for(10ms);
        return line;
    };
    auto const found = measured({.rate = 200, .length = seconds(5), .limit = 0.001}, slow);
    CHECK(found.failure.empty());
    CHECK(found.pass.p95 > 0.001);
    CHECK(requests < 1000);
}

TEST_CASE("open_loop: a sentence for each server that does not answer") {
    pass_plan const plan{.rate = 1000, .length = milliseconds(20), .limit = 60};
    CHECK(measured(plan, [](auto&, int) { return std::string("close"); }).failure ==
          "it closed the connection; let it serve until it is stopped");
    CHECK(measured(plan, [](auto&, int) { return std::string("ok\n"); }).failure ==
          "it sent 'ok', which answers no request; let it answer each line with the same line");
    CHECK(measured(plan, [](std::string const& line, int) { return line + "9999\n"; }).failure ==
          "it sent '9999', which answers no request; let it answer each line with the same line");
    CHECK(measured(plan, [](std::string const& line, int) { return line + line; }).failure ==
          "it sent '0', which answers no request; let it answer each line with the same line");
    CHECK(measured(plan, [](auto&, int) { return std::string(100, '7'); }).failure ==
          "it sent '" + std::string(60, '7') +
              "...', which answers no request; let it answer each line with the same line");
    std::atomic<bool> const running = false, cancelled = true;
    auto const none = open_loop::connect("/nowhere/server.sock", ration::nanoseconds{0}, running);
    CHECK((none ? "" : none.failure()) ==
          "it did not listen on its socket in time; let it bind the path of its parameter 'socket', or extend the "
          "deadline 'start' of the job");
    std::string const deep = '/' + std::string(120, 'd');
    auto const unusable = open_loop::connect(deep, ration::nanoseconds{0}, running);
    CHECK((unusable ? "" : unusable.failure()) ==
          "its socket '" + deep.substr(0, 60) +
              "...' has a path of more than 107 bytes; set TMPDIR to a folder with a shorter path");
    auto const stopped = open_loop::connect("/nowhere/server.sock", ration::nanoseconds{0}, cancelled);
    CHECK((stopped ? "" : stopped.failure()) == "the measurement was cancelled");
}
