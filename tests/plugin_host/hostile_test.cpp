// SPDX-License-Identifier: BSL-1.0
// A host against a worker program that an attacker has taken over: see hostile_worker.cpp. Nothing but the host's own
// care protects it here.
#include <algorithm>
#include <csignal>
#include <vector>

#include "loaded.hpp"

using namespace plugin_test;

namespace {

[[nodiscard]] plugin::open_options hostile(std::string const& action, nanoseconds deadline = seconds(5)) {
    auto with = options(isolation::worker);
    with.worker.deadline = deadline;
    with.worker.program = {RATION_TEST_HOSTILE, {action}};
    with.strikes.most = 65;  // of 64: never
    return with;
}

[[nodiscard]] plugin::worker_policy& worker_of(loaded& l) {
    return static_cast<plugin::worker_policy&>(l.policy->policy());
}

[[nodiscard]] bool is_honest(loaded const& l) {
    auto const amount = static_cast<std::int64_t>(100 * (l.ticks - 1));
    return l.rows == 3 && l.space[0].amount == amount && l.space[1].amount == amount + 1 &&
           l.space[2].amount == amount + 2;
}

/// Keeps the host's copy and looks at it twice.
[[nodiscard]] status tick_by_rows(loaded& l) {
    grants out(l.space);
    out.read_by_rows();
    auto const reply = l.policy->decide(
        {.number = l.ticks++, .seed = 1, .now = seconds(1), .budget = milliseconds(5), .data = l.on.store.view()}, out);
    auto const rows = out.rows();
    REQUIRE(rows.size() <= l.space.size());
    std::vector<grant> const seen(rows.begin(), rows.end());
    ::usleep(20);
    REQUIRE(std::ranges::equal(seen, rows));
    return reply;
}

}  // namespace

TEST_CASE("a lie about the rows of an answer costs the tick, and the next one is whole", "[plugin][hostile]") {
    auto const [action, sentence] = GENERATE(table<char const*, char const*>({
        {"one row too many@1", "reports more grants than there is space for"},
        {"rows without end@1", "reports more grants than there is space for"},
        {"changes without end@1", "lists more changes than there can be"},
        {"a change behind the rows@1", "lists a change of a row that is not in its answer"},
        {"a change far away@1", "lists a change of a row that is not in its answer"},
        {"a code@1", "returned a code that does not exist"},
    }));
    loaded l("counter", hostile(action));
    REQUIRE(l.tick() == status::ok);
    REQUIRE(is_honest(l));
    auto const pid = worker_of(l).pid();
    CHECK(l.tick() == status::internal);
    CHECK(l.rows == 0);
    CHECK(l.fault() == sentence);
    CHECK(l.tick() == status::ok);
    CHECK(is_honest(l));
    CHECK(worker_of(l).pid() == pid);
}

TEST_CASE("a row that is listed more than once is taken as it stands, and one that is not listed stays",
          "[plugin][hostile]") {
    loaded l("counter", hostile("the same row twice@1"));
    REQUIRE(l.tick() == status::ok);
    REQUIRE(l.tick() == status::ok);
    REQUIRE(l.rows == 3);
    CHECK(l.space[0].amount == 0);
    CHECK(l.space[1].amount == 101);
    CHECK(l.space[2].amount == 102);
}

TEST_CASE("rows that cannot be are not fetched, and the answer stands for itself", "[plugin][hostile]") {
    loaded l("counter", hostile(GENERATE("more written than there is space for@1", "written without end@1")));
    for (int i = 0; i < 10; ++i) {
        REQUIRE(l.tick() == status::ok);
        REQUIRE(is_honest(l));
    }
}

TEST_CASE("a worker that answers another tick, or none, is replaced by one that is in step", "[plugin][hostile]") {
    auto const action =
        GENERATE("a later tick@1", "an older tick@1", "hang@1", "stop@1", "leave a thread@1", "leave a child@1");
    INFO(action);
    loaded l("counter", hostile(action, milliseconds(500)));
    REQUIRE(l.tick() == status::ok);
    auto const pid = worker_of(l).pid();
    bool const answered = std::string_view(action).ends_with("tick@1");
    CHECK(l.tick() == (answered ? status::internal : status::deadline));
    CHECK(l.fault() == (answered ? "answered a tick that was not asked" : "did not answer before its deadline"));
    CHECK(::kill(pid, 0) != 0);
    REQUIRE(l.ticks_until_ok() > 0);
    for (int i = 0; i < 30; ++i) {  // while a process that it left behind continues to write to its files
        REQUIRE(is_honest(l));
        REQUIRE(l.tick() == status::ok);
    }
}

TEST_CASE("no file that a worker has can be cut, and none but its own written to", "[plugin][hostile]") {
    plugin::shared_columns const columns(std::size_t{1} << 20);
    auto with = hostile("harm@1");
    with.worker.columns = &columns;
    loaded l("counter", with);
    REQUIRE(l.tick() == status::ok);
    REQUIRE(l.tick() == status::ok);
    CHECK(l.amount() == 0);  // so much succeeded
    CHECK(l.space[1].amount == 101);
}

TEST_CASE("a worker that writes all over its answer while the host reads it gains nothing by it", "[plugin][hostile]") {
    loaded l("counter", hostile("scribble@1"));
    int good = 0;
    for (int i = 0; i < 1000; ++i) {
        good += tick_by_rows(l) == status::ok;
        auto const kind = l.policy->last_fault().kind;
        REQUIRE((kind == plugin::fault_kind::none || kind == plugin::fault_kind::malformed ||
                 kind == plugin::fault_kind::refused));
        if (i % 50 == 0) CHECK(l.policy->save({}) <= 65536 + 256 * 3 + 64);
    }
    CHECK(good > 0);
}

TEST_CASE("a worker whose every word changes at any time costs ticks and nothing else", "[plugin][hostile]") {
    loaded l("counter", hostile("scribble everywhere@1"));
    REQUIRE(tick_by_rows(l) == status::ok);
    static_cast<void>(tick_by_rows(l));
    int faults = 0;  // a tick between two changes may be good
    for (int i = 0; i < 50 || (faults == 0 && i < 5000); ++i) {
        if (i >= 50) ::usleep(1000);  // on a busy machine the thread that writes may not run at once
        static_cast<void>(tick_by_rows(l));
        faults += l.policy->last_fault().kind != plugin::fault_kind::none;
    }
    CHECK(faults > 0);
    CHECK(l.ticks_until_ok() > 0);
    CHECK(is_honest(l));
}

TEST_CASE("a state that cannot be as long as its worker says is none", "[plugin][hostile]") {
    loaded l("counter", hostile("long states@1"));
    for (int i = 0; i < 2; ++i) REQUIRE(l.tick() == status::ok);
    CHECK(l.policy->save({}) == 0);
}

TEST_CASE("a worker that starts out of step is late, and a refusal without an end is cut", "[plugin][hostile]") {
    auto with = hostile("start out of step");
    with.worker.to_start = milliseconds(100);
    CHECK(refusal(path_of("counter"), with).code == errc::timed_out);
    auto const reply = refusal(path_of("counter"), hostile("refuse without end"));
    CHECK(reply.code == errc::invalid_value);
    CHECK(reply.subject.view().starts_with("xxx"));
    CHECK(reply.subject.view().size() <= sizeof plugin::worker_reply::sentence);
}

TEST_CASE("a worker in quarantine does not go on computing", "[plugin][hostile]") {
    auto with = hostile("rows without end@1");
    with.strikes.most = 1;
    loaded l("counter", with);
    REQUIRE(l.tick() == status::ok);
    auto const pid = worker_of(l).pid();
    CHECK(l.tick() == status::internal);
    CHECK(l.policy->quarantined());
    CHECK(::kill(pid, 0) != 0);
}
