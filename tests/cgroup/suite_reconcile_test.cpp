// SPDX-License-Identifier: BSL-1.0
// What the backend does when a job, or another program, moves its processes or writes to its files. On every machine
// that the program has.
#include <ration/cgroup/detail/filter.hpp>

#include "suite_run.hpp"

using namespace cgroup_test;

namespace {

// vae with a limit and a process; lstm is where the process can be moved to.
struct moved_job {
    run here;
    int pid = 0;

    explicit moved_job(machine& on) : here(run::start(on)), pid(on.spawn()) {
        CHECK(here.groups.add(vae, "vae"));
        CHECK(here.groups.add(lstm, "lstm"));
        CHECK(here.groups.place(vae, pid));
        here.hold(vae, resource_id::cpu, 300);
    }

    [[nodiscard]] drift reconciled() {
        auto const found = here.groups.reconcile(vae, pid);
        REQUIRE(found);
        return *found;
    }
    // Directly, as any program with the right to do so.
    void write(controller which, job_id job, char const* file, std::string const& text) {
        auto const place = here.groups.place_of(job, which);
        REQUIRE(place);
        CHECK((*place)->write(file, text));
    }
    [[nodiscard]] bool is_member(job_id job) { return here.groups.members(job).value_or({}) == std::vector<int>{pid}; }
};

// A process that may have `most` descriptors open for all of this.
class few_descriptors final : public filter {
    int most_, held_ = 0;
    bool refused_ = false;

public:
    few_descriptors(io& inner, int most) noexcept : filter(inner), most_(most) {}
    [[nodiscard]] bool refused() const noexcept { return refused_; }
    void close(int directory) noexcept override {
        --held_;
        filter::close(directory);
    }

protected:
    int before(call const& what) noexcept override {
        bool const none =
            what.kind == call_kind::make || what.kind == call_kind::remove || what.kind == call_kind::identify;
        int const needed = none ? 0 : what.kind == call_kind::list ? 2 : 1;
        refused_ = refused_ || held_ + needed > most_;
        return held_ + needed > most_ ? EMFILE : 0;
    }
    int after(call const& what, answer const& got) noexcept override {
        bool const opens = what.kind == call_kind::open_child || what.kind == call_kind::open_directory;
        held_ += opens && got.failed == 0 ? 1 : 0;
        return got.failed;
    }
};

}  // namespace

TEST_CASE("a job that is as it was left is not touched") {
    everywhere([](machine& on) {
        moved_job job(on);
        auto const found = job.reconciled();
        CHECK_FALSE(found.had_left);
        CHECK(found.changed.empty());
        CHECK(found.restored);
    });
}

TEST_CASE("a limit of a job whose first process was moved away is not verified, until it was put back") {
    everywhere([](machine& on) {
        moved_job job(on);
        CHECK(job.here.groups.place(lstm, job.pid));
        REQUIRE(job.is_member(lstm));
        auto const ops = job.here.planned(vae, resource_id::cpu, 500);
        REQUIRE_FALSE(ops.empty());
        CHECK(job.here.groups.apply(ops[0]));
        CHECK(job.here.groups.verify(ops[0]).failure().code == errc::unverified);
        auto const found = job.reconciled();
        CHECK(found.had_left);
        CHECK(found.restored);
        CHECK(job.is_member(vae));
        CHECK(job.here.groups.verify(ops[0]));
        CHECK_FALSE(job.reconciled().had_left);
    });
}

TEST_CASE("a job whose first process has ended has not left its group") {
    everywhere([](machine& on) {
        moved_job job(on);
        auto const ops = job.here.planned(vae, resource_id::cpu, 500);
        REQUIRE_FALSE(ops.empty());
        CHECK(job.here.groups.apply(ops[0]));
        CHECK(job.here.groups.kill(vae));
        REQUIRE_FALSE(on.alive(job.pid));  // a zombie on a kernel
        CHECK(job.here.groups.verify(ops[0]));
        CHECK_FALSE(job.reconciled().had_left);
    });
}

TEST_CASE("a process that left one hierarchy is put back into that one") {
    everywhere([](machine& on) {
        moved_job job(on);
        job.write(controller::cpu, lstm, "cgroup.procs", std::to_string(job.pid));
        CHECK(job.reconciled().had_left);
        CHECK(job.is_member(vae));
        CHECK(job.here.groups.members(lstm).value_or({1}).empty());
    });
}

TEST_CASE("a quota that was raised is written again, with its period") {
    everywhere([](machine& on) {
        moved_job job(on);
        std::string const before = job.here.quota("vae");
        bool const v2 = job.here.on_v2(controller::cpu);
        job.write(controller::cpu, vae, v2 ? "cpu.max" : "cpu.cfs_quota_us", v2 ? "max" : "-1");
        auto const found = job.reconciled();
        REQUIRE(found.changed.size() == 1);
        CHECK(found.changed[0].ends_with(v2 ? "vae/cpu.max" : "vae/cpu.cfs_quota_us"));
        CHECK(found.restored);
        CHECK(job.here.quota("vae") == before);
        if (!v2) {
            job.write(controller::cpu, vae, "cpu.cfs_period_us", "50000");  // the same quota in half the time
            CHECK(job.reconciled().changed.size() == 1);
            CHECK(job.here.text(controller::cpu, "vae", "cpu.cfs_period_us") == "100000");
        }
        CHECK(job.reconciled().changed.empty());
    });
}

TEST_CASE("a job that thaws itself is frozen again, but not after it was asked to end") {
    everywhere([](machine& on) {
        moved_job job(on);
        job.here.hold(vae, resource_id::cpu, 0);
        CHECK(job.here.groups.thaw(vae));
        CHECK(job.reconciled().changed.size() == 1);
        CHECK(job.here.planned(vae, resource_id::cpu, 0).empty());
        CHECK(job.here.groups.ask_to_end(vae));
        CHECK(soon(on.calls(), [&] { return !on.alive(job.pid); }));
        CHECK(job.reconciled().changed.empty());
    });
}

TEST_CASE("a process that left one hierarchy is asked to end like the others") {
    everywhere([](machine& on) {
        moved_job job(on);
        directory const& first = job.here.groups.run().places().front();
        auto const elsewhere = first.child("lstm");
        REQUIRE(elsewhere);
        if (job.here.groups.run().places().size() == 1) return;  // a process cannot leave a part of one hierarchy
        CHECK(elsewhere->write("cgroup.procs", std::to_string(job.pid)));
        CHECK(job.here.groups.ask_to_end(vae));
        CHECK(soon(on.calls(), [&] { return !on.alive(job.pid); }));
    });
}

TEST_CASE("a group that a job made below its own counts as its own") {
    everywhere([](machine& on) {
        moved_job job(on);
        bool const v2 = job.here.on_v2(controller::pids);
        auto const place = job.here.groups.place_of(vae, v2 ? controller::core : controller::pids);
        REQUIRE(place);
        CHECK((*place)->make("part"));
        auto const part = (*place)->child("part");
        REQUIRE(part);
        CHECK(part->write("cgroup.procs", std::to_string(job.pid)));
        CHECK_FALSE(job.reconciled().had_left);
    });
}

TEST_CASE("a run that has few descriptors leaves no group") {
    everywhere([](machine& on) {
        for (int most = 0, enough = 0; enough == 0; ++most) {
            INFO(most << " descriptors");
            few_descriptors calls(on.calls(), most);
            auto const name = run_name_here();
            static_cast<void>(backend::open(calls, {.name = name, .cpus = {}}));
            CHECK(left_behind(on.calls()) == std::vector<std::string>{});
            enough = calls.refused() ? 0 : most;
        }
    });
}
