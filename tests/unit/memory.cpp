// SPDX-License-Identifier: BSL-1.0
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include <ration/host/meter.hpp>
#include <ration/job_memory.hpp>
#include <ration/state.hpp>

#include "random.hpp"
#include "support/allocations.hpp"
#include "support/catch.hpp"

using ration::job_memory;
using ration::milliseconds;
using ration::rate_meter;
using ration::seconds;

TEST_CASE("job_memory: the value of a job moves with its row", "[memory]") {
    job_memory<int> m;
    std::uint64_t const first[] = {3, 5, 9};
    CHECK(m.follow(first));
    REQUIRE(m.size() == 3);
    CHECK(m[0] == 0);
    m[0] = 30;
    m[1] = 50;
    m[2] = 90;
    CHECK_FALSE(m.follow(first));
    CHECK(m[1] == 50);

    std::uint64_t const then[] = {1, 5, 7, 9};
    CHECK(m.follow(then));
    CHECK(m[0] == 0);
    CHECK(m[1] == 50);
    CHECK(m[2] == 0);
    CHECK(m[3] == 90);

    std::uint64_t const back[] = {3, 9};
    CHECK(m.follow(back));
    CHECK(m[0] == 0);  // 3 had gone: its value starts again from 0
    CHECK(m[1] == 90);
    CHECK(m.follow({}));
    CHECK(m.size() == 0);
    CHECK_FALSE(m.follow({}));
}

TEST_CASE("job_memory: as many jobs, but other ones, are a change", "[memory]") {
    job_memory<int> m;
    std::uint64_t const a[] = {1, 2}, b[] = {1, 3};
    m.follow(a);
    m[1] = 5;
    CHECK(m.follow(b));
    CHECK(m[1] == 0);
}

TEST_CASE("job_memory: agrees with a map through arrivals and ends, without allocating", "[memory]") {
    job_memory<std::uint64_t> m;
    m.reserve(20);
    std::map<std::uint64_t, std::uint64_t> model;
    unit::rng random(7);
    std::vector<std::uint64_t> ids;
    for (std::uint64_t next = 1, i = 0; i < 5000; ++i) {
        if (model.size() < 20 && random.below(2) == 0) model[next += 1 + random.below(3)] = 0;
        std::erase_if(model, [&](auto const&) { return random.below(15) == 0; });
        ids.clear();
        for (auto const& [id, value] : model) ids.push_back(id);
        auto const before = allocations();
        m.follow(ids);
        REQUIRE(allocations() == before);
        std::size_t row = 0;
        for (auto& [id, value] : model) {
            REQUIRE(m[row] == value);
            m[row++] = value = random.below(1000);
        }
    }
}

TEST_CASE("rate_meter: a rate is known after the first interval that is long enough", "[meter]") {
    rate_meter m;
    CHECK(m.per_second() == 0);
    m.read(seconds(10), 1000);
    CHECK(m.per_second() == 0);
    m.read(seconds(10) + milliseconds(199), 2000);
    CHECK(m.per_second() == 0);
    m.read(seconds(10) + milliseconds(200), 2000);
    CHECK(m.per_second() == Catch::Approx(5000));
}

TEST_CASE("rate_meter: a steady counter has its own rate, however often it is read", "[meter]") {
    for (auto const step : {milliseconds(50), milliseconds(200), milliseconds(1000), milliseconds(10000)}) {
        rate_meter m;
        for (int i = 0; i < 1000; ++i) m.read({step.count * i}, 3 * step.count / 1'000'000 * i);
        CHECK(m.per_second() == Catch::Approx(3000));
    }
}

TEST_CASE("rate_meter: a rate follows a change within about a second", "[meter]") {
    rate_meter m;
    std::int64_t count = 0;
    ration::nanoseconds now{};
    auto const run = [&](int readings, std::int64_t each) {
        for (int i = 0; i < readings; ++i) m.read(now = now + milliseconds(250), count += each);
    };
    run(20, 250);
    CHECK(m.per_second() == Catch::Approx(1000));
    run(4, 0);  // one second at rest
    CHECK(m.per_second() > 300);
    CHECK(m.per_second() < 500);
    run(20, 0);
    CHECK(m.per_second() < 15);
    CHECK(m.per_second() >= 0);
}

TEST_CASE("rate_meter: starts again when the counter falls, as that of another process does", "[meter]") {
    rate_meter m;
    m.read(seconds(0), 0);
    m.read(seconds(1), 1000);
    REQUIRE(m.per_second() == Catch::Approx(1000));
    m.read(seconds(2), 5);
    CHECK(m.per_second() == 0);
    m.read(seconds(3), 25);
    CHECK(m.per_second() == Catch::Approx(20));
}

TEST_CASE("rate_meter: a clock that stands still or goes back changes nothing", "[meter]") {
    rate_meter m;
    m.read(seconds(0), 0);
    m.read(seconds(1), 1000);
    m.read(seconds(1), 9000);
    m.read(milliseconds(500), 9000);
    CHECK(m.per_second() == Catch::Approx(1000));
}

TEST_CASE("state_reader: a time is one of a host's clock, or -1", "[memory]") {
    std::int64_t const latest = std::int64_t{1} << 62;
    for (auto const& [count, is_read] : {std::pair(std::int64_t{-1}, true),
                                         {0, true},
                                         {latest, true},
                                         {-2, false},
                                         {latest + 1, false},
                                         {std::numeric_limits<std::int64_t>::min(), false}}) {
        INFO(count);
        std::byte saved[sizeof count];
        ration::state_writer out(saved);
        out.put(ration::nanoseconds{count});
        ration::state_reader in(saved);
        ration::nanoseconds time{7};
        CHECK(in.get(time) == is_read);
        CHECK(in.finished() == is_read);
        CHECK(time.count == (is_read ? count : 7));
    }
}
