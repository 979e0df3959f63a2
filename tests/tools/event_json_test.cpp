// SPDX-License-Identifier: BSL-1.0
#include <nlohmann/json.hpp>

#include "events/json_writer.hpp"
#include "sample_events.hpp"
#include "support/catch.hpp"

using namespace ration;
using namespace ration::program;
using nlohmann::json;

namespace {

template <class T>
[[nodiscard]] std::string written(T const& value) {
    std::string out;
    json_writer(out).value(value);
    return out;
}

[[nodiscard]] json first_of(std::string_view name) {
    sample_events const samples;
    for (auto const& e : samples.all)
        if (auto parsed = json::parse(to_json(e)); parsed["event"] == name) return parsed;
    return {};
}

}  // namespace

TEST_CASE("json_writer: text is escaped, and what is not UTF-8 replaced, so that every line is JSON") {
    CHECK(written(std::string("a\"\\\n\r\t\x01\x7f")) == R"("a\"\\\n\r\t\u0001\u007f")");
    CHECK(written(std::string("ä€😀")) == "\"ä€😀\"");
    CHECK(written(std::string("\xff")) == "\"\xEF\xBF\xBD\"");
    CHECK(written(std::string("\xC3")) == "\"\xEF\xBF\xBD\"");                                  // cut off
    CHECK(written(std::string("\xC0\xAF")) == "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");                  // overlong '/'
    CHECK(written(std::string("\xED\xA0\x80")) == "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");  // a surrogate
    CHECK(written(std::string("\xF4\x90\x80\x80")).size() == 2 + 4 * 3);                        // beyond U+10FFFF
    CHECK(written(std::string("a\0b", 3)) == "\"a\\u0000b\"");
}

TEST_CASE("json_writer: characters that steer a terminal are escaped, or replaced for a page") {
    auto const in_form = [](std::string_view value, steering_text steering) {
        std::string out;
        json_writer(out, steering).value(value);
        return out;
    };
    std::string_view const text = "a\u202eb\u009bc\U000e0041d\u00e4\n";
    CHECK(in_form(text, steering_text::escaped) == "\"a\\u202eb\\u009bc\\udb40\\udc41d\u00e4\\n\"");
    CHECK(json::parse(in_form(text, steering_text::escaped)) == text);
    CHECK(in_form(text, steering_text::replaced) == "\"a?b?c?d\u00e4\\n\"");
}

TEST_CASE("json_writer: numbers read back as themselves") {
    for (double const d : {0.1, 1.0 / 3, 1e-300, -2.5, 1e300, 5e-324, 123456789.0})
        CHECK(json::parse(written(d)).get<double>() == d);
    CHECK(written(std::numeric_limits<double>::quiet_NaN()) == "\"nan\"");
    CHECK(written(std::numeric_limits<double>::infinity()) == "\"inf\"");
    CHECK(written(-std::numeric_limits<double>::infinity()) == "\"-inf\"");
    CHECK(written(std::numeric_limits<std::uint64_t>::max()) == "18446744073709551615");
    CHECK(written(std::numeric_limits<std::int64_t>::min()) == "-9223372036854775808");
    CHECK(written(true) == "true");
    CHECK(written(std::optional<int>()) == "null");
}

TEST_CASE("json_writer: nesting and commas") {
    std::string out;
    json_writer w(out);
    w.object([&] {
        w.member("a", 1);
        w.key("b").array([&] {
            w.value(1);
            w.array([] {});
            w.object([&] { w.member("c", "d"); });
            w.null();
        });
        w.key("e").object([] {});
        w.member("f", false);
    });
    CHECK(out == R"({"a":1,"b":[1,[],{"c":"d"},null],"e":{},"f":false})");
}

TEST_CASE("to_json: every event is one line of JSON with its name and time in front") {
    sample_events const samples;
    std::int64_t t = 0;
    for (auto const& e : samples.all) {
        std::string const line = to_json(e);
        CHECK(line.find('\n') == std::string::npos);
        CHECK(line.starts_with("{\"event\":\""));
        CHECK(json::parse(line)["t"] == t++);
    }
}

TEST_CASE("to_json: a decision has every column, value by value") {
    json const d = first_of("decision");
    CHECK(d["rows"] == json::parse("[2,1,0,0]"));
    CHECK(d["columns"].size() == 5);
    CHECK(d["columns"]["jobs/id"] == json::parse("[3,18446744073709551615]"));
    CHECK(d["columns"]["jobs/state"] == json::parse("[1,4]"));
    CHECK(d["columns"]["jobs/loss.window"] == json::parse(R"([0.1,"inf","nan",-1e-300])"));
    CHECK(d["columns"]["jobs/x.rough"] == json::parse("[0.5,0]"));
    CHECK(d["columns"]["nodes/capacity.cpu"] == json::parse("[-2000]"));
    CHECK(d["grants"] == json::parse(R"([{"job":1,"node":0,"resource":0,"amount":"unlimited","group":7,"reason":4},
                                         {"job":0,"node":0,"resource":1,"amount":250,"group":0,"reason":0}])"));
    CHECK(d["status"] == -3);
    CHECK(d["number"] == 6);
    CHECK(d["seed"] == 9);
    CHECK(d["budget"] == 100'000'000);
    CHECK(d["took"] == 1234);
    CHECK(d["columns_after"] == json::object());
    CHECK(first_of("run")["widths"] == json::parse(R"({"jobs/loss.window":2})"));
}

TEST_CASE("to_json: the fields of a job's events") {
    json const p = first_of("progress");
    CHECK(p ==
          json::parse(
              R"({"event":"progress","t":2,"job":"vae","incarnation":1,"step":10,"metric":"loss","value":0.1,"count":5,
                               "smoothed":0.3})"));
    CHECK(first_of("tier_reached") ==
          json::parse(
              R"({"event":"tier_reached","t":4,"job":"vae","tier":1,"step":12,"value":119.5,"after":3000000000})"));
    CHECK(first_of("condition") ==
          json::parse(R"({"event":"condition","t":5,"job":"vae","now":"stalled","why":"no step for 60 s"})"));
    CHECK(first_of("job_ended") ==
          json::parse(R"({"event":"job_ended","t":13,"job":"vae","incarnation":1,"how":"failed","exit_code":3,
                                                   "signal":null,"step":40,"why":"exit code 3","level_met":null})"));
    CHECK(first_of("job_started")["command"] == json::parse(R"(["train","--name","a \"b\"\n\ufffd"])"));
}

TEST_CASE("to_json: the fields of changes, resizes and messages of a policy") {
    CHECK(first_of("change") ==
          json::parse(R"({"event":"change","t":7,"job":"vae","resource":"cpu","subject":"cpu.max","when":"live",
                                                "old":"max 100000","new":"50000 100000","took":180000,
                                                "reason":"at fair share"})"));
    CHECK(
        first_of("deferred") ==
        json::parse(
            R"({"event":"deferred","t":8,"job":"vae","resource":"cpu","amount":"unlimited","why":"too close to what is in force"})"));
    CHECK(first_of("policy_log") ==
          json::parse(R"({"event":"policy_log","t":11,"policy":"mine.so","level":"debug","text":"tick 6"})"));
    CHECK(first_of("resize") ==
          json::parse(R"({"event":"resize","t":16,"job":"vae","incarnation":1,"what":"failed","from":2,"to":4,
                                                "devices":"cpu-0,cpu-1","why":"its checkpoint failed"})"));
}

TEST_CASE("to_json: the fields of the first and the last event of a run") {
    json const end = first_of("run_ended");
    CHECK(end["jobs"] ==
          json::parse(R"([{"job":"vae","arrived":1000000000,"started":2000000000,"acceptable_at":3000000000,
                                          "objective_at":null,"ended_at":4000000000,"how":"failed","why":"exit code 3",
                                          "device_seconds":0,"step":40,"released":true,"level_met":0.97}])"));
    CHECK(end["mean_cpu"] == 1.5);
    CHECK(end["available_cpu"] == 1.75);
    CHECK(end["lost_events"] == 2);
    json const run = first_of("run");
    CHECK(run["schema"] == 3);
    CHECK(run["isolation"] == "none");
    CHECK((run["label"] == "tradl:alpha=0.9" && run["round"] == 2));
    CHECK(run["parameters"] == json::parse(R"({"alpha":0.9,"strict":true,"scenario":"AO"})"));
    CHECK(run["source"] == "policy = \"tradl\"\n");
    CHECK(run["seed"] == std::numeric_limits<std::uint64_t>::max());
    CHECK(run["controls"][1] ==
          json::parse(R"({"resource":"memory","backend":"process","approximate":"not limited"})"));
}
