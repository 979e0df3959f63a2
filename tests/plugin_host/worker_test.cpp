// SPDX-License-Identifier: BSL-1.0
// A plugin in a separate process: whatever it does, the host answers, and the plugin comes back with its state.
#include <chrono>
#include <sys/resource.h>

#include "loaded.hpp"

using namespace plugin_test;

namespace {

/// The state is saved in a pause of 50 us; on a busy machine a worker may not run at once.
constexpr useconds_t time_to_save = 100'000;

}  // namespace

TEST_CASE("a worker that dies is told, started again, and goes on from its last accepted answer", "[plugin]") {
    auto const [action, sentence] = GENERATE(table<char const*, char const*>({
        {"crash@4", "its worker was killed by signal SIGSEGV"},
        {"abort@4", "its worker was killed by signal SIGABRT"},
        {"exit@4", "its worker ended by itself with exit code 0"},
        {"scribble@4", "its worker was killed by signal SIGSEGV"},
        {"call home@4", "its worker was ended by the sandbox: it tried what a policy has no use for"},
        {"kill the host@4", "its worker was ended by the sandbox: it tried what a policy has no use for"},
    }));
    loaded mischief("mischief", options(isolation::worker, action));
    for (int i = 1; i <= 3; ++i) REQUIRE(mischief.tick() == status::ok);
    CHECK(mischief.tick() == status::internal);
    CHECK(mischief.rows == 0);
    CHECK(mischief.fault() == sentence);
    CHECK(mischief.on.store[mischief.on.columns.id][0] == 1);
    // It comes back with count 2 or 3 and fails again at 4: three times, then the host does not ask it any more. The
    // ticks are slow, because the three must come among 64 also where a process takes a tenth of a second to start.
    for (int i = 0; i < 2000 && !mischief.policy->quarantined(); ++i) {
        static_cast<void>(mischief.tick());
        ::usleep(10'000);
    }
    CHECK(mischief.policy->quarantined());
    CHECK(mischief.tick() == status::internal);
}

TEST_CASE("a worker reads its host's limits and cannot change them", "[plugin]") {
    rlimit before{}, after{};
    REQUIRE(::getrlimit(RLIMIT_MSGQUEUE, &before) == 0);
    loaded mischief("mischief", options(isolation::worker, "limit the host@1"));
    CHECK(mischief.tick() == status::ok);
    REQUIRE(::getrlimit(RLIMIT_MSGQUEUE, &after) == 0);
    CHECK(after.rlim_cur == before.rlim_cur);
    static_cast<void>(::setrlimit(RLIMIT_MSGQUEUE, &before));
}

TEST_CASE("a worker that hangs costs one deadline", "[plugin]") {
    auto with = options(isolation::worker, "hang@3");
    with.worker.deadline = milliseconds(60);
    loaded mischief("mischief", with);
    for (int i = 1; i <= 2; ++i) REQUIRE(mischief.tick() == status::ok);
    auto const before = std::chrono::steady_clock::now();
    CHECK(mischief.tick() == status::deadline);
    CHECK(std::chrono::steady_clock::now() - before >= std::chrono::milliseconds(59));
    CHECK(mischief.fault() == "did not answer before its deadline");
    CHECK(mischief.policy->last_fault().kind == plugin::fault_kind::late);
}

TEST_CASE("a worker's malformed answers cost the tick and not the worker", "[plugin]") {
    auto const action = GENERATE("throw@2", "odd code@2", "too many@2", "widen the space@2");
    loaded mischief("mischief", options(isolation::worker, action));
    REQUIRE(mischief.tick() == status::ok);
    auto const pid = static_cast<plugin::worker_policy&>(mischief.policy->policy()).pid();
    CHECK(mischief.tick() != status::ok);
    CHECK(mischief.tick() == status::ok);
    CHECK(mischief.amount() == 3);
    CHECK(static_cast<plugin::worker_policy&>(mischief.policy->policy()).pid() == pid);
}

TEST_CASE("a crash loses no more than the answers that nobody took", "[plugin]") {
    auto with = options(isolation::worker, "{\"step\":1}");
    loaded counter("counter", with);
    for (int i = 1; i <= 10; ++i) REQUIRE(counter.tick() == status::ok);
    ::usleep(time_to_save);
    auto& worker = static_cast<plugin::worker_policy&>(counter.policy->policy());
    ::kill(worker.pid(), SIGKILL);
    CHECK(counter.tick() == status::internal);
    CHECK(counter.fault() == "its worker was killed by signal SIGKILL");
    REQUIRE(counter.ticks_until_ok() > 0);
    CHECK(counter.amount() >= 10);
    CHECK(counter.amount() <= 12);
}

TEST_CASE("a worker that comes back hears again what its state does not know of", "[plugin]") {
    loaded counter("counter", options(isolation::worker, "{\"step\":1}"));
    for (int i = 1; i <= 3; ++i) REQUIRE(counter.tick() == status::ok);
    ::usleep(time_to_save);
    event const marker{.kind = event_kind::state_lost};  // it counts 1000 for each
    counter.policy->on_events({&marker, 1});
    REQUIRE(counter.tick() == status::ok);
    REQUIRE(counter.amount() == 1004);
    ::kill(static_cast<plugin::worker_policy&>(counter.policy->policy()).pid(), SIGKILL);
    CHECK(counter.tick() == status::internal);
    REQUIRE(counter.ticks_until_ok() > 0);
    // The state after tick 3, the marker and this tick; or the state after tick 4, if it came to that
    CHECK(counter.amount() >= 1004);
    CHECK(counter.amount() <= 1005);
}

TEST_CASE("a plugin that fails while it starts is an error that says so", "[plugin]") {
    CHECK(refusal(path_of("mischief"), options(isolation::worker, "crash")).subject ==
          "its worker was killed by signal SIGABRT");
    auto slow = options(isolation::worker, "hang");
    slow.worker.to_start = milliseconds(150);
    auto const late = refusal(path_of("mischief"), slow);
    CHECK(late.code == errc::timed_out);
    CHECK(late.subject == "did not finish load, create and bind in time");
}

TEST_CASE("a worker program that is none is told from a plugin that fails", "[plugin]") {
    auto with = options(isolation::worker);
    with.worker.program = {"/no/such/program", {}};
    CHECK(refusal(path_of("counter"), with).subject == "/no/such/program");
    with.worker.program = {"/bin/true", {}};
    CHECK(refusal(path_of("counter"), with).subject == "its worker ended by itself with exit code 0");
}

TEST_CASE("the state after the last accepted answer outlives refusals that follow it", "[plugin]") {
    loaded mischief("mischief", options(isolation::worker, "refuse from@3"));
    for (int i = 1; i <= 2; ++i) REQUIRE(mischief.tick() == status::ok);
    for (int i = 1; i <= 2; ++i) CHECK(mischief.tick() == status::unsupported);
    long count = 0;
    REQUIRE(mischief.policy->save(std::as_writable_bytes(std::span(&count, 1))) == sizeof count);
    CHECK(count == 2);
}

TEST_CASE("a worker that dies while it saves goes on from the state before", "[plugin]") {
    loaded mischief("mischief", options(isolation::worker, "die in save@3"));
    for (int i = 1; i <= 3; ++i) {
        REQUIRE(mischief.tick() == status::ok);  // the third answer is out before its state is saved
        ::usleep(time_to_save);
    }
    CHECK(mischief.tick() == status::internal);
    CHECK(mischief.fault() == "its worker was killed by signal SIGABRT");
    REQUIRE(mischief.ticks_until_ok() > 0);
    CHECK(mischief.amount() == 3);  // 1 without a state, 4 with that of the third answer
}

TEST_CASE("where saving takes long, ticks without a pause are not kept waiting for it each time", "[plugin]") {
    loaded mischief("mischief", options(isolation::worker, "save slowly@1"));
    constexpr long ticks = 300;
    for (long i = 1; i <= ticks; ++i) REQUIRE(mischief.tick() == status::ok);
    CHECK(mischief.amount() < ticks / 2);  // the number of saves
    long count = 0;
    REQUIRE(mischief.policy->save(std::as_writable_bytes(std::span(&count, 1))) == sizeof count);
    CHECK(count == ticks);  // a caller that asks for the state waits for the last one
}

TEST_CASE("what a plugin says of its changes leads nowhere but to its own rows", "[plugin]") {
    auto const [action, reply, second, sentence] = GENERATE(table<char const*, status, std::int64_t, char const*>({
        {"list too far@2", status::internal, 1, "lists a change of a row that is not in its answer"},
        {"list nothing@2", status::ok, 1, ""},  // its own loss: the host relies on its list
        {"list too many@2", status::ok, 2, ""},
    }));
    loaded mischief("mischief", options(isolation::worker, action));
    REQUIRE(mischief.tick() == status::ok);
    CHECK(mischief.tick() == reply);
    CHECK(mischief.amount() == second);
    CHECK(mischief.fault() == sentence);
    CHECK(mischief.tick() == status::ok);
    CHECK(mischief.amount() == 3);
}
