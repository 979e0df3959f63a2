// SPDX-License-Identifier: BSL-1.0
#include <unistd.h>

#include <ration/process/proc.hpp>

#include "support/catch.hpp"

namespace process = ration::process;

namespace {

constexpr std::string_view tail =
    " 10 20 30 34816 -1 4194304 100 200 0 0 5 6 70 8 20 -5 1 0 9999 1000 50 18446744073709551615 1\n";

}  // namespace

TEST_CASE("a line of /proc/<pid>/stat is read by its fields") {
    auto const row = process::parse_stat("42 (train) S" + std::string(tail));
    REQUIRE(row);
    CHECK(row->pid == 42);
    CHECK(row->state == 'S');
    CHECK(row->parent == 10);
    CHECK(row->group == 20);
    CHECK(row->session == 30);
    CHECK(row->children_ticks == 78);
    CHECK(row->start_time == 9999);
    CHECK_FALSE(row->exiting);
}

TEST_CASE("a process that has begun to exit is not one that runs") {
    auto const row =
        process::parse_stat("42 (train) R 10 20 30 34816 -1 4194308 100 200 0 0 5 6 70 8 20 -5 1 0 9999 1000 50 1\n");
    REQUIRE(row);
    CHECK(row->exiting);
    CHECK_FALSE(row->zombie());
}

TEST_CASE("a process cannot lie about itself by its name") {
    for (std::string const name :
         {"a) Z 1 1 1 (b", "))) R 0 0 0", "two words", "", "new\nline", "(((", ") S 1 2 3 4 5 6 7 8 9"}) {
        auto const row = process::parse_stat("42 (" + name + ") S" + std::string(tail));
        INFO(name);
        REQUIRE(row);
        CHECK(row->state == 'S');
        CHECK(row->parent == 10);
        CHECK(row->start_time == 9999);
    }
}

TEST_CASE("a line that is cut off or is not one is nothing") {
    std::string const whole = "42 (train) S" + std::string(tail);
    std::size_t const needed = whole.find(" 1000 50");
    for (std::size_t size = 0; size + 5 < needed; ++size) {  // without a single digit of the start time
        INFO(size);
        CHECK_FALSE(process::parse_stat(whole.substr(0, size)));
    }
    CHECK_FALSE(process::parse_stat(""));
    CHECK_FALSE(process::parse_stat("()"));
    CHECK_FALSE(process::parse_stat("x (train) S" + std::string(tail)));
    CHECK_FALSE(process::parse_stat("42 (train) S a b c d"));
}

TEST_CASE("the table is ordered and holds us") {
    process::process_table table;
    REQUIRE(table.scan());
    REQUIRE_FALSE(table.rows().empty());
    CHECK(std::ranges::is_sorted(table.rows(), std::ranges::less_equal{}, &process::process_info::pid));
    auto const* const me = table.find(::getpid());
    REQUIRE(me != nullptr);
    CHECK(me->parent == ::getppid());
    CHECK(me->session == ::getsid(0));
    CHECK(table.find(0) == nullptr);
    CHECK(table.find(0x7ffffff0) == nullptr);
    CHECK(process::same_process(me->pid, me->start_time));
    CHECK_FALSE(process::same_process(me->pid, me->start_time + 1));
}

TEST_CASE("the CPU clock of a process counts what it computes") {
    auto const before = process::cpu_clock(::getpid());
    REQUIRE(before);
    auto const spent = [&] { return *process::cpu_clock(::getpid()) - *before; };
    while (spent() < ration::milliseconds(5)) {
    }
    timespec t{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    ration::nanoseconds const own{static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec};
    CHECK(own >= *before + ration::milliseconds(5));
    CHECK_FALSE(process::cpu_clock(0x7ffffff0));
}
