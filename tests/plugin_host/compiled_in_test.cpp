// SPDX-License-Identifier: BSL-1.0
// A policy of the host's own program in a worker: it answers as a loaded one does, and its crash costs a tick.
#include <csignal>
#include <cstring>

#include <ration/plugin/manifest_of.hpp>

#include "loaded.hpp"
#include "policies/counter.hpp"
#include "policies/follower.hpp"

using namespace plugin_test;

namespace {

constexpr ration_manifest counter_manifest = plugin::manifest_of<test_policies::counter>(),
                          follower_manifest = plugin::manifest_of<test_policies::follower>();

[[nodiscard]] plugin::open_options with_worker(char const* name, std::string_view config = {}) {
    auto with = options(isolation::worker, config);
    with.worker.program.arguments = {name};
    return with;
}

[[nodiscard]] loaded started(ration_manifest const& manifest, plugin::open_options const& with) {
    auto opened = plugin::open_compiled_in(manifest, with);
    if (!opened) FAIL(std::string(opened.failure().subject.view()) << ": " << opened.failure().remedy);
    return loaded(std::move(opened).value());
}

[[nodiscard]] pid_t worker_of(loaded const& l) { return static_cast<plugin::worker_policy&>(l.policy->policy()).pid(); }

}  // namespace

TEST_CASE("open_compiled_in: the policy answers from its worker, with its parameters", "[plugin][compiled_in]") {
    auto counter = started(counter_manifest, with_worker("counter", R"({"step":5})"));
    CHECK(counter.policy->about().id == test_policies::counter::about.id);
    CHECK(counter.policy->reads("jobs/id"));
    for (int i = 1; i <= 3; ++i) {
        REQUIRE(counter.tick() == status::ok);
        CHECK(counter.amount() == 5 * i);
    }
    REQUIRE(worker_of(counter) > 0);
    CHECK(worker_of(counter) != ::getpid());
}

TEST_CASE("open_compiled_in: a crash costs a tick, and the policy continues from its state", "[plugin][compiled_in]") {
    int const signal = GENERATE(SIGSEGV, SIGKILL);
    auto counter = started(counter_manifest, with_worker("counter"));
    for (int i = 1; i <= 10; ++i) REQUIRE(counter.tick() == status::ok);
    long count = 0;
    REQUIRE(counter.policy->save(std::as_writable_bytes(std::span(&count, 1))) == sizeof count);  // waits for the state
    CHECK(count == 10);
    ::kill(worker_of(counter), signal);
    CHECK(counter.tick() == status::internal);
    CHECK(counter.fault().starts_with("its worker was killed by signal SIG"));
    REQUIRE(counter.ticks_until_ok() > 0);
    CHECK(counter.amount() == 11);
}

TEST_CASE("open_compiled_in: the policy gets the events and a saved state", "[plugin][compiled_in]") {
    auto counter = started(counter_manifest, with_worker("counter"));
    event const lost{.kind = event_kind::state_lost};  // it counts 1000 for each
    counter.policy->on_events({&lost, 1});
    REQUIRE(counter.tick() == status::ok);
    CHECK(counter.amount() == 1001);
    std::int64_t const saved = 41;
    REQUIRE(counter.policy->load(std::as_bytes(std::span(&saved, 1))) == status::ok);
    REQUIRE(counter.tick() == status::ok);
    CHECK(counter.amount() == 42);
    std::int64_t const damaged = -1;
    CHECK(counter.policy->load(std::as_bytes(std::span(&damaged, 1))) == status::state);
}

TEST_CASE("open_compiled_in: the policy follows the list of changed rows", "[plugin][compiled_in]") {
    auto follower = started(follower_manifest, with_worker("follower"));
    CHECK(follower.policy->follows_changes());
    auto& log = follower.on.store.changes();
    log.follow();
    for (std::int64_t const expected : {1, 100 + 1 + 2}) {  // any row may have changed at first
        log.clear();
        for (std::size_t const row : {1, 2}) log.mark(table_id::jobs, row, held_columns);
        grants out(follower.space);
        tick_data const data{
            .now = seconds(1), .budget = milliseconds(500), .data = follower.on.store.view(), .changes = log.view()};
        REQUIRE(follower.policy->decide(data, out) == status::ok);
        CHECK(out.rows()[0].amount == expected);
    }
}

TEST_CASE("open_compiled_in: wrong parameters are an error in the words of the maker", "[plugin][compiled_in]") {
    auto const opened = plugin::open_compiled_in(counter_manifest, with_worker("counter", R"({"step":500})"));
    REQUIRE_FALSE(opened);
    CHECK(std::string(opened.failure().subject.view()) == "step must be from 1 to 100: added at each tick, 1 to 100");
    std::string const long_config(plugin::largest_config + 1, ' ');
    auto const refused = plugin::open_compiled_in(counter_manifest, with_worker("counter", long_config));
    REQUIRE_FALSE(refused);
    CHECK(refused.failure().code == errc::no_capacity);
}

TEST_CASE("open_compiled_in: runs on a kernel without seccomp, where a plugin does not", "[plugin][compiled_in]") {
    auto with = with_worker("counter");
    with.worker.program = {RATION_TEST_WITHOUT_SECCOMP, {RATION_TEST_WORKER, "counter"}};
    auto counter = started(counter_manifest, with);
    CHECK(counter.tick() == status::ok);
    with.worker.program.arguments.pop_back();
    CHECK(refusal(path_of("counter"), with).subject ==
          "this kernel has no seccomp filters, so a worker cannot be shut in");
}
