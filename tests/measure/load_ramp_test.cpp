// SPDX-License-Identifier: BSL-1.0
// The search for the highest rate, on a server of the test whose capacity is known.
#include "measure/load_ramp.hpp"

#include "support/catch.hpp"

using namespace ration::program;

namespace {

/// A server that keeps every limit up to `capacity`, and misses it above.
[[nodiscard]] load_pass pass_at(double rate, double capacity) {
    return {.offered = rate, .served = std::min(rate, capacity), .p50 = 0.1, .p95 = rate <= capacity ? 0.2 : 9};
}

[[nodiscard]] load_ramp searched(double first, double capacity, double precision = 0.02) {
    load_ramp ramp({.first = first, .limit = 1, .precision = precision});
    while (auto const rate = ramp.next()) ramp.add(pass_at(*rate, capacity));
    return ramp;
}

}  // namespace

TEST_CASE("load_ramp: finds the capacity from below and from above") {
    for (double const first : {1.0, 10.0, 97.0, 100.0, 5000.0}) {
        auto const ramp = searched(first, 100);
        INFO("first rate " << first);
        REQUIRE(ramp.best() != nullptr);
        CHECK(ramp.best()->offered <= 100);
        CHECK(ramp.best()->offered >= 98);
        CHECK(ramp.passes().size() <= 40);
    }
    CHECK(searched(10, 100, 0.002).best()->offered >= 99.8);
}

TEST_CASE("load_ramp: a server that keeps the limit at no rate ends the search") {
    load_ramp ramp({.first = 100, .limit = 1});
    while (ramp.next()) ramp.add({.offered = 100, .served = 50, .p95 = 5});
    CHECK(ramp.best() == nullptr);
    CHECK(ramp.passes().size() <= 60);
}

TEST_CASE("load_ramp: a server that keeps every limit ends the search too") {
    load_ramp ramp({.first = 1, .limit = 1, .passes = 12});
    while (auto const rate = ramp.next()) ramp.add({.offered = *rate, .served = *rate, .p95 = 0});
    CHECK(ramp.passes().size() == 12);
}

TEST_CASE("load_ramp: a pass that fails once does not end the rise") {
    load_ramp ramp({.first = 1, .limit = 1});
    std::size_t passes = 0;
    // Each rate fails first
    while (auto const rate = ramp.next()) ramp.add(++passes % 2 == 1 ? pass_at(*rate, 0) : pass_at(*rate, 100));
    REQUIRE(ramp.best() != nullptr);
    CHECK(ramp.best()->offered >= 98);
}

TEST_CASE("load_ramp: a server beside has to keep up, even if its queue is within the limit") {
    load_ramp ramp({.first = 10, .limit = 1});
    while (auto const rate = ramp.next()) {
        // Together they serve 100 requests per second, of which the ramped one takes all that it needs
        load_pass const beside{.offered = 75, .served = std::min(75.0, 100 - *rate), .p95 = 0.9};
        CHECK(ramp.add(pass_at(*rate, 100), beside) == (beside.served >= 0.97 * 75));
    }
    REQUIRE(ramp.best() != nullptr);
    CHECK(ramp.best()->offered <= 27.25);
    CHECK(ramp.best()->offered >= 26.5);
}

TEST_CASE("load_ramp: a short pass of an overloaded server may keep the latency, but not the rate") {
    load_ramp const ramp({.first = 1, .limit = 1});
    CHECK(ramp.is_good({.offered = 100, .served = 98, .p95 = 1}));
    CHECK_FALSE(ramp.is_good({.offered = 100, .served = 90, .p95 = 0.5}));
    CHECK_FALSE(ramp.is_good({.offered = 100, .served = 99, .p95 = 1.01}));
}

TEST_CASE("pass_of: quantiles of the requests, and answers per second") {
    std::vector<double> latencies, lateness(20, 0.0);
    for (int i = 20; i > 0; --i) latencies.push_back(i);
    lateness.back() = 3;
    auto const pass = pass_of(7, 4, latencies, lateness);
    CHECK((pass.offered == 7 && pass.served == 5 && pass.p50 == 10 && pass.p95 == 19 && pass.lateness == 0));
}
