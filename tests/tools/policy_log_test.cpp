// SPDX-License-Identifier: BSL-1.0
#include "policies/policy_log.hpp"

#include <thread>

#include "support/catch.hpp"

using namespace ration::program;

namespace {

using showing = policy_log_filter::showing;

void write(policy_log& log, std::uint32_t level, std::string_view text) {
    auto const sink = log.as_sink();
    sink.write(sink.context, level, text);
}

}  // namespace

TEST_CASE("policy_log: lines come out once, in their order") {
    policy_log log;
    write(log, RATION_LOG_DEBUG, "a");
    write(log, RATION_LOG_ERROR, "b");
    auto const lines = log.take();
    REQUIRE(lines.size() == 2);
    CHECK((lines[0].level == RATION_LOG_DEBUG && lines[0].text == "a"));
    CHECK((lines[1].level == RATION_LOG_ERROR && lines[1].text == "b"));
    CHECK(log.take().empty());
    CHECK(name_of_level(RATION_LOG_DEBUG) == "debug");
    CHECK(name_of_level(RATION_LOG_WARNING) == "warning");
    CHECK(name_of_level(77) == "error");
}

TEST_CASE("policy_log: what nobody takes is counted, and there is room again afterwards") {
    policy_log log;
    std::string const line(1 << 20, 'x');
    for (int i = 0; i < 6; ++i) log.write(RATION_LOG_INFO, line);
    auto const lines = log.take();
    REQUIRE(lines.size() == 4);
    CHECK(lines[2].text == line);
    CHECK(lines[3].level == RATION_LOG_WARNING);
    CHECK(lines[3].text == "3 more lines came faster than they could be printed, and were dropped");
    log.write(RATION_LOG_INFO, "again");
    CHECK(log.take().size() == 1);
}

TEST_CASE("policy_log: no line of any thread is lost on its way to another") {
    policy_log log;
    constexpr int each = 2000;
    auto const talk = [&](char who) {
        for (int i = 0; i < each; ++i) log.write(RATION_LOG_INFO, who + std::to_string(i));
    };
    std::thread a(talk, 'a'), b(talk, 'b');
    int next[2] = {0, 0};
    bool in_order = true;
    while (next[0] + next[1] < 2 * each && in_order)
        for (auto const& line : log.take()) {
            int& expected = next[line.text[0] - 'a'];
            in_order &= line.text.substr(1) == std::to_string(expected);
            ++expected;
        }
    a.join();
    b.join();
    CHECK(in_order);
    CHECK((next[0] == each && next[1] == each));
}

TEST_CASE("policy_log: people see each warning once, and not too many of them") {
    policy_log_filter log_filter;
    CHECK(log_filter.classify({RATION_LOG_INFO, "hot"}) == showing::no);
    CHECK(log_filter.classify({RATION_LOG_WARNING, "hot"}) == showing::yes);
    CHECK(log_filter.classify({RATION_LOG_ERROR, "hot"}) == showing::no);
    for (std::size_t i = 1; i + 1 < policy_log_filter::most_shown; ++i)
        REQUIRE(log_filter.classify({RATION_LOG_ERROR, std::to_string(i)}) == showing::yes);
    CHECK(log_filter.classify({RATION_LOG_ERROR, "the last"}) == showing::last);
    CHECK(log_filter.classify({RATION_LOG_ERROR, "one more"}) == showing::no);
}
