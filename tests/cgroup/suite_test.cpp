// SPDX-License-Identifier: BSL-1.0
// The backend's promises, checked on every machine that the program has: the model in its flavours, or the running
// kernel.
#include "suite_run.hpp"

using namespace cgroup_test;

TEST_CASE("a run makes a group in every hierarchy and takes it away again") {
    everywhere([](machine& on) {
        std::size_t groups = 0;
        {
            auto run = run::start(on);
            for (directory const& place : run.groups.run().places()) {
                CHECK(place.alive());
                ++groups;
            }
            auto const seen = left_behind(on.calls());
            CHECK(std::ranges::count_if(seen, [](std::string const& path) { return !path.ends_with(leaf_name); }) ==
                  static_cast<std::ptrdiff_t>(groups));
            CHECK(run.groups.resources().size() == (run.on_v2(controller::memory) ? 3 : 2));
            CHECK(run.groups.capacity().count >= 1000);
        }
        CHECK(groups > 0);
    });
}

TEST_CASE("a second backend of the same name in the same process is refused and the first goes on") {
    everywhere([](machine& on) {
        auto run = run::start(on);
        std::string const name = run_name_here();
        auto const second = backend::open(on.calls(), {.name = name, .cpus = {}});
        REQUIRE_FALSE(second);
        CHECK(second.failure().code == errc::already_exists);
        CHECK(run.groups.add(vae, "vae"));
    });
}

TEST_CASE("names that are no name of a group are refused before anything is made") {
    everywhere([](machine& on) {
        auto run = run::start(on);
        for (char const* const name :
             {"", "..", "../x", "a/b", ".hidden", "a\nb", "a b", "cgroup.procs", "cpu.max", "tasks", "memory.x"}) {
            auto const added = run.groups.add(vae, name);
            REQUIRE_FALSE(added);
            CHECK(added.failure().code == errc::invalid_value);
            CHECK_FALSE(std::string_view(added.failure().remedy).empty());
        }
        CHECK_FALSE(backend::open(on.calls(), {.name = "../x", .cpus = {}}));
        CHECK(run.groups.add(vae, "vae.2_x+y@z-1"));
    });
}

TEST_CASE("an id or a name can be added once") {
    everywhere([](machine& on) {
        auto run = run::start(on);
        CHECK(run.groups.add(vae, "vae"));
        CHECK(run.groups.add(vae, "other").failure().code == errc::already_exists);
        CHECK(run.groups.add(lstm, "vae").failure().code == errc::already_exists);
        CHECK(run.text(controller::cpu, "other", "cgroup.procs") != "");  // no group of that name
        CHECK(run.groups.add(lstm, "lstm"));
        CHECK(run.groups.remove(vae));
        CHECK(run.groups.add(vae, "vae"));
        CHECK(run.groups.remove(unknown).failure().code == errc::not_found);
    });
}

TEST_CASE("a placed process is in every hierarchy's group and ends with it") {
    everywhere([](machine& on) {
        auto run = run::start(on);
        CHECK(run.groups.add(vae, "vae"));
        int const pid = on.spawn();
        CHECK(run.groups.place(vae, pid));
        CHECK(run.groups.place(vae, pid));  // again is not an error
        CHECK(run.groups.members(vae).value_or({}) == std::vector<int>{pid});
        std::string memberships;
        CHECK(on.calls().read_system(("/proc/" + std::to_string(pid) + "/cgroup").c_str(), memberships) == 0);
        for (branch const& each : run.groups.hierarchies().branches()) {
            bool found = false;
            for (membership const& line : parse_memberships(memberships)) {
                bool const same = each.kind == version::v2
                                      ? line.hierarchy == 0
                                      : std::ranges::any_of(line.controllers, [&](std::string const& name) {
                                            return std::ranges::any_of(all_controllers, [&](controller which) {
                                                return each.controllers.contains(which) && name_of(which) == name;
                                            });
                                        });
                found = found || (same && line.path.ends_with("/vae"));
            }
            CHECK(found);
        }
        CHECK(run.groups.observe(vae)->processes == 1);
        CHECK(run.groups.remove(vae));
        CHECK(soon(on.calls(), [&] { return !on.alive(pid); }));
        CHECK(run.groups.members(vae).failure().code == errc::not_found);
    });
}

TEST_CASE("placing what is not there is an error") {
    everywhere([](machine& on) {
        auto run = run::start(on);
        CHECK(run.groups.add(vae, "vae"));
        CHECK(run.groups.place(vae, 4'194'303).failure().code == errc::not_found);
        CHECK(run.groups.place(vae, 0).failure().code == errc::invalid_value);
        CHECK(run.groups.place(vae, -7).failure().code == errc::invalid_value);
        CHECK(run.groups.place(unknown, on.calls().self()).failure().code == errc::not_found);
    });
}

TEST_CASE("cpu: the kernel shows what was granted, and a plan of what is in force is empty") {
    everywhere([](machine& on) {
        auto run = run::start(on);
        CHECK(run.groups.add(vae, "vae"));
        bool const v2 = run.on_v2(controller::cpu);
        CHECK(run.planned(vae, resource_id::cpu, unlimited).empty());
        run.hold(vae, resource_id::cpu, 500);
        CHECK(run.quota("vae") == (v2 ? "50000 100000" : "50000"));
        run.hold(vae, resource_id::cpu, 1);  // the kernel has nothing below 1000 us
        CHECK(run.quota("vae") == (v2 ? "1000 100000" : "1000"));
        run.hold(vae, resource_id::cpu, 1000);
        CHECK(run.quota("vae") == (v2 ? "100000 100000" : "100000"));
        run.hold(vae, resource_id::cpu, unlimited);
        CHECK(run.quota("vae") == (v2 ? "max 100000" : "-1"));
    });
}

TEST_CASE("apply then undo leaves what plan found") {
    everywhere([](machine& on) {
        auto run = run::start(on);
        CHECK(run.groups.add(vae, "vae"));
        run.hold(vae, resource_id::cpu, 700);
        run.hold(vae, resource_id::memory, 64 << 20);
        auto const cpu_before = run.quota("vae");
        for (auto const& [resource, amount] : {std::pair{resource_id::cpu, std::int64_t{0}},
                                               {resource_id::cpu, 250},
                                               {resource_id::cpu, unlimited},
                                               {resource_id::memory, 32 << 20},
                                               {resource_id::memory, unlimited}}) {
            auto const ops = run.planned(vae, resource, amount);
            REQUIRE_FALSE(ops.empty());
            for (auto const& op : ops) CHECK(run.groups.apply(op));
            for (auto op = ops.rbegin(); op != ops.rend(); ++op) CHECK(run.groups.undo(*op));
            CHECK(run.quota("vae") == cpu_before);
            CHECK(run.planned(vae, resource_id::cpu, 700).empty());
            CHECK(run.planned(vae, resource_id::memory, 64 << 20).empty());
        }
    });
}

TEST_CASE("an operation says which file changes from what to what") {
    everywhere([](machine& on) {
        auto run = run::start(on);
        CHECK(run.groups.add(vae, "vae"));
        auto const ops = run.planned(vae, resource_id::cpu, 500);
        REQUIRE(ops.size() == 1);
        auto const words = run.groups.describe(ops[0]);
        bool const v2 = run.on_v2(controller::cpu);
        CHECK(words.subject.view().ends_with(v2 ? "/vae/cpu.max" : "/vae/cpu.cfs_quota_us"));
        CHECK(words.old_value == std::string_view(v2 ? "max 100000" : "-1"));
        CHECK(words.new_value == std::string_view(v2 ? "50000 100000" : "50000"));
        CHECK(words.when == timing::live);
        CHECK(words.job == vae);
        CHECK(words.resource == resource_id::cpu);
        CHECK(run.groups.verify(ops[0]).failure().code == errc::unverified);  // it was not applied
    });
}

TEST_CASE("cpu 0 freezes; anything else thaws, after the quota") {
    everywhere([](machine& on) {
        auto run = run::start(on);
        CHECK(run.groups.add(vae, "vae"));
        int const pid = on.spawn();
        CHECK(run.groups.place(vae, pid));
        run.hold(vae, resource_id::cpu, 0);
        auto const frozen = run.on_v2(controller::freezer) ? run.text(controller::freezer, "vae", "cgroup.events")
                                                           : run.text(controller::freezer, "vae", "freezer.state");
        CHECK(frozen.find(run.on_v2(controller::freezer) ? "frozen 1" : "FROZEN") != std::string::npos);
        CHECK(run.groups.place(vae, pid).failure().code == errc::busy);
        CHECK(run.groups.clone_directory(vae).failure().code == errc::busy);
        auto const ops = run.planned(vae, resource_id::cpu, 300);
        REQUIRE(ops.size() == 2);
        CHECK(std::holds_alternative<cpu_quota>(ops[0].new_value));
        CHECK(std::holds_alternative<run_state>(ops[1].new_value));
        run.hold(vae, resource_id::cpu, 300);
        CHECK(run.groups.place(vae, pid));
        CHECK(on.alive(pid));
    });
}

TEST_CASE("a frozen job is killed and removed all the same") {
    everywhere([](machine& on) {
        auto run = run::start(on);
        CHECK(run.groups.add(vae, "vae"));
        int const pid = on.spawn();
        CHECK(run.groups.place(vae, pid));
        CHECK(run.groups.freeze(vae));
        CHECK(run.groups.kill(vae));
        CHECK(soon(on.calls(), [&] { return !on.alive(pid); }));
        CHECK(run.groups.members(vae).value_or({-1}).empty());
        CHECK(run.groups.remove(vae));
    });
}

TEST_CASE("asking a frozen job to end reaches it") {
    everywhere([](machine& on) {
        auto run = run::start(on);
        CHECK(run.groups.add(vae, "vae"));
        int const pid = on.spawn();
        CHECK(run.groups.place(vae, pid));
        CHECK(run.groups.freeze(vae));
        CHECK(run.groups.ask_to_end(vae));
        CHECK(soon(on.calls(), [&] { return !on.alive(pid); }));
    });
}

TEST_CASE("what cannot be granted is refused with its own error") {
    everywhere([](machine& on) {
        auto run = run::start(on);
        CHECK(run.groups.add(vae, "vae"));
        CHECK(run.refusal(unknown, resource_id::cpu, 500) == errc::not_found);
        CHECK(run.refusal(vae, resource_id::cpu, -1) == errc::out_of_range);
        CHECK(run.refusal(vae, resource_id::cpu, run.groups.capacity().count + 1) == errc::no_capacity);
        CHECK(run.refusal(vae, resource_id::gpu, 1) == errc::not_supported);
        CHECK(run.refusal(vae, resource_id::memory, 0) == errc::out_of_range);
        CHECK(run.refusal(vae, resource_id::memory, 100) == errc::out_of_range);
        CHECK(run.groups.observe(unknown).failure().code == errc::not_found);
    });
}

TEST_CASE("weights, cpus and numbers of processes are written as each version wants them") {
    everywhere([](machine& on) {
        auto run = run::start(on);
        CHECK(run.groups.add(vae, "vae"));
        CHECK(run.groups.set(vae, *weight::of(400)));
        bool const v2 = run.on_v2(controller::cpu);
        CHECK(run.text(controller::cpu, "vae", v2 ? "cpu.weight" : "cpu.shares") == (v2 ? "400" : "4096"));
        CHECK(run.groups.set(vae, *cpu_set::parse("1")));
        CHECK(run.text(controller::cpuset, "vae", "cpuset.cpus") == "1");
        CHECK(run.groups.set(vae, cpu_set{}).failure().code == errc::empty_set);
        CHECK(run.groups.set(vae, *pids_limit::of(64)));
        CHECK(run.text(controller::pids, "vae", "pids.max") == "64");
        CHECK(run.groups.set(vae, pids_limit{}));
        CHECK(run.text(controller::pids, "vae", "pids.max") == "max");
        CHECK(run.groups.set(unknown, pids_limit{}).failure().code == errc::not_found);
    });
}

TEST_CASE("quota and burst change in an order that the kernel takes") {
    everywhere([](machine& on) {
        auto run = run::start(on);
        CHECK(run.groups.add(vae, "vae"));
        bool const v2 = run.on_v2(controller::cpu);
        char const* const burst = v2 ? "cpu.max.burst" : "cpu.cfs_burst_us";
        CHECK(run.groups.set(vae, *cpu_quota::of(50'000, 100'000, 40'000)));
        CHECK(run.text(controller::cpu, "vae", burst) == "40000");
        CHECK(run.groups.set(vae, *cpu_quota::of(20'000, 100'000, 10'000)));  // the new quota is below the old burst
        CHECK(run.text(controller::cpu, "vae", burst) == "10000");
        CHECK(run.groups.set(vae, *cpu_quota::of(10'000, 20'000)));
        CHECK(run.text(controller::cpu, "vae", burst) == "0");
        CHECK(run.quota("vae") == (v2 ? "10000 20000" : "10000"));
        CHECK(run.groups.set(vae, cpu_quota{}));
        CHECK(run.quota("vae") == (v2 ? "max 100000" : "-1"));
    });
}
