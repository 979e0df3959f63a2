// SPDX-License-Identifier: BSL-1.0
// The requests of `ration decide`: their errors name object, place and fix, and leave the tables as they were.
#include "decide/session.hpp"

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include <ration/policies/elastic_batch_dp.hpp>
#include <ration/policies/equal_share.hpp>
#include <ration/policies/las.hpp>

#include "support/catch.hpp"

using namespace ration;
using namespace ration::program;
using json = nlohmann::json;

namespace {

template <class P = policies::equal_share>
[[nodiscard]] decide_session session_of() {
    return decide_session(std::make_unique<policy_adapter<P>>());
}

constexpr std::string_view two_jobs =
    R"({"nodes":[{"id":"n1","capacity.cpu":4000}],"jobs":[{"id":"a","state":"running"},{"id":"b","state":"running"}]})";

/// "job: amount" of each grant, or the error.
[[nodiscard]] std::string told(decide_session& session, std::string_view line) {
    auto const answer = json::parse(session.answer(line));
    if (answer.contains("error")) {
        auto const& e = answer["error"];
        return e["line"].dump() + ':' + e["column"].dump() + ": " + e["message"].get<std::string>() + "; " +
               e["fix"].get<std::string>();
    }
    std::string out;
    for (auto const& g : answer["grants"])
        out += (out.empty() ? "" : ", ") + g["job"].dump() + ": " + g["amount"].dump();
    return out;
}

/// The error of a first request.
[[nodiscard]] std::string error_of(std::string_view line) {
    auto session = session_of();
    auto const text = told(session, line);
    return text.starts_with("1:") ? text.substr(2) : "no error: " + text;
}

}  // namespace

TEST_CASE("ration decide: bounds and capacities shrink below what jobs hold", "[decide]") {
    auto session = session_of();
    auto const held = [](char const* job, int amount) {
        return R"({"job":")" + std::string(job) + R"(","node":"n1","resource":"cpu","amount":)" +
               std::to_string(amount) + '}';
    };
    CHECK(told(session, two_jobs) == R"("a": 2000, "b": 2000)");
    CHECK(told(session, R"({"held":[)" + held("a", 2000) + ',' + held("b", 2000) +
                            R"(],"jobs":{"changed":[{"id":"a","max.cpu":500}]}})") == R"("a": 500)");
    // The minima exceed the node: b gets nothing more, and no grant is refused.
    CHECK(told(session, R"({"held":[)" + held("a", 500) + ',' + held("b", 2000) +
                            R"(],"jobs":{"changed":[{"id":"b","min.cpu":3800}]}})") == "");
    CHECK(told(session, R"({"nodes":{"changed":[{"id":"n1","capacity.cpu":0}]}})") == R"("a": 10)");
    auto const answer = json::parse(session.answer("{}"));
    CHECK(answer["rejected"].empty());
}

TEST_CASE("ration decide: a minimum above the maximum is refused", "[decide]") {
    auto session = session_of();
    CHECK(told(session, two_jobs) == R"("a": 2000, "b": 2000)");
    CHECK(told(session, R"({"jobs":{"changed":[{"id":"a","max.cpu":100}]}})") == R"("a": 100, "b": 2000)");
    CHECK(told(session, R"({"jobs":{"changed":[{"id":"a","min.cpu":200}]}})") ==
          R"(3:21: job 'a' would have min.cpu 200 above max.cpu 100; send both keys, the minimum at most the maximum)");
    CHECK(told(session, R"({"jobs":{"changed":[{"id":"a","min.batch":32}]}})") == R"("a": 100, "b": 2000)");
}

TEST_CASE("ration decide: tables stay until a request changes them", "[decide]") {
    auto session = session_of();
    CHECK(told(session, two_jobs) == R"("a": 2000, "b": 2000)");
    CHECK(told(session, "{}") == R"("a": 2000, "b": 2000)");
    CHECK(told(session, R"({"jobs":{"added":[{"id":"c","state":"running"}],"removed":["a"]},
                            "nodes":{"changed":[{"id":"n1","capacity.cpu":6000}]}})") == R"("b": 3000, "c": 3000)");
    CHECK(told(session, R"({"jobs":{"changed":[{"id":"b","state":"done"}]}})") == R"("c": 6000)");
    CHECK(told(session, R"({"nodes":[{"id":"n2","capacity.cpu":1000}]})") == R"("c": 1000)");
}

TEST_CASE("ration decide: rows are in the order of the ids, whenever they come", "[decide]") {
    auto session = session_of();
    CHECK(told(session, R"({"nodes":[{"id":1,"capacity.cpu":3000}],
        "jobs":[{"id":9,"state":"running","max.cpu":500},{"id":5,"state":"running"}]})") == "5: 1500, 9: 500");
    CHECK(told(session, R"({"jobs":{"added":[{"id":7,"state":"running"}]}})") == "5: 1000, 7: 1000, 9: 500");
    CHECK(told(session, R"({"jobs":{"added":[{"id":"x","state":"running"}]}})") ==
          "3:25: job 'x' has another kind of id than job 5; use numbers for all jobs, or texts for all");
}

TEST_CASE("ration decide: what a job holds goes with the job, and moves with its node", "[decide]") {
    auto session = session_of<policies::las>();
    constexpr std::string_view start =
        R"({"t":1,"nodes":[{"id":"n1","capacity.gpu":2},{"id":"n2","capacity.gpu":2}],"jobs":[
            {"id":1,"state":"running","submitted":0,"started":0,"attained":9,"request.gpu":2,"restart_cost":0},
            {"id":2,"state":"queued","submitted":0,"started":-1,"attained":0,"request.gpu":2,"restart_cost":0}],
           "held":[{"job":1,"node":"n2","resource":"gpu","amount":2}]})";
    CHECK(told(session, start).find("2: 2") != std::string::npos);
    // n2 is the first row now. Job 1 still holds it, so job 2 does not fit.
    CHECK(told(session, R"({"nodes":{"removed":["n1"]}})").find("2: 2") == std::string::npos);
    CHECK(told(session, R"({"jobs":{"removed":[1]}})") == "2: 2");
}

TEST_CASE("ration decide: a policy chooses the batch only of a job with a maximum of it", "[decide]") {
    auto session = session_of<policies::elastic_batch_dp>();
    CHECK(told(session, R"({"nodes":[{"id":"n1","capacity.gpu":4}],"jobs":[
        {"id":"a","state":"queued","submitted":0,"restart_cost":0,"speedup":[0,1,2],"batch":[0,32,64],"max.batch":64},
        {"id":"b","state":"queued","submitted":0,"restart_cost":0,"speedup":[0,1,2],"batch":[0,32,64]}]})") ==
          R"("a": 2, "a": 64, "b": 2)");
}

TEST_CASE("ration decide: applied grants can be sent back as they came", "[decide]") {
    auto session = session_of();
    json const next{{"held", json::parse(session.answer(two_jobs)).at("grants")}};
    CHECK(next["held"].size() == 2);
    CHECK(told(session, next.dump()).empty());  // each job holds its share, and equal_share grants changes only
}

TEST_CASE("ration decide: an error changes nothing", "[decide]") {
    auto session = session_of();
    CHECK(told(session, two_jobs) == R"("a": 2000, "b": 2000)");
    for (
        auto const* const bad :
        {R"({"jobs":{"removed":["a","x"]}})", R"({"jobs":{"added":[{"id":"c","state":"running"},{"id":"c"}]}})",
         R"({"nodes":{"changed":[{"id":"n1","capacity.cpu":8000}]},"held":[{"job":"x","node":"n1","resource":"cpu","amount":1}]})",
         R"({"nodes":{"removed":["n1"]}})", R"({"jobs":[{"id":"a"}]})",
         R"({"jobs":[{"id":1,"state":"running"}],"t":-1})", "{", "[]", "7"})
        CHECK(told(session, bad).find("; ") != std::string::npos);
    CHECK(told(session, "{}") == R"("a": 2000, "b": 2000)");
}

TEST_CASE("ration decide: errors of a request name the object, the place and the fix", "[decide]") {
    CHECK(error_of("") == "1: the line is empty; send one JSON object a line");
    CHECK(error_of("[1") == "3: the line is not JSON at '1'; send one JSON object a line");
    CHECK(error_of(R"({"t":NaN})") ==
          R"(6: the line has NaN or Infinity, which are not JSON; write "nan" as a text, or leave the key out)");
    CHECK(error_of(R"({"t":1e999})") == "10: a number is beyond the range of a double; write a smaller one");
    CHECK(error_of(R"({"seed":-1})") == "9: seed is -1; write a whole number from 0 to 2^64 - 1");
    CHECK(error_of(R"({"job":[]})") == R"(8: the request has an unknown key 'job'; write "jobs")");
    CHECK(error_of("{}") == R"(1: nodes is an empty table; send at least one node in "nodes")");
    CHECK(
        error_of(R"({"nodes":[{"id":1}]})") ==
        R"(10: nodes have no "capacity.cpu", which ration.equal-share reads; add "capacity.cpu" to at least one node: a whole number from 0 to 2^46)");
    CHECK(error_of(R"({"nodes":[{"id":1,"capacity.cpu":-1}]})") ==
          "34: nodes[0].capacity.cpu is -1; write a whole number from 0 to 2^46");
    CHECK(error_of(R"({"nodes":[{"capacity.cpu":1}]})") == R"(11: nodes[0] has no "id"; add "id", a number or a text)");
    CHECK(error_of(R"({"nodes":[{"id":1,"capacity.cpu":1},{"id":1}]})") ==
          R"(43: node 1 is in two rows of the request; send one row for each, and those of known ones in "changed")");
    CHECK(error_of(R"({"nodes":[{"id":1,"capacity.cpu":1}],"jobs":[{"id":"ä","loss":1},{"id":"b","state":"run"}]})") ==
          "84: jobs[1].state is the text 'run'; write one of queued, running, restarting, done, failed");
    CHECK(
        error_of(R"({"nodes":[{"id":1,"capacity.cpu":1}],"jobs":[{"id":"b","held.cpu":5}]})") ==
        R"(46: jobs[0] has 'held.cpu', which ration computes; leave it out, and list in "held" which job holds what)");
    CHECK(
        error_of(R"({"nodes":[{"id":1,"capacity.batch":0}]})") ==
        R"(11: nodes[0] has 'capacity.batch', and no node limits the batch; leave it out, and send "max.batch" of each job whose batch the policy may choose)");
    CHECK(
        error_of(R"({"nodes":[{"id":1,"capacity.cpu":1}],"jobs":[{"id":"b"}]})") ==
        R"(46: job 'b' has no "state", which ration.equal-share reads; add to each job: "state" is one of queued, running, restarting, done, failed)");
}

TEST_CASE("ration decide: hostile requests are refused", "[decide]") {
    CHECK(error_of(std::string(100'000, '[')) ==
          "1: the line is nested deeper than 64 brackets; write rows as objects without further nesting");
    CHECK(error_of(R"({"nodes":[{"id":1,"capacity.cpu":1}],"jobs":[{"id":1,"state":"running","loss":1e300}]})") ==
          "79: jobs[0].loss is 1e+300; write a number from -1e15 to 1e15");
    CHECK(
        error_of(R"({"nodes":[{"id":18446744073709551615}]})").starts_with("17: nodes[0].id is 18446744073709551615;"));
    CHECK(error_of("{\"nodes\":\"\xff\"}").find("is not JSON") != std::string::npos);
    std::string many = R"({"nodes":[)";
    for (int i = 0; i < 5000; ++i) many += (i > 0 ? ",{" : "{") + ("\"id\":" + std::to_string(i)) + '}';
    CHECK(error_of(many + "]}") == "10: nodes has 5000 rows; send at most 4096");
    auto session = session_of();
    CHECK(json::parse(session.refuse_long_line())["error"]["message"] == "the line has more than 16777216 bytes");
    CHECK(told(session, two_jobs) == R"("a": 2000, "b": 2000)");
}
