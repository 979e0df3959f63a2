// SPDX-License-Identifier: BSL-1.0
#include <map>
#include <memory>
#include <prometheus/metric_family.h>
#include <string>

#include <ration/host/check_rule.hpp>
#include <ration/host/settle.hpp>

#include "metrics/endpoint.hpp"
#include "metrics/open_metrics.hpp"
#include "metrics/responder.hpp"
#include "run/run_metrics.hpp"
#include "sample_events.hpp"
#include "support/allocations.hpp"
#include "support/catch.hpp"
#include "support/mutations.hpp"

using namespace ration::program;

namespace {

[[nodiscard]] std::string wrong_with(std::string_view word) {
    auto const parsed = parse_endpoint(word);
    return parsed ? std::string() : parsed.failure().text;
}

[[nodiscard]] loopback_endpoint port_of(std::string_view word) {
    auto const parsed = parse_endpoint(word);
    REQUIRE(parsed);
    return std::get<loopback_endpoint>(*parsed);
}

}  // namespace

TEST_CASE("metrics: places for metrics") {
    CHECK(port_of("127.0.0.1:9555").port == 9555);
    CHECK(port_of("127.1.2.3:1").host == "127.1.2.3");
    CHECK(port_of("[::1]:65535").host == "::1");
    CHECK(std::get<unix_endpoint>(parse_endpoint("unix:a:b").value()).path == "a:b");
    CHECK(wrong_with("unix:" + std::string(107, 'x')).empty());
    CHECK(wrong_with("unix:" + std::string(108, 'x')).find("at most 107 bytes") != std::string::npos);
    CHECK(wrong_with(std::string_view("unix:a\0b", 8)).find("cannot be a socket's path") != std::string::npos);
    for (auto const* word : {"0.0.0.0:1", "128.0.0.1:1", "10.0.0.1:1", "[::]:1", "[::2]:1", "[::ffff:127.0.0.1]:1",
                             "localhost:1", "127.0.0.1.misbehaving:1", "127.1:1", ":1", "[]:1"})
        CHECK(wrong_with(word).find("is not a loopback address") != std::string::npos);
    for (auto const* word : {"127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:+1", "127.0.0.1: 1",
                             "127.0.0.1:1x", "127.0.0.1:"})
        CHECK(wrong_with(word).find("is not a port") != std::string::npos);
    CHECK(wrong_with("").find("unix:PATH") != std::string::npos);
}

namespace {

/// The status line, the headers and the body of the answer to a request, with the format of the page as its text.
[[nodiscard]] std::string answer_to(std::string_view request) {
    return responder().answer(request, [](bool open_metrics) {
        return std::make_shared<std::string const>(open_metrics ? "open" : "older");
    });
}

[[nodiscard]] int status_of(std::string_view request) {
    auto const answer = answer_to(request);
    REQUIRE(answer.starts_with("HTTP/1.1 "));
    return std::stoi(answer.substr(9, 3));
}

[[nodiscard]] std::string body_of(std::string_view request) {
    auto const answer = answer_to(request);
    return answer.substr(answer.find("\r\n\r\n") + 4);
}

}  // namespace

TEST_CASE("responder: the status of an answer follows from method, path and form of the request") {
    for (auto const* const host :
         {"localhost", "localhost:9000", "127.0.0.1:9555", "127.1.2.3", "[::1]", "[::1]:9555", "/run/ration/socket:80"})
        CHECK(status_of(std::string("GET /metrics HTTP/1.1\r\nHost: ") + host + "\r\n\r\n") == 200);
    for (auto const* const host :
         {"evil.example", "127.0.0.1.evil.example", "localhost.", "10.0.0.1", "[::2]", "x\r\nHost: localhost"})
        CHECK(status_of(std::string("GET /metrics HTTP/1.1\r\nHost: ") + host + "\r\n\r\n") == 403);
    CHECK(status_of("GET /metrics HTTP/1.0\n\n") == 200);
    CHECK(status_of("GET /metrics?name=x HTTP/1.1\r\n\r\n") == 200);
    CHECK(status_of("HEAD /metrics HTTP/1.1\r\n\r\nand a body") == 200);
    CHECK(status_of("GET /metric HTTP/1.1\r\n\r\n") == 404);
    CHECK(status_of("GET /metricsx HTTP/1.1\r\n\r\n") == 404);
    CHECK(status_of("POST /metrics HTTP/1.1\r\nContent-Length: 5\r\n\r\n") == 405);
    for (auto const* request :
         {"GET\r\n\r\n", "GET /metrics\r\n\r\n", "GET /metrics FTP/1.1\r\n\r\n", "\r\n\r\n", "\n\n"}) {
        INFO(request);
        CHECK(status_of(request) == 400);
    }
    CHECK(status_of(std::string(longest_request, 'x')) == 431);
}

TEST_CASE("responder: a refusal has a sentence, and a refused method the allowed ones") {
    CHECK(body_of("GET / HTTP/1.1\r\n\r\n") == "ration's metrics are at /metrics\n");
    CHECK(body_of("POST /metrics HTTP/1.1\r\n\r\n") == "ration's metrics can only be read: use GET\n");
    CHECK(body_of("GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n") ==
          "the host is not this machine: ask for localhost or 127.0.0.1\n");
    CHECK(body_of("nonsense\r\n\r\n") == "this is not an HTTP request: request /metrics with GET\n");
    CHECK(body_of(std::string(longest_request, 'x')) == "a request for metrics has at most 4096 bytes\n");
    CHECK(answer_to("POST /metrics HTTP/1.1\r\n\r\n").find("\r\nAllow: GET, HEAD\r\n") != std::string::npos);
}

TEST_CASE("responder: the page has the format that an Accept header names, and is complete") {
    CHECK(body_of("GET /metrics HTTP/1.1\r\n\r\n") == "older");
    CHECK(
        body_of(
            "GET /metrics HTTP/1.1\r\naccept: text/plain;q=0.5, Application/OpenMetrics-Text; version=1.0.0\r\n\r\n") ==
        "open");
    CHECK(body_of("GET /metrics HTTP/1.1\r\nAccept: */*\r\nAccept: application/openmetrics-text\r\n\r\n") == "open");
    CHECK(body_of("GET /metrics HTTP/1.1\r\nX-Accept: application/openmetrics-text\r\n\r\n") == "older");
    CHECK(body_of("GET /metrics HTTP/1.1\r\nAccept: */*\r\n\r\napplication/openmetrics-text") == "older");
    CHECK(body_of("GET /metrics HTTP/1.1\r\nAccept-Encoding: gzip, br\r\nRange: bytes=0-1\r\n\r\n") == "older");
    CHECK(body_of("HEAD /metrics HTTP/1.1\r\n\r\n").empty());
    CHECK(answer_to("HEAD /metrics HTTP/1.1\r\n\r\n").find("\r\nContent-Length: 5\r\n") != std::string::npos);
}

TEST_CASE("responder: a head is complete with its blank line") {
    CHECK(has_complete_head("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\nbody"));
    CHECK(has_complete_head("GET /metrics HTTP/1.0\n\n"));
    CHECK_FALSE(has_complete_head(""));
    CHECK_FALSE(has_complete_head("GET /metrics HTTP/1.1\r\nHost: x\r\n"));
    CHECK_FALSE(has_complete_head(std::string(longest_request, 'x')));
}

TEST_CASE("responder: damaged requests have one of the answers there are") {
    constexpr std::string_view pieces[] = {
        "\r\n", "\n",       " ",        "\t",      ":", "/",    "?",    "%2e",
        "GET",  "HTTP/1.1", "HTTP/9.9", "Accept:", ",", ";q=0", "\xff", std::string_view("\0", 1)};
    support::mutations change(8, pieces);
    std::map<int, int> by_status;
    for (int round = 0; round < 20'000; ++round) {
        std::string head =
            "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: application/openmetrics-text; version=1.0.0,text/plain;q=0.5\r\n\r\n";
        change.damage(head);
        int const whole = status_of(head);
        ++by_status[whole];
        auto const half = std::string_view(head).substr(0, change.below(head.size() + 1));
        if (status_of(half) == 200) REQUIRE(whole == 200);  // bytes behind the end change nothing
    }
    for (int const status : {200, 400, 404, 431}) CHECK(by_status[status] > 50);
}

TEST_CASE("metrics: what comes from outside cannot break out of a label") {
    prometheus::MetricFamily family{
        "x_bytes_total", "a \"help\"\nof \\ two lines", prometheus::MetricType::Counter, {}};
    auto& metric = family.metric.emplace_back();
    metric.label = {{"job", "a\"} 7\n# EOF\n\\"}};
    metric.counter.value = 1e21;
    CHECK(open_metrics_serializer().Serialize({family}) ==
          "# TYPE x_bytes counter\n# UNIT x_bytes bytes\n# HELP x_bytes a \\\"help\\\"\\nof \\\\ two lines\n"
          "x_bytes_total{job=\"a\\\"} 7\\n# EOF\\n\\\\\"} 1000000000000000000000\n# EOF\n");
}

TEST_CASE("metrics: counting events does not allocate, and a new run counts from 0") {
    sample_events const samples;
    run_metrics metrics;
    for (auto const& e : samples.all) metrics.emit(e);
    auto const before = allocations();
    for (auto const& e : samples.all)
        if (!std::holds_alternative<run_started>(e.body)) metrics.emit(e);
    CHECK(allocations() == before);

    job_table const board({}, {.cpu = ration::millicores{1000}, .memory = ration::bytes{1}});
    ration::progress::totals const messages{.received = 9, .accepted = 8, .malformed = 1, .lost = 2};
    auto const page = [&] { return metrics.page({.board = board, .messages = messages, .lost_events = 3}, true); };
    CHECK(page().find("ration_ticks_total 2\n") != std::string::npos);
    CHECK(page().find("ration_grants_total 4\n") != std::string::npos);
    CHECK(page().find("ration_progress_messages_total{outcome=\"malformed\"} 1\n") != std::string::npos);
    CHECK(page().find("ration_progress_messages_lost_total 2\n") != std::string::npos);
    CHECK(page().find("ration_events_lost_total 3\n") != std::string::npos);
    for (auto const& e : samples.all)
        if (std::holds_alternative<run_started>(e.body)) metrics.emit(e);
    CHECK(page().find("ration_ticks_total 0\n") != std::string::npos);
}

TEST_CASE("metrics: a policy's name with bytes that are no text makes no page that cannot be read") {
    run_metrics metrics;
    run_started begin;
    begin.policy = "./li\xff\n.so";
    metrics.emit({.at = {}, .body = begin});
    job_table const board({}, {.cpu = ration::millicores{1000}, .memory = ration::bytes{1}});
    CHECK(metrics.page({.board = board, .messages = {}}, true).find("policy=\"./li??.so\"") != std::string::npos);
}

TEST_CASE("metrics: decisions that fell back, refusals and waits are counted") {
    sample_events const samples;
    run_metrics metrics;
    for (auto const& e : samples.all)
        if (std::holds_alternative<run_started>(e.body)) metrics.emit(e);
    decision refused;
    refused.took = ration::milliseconds(30);
    refused.fell_back = true;
    metrics.emit({.at = {}, .body = refused});
    metrics.emit({.at = {}, .body = grant_rejected{.row = {}, .rule = ration::check_rule::duplicate, .detail = {}}});
    metrics.emit({.at = {},
                  .body = change_deferred{.job = "a", .resource = "cpu", .amount = 1, .why = ration::deferral::dwell}});
    job_table const board({}, {.cpu = ration::millicores{1000}, .memory = ration::bytes{1}});
    auto const page = metrics.page({.board = board, .messages = {}}, true);
    for (auto const* line :
         {"ration_fallback_answers_total 1\n", "{reason=\"job, node and resource are granted twice in one tick\"} 1\n",
          "{reason=\"changed too recently\"} 1\n", "_bucket{le=\"0.025\"} 0\n", "_bucket{le=\"0.05\"} 1\n",
          "_bucket{le=\"1.0\"} 1\n", "_bucket{le=\"+Inf\"} 1\n", "_seconds_sum 0.03\n"})
        CHECK(page.find(line) != std::string::npos);
}
