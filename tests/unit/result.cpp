// SPDX-License-Identifier: BSL-1.0
#include <memory>
#include <set>
#include <string>

#include <ration/result.hpp>
#include <ration/units.hpp>

#include "support/catch.hpp"

using ration::errc;
using ration::error;
using ration::result;

TEST_CASE("result: is a value or an error", "[result]") {
    result<int> const good = 7;
    REQUIRE(good);
    CHECK(*good == 7);
    CHECK(good.value() == 7);
    CHECK(good.value_or(1) == 7);

    result<int> const bad =
        error{.code = errc::busy, .operation = "move", .subject = "job 3", .system = 16, .remedy = "try again"};
    REQUIRE_FALSE(bad);
    CHECK(bad.failure().code == errc::busy);
    CHECK(std::string_view(bad.failure().operation) == "move");
    CHECK(bad.failure().subject == "job 3");
    CHECK(bad.failure().system == 16);
    CHECK(std::string_view(bad.failure().remedy) == "try again");
    CHECK(bad.value_or(1) == 1);
}

TEST_CASE("result: lets its value be changed and moved out", "[result]") {
    result<std::string> r = std::string("a");
    *r += "b";
    r->push_back('c');
    CHECK(r.value() == "abc");
    std::string const out = std::move(r).value();
    CHECK(out == "abc");

    result<std::unique_ptr<int>> p = std::make_unique<int>(4);
    auto const taken = std::move(p).value();
    CHECK(*taken == 4);
}

TEST_CASE("result: a result of an error type's own kind keeps the two sides apart", "[result]") {
    // The variant holds one of two things; its index, and not the type, distinguishes them.
    struct holder {
        error kept;
    };
    result<holder> const r = holder{{.code = errc::limit}};
    REQUIRE(r);
    CHECK(r->kept.code == errc::limit);
}

TEST_CASE("result: ends the life of its value exactly once, through every copy, move and assignment", "[result]") {
    auto const counted = std::make_shared<int>(1);
    error const failed{.code = errc::io, .subject = "x"};
    {
        result<std::shared_ptr<int>> a = counted, b = failed;
        CHECK(counted.use_count() == 2);
        auto c = a;
        CHECK(counted.use_count() == 3);
        b = c;  // an error gives way to a value
        CHECK(counted.use_count() == 4);
        c = failed;  // and a value to an error
        CHECK(counted.use_count() == 3);
        CHECK(c.failure().subject == "x");
        a = std::move(b);  // a value to a value
        CHECK(counted.use_count() == 2);
        auto const& same = a;
        a = same;  // to itself
        CHECK(**a == 1);
        CHECK(counted.use_count() == 2);
        auto const d = std::move(c);
        CHECK(d.failure().code == errc::io);
    }
    CHECK(counted.use_count() == 1);
}

TEST_CASE("result: a result without a value is success or an error", "[result]") {
    result<void> const good;
    CHECK(good);
    result<void> const bad = error{.code = errc::io};
    REQUIRE_FALSE(bad);
    CHECK(bad.failure().code == errc::io);
}

TEST_CASE("errc: each code has a text of its own", "[result]") {
    std::set<std::string_view> words;
    for (int code = static_cast<int>(errc::invalid_value); code <= static_cast<int>(errc::no_memory); ++code) {
        auto const reply = name_of(static_cast<errc>(code));
        CHECK(reply != "unknown error");
        CHECK(words.insert(reply).second);
    }
    CHECK(words.size() == 18);
    CHECK(name_of(errc{}) == "unknown error");
    CHECK(name_of(static_cast<errc>(static_cast<int>(errc::no_memory) + 1)) == "unknown error");
}

TEST_CASE("nanoseconds: add, subtract and order", "[units]") {
    using namespace ration;
    CHECK(milliseconds(1500) == nanoseconds{1'500'000'000});
    CHECK(seconds(1.5) == milliseconds(1500));
    CHECK(seconds(-0.5) == milliseconds(-500));
    CHECK(to_seconds(milliseconds(250)) == 0.25);
    CHECK(seconds(2) + milliseconds(1) == nanoseconds{2'001'000'000});
    CHECK(seconds(2) - seconds(3) == seconds(-1));
    CHECK(seconds(1) < milliseconds(1001));
    CHECK(job_id{1} < job_id{2});
    CHECK(incarnation_id{2} > incarnation_id{1});
    CHECK(millicores{1} != millicores{2});
    CHECK(bytes{3} == bytes{3});
}
