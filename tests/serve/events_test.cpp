// SPDX-License-Identifier: BSL-1.0
// Events of the service: order, resumption, users, and clients that are slow, silent or too many.
#include <algorithm>
#include <array>
#include <regex>
#include <sys/socket.h>
#include <unistd.h>

#include "serve/event_streams.hpp"
#include "serve/job_store.hpp"
#include "support/catch.hpp"
#include "temporary_folder.hpp"

namespace {

using namespace ration;
using namespace ration::program;

constexpr nanoseconds start = seconds(1000);
constexpr std::size_t longest_stage = 256;  // of these tests, as text

/// A store, and the events of it.
struct service {
    temporary_folder folder;
    std::optional<job_store> store;
    std::optional<event_streams> events;
    std::string limits = "{}";
    int jobs = 0;

    service() {
        auto const path = folder.path + "/jobs.db";
        auto opened = job_store::open(path, 1);
        REQUIRE(opened);
        store.emplace(std::move(opened).value());
        auto log = stage_log::open(path);
        REQUIRE(log);
        events.emplace(std::move(log).value());
    }

    /// Each submission is one stage.
    void submit(int count, std::int64_t uid = 1000) {
        for (int i = 0; i < count; ++i) {
            auto const done = store->submit({.uid = uid,
                                             .tenant = "lab",
                                             .key = std::to_string(++jobs),
                                             .name = "vae",
                                             .definition = "x",
                                             .directory = "/",
                                             .environment = {},
                                             .after = {}},
                                            1);
            REQUIRE(done);
        }
        REQUIRE(store->commit());
    }

    void send(nanoseconds now) {
        REQUIRE(events->send(now, [this](std::int64_t) { return limits; }));
    }
};

/// The other end of a connection that holds few bytes.
class client {
    process::descriptor socket_;
    std::string text_;

public:
    explicit client(service& of, std::optional<std::int64_t> last = {}, std::int64_t uid = 1000) {
        std::array<int, 2> ends{};
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) == 0);
        int const few = 2048;
        ::setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &few, sizeof few);
        socket_ = process::descriptor(ends[0]);
        of.events->add({.socket = process::descriptor(ends[1]), .uid = uid, .last = last}, start);
    }

    /// Everything that has come so far.
    std::string const& read() {
        std::array<char, 4096> some;
        for (ssize_t count = 1; count > 0;) {
            count = ::recv(socket_.get(), some.data(), some.size(), 0);
            if (count > 0) text_.append(some.data(), static_cast<std::size_t>(count));
        }
        return text_;
    }

    [[nodiscard]] std::vector<std::int64_t> stages() {
        std::regex const one("\nid: ([0-9]+)\nevent: stage\ndata: \\{\"job\":");
        std::vector<std::int64_t> out;
        auto const& text = read();
        for (auto at = std::sregex_iterator(text.begin(), text.end(), one); at != std::sregex_iterator(); ++at)
            out.push_back(std::stoll((*at)[1]));
        return out;
    }

    [[nodiscard]] std::size_t count(std::string const& word) {
        std::size_t found = 0;
        auto const& text = read();
        for (auto at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++found;
        return found;
    }

    void close() { socket_ = {}; }
};

[[nodiscard]] std::vector<std::int64_t> numbers(std::int64_t first, std::int64_t last) {
    std::vector<std::int64_t> out;
    for (auto i = first; i <= last; ++i) out.push_back(i);
    return out;
}

}  // namespace

TEST_CASE("a slow client holds one batch, delays no other client, and gets every stage in order") {
    service s;
    client slow(s, 0), quick(s, 0);
    for (int turn = 0; turn < 400; ++turn) {
        if (turn < 50) s.submit(10);
        s.send(start + milliseconds(10 * turn));
        static_cast<void>(quick.read());
        REQUIRE(s.events->held() <= 2 * event_streams::batch * longest_stage);
    }
    CHECK(quick.stages() == numbers(1, 500));
    for (int turn = 400; turn < 800; ++turn) {
        static_cast<void>(slow.read());
        s.send(start + milliseconds(10 * turn));
    }
    CHECK(slow.stages() == numbers(1, 500));
    CHECK(s.events->clients() == 2);
}

TEST_CASE("a client that takes nothing is closed, and one without news gets comments") {
    service s;
    s.submit(200);
    client stuck(s, 0), idle(s);
    for (int second = 0; second < 29; ++second) {
        s.send(start + seconds(second));
        static_cast<void>(idle.read());
    }
    CHECK(s.events->clients() == 2);
    CHECK(idle.count("\n:\n\n") == 1);
    s.send(start + seconds(31));
    CHECK(s.events->clients() == 1);
    idle.close();
    s.send(start + seconds(32));
    CHECK(s.events->clients() == 0);
}

TEST_CASE("one client too many is refused") {
    service s;
    std::vector<client> clients;
    std::optional<std::int64_t> const none;
    for (std::size_t i = 0; i <= event_streams::most_clients; ++i) clients.emplace_back(s, none, 0);
    CHECK(s.events->clients() == event_streams::most_clients);
    CHECK(clients.back().read().starts_with("HTTP/1.1 503 "));
    clients.front().close();
    s.send(start);
    client next(s);
    s.send(start);
    CHECK(next.read().starts_with("HTTP/1.1 200 OK\r\n"));
}

TEST_CASE("one client too many of another user is refused, and others are not") {
    service s;
    std::optional<std::int64_t> const none;
    std::int64_t const user = ::geteuid() + std::int64_t{1};
    std::vector<client> clients;
    for (std::size_t i = 0; i <= event_streams::most_of_other_user; ++i) clients.emplace_back(s, none, user);
    CHECK(clients.back().read().starts_with("HTTP/1.1 503 "));
    client other(s, none, user + 1), own(s, none, ::geteuid());
    s.send(start);
    CHECK(other.read().starts_with("HTTP/1.1 200 OK\r\n"));
    CHECK(own.read().starts_with("HTTP/1.1 200 OK\r\n"));
}

TEST_CASE("users divide the places, and root has one also where users have taken all") {
    service s;
    std::optional<std::int64_t> const none;
    std::int64_t const first = ::geteuid() + std::int64_t{1};
    constexpr auto users = event_streams::most_clients / event_streams::most_of_other_user;
    std::vector<client> clients;
    for (std::size_t i = 0; i < event_streams::most_clients; ++i)
        clients.emplace_back(s, none, first + static_cast<std::int64_t>(i % users));
    client late(s, none, first + static_cast<std::int64_t>(users)), root(s, none, 0);
    s.send(start);
    CHECK(late.read().starts_with("HTTP/1.1 200 OK\r\n"));
    CHECK(root.read().starts_with("HTTP/1.1 200 OK\r\n"));
    CHECK(s.events->clients() == event_streams::most_clients);
    CHECK(std::ranges::count_if(clients, [](client& one) { return one.read().empty(); }) == 2);
}

TEST_CASE("a client resumes after the event that it has seen last") {
    service s;
    s.submit(10);
    client fresh(s), behind(s, 7), ahead(s, 11);
    s.submit(2);
    s.send(start);
    CHECK(fresh.stages() == numbers(11, 12));
    CHECK(fresh.count("id: 10\nevent: open\n") == 1);
    CHECK(behind.stages() == numbers(8, 12));
    CHECK(ahead.count("id: 10\nevent: reset\n") == 1);  // its list was replaced by a backup
    CHECK(ahead.stages() == numbers(11, 12));
}

TEST_CASE("a user gets the stages of their own jobs, and root those of all jobs") {
    service s;
    client one(s, 0, 1000), other(s, 0, 1001), root(s, 0, 0);
    s.submit(100, 1000);
    s.submit(1, 1001);
    for (int turn = 0; turn < 50; ++turn) {
        s.send(start + milliseconds(turn));
        static_cast<void>(one.read());
        static_cast<void>(root.read());
    }
    CHECK(one.stages() == numbers(1, 100));
    CHECK(other.stages() == numbers(101, 101));
    CHECK(root.stages() == numbers(1, 101));
}

TEST_CASE("limits are sent when they change, at most once a second") {
    service s;
    client c(s);
    for (int turn = 0; turn <= 20; ++turn) {
        s.limits = "{\"turn\":" + std::to_string(turn) + "}";
        s.send(start + milliseconds(100 * turn));
        static_cast<void>(c.read());
    }
    CHECK(c.count("\nevent: limits\n") == 3);  // at 0, 1 and 2 s
    for (int turn = 30; turn < 60; ++turn) s.send(start + milliseconds(100 * turn));
    CHECK(c.count("\nevent: limits\n") == 3);
}
