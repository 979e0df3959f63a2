// SPDX-License-Identifier: BSL-1.0
// The Python client, run by a real interpreter, against the real receiver over a real socket.
#include <array>
#include <chrono>
#include <cstdio>
#include <poll.h>
#include <string>
#include <sys/wait.h>

#include <ration/progress/control.hpp>

#include "support.hpp"

using namespace progress_test;
using rp::message_type;

namespace {

/// One of the scripts beside this file, with a pipe each way.
class script {
public:
    explicit script(std::string const& name) {
        std::array<int, 2> in{};
        std::array<int, 2> out{};
        REQUIRE(::pipe(in.data()) == 0);
        REQUIRE(::pipe(out.data()) == 0);
        ::setenv("RATION_TEST_CLIENT", RATION_TEST_SOURCE "/python", 1);
        auto const path = RATION_TEST_SOURCE "/tests/progress/client/" + name;
        pid_ = ::fork();
        if (pid_ == 0) {
            ::dup2(in[0], STDIN_FILENO);
            ::dup2(out[1], STDOUT_FILENO);
            for (int const end : {in[0], in[1], out[0], out[1]}) ::close(end);
            ::execlp("python3", "python3", "-B", path.c_str(), static_cast<char*>(nullptr));
            ::_exit(127);
        }
        ::close(in[0]);
        ::close(out[1]);
        to_ = in[1];
        from_ = out[0];
    }
    script(script const&) = delete;
    script& operator=(script const&) = delete;
    ~script() {
        ::close(to_);
        ::close(from_);
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            ::waitpid(pid_, nullptr, 0);
        }
    }

    /// Waits until the script prints `word`. The time limit of the whole test ends a hanging script.
    void await(std::string const& word) const {
        std::string line;
        char byte = 0;
        while (::read(from_, &byte, 1) == 1 && byte != '\n') line += byte;
        REQUIRE(line == word);
    }
    void go_on() const { REQUIRE(::write(to_, "\n", 1) == 1); }

    /// Its exit status, once it has ended; -1 before.
    int poll() {
        int status = 0;
        if (pid_ > 0 && ::waitpid(pid_, &status, WNOHANG) == pid_) {
            pid_ = 0;
            status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
        }
        return status_;
    }

private:
    pid_t pid_ = 0;
    int to_ = -1;
    int from_ = -1;
    int status_ = -1;
};

/// Reads along until `done` holds or the script has ended.
template <class Done>
void read_along(listener& ear, script& running, Done const& done) {
    while (!done() && running.poll() < 0) {
        pollfd waiting{ear->fd(), POLLIN, 0};
        ::poll(&waiting, 1, 20);
        auto const now = std::chrono::steady_clock::now().time_since_epoch();
        ear.drain({std::chrono::nanoseconds(now).count()});
    }
}

/// Reads along until the script has ended well.
void accompany(listener& ear, script& running) {
    read_along(ear, running, [] { return false; });
    ear.drain();
    if (running.poll() == 127) {
        std::puts("skipped: there is no python3 here");
        std::exit(77);
    }
    REQUIRE(running.poll() == 0);
    CHECK(ear->counts().malformed == 0);
    CHECK(ear->counts().lost == 0);
    CHECK(ear->counts().duplicate == 0);
}

/// Orders saves until one is durable, and returns the report of that one. A save of the script fails at odd steps; the
/// job continues then.
[[nodiscard]] received save_until_durable(listener& ear, script& running, rp::control& out, std::string const& to) {
    auto const saved = [&] { return ear.reported.of(message_type::checkpoint); };
    do {
        auto const before = saved().size();
        REQUIRE(out.send(to, {1}, token, {rp::command_type::save, ration::milliseconds(60'000), true}));
        read_along(ear, running, [&] { return saved().size() > before; });
        REQUIRE(saved().size() > before);
    } while (!saved().back().update.body.durable);
    return saved().back();
}

}  // namespace

TEST_CASE("a session in Python arrives whole, and says how it ended", "[python]") {
    listener ear;
    ear.set_environment();
    script running("session.py");
    accompany(ear, running);
    REQUIRE(ear->counts().losses == 4);
    CHECK(ear->counts().non_finite == 2);
    double sum = 0;
    for (auto const& step : ear.reported.of(message_type::step)) {
        sum += step.update.body.loss_mean * static_cast<double>(step.update.body.loss_count);
        CHECK(step.update.body.total_steps == 6);
    }
    CHECK(sum == Catch::Approx(10));
    auto const evals = ear.reported.of(message_type::eval);
    REQUIRE(evals.size() == 2);
    CHECK(evals[0].update.body.value == 0.75);
    CHECK(evals[1].metric == "my_metric_");
    CHECK(evals[1].update.body.non_finite == 1);
    auto const hellos = ear.reported.of(message_type::hello);
    REQUIRE(hellos.size() == 3);
    CHECK(hellos[0].update.body.world == 2);
    CHECK(hellos[0].update.body.threads == 4);
    auto const byes = ear.reported.of(message_type::bye);
    REQUIRE(byes.size() == 3);
    CHECK(byes[0].why == "done");
    CHECK(byes[1].why == "error");
    CHECK(byes[1].update.body.exit_code == 1);
    CHECK(byes[2].update.body.exit_code == 3);
}

TEST_CASE("a job in Python saves, holds and stops as it is told", "[python]") {
    listener ear;
    ear.set_environment();
    ::setenv("RATION_DEVICES", "cpu-0,cpu-3", 1);
    script running("obedient.py");
    read_along(ear, running, [&] { return !ear.reported.of(message_type::want).empty(); });
    REQUIRE(ear.reported.of(message_type::want)[0].update.body.wanted == 3);
    auto const hello = ear.reported.of(message_type::hello)[0];
    CHECK(hello.devices == "cpu-0,cpu-3");
    auto out = rp::control::open(ear.place / "run");
    REQUIRE(out);
    REQUIRE(out->send(hello.control, {2}, token, {rp::command_type::stop}));  // of another incarnation
    REQUIRE(raw_sender(hello.control)("C1 dance e=1 k=0123456789abcdef q=77"));
    REQUIRE(raw_sender(hello.control)("C1 stop e=1 k=0123456789abcdef q=78 by=1e3"));
    auto const saved = save_until_durable(ear, running, *out, hello.control).update.body;
    CHECK(saved.save_seconds == 0.25);
    REQUIRE(out->send(hello.control, {1}, token, {rp::command_type::stop, ration::milliseconds(60'000)}));
    accompany(ear, running);
    auto const byes = ear.reported.of(message_type::bye);
    REQUIRE(byes.size() == 1);
    CHECK(byes[0].why == "stop");
    auto const last = ear.reported.of(message_type::step).back().update.body;
    CHECK(last.step == saved.step);  // none after the save
    CHECK(last.batch == 512);
    auto const answers = ear.reported.of(message_type::acknowledge);
    REQUIRE(answers.size() >= 3);
    CHECK(answers[0].update.body.command == 77);
    CHECK_FALSE(answers[0].update.body.taken_in);
    CHECK(answers.back().update.body.taken_in);
    CHECK(std::filesystem::directory_iterator(ear.place / "run") != std::filesystem::directory_iterator());
    CHECK_FALSE(std::filesystem::exists(hello.control));
    ::unsetenv("RATION_DEVICES");
}

TEST_CASE("with a full queue the Python client keeps every loss", "[python]") {
    listener ear;
    ear.set_environment();
    script running("full_queue.py");
    running.await("ready");
    raw_sender const other(ear.path);
    auto const junk = static_cast<std::uint64_t>(other.fill());
    running.go_on();
    running.await("full");
    REQUIRE(ear->counts().received == 0);
    ear.drain();
    CHECK(ear.reported.all.empty());
    running.go_on();
    while (running.poll() < 0) ear.drain();
    ear.drain();
    CHECK(ear->counts().malformed == junk);
    CHECK(ear->counts().losses == 41);
    CHECK(ear->counts().non_finite == 1);
    CHECK(ear->counts().lost == 0);
    CHECK(ear.reported.of(message_type::eval).size() == 1);
    CHECK(ear.reported.of(message_type::phase).size() == 1);
}

TEST_CASE("the Python client survives a receiver that goes and comes back", "[python]") {
    listener ear;
    ear.set_environment();
    script running("restart.py");
    running.await("sent");
    ear.drain();
    ear.stop();
    running.go_on();
    running.await("gone");
    ear.start();
    running.go_on();
    accompany(ear, running);
    std::uint64_t losses = 0;
    for (auto const& step : ear.reported.of(message_type::step)) losses += step.update.body.loss_count;
    CHECK(losses == 11);
    CHECK(ear.reported.of(message_type::phase).size() == 1);
}

TEST_CASE("the Python client raises nothing, whatever it is given", "[python]") {
    listener ear;
    ear.set_environment();
    script running("never_raises.py");
    running.await("unharmed");
    ear.drain();
    CHECK(ear->counts().malformed == 0);
    ear.stop();
    ear.start();
    ear.reported.all.clear();
    running.go_on();
    accompany(ear, running);
    REQUIRE(ear.reported.all.size() == 2);
    CHECK(ear.reported.all[0].update.body.type == message_type::hello);
    CHECK(ear.reported.all[1].metric == "survived");
}

TEST_CASE("threads, signal handlers and forks share one Python handle", "[python]") {
    listener ear;
    ear.set_environment();
    script running("crowd.py");
    accompany(ear, running);
    auto const expected = ear.reported.of(message_type::eval);
    REQUIRE(expected.size() == 1);
    CHECK(static_cast<double>(ear->counts().losses) == expected[0].update.body.value);
    CHECK(ear.reported.of(message_type::bye).size() == 1);
}
