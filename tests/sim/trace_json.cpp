// SPDX-License-Identifier: BSL-1.0
// The job log of Philly as it is published.
#include <cstdlib>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "traces.hpp"

using namespace ration;
using namespace ration::sim;

TEST_CASE("philly-json: the largest attempt's devices, all attempts' time", "[trace]") {
    auto const made = traces::read(traces::philly_json);
    REQUIRE(made);
    CHECK(made->left_out == 1);
    CHECK(made->job_names == std::vector<std::string>{"application_3", "application_1"});
    CHECK(made->tenants == std::vector<std::string>{"ee9e8c", "ed69ec"});
    CHECK(made->jobs[0].submitted.count == 0);
    CHECK(made->jobs[0].request == 1);
    CHECK(made->jobs[0].length == 5);
    CHECK(made->jobs[1].submitted == seconds(30));
    CHECK(made->jobs[1].request == 3);
    CHECK(made->jobs[1].length == 630);
}

TEST_CASE("philly-json: what is wrong is said with its line", "[trace]") {
    CHECK(traces::refusal("[{\"jobid\": \"a\",\n \"attempts\": 7}]") == "t.csv:2: an array in [ ] is expected here");
    CHECK(traces::refusal("[{\"jobid\": \"a\"\n \"vc\": \"b\"}]") ==
          "t.csv:2: a comma or a closing bracket is missing here; is the file cut off?");
    CHECK(traces::refusal("[{\"jobid\": \"a\",}]") == "t.csv:1: there is a comma before a closing bracket; remove it");
    CHECK(traces::refusal("[\n{\"jobid\": \"a") == "t.csv:2: a string is never closed; close it in the same line");
    CHECK(traces::refusal("[{\"jobid\" \"a\"}]") == "t.csv:1: a colon is missing after the name of a member");
    CHECK(traces::refusal("[7]") == "t.csv:1: an object in { } is expected here");
    CHECK(traces::refusal("[{\"x\": ]}]") == "t.csv:1: a bracket is closed that was never opened");
    CHECK(traces::refusal("[{\"x\": " + std::string(100, '[') + "}]") ==
          "t.csv:1: values are nested more than 64 deep; is this the job log?");
    CHECK(traces::refusal("[{\"x\": @}]") == "t.csv:1: a string, a number or null is expected here");
    std::string text(traces::philly_json);
    text.replace(text.find("2017-10-07 00:59:00"), 19, "2017-13-07 00:59:00");
    CHECK(
        traces::refusal(text) ==
        "t.csv:2: submitted_time is '2017-13-07 00:59:00'; write a time like 2017-10-09 07:01:55, or seconds from 0 to 9000000000");
}

TEST_CASE("numbers are finite, and all of the text", "[trace]") {
    double value = 0;
    REQUIRE(trace::to_number("0123456789", value));
    CHECK(value == 123456789);
    REQUIRE(trace::to_number("-1.5e3", value));
    CHECK(value == -1500);
    REQUIRE(trace::to_number("18446744073709551617", value));
    CHECK(value == 18446744073709551617.0);
    for (char const* const text : {"0.1", "66.0", "5.", "123456.789012345", "0.00000000001", "9007199254740993.5",
                                   "99999999999999", "3.14159265358979", "1.005"}) {
        REQUIRE(trace::to_number(text, value));
        CHECK(value == std::strtod(text, nullptr));
    }
    for (char const* const bad :
         {"", "nan", "inf", "-inf", "1e999", "1 ", " 1", "+1", "1e", "0x1", "1,5", "--1", ".", "1.2.3", "1..2"})
        CHECK_FALSE(trace::to_number(bad, value));
}

TEST_CASE("timestamps are seconds since 1970", "[trace]") {
    double at = 0;
    REQUIRE(trace::to_timestamp("1970-01-01 00:00:00", at));
    CHECK(at == 0);
    REQUIRE(trace::to_timestamp("2000-03-01T00:00:00Z", at));
    CHECK(at == 951868800);
    REQUIRE(trace::to_timestamp("2024-02-29 23:59:59", at));
    CHECK(at == 1709251199);
    for (char const* const bad : {"", "2024-02-29", "2024-00-29 23:59:59", "2024-02-32 23:59:59", "2024-02-29 24:00:00",
                                  "2024-02-29 23:60:00", "2024-02-29x23:59:59", "1969-12-31 23:59:59",
                                  "2024-02-29 23:59:5a", "2024/02/29 23:59:59", "2024-02-29 23:59:59ZZ"})
        CHECK_FALSE(trace::to_timestamp(bad, at));
}
