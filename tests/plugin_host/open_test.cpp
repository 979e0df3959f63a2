// SPDX-License-Identifier: BSL-1.0
// The behaviour that both places of a plugin share, and the behaviour of the place in this process alone.
#include <csignal>
#include <fstream>
#include <sched.h>

#include "loaded.hpp"

using namespace plugin_test;

TEST_CASE("a plugin answers like a class that was compiled in, wherever it runs", "[plugin]") {
    auto const where = GENERATE(isolation::in_process, isolation::worker);
    loaded counter("counter", options(where, "{\"step\":3}"));
    CHECK(counter.policy->about().id == "org.example.test-counter");
    CHECK(counter.policy->about().reason(1) == "counted ticks");
    CHECK(counter.policy->policy().described().name() == "test_counter");
    for (int i = 1; i <= 20; ++i) {
        REQUIRE(counter.tick() == status::ok);
        REQUIRE(counter.rows == 1);
        CHECK(counter.amount() == 3 * i);
        CHECK((counter.space[0].reason == 1 && counter.space[0].job == 0));
    }
    event const lost{.kind = event_kind::state_lost};
    counter.policy->on_events({&lost, 1});
    REQUIRE(counter.tick() == status::ok);
    CHECK(counter.amount() == 1063);
    CHECK(counter.policy->strikes() == 0);
}

TEST_CASE("wrong parameters are refused with the plugin's own sentence", "[plugin]") {
    auto const where = GENERATE(isolation::in_process, isolation::worker);
    auto const reply = [&](std::string_view config) {
        return std::string(refusal(path_of("counter"), options(where, config)).subject.view());
    };
    CHECK(reply("{\"step\":101}") == "step must be from 1 to 100: added at each tick, 1 to 100");
    CHECK(reply("{\"steps\":1}") == "unknown parameter 'steps'");
    CHECK(reply("{\"stop\":true}") == "stop is only there to be refused");
    CHECK(reply("{").find("name of a parameter") != std::string::npos);
    CHECK(std::string(refusal(path_of("mischief"), options(where, "refuse")).subject.view()) == "it never wants to");
    CHECK(std::string(refusal(path_of("mischief"), options(where, "throw")).subject.view()) == "threw an exception");
}

TEST_CASE("a column that the host does not offer is refused by its name before any code runs", "[plugin]") {
    auto const where = GENERATE(isolation::in_process, isolation::worker);
    auto opened = plugin::open(path_of("counter"), options(where));
    REQUIRE(opened);
    snapshot_store bare;
    auto const missing = (*opened)->bind(bare.schema(), {1, 1});
    REQUIRE_FALSE(missing);
    CHECK(missing.failure().code == errc::not_found);
    CHECK(missing.failure().subject == "jobs/id");
    unit::must(bare.declare<std::uint64_t>("jobs/id", 2));
    auto const wide = (*opened)->bind(bare.schema(), {1, 1});
    REQUIRE_FALSE(wide);
    CHECK(wide.failure().code == errc::conflict);
}

TEST_CASE("state moves from one instance to another, across places", "[plugin]") {
    auto const from = GENERATE(isolation::in_process, isolation::worker);
    auto const to = GENERATE(isolation::in_process, isolation::worker);
    loaded old("counter", options(from)), fresh("counter", options(to));
    for (int i = 0; i < 5; ++i) REQUIRE(old.tick() == status::ok);
    std::array<std::byte, 64> space{};
    REQUIRE(old.policy->save(space) == sizeof(std::int64_t));
    REQUIRE(fresh.policy->load(std::span(space).first(sizeof(std::int64_t))) == status::ok);
    INFO(static_cast<int>(from) << " to " << static_cast<int>(to));
    REQUIRE(fresh.tick() == status::ok);
    CHECK(fresh.amount() == 6);
    CHECK(fresh.policy->load(std::span(space).first(3)) != status::ok);
}

TEST_CASE("in process: an answer that cannot be costs the tick, and says why", "[plugin]") {
    auto const [action, sentence] = GENERATE(table<char const*, char const*>({
        {"throw@2", "threw an exception"},
        {"refuse@2", "reports that it cannot do this"},
        {"odd code@2", "returned a code that does not exist"},
        {"too many@2", "reports more grants than there is space for"},
        {"move the space@2", "changed a field of the answer that belongs to the host"},
        {"widen the space@2", "changed a field of the answer that belongs to the host"},
    }));
    loaded mischief("mischief", options(isolation::in_process, action));
    REQUIRE(mischief.tick() == status::ok);
    CHECK(mischief.tick() != status::ok);
    CHECK(mischief.rows == 0);
    CHECK(mischief.fault() == sentence);
    CHECK(mischief.policy->last_fault().tick == 1);
    CHECK(mischief.tick() == status::ok);
}

#if defined(__x86_64__)
TEST_CASE("in process: floating-point modes are put back, and the plugin is not asked again", "[plugin]") {
    unsigned const before = _mm_getcsr() & ~0x3FU;
    loaded mischief("mischief", options(isolation::in_process, "flush to zero@1"));
    CHECK(mischief.tick() == status::internal);
    CHECK((_mm_getcsr() & ~0x3FU) == before);
    CHECK(mischief.fault() == "changed the floating-point modes");
    CHECK(mischief.policy->quarantined());
}
#endif

TEST_CASE("what crashes or hangs at its start is refused before this process loads it", "[plugin]") {
    CHECK(refusal(path_of("mischief"), options(isolation::in_process, "crash")).subject ==
          "its worker was killed by signal SIGABRT");
    auto slow = options(isolation::in_process, "hang");
    slow.worker.to_start = milliseconds(150);
    CHECK(refusal(path_of("mischief"), slow).code == errc::timed_out);
    CHECK(std::string(
              refusal(RATION_TEST_MISBEHAVING "/misbehaving_crashes_while_loading.so", options(isolation::in_process))
                  .subject.view())
              .starts_with("its worker was killed by signal"));
}

TEST_CASE("in process: a plugin that touches the process is refused, and what it touched is put back", "[plugin]") {
    auto const folder = std::filesystem::current_path();
    CHECK(refusal(path_of("mischief"), options(isolation::in_process, "signal")).subject ==
          "replaced a signal handler");
    struct sigaction now{};
    ::sigaction(SIGUSR2, nullptr, &now);
    CHECK(now.sa_handler == SIG_DFL);
    CHECK(refusal(path_of("mischief"), options(isolation::in_process, "wander")).subject ==
          "changed the working directory");
    CHECK(std::filesystem::current_path() == folder);
    CHECK(refusal(path_of("mischief"), options(isolation::in_process, "block")).subject ==
          "changed which signals are blocked");
    sigset_t blocked{};
    ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    CHECK(::sigismember(&blocked, SIGUSR2) == 0);
}

TEST_CASE("in process: a plugin that takes CPUs from the process is refused, and they come back", "[plugin]") {
    cpu_set_t before{}, after{};
    REQUIRE(::sched_getaffinity(0, sizeof before, &before) == 0);
    if (CPU_COUNT(&before) == 1) {
        WARN("skipped: this process has one CPU");
        return;
    }
    CHECK(refusal(path_of("mischief"), options(isolation::in_process, "stay here")).subject ==
          "changed the CPUs that it runs on");
    REQUIRE(::sched_getaffinity(0, sizeof after, &after) == 0);
    CHECK(CPU_EQUAL(&before, &after));
}

TEST_CASE("in process: a plugin that touches the process while it is loaded or bound is refused as well", "[plugin]") {
    auto const handler = [] {
        struct sigaction now{};
        ::sigaction(SIGUSR2, nullptr, &now);
        return now.sa_handler;
    };
    ::setenv("RATION_TEST_WHILE_LOADING", "signal", 1);
    CHECK(refusal(path_of("mischief"), options(isolation::in_process)).subject == "replaced a signal handler");
    ::unsetenv("RATION_TEST_WHILE_LOADING");
    CHECK(handler() == SIG_DFL);
    auto opened = plugin::open(path_of("mischief"), options(isolation::in_process, "signal@0"));
    REQUIRE(opened);
    unit::host on{3};
    auto const bound = (*opened)->bind(on.store.schema(), {.jobs = 3, .nodes = 1});
    REQUIRE_FALSE(bound);
    CHECK(bound.failure().code == errc::denied);
    CHECK(handler() == SIG_DFL);
}

#if defined(__x86_64__)
TEST_CASE("in process: floating-point modes are those of the host before its first tick, too", "[plugin]") {
    unsigned const before = _mm_getcsr() & ~0x3FU;
    ::setenv("RATION_TEST_WHILE_LOADING", "flush to zero", 1);
    CHECK(refusal(path_of("mischief"), options(isolation::in_process)).subject == "changed the floating-point modes");
    ::unsetenv("RATION_TEST_WHILE_LOADING");
    CHECK((_mm_getcsr() & ~0x3FU) == before);
    CHECK(refusal(path_of("mischief"), options(isolation::in_process, "flush to zero")).subject ==
          "changed the floating-point modes");
    CHECK((_mm_getcsr() & ~0x3FU) == before);
}
#endif

TEST_CASE("the code is really gone after its policy", "[plugin]") {
    auto const mapped = [] {
        std::ifstream maps("/proc/self/maps");
        std::string const all{std::istreambuf_iterator<char>(maps), {}};
        std::size_t count = 0;
        for (auto at = all.find("ration-plugin"); at != all.npos; at = all.find("ration-plugin", at + 1)) ++count;
        return count;
    };
    std::size_t const before = mapped();  // what is in quarantine stays on purpose
    {
        loaded counter("counter", options(isolation::in_process));
        REQUIRE(counter.tick() == status::ok);
        CHECK(mapped() > before);
    }
    CHECK(mapped() == before);
}
