// SPDX-License-Identifier: BSL-1.0
// Every call of the backend goes wrong once, in every plausible way, at every place of a run's life. Whatever happens:
// no group is left, no value is half changed, no other job suffers, and what failed can be tried again.
#include <cstdio>
#include <functional>

#include "modelled_site.hpp"
#include "support/catch.hpp"
#include "support/cgroup/fault_injector.hpp"

using namespace cgroup_test;

namespace {

constexpr int plausible[] = {EACCES, EBUSY, ENOENT, ENODEV, EINVAL,     ENOSPC,
                             EAGAIN, EIO,   ENOMEM, EMFILE, EOPNOTSUPP, ESRCH};

// A machine whose calls can be made to fail.
struct site : modelled_site {
    fault_injector calls{machine};
    int vae_process = 0, lstm_process = 0;

    using modelled_site::modelled_site;

    [[nodiscard]] result<backend> open() { return backend::open(calls, {.name = "test", .cpus = millicores{3500}}); }

    // Two jobs with a process each, at 500 and 700 millicores and 64 MiB.
    [[nodiscard]] result<backend> open_with_jobs() {
        auto groups = open();
        REQUIRE(groups);
        REQUIRE(groups->add(vae, "vae"));
        REQUIRE(groups->add(lstm, "lstm"));
        vae_process = machine.spawn();
        lstm_process = machine.spawn();
        REQUIRE(groups->place(vae, vae_process));
        REQUIRE(groups->place(lstm, lstm_process));
        hold(*groups, vae, resource_id::cpu, 500);
        hold(*groups, vae, resource_id::memory, 64 << 20);
        hold(*groups, lstm, resource_id::cpu, 700);
        return groups;
    }
};

// Runs `story` with each call of it going wrong in each way; the story arms the injector where its interest begins.
// Gives how many faults struck.
[[nodiscard]] std::size_t strike_everywhere(std::function<void(kind const&, site&, fault)> const& story) {
    std::size_t struck = 0;
    for (kind const& of : kinds) {
        for (int const error : plausible) {
            for (std::size_t at = 0;; ++at) {
                site here(of);
                INFO("model " << name_of(of.which) << " in /" << of.own << ", call " << at << " answers " << error);
                story(of, here, {.at = at, .error = error});
                if (!here.calls.struck()) break;  // the story has fewer calls
                INFO("struck " << here.calls.calls() << " " << name_of(here.calls.kind()) << " " << here.calls.name());
                CHECK(here.orphaned_runs() == std::vector<std::string>{});
                CHECK(here.at_home(of));
                ++struck;
            }
        }
    }
    return struck;
}

}  // namespace

TEST_CASE("opening a run") {
    std::size_t const struck = strike_everywhere([](kind const& of, site& here, fault wrong) {
        here.calls.arm(wrong);
        {
            auto const groups = here.open();
            here.calls.disarm();
            if (!groups) {
                CHECK(here.orphaned_runs() == std::vector<std::string>{});
                CHECK(here.at_home(of));
            }
        }
        auto again = here.open();  // the machine is as it was
        INFO((again ? "" : again.failure().operation) << " " << (again ? "" : again.failure().subject.c_str()));
        REQUIRE(again);
        CHECK(again->add(vae, "vae"));
    });
    std::printf("%zu faults while opening\n", struck);
    CHECK(struck > 1000);
}

TEST_CASE("adding a job") {
    std::size_t const struck = strike_everywhere([](kind const&, site& here, fault wrong) {
        auto groups = here.open();
        REQUIRE(groups);
        REQUIRE(groups->add(lstm, "lstm"));
        site::hold(*groups, lstm, resource_id::cpu, 700);
        std::size_t const before = here.orphaned_runs().size();
        here.calls.arm(wrong);
        auto const added = groups->add(vae, "vae");
        here.calls.disarm();
        if (!added) {
            CHECK(here.orphaned_runs().size() == before);
            CHECK(groups->observe(vae).failure().code == errc::not_found);
            REQUIRE(groups->add(vae, "vae"));
        }
        CHECK(groups->observe(vae));
        CHECK(site::in_effect(*groups, lstm, resource_id::cpu, 700));
    });
    std::printf("%zu faults while adding\n", struck);
    CHECK(struck > 500);
}

TEST_CASE("placing a process") {
    std::size_t const struck = strike_everywhere([](kind const&, site& here, fault wrong) {
        auto groups = here.open();
        REQUIRE(groups);
        REQUIRE(groups->add(vae, "vae"));
        int const pid = here.machine.spawn();
        here.calls.arm(wrong);
        auto const placed = groups->place(vae, pid);
        here.calls.disarm();
        CHECK(here.lives(pid));
        if (!placed) REQUIRE(groups->place(vae, pid));
        CHECK(groups->members(vae).value_or({}) == std::vector<int>{pid});
        CHECK(groups->run().places().size() ==
              here.machine.machine().processes.at(pid).where.size() -
                  (here.machine.machine().hierarchies.size() - groups->run().places().size()));
    });
    std::printf("%zu faults while placing\n", struck);
    CHECK(struck > 100);
}

TEST_CASE("changing what jobs hold: whole or not at all") {
    std::size_t const struck = strike_everywhere([](kind const&, site& here, fault wrong) {
        auto groups = here.open_with_jobs();
        here.calls.arm(wrong);
        ration::plan<operation> ops;
        bool done = true;
        for (auto const& [resource, amount] :
             {std::pair{resource_id::memory, std::int64_t{32 << 20}}, {resource_id::cpu, 250}}) {
            done = done && groups->plan({.job = vae, .node = 0, .resource = resource, .amount = amount}, ops);
        }
        done = done && groups->plan({.job = lstm, .node = 0, .resource = resource_id::cpu, .amount = 0}, ops);
        std::size_t applied = 0;
        while (done && applied < ops.size()) {
            auto const reply = groups->apply(ops[applied]);
            if (!reply && reply.failure().code != errc::gone && reply.failure().code != errc::not_found)
                CHECK_FALSE(groups->verify(ops[applied]));  // nothing of it stays
            done = reply && groups->verify(ops[applied]);
            applied += done || groups->verify(ops[applied]) ? 1 : 0;
        }
        if (!done)
            while (applied-- > 0) CHECK(groups->undo(ops[applied]));
        here.calls.disarm();
        CHECK(site::in_effect(*groups, vae, resource_id::cpu, done ? 250 : 500));
        CHECK(site::in_effect(*groups, vae, resource_id::memory, done ? 32 << 20 : 64 << 20));
        CHECK(site::in_effect(*groups, lstm, resource_id::cpu, done ? 0 : 700));
        CHECK(here.lives(here.vae_process));
        CHECK(here.lives(here.lstm_process));
    });
    std::printf("%zu faults while changing\n", struck);
    CHECK(struck > 300);
}

TEST_CASE("taking a change back") {
    std::size_t const struck = strike_everywhere([](kind const&, site& here, fault wrong) {
        auto groups = here.open_with_jobs();
        ration::plan<operation> ops;
        REQUIRE(groups->plan({.job = vae, .node = 0, .resource = resource_id::memory, .amount = 128 << 20}, ops));
        REQUIRE(groups->plan({.job = vae, .node = 0, .resource = resource_id::cpu, .amount = 0}, ops));
        for (operation const& op : ops) REQUIRE(groups->apply(op));
        here.calls.arm(wrong);
        for (auto op = ops.rbegin(); op != ops.rend(); ++op) {
            if (!groups->undo(*op)) {
                here.calls.disarm();
                CHECK(groups->undo(*op));  // what failed can be tried again
            }
        }
        here.calls.disarm();
        CHECK(site::in_effect(*groups, vae, resource_id::cpu, 500));
        CHECK(site::in_effect(*groups, vae, resource_id::memory, 64 << 20));
        CHECK(here.lives(here.vae_process));
    });
    std::printf("%zu faults while undoing\n", struck);
    CHECK(struck > 100);
}

TEST_CASE("freezing leaves nothing frozen that was not asked for") {
    std::size_t const struck = strike_everywhere([](kind const&, site& here, fault wrong) {
        auto groups = here.open_with_jobs();
        here.calls.arm(wrong);
        auto const frozen = groups->freeze(vae);
        here.calls.disarm();
        if (!frozen)
            CHECK(site::in_effect(*groups, vae, resource_id::cpu, 500));  // that is: thawed
        else
            CHECK(site::in_effect(*groups, vae, resource_id::cpu, 0));
        CHECK(groups->thaw(vae));
    });
    std::printf("%zu faults while freezing\n", struck);
    CHECK(struck > 50);
}

TEST_CASE("removing a job, and the run with what is left in it") {
    std::size_t const struck = strike_everywhere([](kind const&, site& here, fault wrong) {
        {
            auto groups = here.open_with_jobs();
            REQUIRE(groups->freeze(vae));
            here.calls.arm(wrong);
            auto const removed = groups->remove(vae);
            if (removed) {
                CHECK_FALSE(here.lives(here.vae_process));
                CHECK(groups->observe(vae).failure().code == errc::not_found);
            }
            CHECK(here.lives(here.lstm_process));
        }
        here.calls.disarm();
        CHECK_FALSE(here.lives(here.vae_process));
        CHECK_FALSE(here.lives(here.lstm_process));
    });
    std::printf("%zu faults while removing\n", struck);
    CHECK(struck > 500);
}

TEST_CASE("half a file is never taken for a whole one that says otherwise") {
    for (kind const& of : kinds) {
        for (std::size_t at = 0;; ++at) {
            site here(of);
            {
                auto groups = here.open_with_jobs();
                here.calls.arm({.at = at, .short_read = true});
                ration::plan<operation> ops;
                bool done = static_cast<bool>(
                    groups->plan({.job = vae, .node = 0, .resource = resource_id::cpu, .amount = 250}, ops));
                for (operation const& op : ops) done = done && groups->apply(op) && groups->verify(op);
                static_cast<void>(groups->observe(lstm));
                here.calls.disarm();
                if (done) CHECK(site::in_effect(*groups, vae, resource_id::cpu, 250));
                CHECK(here.lives(here.vae_process));
                CHECK(site::in_effect(*groups, lstm, resource_id::cpu, 700));
            }
            CHECK(here.orphaned_runs() == std::vector<std::string>{});
            if (!here.calls.struck()) break;
        }
    }
}

namespace {

// Another program removes the job's groups, and the job's process ends.
void vanish(site& here) {
    for (auto const& each : here.machine.machine().hierarchies) {
        modelled::world::for_tree(*each->root, [&](modelled::node& group) {
            if (auto const found = group.children.find("vae"); found != group.children.end()) {
                found->second->removed = true;
                static auto graveyard = std::vector<std::shared_ptr<modelled::node>>{};
                graveyard.push_back(found->second);
                group.children.erase(found);
            }
        });
    }
    here.machine.machine().processes.erase(here.vae_process);
}

}  // namespace

TEST_CASE("a job's group vanishes before any call: its operations say so, the other job goes on") {
    std::size_t gone = 0;
    for (kind const& of : kinds) {
        for (std::size_t at = 0;; ++at) {
            site here(of);
            {
                auto groups = here.open_with_jobs();
                here.calls.arm({.at = at, .happening = [&here] { vanish(here); }});
                ration::plan<operation> ops;
                auto done = groups->plan({.job = vae, .node = 0, .resource = resource_id::cpu, .amount = 250}, ops);
                for (operation const& op : ops) done = done ? groups->apply(op) : done;
                auto const seen = groups->observe(vae);
                bool const struck = here.calls.struck();
                here.calls.disarm();
                if (struck) {
                    CHECK_FALSE((done && seen));
                    auto const& why = done ? seen.failure() : done.failure();
                    CHECK(why.code == errc::gone);
                    gone += why.code == errc::gone ? 1 : 0;
                }
                CHECK(here.lives(here.lstm_process));
                site::hold(*groups, lstm, resource_id::cpu, 300);
                CHECK(groups->remove(vae));
            }
            CHECK(here.orphaned_runs() == std::vector<std::string>{});
            if (!here.calls.struck()) break;
        }
    }
    CHECK(gone > 20);
}

TEST_CASE("a group that does not freeze in time is thawed and told") {
    for (kind const& of : kinds) {
        site here(of);
        auto groups = here.open_with_jobs();
        here.machine.machine().freeze_latency = seconds(3600);
        auto const frozen = groups->freeze(vae);
        REQUIRE_FALSE(frozen);
        CHECK(frozen.failure().code == errc::timed_out);
        CHECK(site::in_effect(*groups, vae, resource_id::cpu, 500));
        CHECK(groups->remove(vae));  // and it can be killed all the same
        CHECK_FALSE(here.lives(here.vae_process));
    }
}
