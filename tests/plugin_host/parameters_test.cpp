// SPDX-License-Identifier: BSL-1.0
#include <span>
#include <string>
#include <string_view>

#include <ration/adapt/policies/tradl.hpp>
#include <ration/plugin/manifest_of.hpp>

#include "support/catch.hpp"

using namespace ration;
using policies::tradl_parameters;
using policies::tradl_scenario;
using reader = parameter_access<tradl_parameters>;

namespace {

struct mixed {
    double real = -0.125;
    std::int64_t whole = 7;
    bool flag = true;
    [[nodiscard]] static std::string_view problem() noexcept { return {}; }
};

enum class speed : unsigned char { slow, half_and_half };
constexpr std::string_view speeds[] = {"slow", "\"half\\half\""};
[[nodiscard]] constexpr std::span<std::string_view const> words_of(speed) noexcept { return speeds; }

/// What is easily written down wrong.
struct awkward {
    double least = 2.5, most = 0.00000000025, both = 0.9999999999;
    std::int64_t quoted = -123456789;
    speed how = speed::half_and_half;
    static constexpr parameter_note notes[] = {{.name = "least", .meaning = {}, .least = 0.25},
                                               {.name = "most", .meaning = "or less", .most = 1e15},
                                               {.name = "both", .meaning = {}, .least = -3, .most = 1e-12},
                                               {.name = "quoted", .meaning = "the \"part\" of\ta\\b"}};
};

template <class Parameters = tradl_parameters>
[[nodiscard]] std::string refusal(std::string_view json) {
    Parameters given;
    text<255> wrong;
    CHECK_FALSE(parameter_access<Parameters>::read(json, given, wrong));
    return wrong.c_str();
}

struct text_writer {
    std::string& to;
    text_writer& operator<<(std::string_view more) {
        to += more;
        return *this;
    }
};

}  // namespace

BOOST_HANA_ADAPT_STRUCT(mixed, real, whole, flag);
BOOST_HANA_ADAPT_STRUCT(awkward, least, most, both, quoted, how);

TEST_CASE("parameters are read from a flat object, and what it does not name keeps its default", "[parameters]") {
    tradl_parameters given;
    text<255> wrong;
    REQUIRE(reader::read("{\"scenario\":\"AO\",\"alpha\":0.75}", given, wrong));
    CHECK(given.alpha == 0.75);
    CHECK(given.dead_band == tradl_parameters{}.dead_band);
    CHECK(given.scenario == tradl_scenario::AO);
    mixed all;
    REQUIRE(parameter_access<mixed>::read("{\"whole\":-9,\"flag\":false,\"real\":1e-3}", all, wrong));
    CHECK((all.whole == -9 && !all.flag && all.real == 1e-3));
}

TEST_CASE("a wrong parameter is refused with its name and what it may be", "[parameters]") {
    CHECK(refusal("{\"alpa\":1}") == "unknown parameter 'alpa'");
    CHECK(refusal("{\"alpha\":\"x\"}") == "alpha must be a number");
    CHECK(refusal("{\"alpha\":1.0.0}") == "alpha must be a number");
    CHECK(refusal("{\"alpha\":1e999}") == "alpha must be a number");
    CHECK(refusal("{\"alpha\":2}") ==
          "alpha must be from 0 to 1: the machine counts as full from this use on, above 0 and at most 1");
    CHECK(refusal("{\"scenario\":\"XX\"}") == "scenario must be one of \"AO\", \"FT\", \"NA\"");
    CHECK(refusal("{\"scenario\":1}") == "scenario must be one of \"AO\", \"FT\", \"NA\"");
    CHECK(refusal("[]") == "the parameters must be one JSON object: {\"name\": value, ...}");
    mixed all;
    text<255> wrong;
    CHECK_FALSE(parameter_access<mixed>::read("{\"whole\":1.5}", all, wrong));
    CHECK(wrong == "whole must be a whole number");
    text<255> truth;
    CHECK_FALSE(parameter_access<mixed>::read("{\"flag\":1}", all, truth));
    CHECK(truth == "flag must be true or false");
}

TEST_CASE("a number out of its range is told the range", "[parameters]") {
    CHECK(refusal<awkward>("{\"least\":0.2}") == "least must be at least 0.25");
    CHECK(refusal<awkward>("{\"most\":1e19}") == "most must be at most 1e+15: or less");
    CHECK(refusal<awkward>("{\"both\":-4}") == "both must be from -3 to 1e-12");
    CHECK(refusal<awkward>("{\"both\":1}") == "both must be from -3 to 1e-12");
}

TEST_CASE("whatever a schema is about, it is JSON and says what is meant", "[parameters]") {
    std::string schema;
    parameter_access<awkward>::write_schema(text_writer{schema});
    CHECK(schema.find("\"most\":{\"type\":\"number\",\"default\":2.5e-10,") != schema.npos);
    CHECK(schema.find("\"both\":{\"type\":\"number\",\"default\":1,\"minimum\":-3,\"maximum\":1e-12}") != schema.npos);
    CHECK(schema.find("\"default\":-123456789,\"description\":\"the \\\"part\\\" of\\u0009a\\\\b\"}") != schema.npos);
    CHECK(schema.find("{\"enum\":[\"slow\",\"\\\"half\\\\half\\\"\"],\"default\":\"\\\"half\\\\half\\\"\"}") !=
          schema.npos);
}

TEST_CASE("the schema says types, defaults, meaning and range", "[parameters]") {
    constexpr auto schema = [] {
        std::array<char, 512> text{};
        char space[512] = {};
        parameter_access<mixed>::write_schema(plugin::field_writer(space));
        for (std::size_t i = 0; i < text.size(); ++i) text[i] = space[i];
        return text;
    }();
    CHECK(
        std::string(schema.data()) ==
        "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{\"real\":{\"type\":\"number\",\"default\":-0.125},"
        "\"whole\":{\"type\":\"integer\",\"default\":7},\"flag\":{\"type\":\"boolean\",\"default\":true}}}");
    constexpr auto manifest = plugin::manifest_of<policies::tradl>();
    std::string const whole = manifest.parameters;
    CHECK(whole.find("\"alpha\":{\"type\":\"number\",\"default\":0.9,\"description\":") != whole.npos);
    CHECK(whole.find("\"scenario\":{\"enum\":[\"AO\",\"FT\",\"NA\"],\"default\":\"FT\"") != whole.npos);
    CHECK(whole.find("\"minimum\":0,\"maximum\":1}") != whole.npos);
}
