// SPDX-License-Identifier: BSL-1.0
// Jobs that are bound to some of the CPUs.
#include "backend_support.hpp"

using namespace process_test;
using ration::unlimited;

TEST_CASE("a job that is bound stays within its CPUs, whatever it is granted, and others keep away from them") {
    auto backend = opened();
    if (backend.cpus().size() < 2) {
        WARN("only one CPU here: nothing to choose from");
        return;
    }
    auto const lowest = backend.cpus().lowest(1);
    process::cpu_set other = backend.cpus();
    lowest.for_each([&other](unsigned cpu) { other.erase(cpu); });
    folder const here;
    auto one = begin(backend, first, "sleep 30 & echo $! > " + here / "child" + "; wait");
    auto two = begin(backend, second, "exec sleep 30");
    pid_t const child = pid_in(here / "child");
    REQUIRE(backend.confine(first, lowest));
    CHECK(process::cpu_set::of_thread(one.pid()) == lowest);
    CHECK(process::cpu_set::of_thread(child) == lowest);
    CHECK(process::cpu_set::of_thread(two.pid()) == backend.cpus());
    for (std::int64_t const amount : {std::int64_t{1000}, std::int64_t{500}, std::int64_t{2000}, unlimited}) {
        give(backend, first, amount);
        CHECK(process::cpu_set::of_thread(one.pid()) == lowest);
    }
    give(backend, second, 1000);
    CHECK((process::cpu_set::of_thread(two.pid()) & lowest).empty());
    give(backend, second, unlimited);
    CHECK(process::cpu_set::of_thread(two.pid()) == backend.cpus());

    REQUIRE(backend.confine(first, other));
    CHECK(process::cpu_set::of_thread(child) == other);
    give(backend, first, 1000);
    CHECK(process::cpu_set::of_thread(one.pid()).size() == 1);
    CHECK((process::cpu_set::of_thread(one.pid()) & lowest).empty());
    end(backend, first, one);
    end(backend, second, two);
}

TEST_CASE("a job is bound to CPUs of the backend, or to none") {
    auto backend = opened();
    process::cpu_set nowhere, more = backend.cpus();
    nowhere.insert(process::cpu_set::capacity - 1);
    more.insert(process::cpu_set::capacity - 1);
    CHECK(backend.confine(first, backend.cpus()).failure().code == errc::not_found);
    auto one = begin(backend, first, "exec sleep 30");
    CHECK(backend.confine(first, nowhere).failure().code == errc::empty_set);
    CHECK(process::cpu_set::of_thread(one.pid()) == backend.cpus());
    CHECK(backend.confine(first, more));
    CHECK(process::cpu_set::of_thread(one.pid()) == backend.cpus());
    end(backend, first, one);
}
