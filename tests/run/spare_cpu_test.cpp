// SPDX-License-Identifier: BSL-1.0
#include "run/spare_cpu.hpp"

#include <cmath>
#include <unistd.h>
#include <vector>

#include "run/spare_cpu_series.hpp"
#include "support/catch.hpp"

using namespace ration;
using program::spare_cpu;
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

std::int64_t const ticks_per_second = ::sysconf(_SC_CLK_TCK);

struct growth {
    nanoseconds used;
    std::int64_t ticks;
};

/// Of two cores.
millicores after_one_second(growth const& by) {
    spare_cpu spare(process::cpu_set{}, millicores{2000});
    spare.take({seconds(1), seconds(3), 70});
    spare.take({seconds(2), seconds(3) + by.used, 70 + by.ticks});
    return spare.available();
}

/// Two cores, of which jobs use some and some are spare, in cores.
struct constant_rates {
    double used, spare, interval = 0.5;  // of the readings, in seconds
    program::cpu_reading now{};
    spare_cpu answer{process::cpu_set{}, millicores{2000}};

    millicores run(double length) {
        for (; length > 0; length -= interval) {
            answer.take(now);
            now.at = now.at + seconds(interval);
            now.used_by_jobs = now.used_by_jobs + seconds(used * interval);
            now.spare_ticks += std::llround(spare * interval * static_cast<double>(ticks_per_second));
        }
        return answer.available();
    }
};

}  // namespace

TEST_CASE("idle time is that of the named CPUs alone, with iowait and without the sum line", "[spare_cpu]") {
    auto both = only(0);
    both.insert(1);
    CHECK(spare_ticks(two_cpus, only(0), false) == 1020);
    CHECK(spare_ticks(two_cpus, only(1), false) == 3030);
    CHECK(spare_ticks(two_cpus, both, false) == 4050);
    CHECK(spare_ticks(two_cpus, only(2), false) == 0);
    CHECK(spare_ticks("cpu0 1 2", only(0), false) == 0);
    CHECK(spare_ticks("cpu  0 1 2 3 4\ncpu0 1 1 2 3 4\n", only(0), false) == 7);
    CHECK(spare_ticks("cpu0 1 2 3 -4 5", only(0), false) == 5);
    CHECK(spare_ticks("", only(0), false) == 0);
}

TEST_CASE("time of niced tasks is spare beside a ration of normal priority", "[spare_cpu]") {
    CHECK(spare_ticks(two_cpus, only(0), true) == 1030);
    CHECK(spare_ticks(two_cpus, only(1), true) == 3040);
    CHECK(spare_ticks("cpu0 1 2", only(0), true) == 2);
}

TEST_CASE("before two readings the whole is available", "[spare_cpu]") {
    spare_cpu spare(only(0), millicores{1000});
    CHECK(spare.available() == millicores{1000});
    spare.take({seconds(1), seconds(7), 5});
    CHECK(spare.available() == millicores{1000});
}

TEST_CASE("the mean of the spare time needs two readings and a kernel that counts", "[spare_cpu]") {
    spare_cpu spare(process::cpu_set{}, millicores{2000}), uncounted(process::cpu_set{}, millicores{2000});
    spare.take({seconds(1), seconds(0), 100});
    CHECK_FALSE(spare.mean_cores());
    spare.take({seconds(2), seconds(0), 100 + ticks_per_second});
    spare.take({seconds(5), seconds(0), 100 + 2 * ticks_per_second});
    CHECK(spare.mean_cores() == 0.5);
    uncounted.take({seconds(1), seconds(0), 0});
    uncounted.take({seconds(2), seconds(1), 0});
    CHECK_FALSE(uncounted.mean_cores());
}

TEST_CASE("what jobs use and what is spare lie between a twentieth and the whole", "[spare_cpu]") {
    CHECK(after_one_second({seconds(0), 0}) == millicores{100});
    CHECK(after_one_second({milliseconds(600), 0}) == millicores{600});
    CHECK(after_one_second({seconds(0), 60 * ticks_per_second / 100}) == millicores{600});
    CHECK(after_one_second({milliseconds(600), 60 * ticks_per_second / 100}) == millicores{1200});
    CHECK(after_one_second({seconds(5), 0}) == millicores{2000});
}

TEST_CASE("CPU time that moves between jobs and idle leaves the answer", "[spare_cpu]") {
    constant_rates whole{.used = 1.6, .spare = 0.4};
    REQUIRE(whole.run(10) == millicores{2000});
    whole.used = 0.4;
    whole.spare = 1.6;
    for (int second = 0; second < 30; ++second) CHECK(whole.run(1) == millicores{2000});
}

TEST_CASE("another program moves the answer the sooner the more it takes", "[spare_cpu]") {
    constant_rates whole{.used = 2, .spare = 0};
    REQUIRE(whole.run(10) == millicores{2000});
    SECTION("half of the machine: at once, and to the end soon") {
        whole.used = 1;
        CHECK(whole.run(2) == millicores{2000});
        CHECK(whole.run(2) < millicores{1500});
        CHECK(whole.run(16) == millicores{1000});
    }
    SECTION("a twentieth: after ten seconds") {
        whole.used = 1.9;
        CHECK(whole.run(10) == millicores{2000});
        CHECK(whole.run(10) == millicores{1900});
    }
    SECTION("less than three quarters of one: never") {
        whole.used = 1.93;
        CHECK(whole.run(1000) == millicores{2000});
    }
}

TEST_CASE("deviations that end leave the answer", "[spare_cpu]") {
    constant_rates whole{.used = 1, .spare = 0};
    REQUIRE(whole.run(10) == millicores{1000});
    for (int round = 0; round < 100; ++round) {
        whole.used = round % 2 == 0 ? 1.15 : 1.0;
        CHECK(whole.run(4) == millicores{1000});
    }
}

TEST_CASE("deviations that cancel out leave the answer", "[spare_cpu]") {
    constant_rates whole{.used = 1, .spare = 0, .interval = 2};
    REQUIRE(whole.run(10) == millicores{1000});
    for (int round = 0; round < 100; ++round) {
        whole.used = round % 2 == 0 ? 1.6 : 0.4;
        CHECK(whole.run(2) == millicores{1000});
    }
}

TEST_CASE("a reading that is too early changes nothing", "[spare_cpu]") {
    spare_cpu spare(process::cpu_set{}, millicores{1000});  // no CPU: nothing is ever idle
    spare.read(seconds(1), seconds(0));
    spare.read(seconds(1) + spare_cpu::least_interval - nanoseconds{1}, seconds(1));
    CHECK(spare.available() == millicores{1000});
    spare.read(seconds(2), milliseconds(300));
    CHECK(spare.available() == millicores{300});
}

// With the former rule (the use of the jobs and the spare time smoothed separately, and no patience) it moves 41 times.
TEST_CASE("a restless machine moves the answer a few times", "[spare_cpu]") {
    spare_cpu spare(process::cpu_set{}, millicores{2000});
    std::vector<millicores> answers;
    for (auto const& now : series::restless) {
        spare.take({milliseconds(now.milliseconds), milliseconds(now.used_milliseconds), now.spare_ticks});
        if (answers.empty() || answers.back() != spare.available()) answers.push_back(spare.available());
    }
    CHECK(answers.size() <= 9);
    CHECK(answers.size() >= 3);  // the load grows in the middle, and that lasts
}
