// SPDX-License-Identifier: BSL-1.0
// The wire between the controller and a node: what is written is read, and input of any form costs one sentence.
#include "nodes/wire.hpp"

#include <nlohmann/json.hpp>
#include <string>
#include <variant>

#include "nodes/wire_lines.hpp"
#include "support/catch.hpp"

using namespace ration;
using namespace ration::program;

namespace {

constexpr std::string_view head = R"("s":"x","q":1,"clock":0)";

[[nodiscard]] std::string order_fault(std::string const& members) {
    auto const read = read_order(members.starts_with('{') ? members : "{" + std::string(head) + "," + members + "}");
    return read ? "" : read.failure();
}

[[nodiscard]] std::string report_fault(std::string const& members) {
    auto const read = read_report("{" + std::string(head) + "," + members + "}");
    return read ? "" : read.failure();
}

constexpr auto fix = "; use the same version of ration on all nodes";

}  // namespace

TEST_CASE("the part of a job on several nodes is read as it was written") {
    wire_head const sent{.session = "ab", .number = 7, .clock = 9};
    job_part const part{.nodes = 3, .node_rank = 1, .first_rank = 4, .world = 9, .master = "n1", .port = 20001};
    auto const gang = read_order(to_line(sent, jobs_order{.grants = 4, .jobs = {{"a", 2, 4, 0, part}}}));
    REQUIRE(gang);
    auto const& placed = std::get<jobs_order>(gang->body).jobs.front().part;
    CHECK(placed.nodes == 3);
    CHECK(placed.node_rank == 1);
    CHECK(placed.follows());
    CHECK(placed.first_rank == 4);
    CHECK(placed.world == 9);
    CHECK(placed.master == "n1");
    CHECK(placed.port == 20001);
}

TEST_CASE("the first messages of another connection are read as they were written") {
    wire_head const sent{.session = "ab", .number = 1, .clock = 0};
    hello_order first;
    first.run = first.node = "n";
    first.reattach = true;
    hello_report answer;
    answer.reattached = true;
    auto const order = to_line(sent, first), report = to_line(sent, answer);
    CHECK(std::get<hello_order>(read_order(order)->body).reattach);
    CHECK(std::get<hello_report>(read_report(report)->body).reattached);
    // The other side can be older
    auto const without = [](std::string line, std::string const& key) {
        auto const at = line.find(key);
        REQUIRE(at != line.npos);
        return line.erase(at, key.size());
    };
    CHECK(!std::get<hello_order>(read_order(without(order, ",\"reattach\":true"))->body).reattach);
    CHECK(!std::get<hello_report>(read_report(without(report, ",\"reattached\":true"))->body).reattached);
}

TEST_CASE("an order is read as it was written") {
    wire_head const sent{.session = "ab", .number = 7, .clock = 9};
    jobs_order const jobs{.grants = 3, .jobs = {{"a", 2, 4, 128}, {"b", 0, 0, 0}}, .more = true};
    auto const read = read_order(to_line(sent, jobs));
    REQUIRE(read);
    CHECK(read->head.session == "ab");
    CHECK(read->head.number == 7);
    CHECK(read->head.clock == 9);
    auto const& got = std::get<jobs_order>(read->body);
    CHECK(got.grants == 3);
    CHECK(got.more);
    REQUIRE(got.jobs.size() == 2);
    CHECK(got.jobs[0].job == "a");
    CHECK(got.jobs[0].incarnations == 2);
    CHECK(got.jobs[0].devices == 4);
    CHECK(got.jobs[0].batch == 128);
    CHECK(got.jobs[1].devices == 0);
    CHECK(got.jobs[0].part.is_whole());
    CHECK(got.jobs[0].part.master == "127.0.0.1");

    auto const hello = read_order(to_line(sent, hello_order{.run = "r",
                                                            .node = "n",
                                                            .lease = seconds(5),
                                                            .beat = seconds(1),
                                                            .directory = "/d\xff",
                                                            .output = "/o",
                                                            .marker = "m"}));
    REQUIRE(hello);
    auto const& h = std::get<hello_order>(hello->body);
    CHECK(h.run + h.node + h.directory + h.output + h.marker == "rn/d\xff/om");
    CHECK(h.lease == seconds(5));
    CHECK(h.beat == seconds(1));

    auto const begin = read_order(to_line(sent, begin_order{.backend = "auto", .cpus = 2, .devices = std::nullopt}));
    REQUIRE(begin);
    CHECK(std::get<begin_order>(begin->body).cpus == 2u);
    CHECK(!std::get<begin_order>(begin->body).devices);
    CHECK(std::get<file_order>(read_order(to_line(sent, file_order{"a\n\"b"}))->body).text == "a\n\"b");
    CHECK(std::get<end_order>(read_order(to_line(sent, end_order{true}))->body).kill);
}

TEST_CASE("a report is read as it was written") {
    wire_head const sent{.session = "ab", .number = 7, .clock = 9};
    auto const hello = read_report(to_line(sent, hello_report{.node = "n",
                                                              .pid = 5,
                                                              .cpu = 2000,
                                                              .memory = 1 << 20,
                                                              .devices = {"cpu-0", "cpu-1"},
                                                              .backend = "process",
                                                              .approximate = ""}));
    REQUIRE(hello);
    CHECK(std::get<hello_report>(hello->body).devices.size() == 2);
    CHECK(std::get<hello_report>(hello->body).cpu == 2000);
    auto const state =
        read_report(to_line(sent, state_report{.grants = 4, .devices = 2, .rows = R"([{"job":"a"}])", .more = false}));
    REQUIRE(state);
    CHECK(std::get<state_report>(state->body).grants == 4);
    CHECK(std::get<state_report>(state->body).rows == R"([{"job":"a"}])");
    auto const event = read_report(to_line(sent, event_report{R"({"event":"warning"})"}));
    REQUIRE(event);
    CHECK(std::get<event_report>(event->body).event == R"({"event":"warning"})");
    for (bool const without_lease : {false, true})
        CHECK(std::get<ended_report>(read_report(to_line(sent, ended_report{without_lease}))->body).without_lease ==
              without_lease);
    auto const first = to_line(sent, hello_report{});
    CHECK(without_banner("Welcome to n1 " + first) == first);
    CHECK(without_banner("Welcome to n1") == "Welcome to n1");
}

TEST_CASE("a message that is not of the wire costs a sentence") {
    CHECK(order_fault("{") == std::string("'{' is not a JSON object") + fix);
    CHECK(order_fault(R"("op":"dance")") == std::string("unknown message 'dance'") + fix);
    CHECK(order_fault(R"("op":"end")") == std::string("message 'end': it has no field 'kill'") + fix);
    CHECK(order_fault(R"("op":"jobs","grants":1,"more":false,"jobs":[7])") ==
          std::string("message 'jobs': its list of jobs has a row that is not an object, or too many rows") + fix);
    CHECK(order_fault(R"("op":"jobs","grants":1,"more":false,"jobs":[{"job":"a"}])") ==
          std::string("message 'jobs': in its list of jobs, it has no field 'incarnations'") + fix);
    CHECK(
        report_fault(
            R"("op":"hello","version":1,"node":"n","pid":1,"capacity.cpu":1,"capacity.memory":1,"devices":[1],"backend":"","approximate":"")") ==
        std::string("message 'hello': its list of devices has an entry that is not a text, or too many entries") + fix);
    CHECK(report_fault(R"("op":"state","grants":-1,"capacity.gpu":0,"more":false,"jobs":[])") ==
          std::string("message 'state': its field 'grants' is not a whole number from 0 on") + fix);
    CHECK(order_fault(R"({"s":")" + std::string(65, 'x') + R"(","q":1,"clock":0,"op":"beat"})") ==
          std::string("message 'beat': its session is too long") + fix);
    CHECK(order_fault(std::string(100, '[')) != "");
}

TEST_CASE("unknown keys are passed over, and another version is seen before anything else is read") {
    CHECK(order_fault(R"("op":"beat","new":[1,2])") == "");
    auto const hello = read_order("{" + std::string(head) + R"(,"op":"hello","version":2,"other":1})");
    REQUIRE(hello);
    CHECK(std::get<hello_order>(hello->body).version == 2);
    CHECK(version_sentence(2) ==
          "the other side speaks version 2 of the wire, and this one version 1; install the "
          "same version of ration on all nodes");
    CHECK(is_hello(R"({"op":"hello"})"));
    CHECK(!is_hello(R"({"op":"beat"})"));
    CHECK(!is_hello("Welcome to node 3"));
    CHECK(!is_hello("{{{"));
}

TEST_CASE("lines are found in bytes that come in any pieces") {
    wire_lines lines;
    CHECK(!lines.next());
    lines.feed("one\ntw");
    CHECK(lines.next()->text == "one");
    CHECK(!lines.next());
    CHECK(lines.in_a_line());
    lines.feed("o\n\n");
    CHECK(lines.next()->text == "two");
    CHECK(lines.next()->text.empty());
    CHECK(!lines.next());
    CHECK(!lines.in_a_line());
}

TEST_CASE("a line that is too long is reported once, whether it ends or not") {
    wire_lines lines;
    lines.feed(std::string(most_message_bytes, 'a') + "\n");
    CHECK(lines.next()->text.size() == most_message_bytes);
    lines.feed(std::string(most_message_bytes + 1, 'a') + "\nnext\n");
    CHECK(lines.next()->too_long);
    CHECK(lines.next()->text == "next");

    std::string const piece(4096, 'b');
    int reported = 0;
    for (int i = 0; i < 256; ++i) {  // 1 MiB without a newline
        lines.feed(piece);
        while (auto const line = lines.next()) reported += line->too_long ? 1 : 100;
    }
    CHECK(reported == 1);
    CHECK(lines.in_a_line());
    lines.feed("end\nafter\n");
    CHECK(lines.next()->text == "after");
    CHECK(!lines.next());
}

TEST_CASE("a hello names no path outside of its folder, and no lease beyond the clock") {
    auto const hello = [](std::string const& run, std::string const& node, std::string const& lease) {
        return order_fault(R"("op":"hello","version":1,"run":")" + run + R"(","node":")" + node + R"(","lease":)" +
                           lease + R"(,"beat":1,"directory":"/d","output":"/o","marker":"m")");
    };
    auto const name = std::string(
                          "message 'hello': its run or its node has a name with other characters than letters, "
                          "digits, '.', '-', '_' and '@'") +
                      fix;
    CHECK(hello("20260101-r", "user@n1.example", "1") == "");
    CHECK(hello("../../home", "n", "1") == name);
    CHECK(hello("r", "a/b", "1") == name);
    CHECK(hello("r", "", "1") == name);
    CHECK(hello("r", "n", "9223372036854775807") ==
          std::string("message 'hello': its lease or its beat is longer than a century") + fix);
}
