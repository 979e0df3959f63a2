// SPDX-License-Identifier: BSL-1.0
// The backend's promises about memory: limits, what is in use, and what was killed for lack of it. On every machine
// that the program has.
#include "suite_run.hpp"

using namespace cgroup_test;

TEST_CASE("memory: whole pages, both ways") {
    everywhere([](machine& on) {
        auto run = run::start(on);
        CHECK(run.groups.add(vae, "vae"));
        bool const v2 = run.on_v2(controller::memory);
        char const* const file = v2 ? "memory.max" : "memory.limit_in_bytes";
        CHECK(run.planned(vae, resource_id::memory, unlimited).empty());
        run.hold(vae, resource_id::memory, (64 << 20) + 5000);
        CHECK(run.text(controller::memory, "vae", file) == std::to_string((64 << 20) + 4096));
        run.hold(vae, resource_id::memory, 16 << 20);
        run.hold(vae, resource_id::memory, 128 << 20);
        run.hold(vae, resource_id::memory, unlimited);
        CHECK(amount_of(run.text(controller::memory, "vae", file)) == unlimited);
    });
}

TEST_CASE("memory in use is what processes have resident, without cached files that none of them maps") {
    everywhere([](machine& on) {
        auto run = run::start(on);
        CHECK(run.groups.add(vae, "vae"));
        int const pid = on.spawn();
        CHECK(run.groups.place(vae, pid));
        on.use_memory(pid, 24 << 20);
        on.fill_cache(pid, 96 << 20);
        char const* const usage = run.on_v2(controller::memory) ? "memory.current" : "memory.usage_in_bytes";
        // The kernel counts both
        CHECK(amount_of(run.text(controller::memory, "vae", usage)).value_or(0) >= 120 << 20);
        auto const resident = run.groups.observe(vae)->memory.count;
        CHECK(resident >= 24 << 20);
        CHECK(resident < 40 << 20);
    });
}

TEST_CASE("a process killed at the memory limit of its group is counted, with the limit") {
    everywhere([](machine& on) {
        auto run = run::start(on);
        CHECK(run.groups.add(vae, "vae"));
        int const pid = on.spawn();
        CHECK(run.groups.place(vae, pid));
        run.hold(vae, resource_id::memory, 16 << 20);
        auto const place = run.groups.place_of(vae, controller::memory);
        REQUIRE(place);
        auto const before = find_shortage(**place);
        REQUIRE(before);
        CHECK(before->killed == 0);
        CHECK_FALSE(before->at_limit);
        on.use_memory(pid, 48 << 20);
        CHECK(soon(on.calls(), [&] { return !on.alive(pid); }));
        auto const after = find_shortage(**place);
        REQUIRE(after);
        CHECK(after->killed == 1);
        CHECK(after->at_limit);
        CHECK(after->limit == 16 << 20);
    });
}

TEST_CASE("memory below what a job uses is refused, the old limit stays and the job lives") {
    everywhere([](machine& on) {
        auto run = run::start(on);
        CHECK(run.groups.add(vae, "vae"));
        int const pid = on.spawn();
        CHECK(run.groups.place(vae, pid));
        run.hold(vae, resource_id::memory, 128 << 20);
        on.use_memory(pid, 48 << 20);
        CHECK(run.groups.observe(vae)->memory.count >= 48 << 20);
        auto const ops = run.planned(vae, resource_id::memory, 16 << 20);
        REQUIRE(ops.size() == 1);
        auto const refused = run.groups.apply(ops[0]);
        REQUIRE_FALSE(refused);
        CHECK(refused.failure().code == errc::conflict);
        CHECK_FALSE(std::string_view(refused.failure().remedy).empty());
        CHECK(on.alive(pid));
        CHECK(run.planned(vae, resource_id::memory, 128 << 20).empty());
        if (run.on_v2(controller::memory)) CHECK(run.text(controller::memory, "vae", "memory.high") == "max");
        run.hold(vae, resource_id::memory, 96 << 20);  // above the use it may shrink
        CHECK(on.alive(pid));
        if (run.on_v2(controller::memory)) CHECK(run.text(controller::memory, "vae", "memory.high") == "max");
    });
}
