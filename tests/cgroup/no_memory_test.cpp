// SPDX-License-Identifier: BSL-1.0
// Each allocation of the backend fails once, alone or with all after it, at every place of a run's life. The model of
// the kernel has memory enough. A call that fails returns "out of memory"; no group is left, no value is half changed,
// and the call can be made again.
#include <cstdio>
#include <functional>
#include <optional>

#include "modelled_site.hpp"
#include "support/allocations.hpp"
#include "support/catch.hpp"

using namespace cgroup_test;

namespace {

// The kernel's calls, which cost the caller no memory. What they return to it is free as well: kernel_io answers ENOMEM
// there, as faults_test.cpp has it.
class ample_calls final : public filter {
    std::optional<ample_memory> during_;

public:
    using filter::filter;
    void close(int directory) noexcept override {
        ample_memory const enough;
        filter::close(directory);
    }
    void sleep(nanoseconds duration) noexcept override {
        ample_memory const enough;
        filter::sleep(duration);
    }

protected:
    int before(call const&) noexcept override {
        during_.emplace();
        return 0;
    }
    int after(call const&, answer const& got) noexcept override {
        during_.reset();
        return got.failed;
    }
};

// When memory runs out.
struct shortage {
    std::size_t after = 0;
    refusals which = refusals::one;
};

struct site : modelled_site {
    ample_calls calls{machine};
    int pid = 0;

    using modelled_site::modelled_site;

    [[nodiscard]] result<backend> open() { return backend::open(calls, {.name = "test", .cpus = millicores{3500}}); }
    [[nodiscard]] result<backend> open_with_job() {
        auto groups = open();
        REQUIRE(groups);
        REQUIRE(groups->add(vae, "vae"));
        pid = machine.spawn();
        REQUIRE(groups->place(vae, pid));
        hold(*groups, vae, resource_id::cpu, 500);
        hold(*groups, vae, resource_id::memory, 64 << 20);
        return groups;
    }
};

// Makes the call under the shortage. `struck`: whether an allocation failed in it.
template <class Call>
[[nodiscard]] auto starved(shortage lack, bool& struck, Call call) {
    failing_memory memory(lack.after, lack.which);
    auto done = call();
    memory.stop();
    struck = memory.struck();
    return done;
}

using story = std::function<bool(site&, shortage)>;

// Runs the story, which returns whether an allocation failed, until none is left to fail. Returns how many failed.
[[nodiscard]] std::size_t starve_everywhere(story const& act, bool lasting = true) {
    std::size_t failures = 0;
    for (kind const& of : kinds)
        for (refusals const which : {refusals::one, refusals::all}) {
            if (which == refusals::all && !lasting) continue;
            for (std::size_t after = 0;; ++after) {
                site here(of);
                INFO(name_of(of.which) << " in /" << of.own << ", allocation " << after
                                       << (which == refusals::all ? " and all after it" : ""));
                bool const struck = act(here, {after, which});
                CHECK(here.orphaned_runs() == std::vector<std::string>{});
                CHECK(here.at_home(of));
                if (!struck) break;
                ++failures;
            }
        }
    return failures;
}

template <class Result>
void is_no_memory(Result const& done) {
    if (!done) CHECK(name_of(done.failure().code) == "out of memory");
}

// A call on a run with one job: it fails for want of memory or not at all, and can be made again.
[[nodiscard]] std::size_t starve_call(std::function<result<void>(backend&, site&)> const& call) {
    return starve_everywhere([&](site& here, shortage lack) {
        auto groups = here.open_with_job();
        bool struck = false;
        auto const done = starved(lack, struck, [&] { return call(*groups, here); });
        is_no_memory(done);
        CHECK(here.lives(here.pid));
        CHECK(call(*groups, here));
        return struck;
    });
}

}  // namespace

TEST_CASE("opening a run without memory leaves nothing, and works later") {
    std::size_t const failures = starve_everywhere([](site& here, shortage lack) {
        bool struck = false;
        {
            auto const groups = starved(lack, struck, [&] { return here.open(); });
            is_no_memory(groups);
            CHECK((struck || groups));
            if (!groups) CHECK(here.orphaned_runs() == std::vector<std::string>{});
        }
        CHECK(here.open());
        return struck;
    });
    std::printf("%zu allocations failed while opening\n", failures);
    CHECK(failures > 500);
}

TEST_CASE("a job that finds no memory is not added, and its group is gone") {
    char const* const name = "a-job-of-a-name-that-fits-no-small-string";
    std::size_t const failures = starve_everywhere([name](site& here, shortage lack) {
        auto groups = here.open_with_job();
        bool struck = false;
        auto const added = starved(lack, struck, [&] { return groups->add(lstm, name); });
        is_no_memory(added);
        CHECK((struck || added));
        if (!added) {
            CHECK(here.groups_named(name) == 0);
            CHECK(groups->observe(lstm).failure().code == errc::not_found);
            CHECK(groups->add(lstm, name));
        }
        CHECK(groups->observe(lstm));
        CHECK(site::in_effect(*groups, vae, resource_id::cpu, 500));
        return struck;
    });
    std::printf("%zu allocations failed while adding\n", failures);
    CHECK(failures > 50);
}

TEST_CASE("calls on a job return the error and can be made again") {
    std::size_t failures = starve_call([](backend& groups, site& here) { return groups.place(vae, here.pid); });
    failures += starve_call([](backend& groups, site& here) -> result<void> {
        auto const pids = groups.members(vae);
        if (!pids) return pids.failure();
        return pids->size() == 1 && pids->front() == here.pid ? result<void>() : result<void>(error{});
    });
    cpu_set const one = *cpu_set::parse("1");
    failures += starve_call([&one](backend& groups, site&) { return groups.set(vae, one); });
    failures += starve_call([](backend& groups, site&) { return groups.set(vae, *weight::of(200)); });
    failures += starve_call([](backend& groups, site&) { return groups.set_cap(millicores{3000}); });
    failures += starve_call([](backend& groups, site&) { return groups.freeze(vae); });
    failures += starve_call([](backend& groups, site&) { return groups.thaw(vae); });
    std::printf("%zu allocations failed in calls on a job\n", failures);
    CHECK(failures > 20);
}

TEST_CASE("a plan that finds no memory is empty, and a limit is changed whole or not at all") {
    std::size_t const failures = starve_everywhere([](site& here, shortage lack) {
        auto groups = here.open_with_job();
        ration::plan<operation> ops;
        bool struck = false;
        auto const planned = starved(lack, struck, [&] {
            return groups->plan({.job = vae, .node = 0, .resource = resource_id::memory, .amount = 32 << 20}, ops);
        });
        is_no_memory(planned);
        CHECK((struck || planned));
        CHECK(ops.size() == (planned ? 1 : 0));
        for (operation const& op : ops) {
            bool applying = false, verifying = false, undoing = false;
            auto const applied = starved(lack, applying, [&] { return groups->apply(op); });
            auto const verified = starved(lack, verifying, [&] { return groups->verify(op); });
            auto const undone = starved(lack, undoing, [&] { return groups->undo(op); });
            is_no_memory(applied);
            is_no_memory(verified);
            is_no_memory(undone);
            CHECK((undone || groups->undo(op)));
            struck = struck || applying || verifying || undoing;
        }
        CHECK(site::in_effect(*groups, vae, resource_id::memory, 64 << 20));
        CHECK(here.lives(here.pid));
        return struck;
    });
    std::printf("%zu allocations failed while changing\n", failures);
    CHECK(failures >= 8);
}

TEST_CASE("what another program changed is put back at the next look if there is no memory at this one") {
    std::size_t const failures = starve_everywhere([](site& here, shortage lack) {
        auto groups = here.open_with_job();
        auto const place = groups->place_of(vae, controller::cpu);
        REQUIRE(place);
        bool const v2 = (*place)->kind() == version::v2;
        REQUIRE((*place)->write(v2 ? "cpu.max" : "cpu.cfs_quota_us", "70000"));
        bool struck = false;
        auto const found = starved(lack, struck, [&] { return groups->reconcile(vae, here.pid); });
        is_no_memory(found);
        CHECK((struck || found));
        CHECK(groups->reconcile(vae, here.pid));
        CHECK(site::in_effect(*groups, vae, resource_id::cpu, 500));
        return struck;
    });
    CHECK(failures > 0);
}

TEST_CASE("a job that cannot be removed without memory stays known, and is removed later") {
    std::size_t const failures = starve_everywhere([](site& here, shortage lack) {
        auto groups = here.open_with_job();
        bool struck = false;
        auto const removed = starved(lack, struck, [&] { return groups->remove(vae); });
        is_no_memory(removed);
        if (!removed) CHECK(groups->remove(vae));
        CHECK_FALSE(here.lives(here.pid));
        CHECK(here.groups_named("vae") == 0);
        CHECK(groups->add(vae, "vae"));
        return struck;
    });
    std::printf("%zu allocations failed while removing\n", failures);
    CHECK(failures > 20);
}

TEST_CASE("the end of a run leaves nothing though an allocation fails in it") {
    std::size_t const failures = starve_everywhere(
        [](site& here, shortage lack) {
            auto groups = here.open_with_job();
            bool struck = false;
            auto ended =
                starved(lack, struck, [&] { return std::optional<backend>(std::move(groups).value()).has_value(); });
            CHECK(ended);
            CHECK_FALSE(here.lives(here.pid));
            return struck;
        },
        false);
    std::printf("%zu allocations failed while ending\n", failures);
    CHECK(failures > 50);
}

TEST_CASE("measuring and changing a limit allocates nothing in the steady state") {
    for (kind const& of : kinds) {
        INFO(name_of(of.which));
        site here(of);
        auto groups = here.open_with_job();
        ration::plan<operation> ops;
        std::size_t done = 0;
        auto const tick = [&](std::int64_t amount) {
            ops.clear();
            bool good = static_cast<bool>(groups->observe(vae)) && groups->reconcile(vae, here.pid) &&
                        groups->plan({.job = vae, .node = 0, .resource = resource_id::cpu, .amount = amount}, ops);
            for (operation const& op : ops) {
                good = good && groups->apply(op) && groups->verify(op) && !groups->describe(op).subject.empty();
                done += good ? 1 : 0;
            }
        };
        for (std::int64_t const amount : {300, 600, 300, 600}) tick(amount);
        auto const before = allocations();
        for (std::int64_t const amount : {400, 500, 600, 600, 700}) tick(amount);
        CHECK(allocations() == before);
        CHECK(done == 8);
    }
}
