// SPDX-License-Identifier: BSL-1.0
// ration's own hosts under the eyes of the leak check: through all that can happen to a policy it must have nothing to
// report. What it can see is proved by leak_check/wrong_host_test.py.
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include <ration/fake/backend.hpp>
#include <ration/host/engine.hpp>
#include <ration/plugin/host/hot_swap.hpp>
#include <ration/policies/none.hpp>

#include "leak_check/observations.hpp"
#include "loaded.hpp"

using namespace plugin_test;

namespace {

/// The file that the leak checks of this process write, and their config text. A worker's sightings are in its state.
struct record {
    std::string path = "/tmp/ration-leak_check-" + std::to_string(::getpid());

    record() { std::remove(path.c_str()); }
    record(record const&) = delete;
    record& operator=(record const&) = delete;
    ~record() { std::remove(path.c_str()); }
    [[nodiscard]] std::string config(std::string const& faults = {}) const { return "record=" + path + " " + faults; }
    [[nodiscard]] std::string text() const {
        std::ifstream in(path);
        return {std::istreambuf_iterator<char>(in), {}};
    }
};

/// Where a leak check runs, and whether the host keeps its columns where a worker can read them.
struct place {
    isolation where;
    bool shares = false;
};

[[nodiscard]] std::unique_ptr<plugin::guarded_policy> fresh(place at, std::string const& config,
                                                            plugin::shared_columns const& columns) {
    auto with = options(at.where, config);
    if (at.shares) with.worker.columns = &columns;
    auto opened = plugin::open(path_of("leak_check"), with);
    if (!opened) FAIL(std::string(opened.failure().subject.view()) << ": " << opened.failure().remedy);
    return std::move(opened).value();
}

/// The sentences of the saved state, one a line.
[[nodiscard]] std::string told_by(any_policy& policy) {
    std::vector<std::byte> state(policy.save({}));
    leak_check::observations seen;
    if (policy.save(state) != state.size() || !leak_check::read(state.data(), state.size(), seen))
        return "there is no state";
    std::string all;
    for (auto const& sentence : seen.first)
        if (sentence[0] != '\0') all += std::string(sentence) + "\n";
    return all;
}

/// An engine on the fake backend, and jobs that come and go.
struct machine {
    unit::host on;
    fake::backend backend{{resource_id::cpu, resource_id::memory, resource_id::gpu}};
    policy_adapter<policies::none> fallback;
    engine<fake::backend> loop;
    std::uint64_t last_id = 0;
    std::int64_t second = 0;
    int answered = 0;

    machine(any_policy& policy, settle_rules const& rules, plugin::shared_columns& columns)
        : on(0, 1, &columns),
          loop(backend, policy, fallback, on.store, on.columns, standard_resources, {.settle = rules}) {
        bind(8);
    }
    void bind(std::size_t most) { unit::must(loop.bind({.jobs = most, .nodes = 1})); }

    [[nodiscard]] std::size_t jobs() const { return on.store.rows(table_id::jobs); }
    void let_one_arrive() {
        std::size_t const row = jobs();
        unit::must(on.store.resize(table_id::jobs, row + 1));
        on.store[on.columns.id][row] = ++last_id;
        on.set_state(row, last_id % 4 == 0 ? job_state::queued : job_state::running);
        for (auto const& r : on.columns.resources) on.store[r.maximum][row] = unlimited;
        backend.add(on.id(row));
    }
    void let_one_leave(std::size_t row) {
        backend.remove(on.id(row));
        loop.release(on.id(row));
        on.store.erase_row(table_id::jobs, row);
    }
    void have(std::size_t wanted) {
        while (jobs() < wanted) let_one_arrive();
        while (jobs() > wanted) let_one_leave(static_cast<std::size_t>(second) % jobs());
    }
    void tick(tick_mode mode = tick_mode::apply) { answered += !loop.tick(seconds(++second), mode).fell_back; }

    /// Many jobs, few, none; ticks that only say what they would do; operations that fail.
    void live(int ticks, bool with_failures = false) {
        static constexpr std::size_t wanted[] = {0, 1, 3, 8, 7, 5, 5, 2, 0, 4, 6, 8, 1};
        for (int i = 0; i < ticks; ++i) {
            have(wanted[static_cast<std::size_t>(i) % std::size(wanted)]);
            if (with_failures && i % 70 == 30)
                backend.fail(fake::call::apply, 2, {.code = errc::io, .operation = "scripted"});
            tick(i % 11 == 5 ? tick_mode::plan_only : tick_mode::apply);
        }
    }
};

constexpr settle_rules at_once{.dead_band = 0, .dwell = {}, .grace = {}};

}  // namespace

TEST_CASE("the leak check has nothing to say of a long life", "[plugin][leak check]") {
    auto const at = GENERATE(place{isolation::in_process}, place{isolation::worker}, place{isolation::worker, true});
    plugin::shared_columns columns(std::size_t{16} << 20);
    auto const rules = GENERATE(settle_rules(at_once), settle_rules{});
    record written;
    {
        auto const policy = fresh(at, written.config(), columns);
        machine m(*policy, rules, columns);
        m.live(150);
        CHECK(m.answered == 150);
        CHECK(told_by(*policy) == "");
        m.have(3);
        m.bind(20);
        m.live(60);
        CHECK(m.answered == 210);
        CHECK(told_by(*policy) == "");
    }
    CHECK(written.text() == "");
}

TEST_CASE("the leak check has nothing to say of operations that fail and of its own errors", "[plugin][leak check]") {
    auto const at = GENERATE(place{isolation::in_process}, place{isolation::worker}, place{isolation::worker, true});
    plugin::shared_columns columns(std::size_t{16} << 20);
    record written;
    {
        auto const policy = fresh(at, written.config("refuse@7 refuse@90"), columns);
        machine m(*policy, at_once, columns);
        m.live(150, true);
        CHECK(m.answered == 148);
        CHECK(told_by(*policy) == "");
    }
    CHECK(written.text() == "");
}

TEST_CASE("the leak check has nothing to say of a quarantine", "[plugin][leak check]") {
    auto const at = GENERATE(place{isolation::in_process}, place{isolation::worker}, place{isolation::worker, true});
    plugin::shared_columns columns(std::size_t{16} << 20);
    record written;
    {
        auto const policy = fresh(at, written.config("refuse@7 refuse@9 refuse@11"), columns);
        machine m(*policy, at_once, columns);
        m.live(30);
        CHECK(policy->quarantined());
        CHECK(m.answered == 8);
    }
    CHECK(written.text() == "");
}

TEST_CASE("the leak check is asked again with more space when it had too little", "[plugin][leak check]") {
    auto const where = GENERATE(isolation::in_process, isolation::worker);
    record written;
    {
        loaded few("leak_check", options(where, written.config()));
        std::array<grant, 2> two{};
        grants small(two);
        CHECK(few.policy->decide({.number = few.ticks++,
                                  .seed = 1,
                                  .now = seconds(1),
                                  .budget = milliseconds(50),
                                  .data = few.on.store.view()},
                                 small) != status::ok);
        CHECK(small.rows().empty());
        REQUIRE(few.tick() == status::ok);
        CHECK(few.rows == 3);
        CHECK(told_by(*few.policy) == "");
    }
    CHECK(written.text() == "");
}

TEST_CASE("the leak check has nothing to say of a worker that died and came back", "[plugin][leak check]") {
    record written;
    plugin::shared_columns columns(std::size_t{16} << 20);
    auto const policy = fresh({isolation::worker}, written.config("abort@20"), columns);
    machine m(*policy, at_once, columns);
    for (int i = 0; i < 2000 && m.answered < 30; ++i) {
        m.live(1);
        ::usleep(500);
    }
    CHECK(m.answered == 30);
    CHECK(policy->last_fault().kind == plugin::fault_kind::died);
    CHECK(policy->strikes() <= 1);  // 0 where more than 64 ticks went by until it was back
    CHECK(told_by(*policy) == "");
}

TEST_CASE("the leak check has nothing to say of one that takes its place", "[plugin][leak check]") {
    auto const at = GENERATE(place{isolation::in_process}, place{isolation::worker}, place{isolation::worker, true});
    plugin::shared_columns columns(std::size_t{16} << 20);
    auto const [faults, rolled_back] =
        GENERATE(table<char const*, bool>({{"", false}, {"refuse@3", true}, {"refuse@10", true}}));
    record written;
    {
        plugin::hot_swap_policy policy(fresh(at, written.config(), columns));
        machine m(policy, at_once, columns);
        m.live(20);
        for (int change = 0; change < 3; ++change) {
            unit::must(
                policy.change_to(fresh(at, written.config(faults), columns), {.shadow_ticks = 6, .warm_ticks = 8}));
            m.live(30);
            CHECK(policy.report().phase == plugin::swap_phase::settled);
            CHECK(policy.report().rolled_back == rolled_back);
            if (auto const retired = policy.take_retired()) CHECK(told_by(*retired) == "");
            CHECK(told_by(policy) == "");
        }
        CHECK(m.answered == 110);
    }
    CHECK(written.text() == "");
}

TEST_CASE("the leak check has nothing to say of what follows when it lost its state", "[plugin][leak check]") {
    auto const at = GENERATE(place{isolation::in_process}, place{isolation::worker}, place{isolation::worker, true});
    plugin::shared_columns columns(std::size_t{16} << 20);
    record written;
    {
        auto const policy = fresh(at, written.config("lose@7"), columns);
        machine m(*policy, at_once, columns);
        m.live(40);
        CHECK(m.answered == 39);
        CHECK(told_by(*policy) == "");
    }
    CHECK(written.text() == "");
}
