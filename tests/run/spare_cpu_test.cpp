// SPDX-License-Identifier: BSL-1.0
#include "run/spare_cpu.hpp"

#include "support/catch.hpp"

using namespace ration;
using program::spare_ticks;

namespace {

constexpr std::string_view two_cpus =
    "cpu  300 20 30 4000 50 0 0 7 0 0\n"
    "cpu0 100 10 10 1000 20 0 0 3 0 0\n"
    "cpu1 200 10 20 3000 30 0 0 4 0 0\n"
    "intr 12345 cpu1 9 9 9 9 9\n";

process::cpu_set only(unsigned cpu) {
    process::cpu_set set;
    set.insert(cpu);
    return set;
}

}  // namespace

TEST_CASE("idle time is that of the named CPUs alone, with iowait and without the sum line", "[spare_cpu]") {
    auto both = only(0);
    both.insert(1);
    CHECK(spare_ticks(two_cpus, only(0), false) == 1020);
    CHECK(spare_ticks(two_cpus, only(1), false) == 3030);
    CHECK(spare_ticks(two_cpus, both, false) == 4050);
    CHECK(spare_ticks(two_cpus, only(2), false) == 0);
    CHECK(spare_ticks("cpu0 1 2", only(0), false) == 0);
    CHECK(spare_ticks("", only(0), false) == 0);
}

TEST_CASE("time of niced tasks is spare beside a ration of normal priority", "[spare_cpu]") {
    CHECK(spare_ticks(two_cpus, only(0), true) == 1030);
    CHECK(spare_ticks(two_cpus, only(1), true) == 3040);
    CHECK(spare_ticks("cpu0 1 2", only(0), true) == 2);
}

TEST_CASE("before two readings the whole is available", "[spare_cpu]") {
    program::spare_cpu spare(only(0));
    CHECK(spare.available(0, millicores{1000}) == millicores{1000});
}

TEST_CASE("the mean of the spare time needs two readings and a kernel that counts", "[spare_cpu]") {
    program::spare_cpu spare(process::cpu_set::of_thread(0)), uncounted(process::cpu_set{});
    spare.read(seconds(1));
    CHECK_FALSE(spare.mean_cores());
    spare.read(seconds(2));
    REQUIRE(spare.mean_cores());
    CHECK(*spare.mean_cores() >= 0);
    uncounted.read(seconds(1));
    uncounted.read(seconds(2));
    CHECK_FALSE(uncounted.mean_cores());
}

TEST_CASE("what is available lies between a twentieth and the whole, and small changes do not move it", "[spare_cpu]") {
    program::spare_cpu spare(process::cpu_set{});  // no CPU: nothing is ever idle
    spare.read(seconds(1));
    spare.read(seconds(2));
    CHECK(spare.available(0, millicores{1000}) == millicores{50});
    CHECK(spare.available(600, millicores{1000}) == millicores{600});
    CHECK(spare.available(630, millicores{1000}) == millicores{600});
    CHECK(spare.available(640, millicores{1000}) == millicores{650});
    CHECK(spare.available(5000, millicores{1000}) == millicores{1000});
}
