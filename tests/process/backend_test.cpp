// SPDX-License-Identifier: BSL-1.0
#include <algorithm>
#include <csignal>
#include <optional>
#include <sys/prctl.h>

#include <ration/process/backend.hpp>

#include "backend_support.hpp"

using namespace process_test;
using ration::job_id;
using ration::resource_id;
using ration::unlimited;

TEST_CASE("a job that is not known is not found, by every call") {
    auto backend = opened();
    ration::plan<process::operation> none;
    CHECK(backend.plan({.job = first, .node = 0, .resource = resource_id::cpu, .amount = 500}, none).failure().code ==
          errc::not_found);
    CHECK(backend.observe(first).failure().code == errc::not_found);
    CHECK(backend.freeze(first).failure().code == errc::not_found);
    CHECK(backend.thaw(first).failure().code == errc::not_found);
    CHECK(backend.kill(first).failure().code == errc::not_found);
    CHECK(backend.signal(first, SIGTERM).failure().code == errc::not_found);
    CHECK(backend.ask_to_end(first).failure().code == errc::not_found);
    CHECK(backend.remove(first).failure().code == errc::not_found);
    process::operation const op{.job = first, .new_amount = 0};
    CHECK(backend.apply(op).failure().code == errc::not_found);
    CHECK(backend.undo(op).failure().code == errc::not_found);
    CHECK(backend.verify(op).failure().code == errc::not_found);
    CHECK(backend.alive(first) == 0);
}

TEST_CASE("what cannot be limited here, and what is no amount, is refused") {
    auto backend = opened();
    auto job = begin(backend, first, "exec sleep 30");
    ration::plan<process::operation> out;
    for (auto const resource : {resource_id::memory, resource_id::gpu, resource_id::first_custom}) {
        CHECK(backend.plan({.job = first, .node = 0, .resource = resource, .amount = 1}, out).failure().code ==
              errc::not_supported);
    }
    for (std::int64_t const amount :
         {std::int64_t{-1}, std::numeric_limits<std::int64_t>::min(), ration::max_amount + 1, unlimited - 1}) {
        CHECK(backend.plan({.job = first, .node = 0, .resource = resource_id::cpu, .amount = amount}, out)
                  .failure()
                  .code == errc::invalid_value);
    }
    CHECK(out.empty());
    CHECK(backend.add(first, {.pid = job.pid()}).failure().code == errc::already_exists);
    REQUIRE(backend.resources().size() == 1);
    CHECK(backend.resources()[0] == resource_id::cpu);
    CHECK(backend.capacity().count == 1000 * backend.cpus().size());
    end(backend, first, job);
}

TEST_CASE("a setting in force needs no operation; undo leaves what plan found") {
    auto backend = opened();
    auto job = begin(backend, first, "exec sleep 30");
    CHECK(planned(backend, first, unlimited).empty());
    for (std::int64_t const amount :
         {std::int64_t{300}, std::int64_t{1000}, std::int64_t{0}, unlimited, std::int64_t{1'000'000}}) {
        auto const plan = planned(backend, first, amount);
        for (auto const& op : plan) {
            CHECK(backend.apply(op));
            CHECK(backend.verify(op));
        }
        CHECK(planned(backend, first, amount).empty());
        for (auto op = plan.rbegin(); op != plan.rend(); ++op) CHECK(backend.undo(*op));
        CHECK(planned(backend, first, unlimited).empty());
        CHECK(process::cpu_set::of_thread(job.pid()) == backend.cpus());
        CHECK(state_of(job.pid()) != 'T');
    }
    end(backend, first, job);
}

TEST_CASE("an operation reads as what it does") {
    auto backend = opened();
    auto job = begin(backend, first, "exec sleep 30");
    auto const plan = planned(backend, first, 300);
    REQUIRE(plan.size() == 1);
    auto const reply = backend.describe(plan[0]);
    CHECK(reply.job == first);
    CHECK(reply.when == ration::timing::live);
    CHECK(reply.old_value == std::string_view("unlimited"));
    CHECK(reply.new_value == std::string_view("300 millicores"));
    end(backend, first, job);
}

TEST_CASE("amount 0 stops every process, another amount lets them go on") {
    folder const here;
    auto backend = opened();
    auto job = begin(backend, first, std::string("sh -c '") + busy + "' & echo $! > " + here / "pid" + "; wait");
    pid_t const child = pid_in(here / "pid");
    give(backend, first, 0);
    CHECK(state_of(job.pid()) == 'T');
    CHECK(state_of(child) == 'T');
    auto const before = backend.observe(first);
    ::usleep(50'000);
    auto const after = backend.observe(first);
    REQUIRE((before && after));
    CHECK(before->cpu_time == after->cpu_time);
    CHECK(after->throttled - before->throttled >= milliseconds(50));
    CHECK(after->processes == 2);
    CHECK(after->memory.count > 100'000);
    give(backend, first, unlimited);
    CHECK(eventually([&] { return state_of(child) == 'R'; }));
    end(backend, first, job);
    CHECK(dead(child));
}

TEST_CASE("a fraction stops and continues the job, and the sum is near the share") {
    auto backend = opened();
    auto job = begin(backend, first, busy);
    give(backend, first, 50);  // so little that a starved job uses it up as well
    int stops = 0;
    bool stopped = false;
    auto const before = backend.observe(first);
    nanoseconds const begin = process::now();
    CHECK(eventually([&] {
        follow(backend, milliseconds(5));
        bool const now = state_of(job.pid()) == 'T';
        stops += now && !stopped ? 1 : 0;
        stopped = now;
        return stops >= 5 && process::now() > begin + milliseconds(1500);
    }));
    double const length = ration::to_seconds(process::now() - begin);
    auto const after = backend.observe(first);
    REQUIRE((before && after));
    // An upper limit: a busy machine may give less, so the test has no lower bound.
    CHECK(ration::to_seconds(after->cpu_time - before->cpu_time) / length < 0.25);
    CHECK(after->throttled > before->throttled);
    end(backend, first, job);
}

TEST_CASE("what a job's children use counts against its share") {
    auto backend = opened();
    auto job = begin(backend, first, std::string("sh -c '") + busy + "' & sh -c '" + busy + "' & wait");
    give(backend, first, 300);
    follow(backend, milliseconds(500));  // until both are known, and what they took is paid back
    auto const before = backend.observe(first);
    follow(backend, milliseconds(1000));
    auto const after = backend.observe(first);
    REQUIRE((before && after));
    CHECK(ration::to_seconds(after->cpu_time - before->cpu_time) < 0.60);
    end(backend, first, job);
}

TEST_CASE("whole cores bind every thread and every process, born before or after") {
    auto backend = opened();
    if (backend.cpus().size() < 2) {
        WARN("only one CPU here: nothing to choose from");
        return;
    }
    folder const here;
    auto one = begin(backend, first,
                     "sleep 30 & echo $! > " + here / "old" + "; while [ ! -e " + here / "go" +
                         " ]; do sleep 0.01; done; sleep 30 & echo $! > " + here / "new" + "; wait");
    auto two = begin(backend, second, "exec sleep 30");
    pid_t const old = pid_in(here / "old");
    give(backend, first, 1000);
    auto const place = process::cpu_set::of_thread(one.pid());
    CHECK(place.size() == 1);
    CHECK(process::cpu_set::of_thread(old) == place);
    give(backend, second, 1000);
    CHECK(process::cpu_set::of_thread(two.pid()).size() == 1);
    CHECK(process::cpu_set::of_thread(two.pid()) != place);  // not where the first one is
    static_cast<void>(here.write("go", ""));
    CHECK(process::cpu_set::of_thread(pid_in(here / "new")) == place);

    auto const op =
        process::operation{.job = first, .what = process::attribute::cpus, .old_cpus = place, .new_cpus = place};
    CHECK(backend.verify(op));
    REQUIRE(backend.cpus().bind_thread(old));  // the job helps itself
    CHECK(backend.verify(op).failure().code == errc::unverified);

    give(backend, first, 500);  // a fraction of the whole set
    CHECK(process::cpu_set::of_thread(one.pid()) == backend.cpus());
    CHECK(process::cpu_set::of_thread(old) == backend.cpus());
    end(backend, first, one);
    end(backend, second, two);
}

TEST_CASE("two jobs in one plan do not choose the same core") {
    auto backend = opened();
    if (backend.cpus().size() < 2) {
        WARN("only one CPU here: nothing to choose from");
        return;
    }
    auto one = begin(backend, first, "exec sleep 30"), two = begin(backend, second, "exec sleep 30");
    auto plan = planned(backend, first, 1000);
    REQUIRE(backend.plan({.job = second, .node = 0, .resource = resource_id::cpu, .amount = 1000}, plan));
    for (auto const& op : plan) REQUIRE(backend.apply(op));
    CHECK(process::cpu_set::of_thread(one.pid()) != process::cpu_set::of_thread(two.pid()));
    end(backend, first, one);
    end(backend, second, two);
}

TEST_CASE("freeze holds whatever the limit, thaw gives the limit back") {
    auto backend = opened();
    auto job = begin(backend, first, busy);
    give(backend, first, 500);
    REQUIRE(backend.freeze(first));
    auto const before = backend.observe(first);
    follow(backend, milliseconds(300));  // three periods that would continue it
    CHECK(state_of(job.pid()) == 'T');
    auto const after = backend.observe(first);
    REQUIRE((before && after));
    CHECK(after->cpu_time == before->cpu_time);
    CHECK(after->throttled == before->throttled);  // the host's doing, not the limit's
    give(backend, first, unlimited);
    CHECK(state_of(job.pid()) == 'T');
    REQUIRE(backend.thaw(first));
    CHECK(eventually([&] { return state_of(job.pid()) == 'R'; }));
    end(backend, first, job);
}

TEST_CASE("a stopped job that somebody else continues is stopped again") {
    auto backend = opened();
    auto job = begin(backend, first, busy);
    give(backend, first, 0);
    ::kill(job.pid(), SIGCONT);
    CHECK(eventually([&] { return state_of(job.pid()) == 'R'; }));
    CHECK(eventually([&] {
        follow(backend, milliseconds(20));
        return state_of(job.pid()) == 'T';
    }));
    end(backend, first, job);
}

TEST_CASE("asked to end, a stopped job hears it and can") {
    auto backend = opened();
    folder const here;
    auto job = begin(backend, first,
                     "trap 'echo saved > " + here / "saved" + "; exit 0' TERM; echo > " + here / "ready" +
                         "; while :; do sleep 0.02; done");
    REQUIRE(eventually([&] { return std::filesystem::exists(here / "ready"); }));
    give(backend, first, 0);
    REQUIRE(backend.freeze(first));
    REQUIRE(backend.ask_to_end(first));
    CHECK(finish(job).success());
    CHECK(content_of(here / "saved") == "saved\n");
    CHECK(backend.remove(first));
}

TEST_CASE("a process of one job that has another job's token in its environment stays with the first") {
    folder const here;
    auto backend = opened();
    std::string const mark = "RATION_TOKEN=backend-test-" + std::to_string(::getpid());
    auto attacker =
        begin(backend, first, "env " + mark + " sh -c 'echo $$ > " + here / "forged" + "; exec sleep 30' & wait");
    auto place = [&](pid_t pid) { return backend.add(second, {.pid = pid, .mark = mark}); };
    process::launch_spec spec = shell("setsid sh -c 'sleep 30 & echo $! > " + here / "own" + "' & exec sleep 30");
    spec.environment.push_back(mark);
    spec.place = place;
    auto victim = start(spec);
    pid_t const forged = pid_in(here / "forged"), own = pid_in(here / "own");
    CHECK(backend.contains(first, forged, process::evidence::kinship));
    CHECK_FALSE(backend.contains(second, forged));
    CHECK_FALSE(backend.contains(second, forged, process::evidence::kinship));
    CHECK(backend.contains(second, victim.pid(), process::evidence::kinship));
    CHECK(backend.contains(second, own));  // left its session and lost its parents: by its mark
    end(backend, second, victim);
    CHECK(dead(own));
    end(backend, first, attacker);
}

TEST_CASE("a process that only its environment ties to a job is one of it, and no kin") {
    folder const here;
    auto backend = opened();
    std::string const mark = "RATION_TOKEN=backend-test-" + std::to_string(::getpid());
    process::launch_spec daemon = shell("setsid sh -c 'sleep 30 & echo $! > " + here / "stranger" + "'");
    auto place = [&](pid_t pid) { return backend.add(first, {.pid = pid, .mark = mark}); };
    process::launch_spec spec = shell("exec sleep 30");
    spec.place = place;
    auto job = start(spec);
    daemon.environment.push_back(mark);
    auto parent = start(daemon);  // after the job: nothing older can be part of it
    pid_t const stranger = pid_in(here / "stranger");
    finish(parent);
    CHECK(backend.contains(first, stranger));
    CHECK_FALSE(backend.contains(first, stranger, process::evidence::kinship));
    end(backend, first, job);
    CHECK(dead(stranger));
}

TEST_CASE("a limit on a job that has ended is an error; letting go of it is not") {
    auto backend = opened();
    auto job = begin(backend, first, "exit 0");
    finish(job);
    ::usleep(15'000);
    process::operation const op{.job = first, .new_amount = 100};
    auto const applied = backend.apply(op);
    REQUIRE_FALSE(applied);
    CHECK(applied.failure().code == errc::gone);
    CHECK(backend.kill(first));
    auto const seen = backend.observe(first);
    REQUIRE(seen);
    CHECK(seen->processes == 0);
    CHECK(backend.remove(first));
    CHECK(backend.next_wakeup() > process::now() + seconds(1e6));
}

TEST_CASE("remove and the destructor leave no job stopped, and no limit behind") {
    std::optional<process::backend> backend = opened();
    auto removed = begin(*backend, first, "exec sleep 30"), kept = begin(*backend, second, "exec sleep 30");
    give(*backend, first, 0);
    give(*backend, second, 0);
    CHECK(backend->remove(first));
    CHECK(eventually([&] { return state_of(removed.pid()) == 'S'; }));
    CHECK(state_of(kept.pid()) == 'T');
    backend.reset();
    CHECK(eventually([&] { return state_of(kept.pid()) == 'S'; }));
}

TEST_CASE("an reattached job that was left stopped and bound goes on, all of it, and its binding can be lifted") {
    folder const here;
    auto job = start(shell("setsid sh -c 'echo $$ > " + here / "own" + "; exec sleep 30' & exec sleep 30"));
    pid_t const own = pid_in(here / "own");
    process::cpu_set one;
    one.insert([] {
        unsigned lowest = process::cpu_set::capacity;
        process::cpu_set::of_thread(0).for_each([&](unsigned cpu) { lowest = std::min(lowest, cpu); });
        return lowest;
    }());
    for (pid_t const pid : {job.pid(), own}) {
        REQUIRE(one.bind_thread(pid));
        REQUIRE(::kill(pid, SIGSTOP) == 0);
        REQUIRE(eventually([&] { return state_of(pid) == 'T'; }));
    }
    auto backend = opened();
    REQUIRE(backend.add(first, {.pid = job.pid(), .start_time = job.start_time()}));
    for (pid_t const pid : {job.pid(), own}) {
        CHECK(eventually([&] { return state_of(pid) != 'T'; }));
        CHECK(process::cpu_set::of_thread(pid) == one);
    }
    give(backend, first, unlimited);
    CHECK(process::cpu_set::of_thread(job.pid()) == backend.cpus());
    CHECK(process::cpu_set::of_thread(own) == backend.cpus());
    CHECK(backend.add(second, {.pid = job.pid(), .start_time = job.start_time() + 1}).failure().code == errc::gone);
    end(backend, first, job);
}

TEST_CASE("a backend for other CPUs than we may use is not opened") {
    process::cpu_set absent;
    absent.insert(process::cpu_set::capacity - 1);
    auto const refused = process::backend::open(absent);
    REQUIRE_FALSE(refused);
    CHECK(refused.failure().code == errc::empty_set);
}

TEST_CASE("no descriptor and no zombie stays behind") {
    std::size_t const before = open_descriptors(), family = children();
    for (int i = 0; i < 5; ++i) {
        auto backend = opened();
        auto job = begin(backend, first, "sleep 30 & sleep 30 & wait");
        give(backend, first, 100);
        follow(backend, milliseconds(120));
        REQUIRE(backend.freeze(first));
        end(backend, first, job);
    }
    CHECK(open_descriptors() == before);
    CHECK(children() == family);
}

TEST_CASE("none of it needs a privilege") {
    int const status = in_another_process([] {
        if (::getuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) return 1;
        ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);  // changing the user takes it away, which an ordinary user's program has
        auto backend = process::backend::open();
        if (!backend) return 2;
        auto place = [&](pid_t pid) { return backend->add(first, {.pid = pid, .mark = "RATION_TOKEN=x"}); };
        process::launch_spec spec = shell(std::string("sh -c '") + busy + "' & wait");
        spec.environment.push_back("RATION_TOKEN=x");
        spec.place = place;
        auto job = process::launch(spec);
        if (!job) return 3;
        for (std::int64_t const amount : {std::int64_t{250}, std::int64_t{1000}, std::int64_t{0}}) {
            ration::plan<process::operation> plan;
            if (!backend->plan({.job = first, .node = 0, .resource = resource_id::cpu, .amount = amount}, plan))
                return 4;
            if (!std::ranges::all_of(plan, [&](auto const& op) { return backend->apply(op) && backend->verify(op); }))
                return 5;
            follow(*backend, milliseconds(150));
        }
        auto const seen = backend->observe(first);
        if (!seen || seen->processes != 2 || seen->cpu_time == nanoseconds{}) return 6;
        return backend->kill(first) && job->wait_for(patience) ? 0 : 7;
    });
    CHECK(status == 0);
}
