// SPDX-License-Identifier: BSL-1.0
// Commands to a job: the sender in C++ against the C client, and places that a command must never go to.
#include <chrono>
#include <poll.h>
#include <random>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>

#include <ration/progress/client_commands.h>
#include <ration/progress/control.hpp>

#include "session_c99.h"
#include "support.hpp"

using namespace progress_test;
using ration::errc;
using ration::milliseconds;
using rp::command_type;
using rp::message_type;

namespace {

/// A socket in the receiver's directory, as a job would bind it.
class bound {
public:
    explicit bound(std::string path)
        : path_(std::move(path)), socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path_.copy(address.sun_path, sizeof address.sun_path - 1);
        REQUIRE(::bind(socket_, reinterpret_cast<sockaddr const*>(&address), sizeof address) == 0);
    }
    bound(bound const&) = delete;
    bound& operator=(bound const&) = delete;
    ~bound() {
        ::close(socket_);
        ::unlink(path_.c_str());
    }

    [[nodiscard]] std::string const& path() const { return path_; }

    /// The next message, or empty.
    [[nodiscard]] std::string read() const {
        std::string text(1024, '\0');
        auto const n = ::recv(socket_, text.data(), text.size(), 0);
        text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
        return text;
    }

private:
    std::string path_;
    int socket_;
};

rp::control open_control(std::string const& directory) {
    auto opened = rp::control::open(directory);
    REQUIRE(opened);
    return std::move(*opened);
}

struct fixture {
    listener ear{};
    rp::control out = open_control(ear.place / "run");

    [[nodiscard]] std::string directory() const { return ear.place / "run"; }

    [[nodiscard]] errc code_of(std::string const& to) {
        auto const sent = out.send(to, {1}, token, {});
        return sent ? errc::internal : sent.failure().code;
    }
};

/// A handle that listens, and closes itself.
struct job {
    ration_progress* p = ration_progress_open();
    job() { REQUIRE(ration_progress_listen(p) == 1); }
    job(job const&) = delete;
    job& operator=(job const&) = delete;
    ~job() { ration_progress_close(p); }

    [[nodiscard]] int reads(std::string text) const {
        ration_progress_order order;
        return ration_progress_read_order_(p, text.data(), &order) != 0 ? order.type_ : 0;
    }
};

}  // namespace

TEST_CASE("a command is written as the protocol says", "[control]") {
    auto const text = [](rp::command const& what) {
        return std::string(rp::format_command(what, {3}, token, 9).view());
    };
    CHECK(text({command_type::save, milliseconds(1500), true}) == "C1 save e=3 k=0123456789abcdef q=9 by=1.500 hold=1");
    CHECK(text({command_type::save, {1}, false}) == "C1 save e=3 k=0123456789abcdef q=9 by=0.001");
    CHECK(text({command_type::go, milliseconds(5), true}) == "C1 go e=3 k=0123456789abcdef q=9");
    CHECK(text({command_type::stop, milliseconds(60'000), true}) == "C1 stop e=3 k=0123456789abcdef q=9 by=60.000");
    CHECK(text({command_type::ping}) == "C1 ping e=3 k=0123456789abcdef q=9");
    auto const longest = rp::format_command({command_type::save, {9223372036854775807LL}, true}, {4294967295U},
                                            std::string(64, 't'), 18446744073709551615ULL);
    CHECK(longest.view().ends_with(" by=9223372036.855 hold=1"));
}

TEST_CASE("a command arrives, and the job's answer names it", "[control]") {
    fixture f;
    f.ear.set_environment();
    job const j;
    ration_progress_hello_on(j.p, 2, 1, "cpu-0,cpu-3");
    f.ear.drain();
    REQUIRE(f.ear.reported.all.size() == 1);
    CHECK(f.ear.reported.all[0].devices == "cpu-0,cpu-3");
    auto const to = f.ear.reported.all[0].control;
    REQUIRE(to.starts_with(f.directory() + "/rx."));

    auto const first = f.out.send(to, {1}, token, {command_type::ping});
    auto const second = f.out.send(to, {1}, token, {command_type::save, milliseconds(2500), true});
    REQUIRE(first);
    REQUIRE(second);
    CHECK(*second == *first + 1);
    double by = 0;
    int hold = 0;
    CHECK(ration_progress_command(j.p, &by, &hold) == RATION_PROGRESS_SAVE);
    CHECK(by == Catch::Approx(2.5));
    CHECK(hold == 1);
    CHECK(ration_progress_command(j.p, nullptr, nullptr) == RATION_PROGRESS_NOTHING);
    f.ear.drain();
    auto const answers = f.ear.reported.of(message_type::acknowledge);
    REQUIRE(answers.size() == 2);
    CHECK(answers[0].update.body.command == *first);
    CHECK(answers[1].update.body.command == *second);
    CHECK(answers[1].update.body.taken_in);
}

TEST_CASE("a hold ends with go, with stop, or in time", "[control]") {
    fixture f;
    f.ear.set_environment();
    job const j;
    CHECK(ration_progress_hold(j.p, 0.05, nullptr, nullptr) == RATION_PROGRESS_GO);
    REQUIRE(f.out.send(j.p->control_, {1}, token, {command_type::stop}));
    CHECK(ration_progress_hold(j.p, 1000, nullptr, nullptr) == RATION_PROGRESS_STOP);
    bool sent = false;
    std::thread later([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        sent = static_cast<bool>(f.out.send(j.p->control_, {1}, token, {command_type::go}));
    });
    CHECK(ration_progress_hold(j.p, 1000, nullptr, nullptr) == RATION_PROGRESS_GO);
    later.join();
    CHECK(sent);
}

TEST_CASE("the loop of the documentation saves, holds and stops", "[control]") {
    fixture f;
    f.ear.set_environment();
    ::setenv("RATION_DEVICES", "cpu-0", 1);
    int status = -1;
    std::thread training([&] { status = progress_obedient_in_c(UINT64_C(1) << 60); });
    auto const until = [&](auto done) {
        auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (!done() && std::chrono::steady_clock::now() < end) {
            pollfd waiting{f.ear->fd(), POLLIN, 0};
            ::poll(&waiting, 1, 20);
            f.ear.drain({std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count()});
        }
    };
    auto const saved = [&] { return f.ear.reported.of(message_type::checkpoint); };
    auto const durable = [&] { return !saved().empty() && saved().back().update.body.durable; };
    until([&] { return !f.ear.reported.of(message_type::hello).empty(); });
    REQUIRE(f.ear.reported.of(message_type::hello).size() == 1);
    auto const to = f.ear.reported.of(message_type::hello)[0].control;
    while (!durable()) {  // a save fails at odd steps, and then the job continues
        auto const before = saved().size();
        REQUIRE(f.out.send(to, {1}, token, {command_type::save, milliseconds(60'000), true}));
        until([&] { return saved().size() > before; });
        REQUIRE(saved().size() > before);
    }
    auto const at = saved().back().update.body.step;
    REQUIRE(f.out.send(to, {1}, token, {command_type::stop, milliseconds(60'000)}));
    training.join();
    f.ear.drain();
    CHECK(status == 0);
    auto const byes = f.ear.reported.of(message_type::bye);
    REQUIRE(byes.size() == 1);
    CHECK(byes[0].why == "stop");
    CHECK(f.ear.reported.of(message_type::step).back().update.body.step == at);  // none after the save
    CHECK(saved().back().update.body.step == at);
    CHECK(f.code_of(to) == errc::gone);
    ::unsetenv("RATION_DEVICES");
}

TEST_CASE("a job accepts commands for its incarnation with its token only, in a strict grammar", "[control]") {
    fixture f;
    f.ear.set_environment();
    job const j;
    std::string const good = "C1 save e=1 k=0123456789abcdef q=1";
    CHECK(j.reads(good) == RATION_PROGRESS_SAVE);
    CHECK(j.reads(good + " by=0 hold=0 later=x") == RATION_PROGRESS_SAVE);
    CHECK(j.reads("C1 stop q=1 k=0123456789abcdef e=1") == RATION_PROGRESS_STOP);
    CHECK(j.reads("C1 ping e=1 k=0123456789abcdef q=1") == -1);
    CHECK(j.reads("C1 dance e=1 k=0123456789abcdef q=1") == -2);
    for (std::string const& bad : {std::string(),
                                   std::string("C1"),
                                   std::string("C1 "),
                                   std::string("C1 save"),
                                   std::string("P1 save e=1 k=0123456789abcdef q=1"),
                                   std::string("C1 save e=2 k=0123456789abcdef q=1"),
                                   std::string("C1 save e=1 k=0123456789abcdee q=1"),
                                   std::string("C1 save e=1 k=0123456789abcdef"),
                                   std::string("C1 save e=1 k=0123456789abcdef q=0"),
                                   good + " e=1",
                                   good + " by=",
                                   good + " by=-1",
                                   good + " by=1e3",
                                   good + " by=.5",
                                   good + " by=1.",
                                   good + " by=nan",
                                   good + " by=99999999999",
                                   good + " hold=2",
                                   good + "  by=1",
                                   good + " ",
                                   good + " x",
                                   good + " =1"}) {
        INFO(bad);
        CHECK(j.reads(bad) == 0);
    }
}

TEST_CASE("a job acknowledges a command that it does not know, and drops a malformed one", "[control]") {
    fixture f;
    f.ear.set_environment();
    job const j;
    std::string const good = "C1 save e=1 k=0123456789abcdef q=1";
    raw_sender const other(j.p->control_);
    REQUIRE(other("C1 save e=1 k=0123456789abcdef q=5 by=1" + std::string(1, '\0')));
    REQUIRE(other(good + " later=" + std::string(2000, 'x')));
    REQUIRE(other(""));
    REQUIRE(other("C1 dance e=1 k=0123456789abcdef q=7"));
    REQUIRE(other("C1 go e=1 k=0123456789abcdef q=8\n"));
    CHECK(ration_progress_command(j.p, nullptr, nullptr) == RATION_PROGRESS_GO);
    f.ear.drain();
    auto const answers = f.ear.reported.of(message_type::acknowledge);
    REQUIRE(answers.size() == 2);
    CHECK_FALSE(answers[0].update.body.taken_in);  // an unsupported command
    CHECK(answers[0].update.body.command == 7);
    CHECK(answers[1].update.body.command == 8);
}

TEST_CASE("20000 mutated commands: what a job takes in names its incarnation and token", "[control]") {
    fixture f;
    f.ear.set_environment();
    job const j;
    std::mt19937_64 roll{20240608};
    int taken = 0;
    for (int round = 0; round < 20'000; ++round) {
        std::string text = "C1 save e=1 k=0123456789abcdef q=12 by=1.5 hold=1";
        for (auto left = roll() % 3; left + 1 != 0; --left) {
            auto const at = static_cast<std::size_t>(roll() % (text.size() + 1));
            switch (roll() % 3) {
                case 0: text.insert(at, 1, "0123456789=. -eqkhby~"[roll() % 21]); break;
                case 1: text.erase(at, roll() % 6); break;
                default: text.insert(at, text.substr(at, roll() % 20)); break;
            }
        }
        if (j.reads(text) != 0) {
            ++taken;
            auto const incarnation = text.find_first_not_of('0', text.find(" e=") + 3);
            INFO(text);
            REQUIRE((text.starts_with("C1 ") && (text + " ").substr(incarnation, 2) == "1 "));
            REQUIRE(text.find(" k=0123456789abcdef") != text.npos);
        }
    }
    CHECK(taken > 500);
    CHECK(taken < 15'000);
}

TEST_CASE("a command goes to a socket of this user in the directory, and nowhere else", "[control]") {
    fixture f;
    bound const inside(f.directory() + "/rx.1.0");
    REQUIRE(f.out.send(inside.path(), {1}, token, {command_type::ping}));
    CHECK(inside.read() == "C1 ping e=1 k=0123456789abcdef q=1");

    bound const outside(f.ear.place / "elsewhere");
    auto const link = f.directory() + "/rx.2.0";
    REQUIRE(::symlink(outside.path().c_str(), link.c_str()) == 0);
    CHECK(f.code_of(link) == errc::denied);
    CHECK(f.code_of(outside.path()) == errc::invalid_value);
    CHECK(f.code_of(f.directory() + "/../elsewhere") == errc::invalid_value);
    CHECK(f.code_of(f.directory() + "/..") == errc::invalid_value);
    CHECK(f.code_of("rx.1.0") == errc::invalid_value);
    CHECK(f.code_of(f.directory() + "/" + std::string(107, 'x')) == errc::invalid_value);
    CHECK(outside.read().empty());

    auto const file = f.directory() + "/rx.3.0";
    ::close(::open(file.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    CHECK(f.code_of(file) == errc::denied);
    if (::geteuid() == 0) {
        REQUIRE(::chown(inside.path().c_str(), 65534, 65534) == 0);
        CHECK(f.code_of(inside.path()) == errc::denied);
        CHECK(inside.read().empty());
    }
}

TEST_CASE("a job that is gone and one that does not read are told apart", "[control]") {
    fixture f;
    auto const path = f.directory() + "/rx.9.0";
    CHECK(f.code_of(path) == errc::gone);
    {
        bound const slow(path);
        int sent = 0;
        while (f.out.send(path, {1}, token, {})) ++sent;
        CHECK(sent > 0);
        CHECK(f.code_of(path) == errc::busy);
        CHECK(slow.read().ends_with(" q=1"));
        auto const next = f.out.send(path, {1}, token, {});
        REQUIRE(next);
        CHECK(*next == static_cast<std::uint64_t>(sent) + 1);  // what was not taken had no number
        REQUIRE(::rename(path.c_str(), (path + "x").c_str()) == 0);
    }
    REQUIRE(::rename((path + "x").c_str(), path.c_str()) == 0);  // as a killed process leaves it
    CHECK(f.code_of(path) == errc::gone);
}

TEST_CASE("the receiver refuses a place for commands that is not its own", "[control]") {
    listener ear;
    raw_sender const out(ear.path);
    auto const folder = ear.place / "run";
    REQUIRE(out(message_text("hello", 1, " w=1 rx=" + folder + "/rx.1.0")));
    int sequence = 1;
    for (auto const& bad :
         {ear.path, folder + "x/rx.1.0", folder + "/deeper/rx.1.0", std::string("/tmp/rx.1.0"), folder + "//rx.1.0"}) {
        REQUIRE(out(message_text("hello", ++sequence, " w=1 rx=" + bad)));
    }
    ear.drain();
    CHECK(ear->counts().accepted == 1);
    CHECK(ear->counts().malformed == 5);
}

TEST_CASE("sockets of jobs that were killed go with the receiver, others stay", "[control]") {
    scratch const place;
    auto const folder = place / "run";
    auto const gone = folder + "/rx.5.0";
    auto const exists = [](std::string const& path) { return ::access(path.c_str(), F_OK) == 0; };
    auto const leave = [&] {
        bound const killed(gone + "x");
        REQUIRE(::rename((gone + "x").c_str(), gone.c_str()) == 0);
    };
    {
        auto const first = rp::receiver::open(folder + "/p.sock");
        REQUIRE(first);
        leave();
        REQUIRE(exists(gone));
    }
    CHECK_FALSE(exists(folder));
    REQUIRE(::mkdir(folder.c_str(), 0700) == 0);
    bound const alive(folder + "/rx.6.0");
    leave();
    auto const second = rp::receiver::open(folder + "/p.sock");
    REQUIRE(second);
    CHECK_FALSE(exists(gone));
    CHECK(exists(alive.path()));
}

TEST_CASE("outside ration, in another rank and in a forked child nobody listens", "[control]") {
    listener ear;
    ear.set_environment();
    ::setenv("RANK", "1", 1);
    auto* const second = ration_progress_open();
    CHECK(ration_progress_listen(second) == 0);
    CHECK(ration_progress_hold(second, 1000, nullptr, nullptr) == RATION_PROGRESS_GO);
    ration_progress_close(second);
    ::unsetenv("RANK");
    {
        job const j;
        pid_t const child = ::fork();
        if (child == 0) {
            bool const silent = ration_progress_command(j.p, nullptr, nullptr) == RATION_PROGRESS_NOTHING;
            ration_progress_close(j.p);
            ::_exit(silent ? 0 : 1);
        }
        int status = -1;
        REQUIRE(::waitpid(child, &status, 0) == child);
        CHECK(status == 0);
        CHECK(::access(j.p->control_, F_OK) == 0);  // the child took nothing away
    }
    ::unsetenv("RATION_PROGRESS");
    auto* const nowhere = ration_progress_open();
    CHECK(ration_progress_listen(nowhere) == 0);
    CHECK(ration_progress_hold(nowhere, 1000, nullptr, nullptr) == RATION_PROGRESS_GO);
    ration_progress_close(nowhere);
}
