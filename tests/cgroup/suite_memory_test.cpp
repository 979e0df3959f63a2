// SPDX-License-Identifier: BSL-1.0
// The backend's promises about memory: limits, what is in use, and what was killed for lack of it. On every machine
// that the program has.
#include <algorithm>

#include "suite_run.hpp"

using namespace cgroup_test;

namespace {

/// A process of the job, which uses 48 MiB.
[[nodiscard]] int place_large_process(run& in, machine& on) {
    CHECK(in.groups.add(vae, "vae"));
    int const pid = on.spawn();
    CHECK(in.groups.place(vae, pid));
    on.use_memory(pid, 48 << 20);
    return pid;
}

/// The present memory.high of the job stays.
void refuses_soft_memory(run& in, std::int64_t bytes) {
    auto const before = in.text(controller::memory, "vae", "memory.high");
    auto const ops = in.planned(vae, soft_memory, bytes);
    REQUIRE(ops.size() == 1);
    auto const refused = in.groups.apply(ops[0]);
    REQUIRE_FALSE(refused);
    CHECK(refused.failure().code == errc::conflict);
    CHECK(in.text(controller::memory, "vae", "memory.high") == before);
}

}  // namespace

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

TEST_CASE("memory.soft is memory.high on cgroup v2, and refused on v1") {
    everywhere([](machine& on) {
        auto run = run::start(on);
        CHECK(run.groups.add(vae, "vae"));
        bool const v2 = run.on_v2(controller::memory);
        CHECK(std::ranges::count(run.groups.resources(), soft_memory) == (v2 ? 1 : 0));
        if (!v2) {
            ration::plan<operation> out;
            auto const refused =
                run.groups.plan({.job = vae, .node = 0, .resource = soft_memory, .amount = 64 << 20}, out);
            REQUIRE_FALSE(refused);
            CHECK((out.empty() && refused.failure().code == errc::not_supported));
            CHECK(std::string_view(refused.failure().remedy) ==
                  "cgroup v1 has no such limit: boot with cgroup v2, or limit the memory");
            return;
        }
        CHECK(run.planned(vae, soft_memory, unlimited).empty());
        run.hold(vae, soft_memory, (64 << 20) + 5000);
        CHECK(run.text(controller::memory, "vae", "memory.high") == std::to_string((64 << 20) + 4096));
        // A hard limit beside it, also a smaller one, leaves it alone
        run.hold(vae, resource_id::memory, 128 << 20);
        run.hold(vae, resource_id::memory, 96 << 20);
        CHECK(run.text(controller::memory, "vae", "memory.high") == std::to_string((64 << 20) + 4096));
        run.hold(vae, soft_memory, 0);  // a release
        CHECK(run.text(controller::memory, "vae", "memory.high") == "max");
        CHECK(run.text(controller::memory, "vae", "memory.max") == std::to_string(96 << 20));
    });
}

TEST_CASE("memory.soft below what cannot be reclaimed is refused, and the job continues") {
    everywhere([](machine& on) {
        auto run = run::start(on);
        if (!run.on_v2(controller::memory)) return;
        int const pid = place_large_process(run, on);
        CHECK(run.groups.observe(vae)->memory.count >= 48 << 20);
        refuses_soft_memory(run, 16 << 20);
        CHECK(run.text(controller::memory, "vae", "memory.high") == "max");
        CHECK(on.alive(pid));
        run.hold(vae, soft_memory, 64 << 20);
        CHECK(on.alive(pid));
    });
}

TEST_CASE("memory.soft can be raised while the job uses more, and not lowered") {
    everywhere([](machine& on) {
        auto run = run::start(on);
        if (!run.on_v2(controller::memory)) return;
        int const pid = place_large_process(run, on);
        auto const place = run.groups.place_of(vae, controller::memory);
        REQUIRE(place);
        REQUIRE((*place)->write("memory.high", std::to_string(16 << 20)));
        run.hold(vae, soft_memory, 32 << 20);
        CHECK(run.text(controller::memory, "vae", "memory.high") == std::to_string(32 << 20));
        refuses_soft_memory(run, 24 << 20);
        CHECK(run.text(controller::memory, "vae", "memory.high") == std::to_string(32 << 20));
        // The same raise, where another program has lowered the limit
        REQUIRE((*place)->write("memory.high", std::to_string(16 << 20)));
        auto const found = run.groups.reconcile(vae, pid);
        REQUIRE(found);
        CHECK((found->changed.size() == 1 && found->restored));
        CHECK(run.text(controller::memory, "vae", "memory.high") == std::to_string(32 << 20));
        CHECK(on.alive(pid));
    });
}

TEST_CASE("memory.soft that another program has raised is set again") {
    everywhere([](machine& on) {
        auto run = run::start(on);
        if (!run.on_v2(controller::memory)) return;
        CHECK(run.groups.add(vae, "vae"));
        int const pid = on.spawn();
        CHECK(run.groups.place(vae, pid));
        run.hold(vae, soft_memory, 64 << 20);
        auto const place = run.groups.place_of(vae, controller::memory);
        REQUIRE(place);
        REQUIRE((*place)->write("memory.high", "max"));
        auto const found = run.groups.reconcile(vae, pid);
        REQUIRE(found);
        CHECK((found->changed.size() == 1 && found->restored));
        CHECK(run.text(controller::memory, "vae", "memory.high") == std::to_string(64 << 20));
    });
}

TEST_CASE("without options::soft_memory a backend refuses memory.soft") {
    everywhere([](machine& on) {
        std::string const name = run_name_here();
        auto groups = backend::open(on.calls(), {.name = name});
        REQUIRE(groups);
        CHECK(std::ranges::count(groups->resources(), soft_memory) == 0);
        CHECK(groups->add(vae, "vae"));
        ration::plan<operation> out;
        auto const refused = groups->plan({.job = vae, .node = 0, .resource = soft_memory, .amount = 64 << 20}, out);
        REQUIRE_FALSE(refused);
        CHECK(refused.failure().code == errc::not_supported);
    });
}

TEST_CASE("options::soft_memory is not the number of a standard resource") {
    everywhere([](machine& on) {
        for (auto const standard : {resource_id::cpu, resource_id::memory, resource_id::batch}) {
            auto const refused = backend::open(on.calls(), {.name = run_name_here(), .soft_memory = standard});
            REQUIRE_FALSE(refused);
            CHECK(refused.failure().code == errc::out_of_range);
            CHECK(refused.failure().subject.view() == "options::soft_memory");
            CHECK(std::string_view(refused.failure().remedy) == "set it to a number from resource_id::first_custom on");
        }
    });
}
