// SPDX-License-Identifier: BSL-1.0
// The backend's promises about a whole run: its cap, groups that vanish, runs that died. On every machine that the
// program has.
#include <ration/cgroup/capabilities.hpp>
#include <ration/cgroup/orphans.hpp>

#include "everywhere.hpp"

using namespace cgroup_test;

namespace {

constexpr job_id vae{1}, lstm{2};

[[nodiscard]] result<backend> open_here(machine& on, cpu_cap cpus = {}) {
    std::string const name = run_name_here();
    return backend::open(on.calls(), {.name = name, .cpus = std::move(cpus)});
}

[[nodiscard]] bool holds(backend& groups, job_id id, std::int64_t amount) {
    ration::plan<operation> ops;
    auto done = groups.plan({.job = id, .node = 0, .resource = resource_id::cpu, .amount = amount}, ops);
    for (operation const& op : ops) done = done ? groups.apply(op) : done;
    return static_cast<bool>(done);
}

[[nodiscard]] std::string cpus_of(group const& run, std::string const& job) {
    directory const& place = *run.place_of(controller::cpuset);
    auto const below = place.child(job);
    std::string scratch;
    char const* const file = place.kind() == version::v2 ? "cpuset.cpus.effective" : "cpuset.cpus";
    return std::string(below->read(file, scratch).value_or("?"));
}

// Removes the job's group in every hierarchy, as another program would.
void remove_behind_its_back(group const& run, std::string const& job) {
    for (directory const& place : run.places()) CHECK(place.remove(job));
}

}  // namespace

TEST_CASE("a cap of cpus holds the whole run, can be widened and narrowed, and the jobs follow") {
    everywhere([](machine& on) {
        auto groups = open_here(on, *cpu_set::parse("1"));
        REQUIRE(groups);
        CHECK(groups->capacity().count == 1000);
        CHECK(groups->add(vae, "vae"));
        CHECK(cpus_of(groups->run(), "vae") == "1");
        CHECK(holds(*groups, vae, 1000));
        CHECK_FALSE(holds(*groups, vae, 1001));
        CHECK(groups->set_cap(*cpu_set::parse("0-1")));
        CHECK(groups->capacity().count == 2000);
        CHECK(cpus_of(groups->run(), "vae") == "0-1");
        CHECK(groups->set_cap(*cpu_set::parse("0")));
        CHECK(cpus_of(groups->run(), "vae") == "0");
        CHECK(groups->set_cap(*cpu_set::parse("1")));  // neither wider nor narrower
        CHECK(cpus_of(groups->run(), "vae") == "1");
    });
}

TEST_CASE("whole cores become cpus, parts of cores become a quota") {
    everywhere([](machine& on) {
        {
            auto groups = open_here(on, millicores{1000});
            REQUIRE(groups);
            CHECK(groups->capacity().count == 1000);
            CHECK(usable_cpus(groups->run())->list() == "0");
        }
        auto groups = open_here(on, millicores{1500});
        REQUIRE(groups);
        CHECK(groups->capacity().count == 1500);
        CHECK(groups->add(vae, "vae"));
        CHECK(holds(*groups, vae, 1500));
        CHECK_FALSE(holds(*groups, vae, 1501));
        CHECK(holds(*groups, vae, unlimited));
        CHECK(holds(*groups, vae, 1400));
        CHECK(groups->set_cap(millicores{500}));  // below what the job has: the job first, or v1 refuses
        CHECK(groups->capacity().count == 500);
        CHECK(groups->set_cap(millicores{1500}));
        CHECK(holds(*groups, vae, 1500));
    });
}

TEST_CASE("a cap that cannot be is refused and leaves nothing") {
    everywhere([](machine& on) {
        CHECK_FALSE(open_here(on, *cpu_set::parse("4000")));
        CHECK(left_behind(on.calls()).empty());
        CHECK_FALSE(open_here(on, cpu_set{}));
        CHECK_FALSE(open_here(on, millicores{0}));
        CHECK_FALSE(open_here(on, millicores{-5}));
    });
}

TEST_CASE("a group that vanishes in mid-run is told as gone, and the other jobs go on") {
    everywhere([](machine& on) {
        auto groups = open_here(on);
        REQUIRE(groups);
        CHECK(groups->add(vae, "vae"));
        CHECK(groups->add(lstm, "lstm"));
        remove_behind_its_back(groups->run(), "vae");
        ration::plan<operation> ops;
        auto const planned = groups->plan({.job = vae, .node = 0, .resource = resource_id::cpu, .amount = 500}, ops);
        REQUIRE_FALSE(planned);
        CHECK(planned.failure().code == errc::gone);
        CHECK_FALSE(std::string_view(planned.failure().remedy).empty());
        CHECK(groups->observe(vae).failure().code == errc::gone);
        CHECK(groups->place(vae, on.spawn()).failure().code == errc::gone);
        CHECK(groups->freeze(vae).failure().code == errc::gone);
        CHECK(holds(*groups, lstm, 500));
        CHECK(groups->observe(lstm));
        CHECK(groups->remove(vae));  // nothing is left to do
        CHECK(groups->add(vae, "vae"));
        CHECK(holds(*groups, vae, 500));
    });
}

TEST_CASE("another group of the same name is not taken for ours") {
    everywhere([](machine& on) {
        auto groups = open_here(on);
        REQUIRE(groups);
        CHECK(groups->add(vae, "vae"));
        remove_behind_its_back(groups->run(), "vae");
        for (directory const& place : groups->run().places()) CHECK(place.make("vae"));
        CHECK(groups->observe(vae).failure().code == errc::gone);
        CHECK_FALSE(holds(*groups, vae, 500));
        CHECK(groups->remove(vae));
        for (directory const& place : groups->run().places()) {
            CHECK(place.child("vae"));  // still there: it is not ours
            CHECK(place.remove("vae"));
        }
    });
}

TEST_CASE("groups that a job made below its own go with it") {
    everywhere([](machine& on) {
        auto groups = open_here(on);
        REQUIRE(groups);
        CHECK(groups->add(vae, "vae"));
        for (directory const& place : groups->run().places()) {
            auto const job = place.child("vae");
            REQUIRE(job);
            CHECK(job->make("inner"));
            CHECK(job->child("inner")->make("most"));
        }
        CHECK(groups->remove(vae));
    });
}

TEST_CASE("a limit that another program changed is detected, and restored by the next plan") {
    everywhere([](machine& on) {
        auto groups = open_here(on);
        REQUIRE(groups);
        CHECK(groups->add(vae, "vae"));
        CHECK(holds(*groups, vae, 500));
        directory const& place = *groups->run().place_of(controller::cpu);
        bool const v2 = place.kind() == version::v2;
        CHECK(place.child("vae")->write(v2 ? "cpu.max" : "cpu.cfs_quota_us", "70000"));
        ration::plan<operation> ops;
        CHECK(groups->plan({.job = vae, .node = 0, .resource = resource_id::cpu, .amount = 500}, ops));
        REQUIRE(ops.size() == 1);
        CHECK(ops[0].old_value == limit(*cpu_quota::of(70'000, 100'000)));
        CHECK(groups->verify(ops[0]).failure().code == errc::unverified);
        CHECK(groups->apply(ops[0]));
        CHECK(groups->verify(ops[0]));
    });
}

TEST_CASE("the groups of dead runs are found and cleaned, those of living ones are not") {
    everywhere([](machine& on) {
        io& calls = on.calls();
        auto const self = self_as_owner(calls);
        auto const where = tree::discover(calls);
        REQUIRE(self);
        REQUIRE(where);
        owner const dead{// Our number, another life
                         .pid = self->pid,
                         .started = self->started + 1,
                         .pid_namespace = self->pid_namespace};
        owner const far{.pid = 3'999'999, .started = 7, .pid_namespace = self->pid_namespace + 1};
        std::string const dead_name = group_name_of({run_name_here(), dead}),
                          far_name = group_name_of({run_name_here(), far});
        auto groups = open_here(on);
        REQUIRE(groups);
        for (branch const& each : where->branches()) {
            REQUIRE(each.own.make(dead_name));
            REQUIRE(each.own.make(far_name));
        }
        int const pid = on.spawn();
        branch const& with_members = *where->branch_of(controller::cpuacct);
        CHECK(with_members.own.child(dead_name)->write("cgroup.procs", std::to_string(pid)));
        auto const found = find_orphans(calls, *where);
        REQUIRE(found);
        auto const ours = std::ranges::find(*found, dead_name, &orphan::group);
        REQUIRE(ours != found->end());
        CHECK(ours->run.who == dead);
        CHECK(ours->pids == std::vector<int>{pid});
        CHECK(std::ranges::find(*found, far_name, &orphan::group) == found->end());
        CHECK(std::ranges::find(*found, groups->run().name(), &orphan::group) == found->end());
        CHECK(clean(*where, *ours));
        CHECK(soon(calls, [&] { return !on.alive(pid); }));
        for (branch const& each : where->branches()) {
            CHECK_FALSE(each.own.child(dead_name));
            CHECK(each.own.remove(far_name));
        }
        CHECK(groups->add(vae, "vae"));
    });
}

TEST_CASE("what can be controlled here is told with its hierarchy") {
    everywhere([](machine& on) {
        auto const rows = examine(on.calls());
        CHECK(rows.size() == 9);
        auto const where = tree::discover(on.calls());
        REQUIRE(where);
        for (capability const& row : rows) {
            INFO(row.what);
            bool const needs_v2 = row.by == controller::core;
            CHECK(row.available() == (!needs_v2 || where->has(controller::core)));
            CHECK(row.kind == where->owner(row.by).kind);
            if (row.available()) {
                CHECK_FALSE(row.file.empty());
                CHECK(row.directory.starts_with("/"));
            } else {
                CHECK_FALSE(std::string_view(row.why.remedy).empty());
            }
        }
    });
}
